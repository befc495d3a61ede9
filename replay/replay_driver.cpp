#include "replay/replay_driver.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <optional>
#include <set>

#include <boost/asio.hpp>

namespace gatedrill::replay {

namespace asio = boost::asio;
using gateway::ClientAnswer;
using gateway::ClientConnect;
using gateway::ClientError;
using gateway::HttpClient;
using gateway::IdleState;

namespace {

// So many sends are begun before other work of the loop gets its turn.
constexpr int kBurstMax = 64;

bool is_local(ClientError error) {
  return error == ClientError::local_ports_exhausted || error == ClientError::local_files_exhausted;
}

// One recorded connection as it is replayed.
struct Lane {
  std::unique_ptr<HttpClient> client;
  bool busy = false;
};

// One send on its way.
struct Flight {
  PlannedSend send;
  TimePoint intended;
  std::shared_ptr<Lane> lane;
  bool side = false;
};

std::string in_ms(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms", to_ms(duration));
  return text.data();
}

}  // namespace

std::uint64_t ReplayFigures::differences() const {
  return failed + status_differs + body_differs;
}

struct ReplayDriver::State : std::enable_shared_from_this<ReplayDriver::State> {
  State(asio::io_context& the_context,
        const SteadyClock& the_clock,
        EventSink& the_sink,
        ReplayDriverConfig the_config)
      : context(the_context),
        clock(the_clock),
        sink(the_sink),
        config(std::move(the_config)),
        timer(the_context) {}

  void walk();
  void wait_for_next();
  void begin_flight(const PlannedSend& planned);
  asio::awaitable<void> fly(Flight flight);
  asio::awaitable<ClientError> open(std::unique_ptr<HttpClient>& slot, TimePoint deadline);
  asio::awaitable<ClientAnswer> send(HttpClient& client,
                                     const PlannedSend& planned,
                                     TimePoint deadline);
  void take_out_dead(std::unique_ptr<HttpClient>& slot);
  void record(const Flight& flight, const ClientAnswer& answer);
  void count(const SendDone& event, const ClientAnswer& answer);
  void end_if_all_ended();

  [[nodiscard]] TimePoint due_time(const PlannedSend& planned) const {
    return begin + (planned.intended - TimePoint{});
  }

  asio::io_context& context;
  const SteadyClock& clock;
  EventSink& sink;
  ReplayDriverConfig config;
  asio::steady_timer timer;
  std::optional<ReplaySource> source;
  std::optional<PlannedSend> upcoming;
  TimePoint begin;
  Done done;
  std::unique_ptr<HttpClient> connected;  // to the target, and nothing was sent on it
  std::map<ConnectionKey, std::shared_ptr<Lane>> lanes;
  std::set<HttpClient*> active;
  ReplayFigures figures;
};

void ReplayDriver::State::walk() {
  for (int begun = 0; upcoming && begun < kBurstMax; ++begun) {
    if (due_time(*upcoming) > clock.now()) break;
    begin_flight(*upcoming);
    upcoming = source->next();
  }
  if (upcoming) {
    wait_for_next();
  } else {
    end_if_all_ended();
  }
}

void ReplayDriver::State::wait_for_next() {
  timer.expires_at(clock.steady(due_time(*upcoming)));
  timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->walk();
  });
}

void ReplayDriver::State::begin_flight(const PlannedSend& planned) {
  std::shared_ptr<Lane>& lane = lanes[planned.connection];
  if (!lane) lane = std::make_shared<Lane>();
  Flight flight{planned, due_time(planned), lane, lane->busy};
  lane->busy = true;
  // Nothing more is to come on it: its connection ends with the last flight that holds the lane.
  if (planned.request->last_on_connection) lanes.erase(planned.connection);
  ++figures.due;
  ++figures.in_flight;
  if (flight.side) ++figures.side_connections;
  auto flying = fly(std::move(flight));
  asio::co_spawn(context, std::move(flying), asio::detached);
}

// A connection that its peer closed while nothing was under way.
void ReplayDriver::State::take_out_dead(std::unique_ptr<HttpClient>& slot) {
  if (!slot) return;
  if (slot->connected()) {
    if (slot->idle_state() == IdleState::usable) return;
    ++figures.replaced_connections;
  }
  slot.reset();
}

asio::awaitable<ClientError> ReplayDriver::State::open(std::unique_ptr<HttpClient>& slot,
                                                       TimePoint deadline) {
  slot = std::make_unique<HttpClient>(context, clock);
  HttpClient* const client = slot.get();
  active.insert(client);
  const ClientConnect outcome = co_await client->connect(config.target, deadline);
  active.erase(client);
  if (outcome.error == ClientError::none) ++figures.connections;
  co_return outcome.error;
}

asio::awaitable<ClientAnswer> ReplayDriver::State::send(HttpClient& client,
                                                        const PlannedSend& planned,
                                                        TimePoint deadline) {
  const std::string head = head_bytes(planned);
  gateway::ClientRequest request;
  request.method = planned.request->method;
  request.head = head;
  request.body = planned.request->body;
  request.keep = gateway::KeepBody::digest;
  active.insert(&client);
  ClientAnswer answer = co_await client.exchange(request, deadline);
  active.erase(&client);
  if (planned.request->asks_to_close) client.close();
  co_return answer;
}

asio::awaitable<void> ReplayDriver::State::fly(Flight flight) {
  const std::shared_ptr<State> self = shared_from_this();
  const TimePoint begun = clock.now();
  const TimePoint deadline = begun + config.timeout;
  figures.begun_late.record(begun - flight.intended);
  if (begun - flight.intended > config.late_bound) ++figures.begun_too_late;

  std::unique_ptr<HttpClient> side_client;
  std::unique_ptr<HttpClient>& slot = flight.side ? side_client : flight.lane->client;
  take_out_dead(slot);
  // The one that looked for the target, unless the target has closed it since: no request has.
  const bool at_hand =
      connected && connected->connected() && connected->idle_state() == IdleState::usable;
  if (!at_hand) connected.reset();
  if (!slot && connected) {
    slot = std::move(connected);
    ++figures.connections;
  }
  ClientAnswer answer;
  if (!slot) answer.error = co_await open(slot, deadline);
  if (answer.error == ClientError::none) {
    answer = co_await send(*slot, flight.send, deadline);
  } else {
    answer.done = clock.now();
  }
  if (!flight.side) flight.lane->busy = false;
  record(flight, answer);
  --figures.in_flight;
  end_if_all_ended();
}

void ReplayDriver::State::record(const Flight& flight, const ClientAnswer& answer) {
  const ReplayRequest& request = *flight.send.request;
  SendDone event;
  event.request_id = flight.send.request_id;
  event.source = config.source;
  event.method = request.method_name;
  event.path = request.path_name;
  event.intended = flight.intended;
  event.sent = answer.sent;
  event.done = answer.done;
  event.status = static_cast<std::uint16_t>(answer.status);
  event.body_complete = answer.body_complete;
  event.side_connection = flight.side;
  const bool answered = answer.error == ClientError::none;
  if (!answered) event.error = intern(gateway::to_string(answer.error));
  event.body_as_expected = answered;
  if (request.expected) {
    event.status_expected = static_cast<std::uint16_t>(request.expected->status);
    if (request.expected->body_digest) {
      event.body_as_expected = answered && answer.body_digest == *request.expected->body_digest;
    }
  }
  count(event, answer);
  sink.publish(Event{config.gateway, event});
}

void ReplayDriver::State::count(const SendDone& event, const ClientAnswer& answer) {
  if (event.sent != kNever) figures.sent_late.record(event.sent - event.intended);
  if (event.status_expected != 0) ++figures.compared;
  if (answer.error != ClientError::none) {
    ++figures.failed;
    ++figures.errors[std::string{gateway::to_string(answer.error)}];
    if (is_local(answer.error)) ++figures.local_failures;
    return;
  }
  ++figures.answered;
  figures.response.record(event.done - event.intended);
  if (event.status_expected == 0) return;
  if (event.status != event.status_expected) {
    ++figures.status_differs;
  } else if (!event.body_as_expected) {
    ++figures.body_differs;
  }
}

void ReplayDriver::State::end_if_all_ended() {
  if (upcoming || figures.in_flight > 0 || !done) return;
  lanes.clear();
  asio::post(context, std::exchange(done, nullptr));
}

ReplayDriver::ReplayDriver(asio::io_context& context,
                           const SteadyClock& clock,
                           EventSink& sink,
                           ReplayDriverConfig config)
    : state_(std::make_shared<State>(context, clock, sink, std::move(config))) {}

ReplayDriver::~ReplayDriver() {
  state_->timer.cancel();
}

void ReplayDriver::start(ReplaySource source,
                         TimePoint begin,
                         Done done,
                         std::unique_ptr<HttpClient> connected) {
  assert(!state_->source);
  assert(done);
  state_->connected = std::move(connected);
  state_->source.emplace(std::move(source));
  state_->begin = begin;
  state_->done = std::move(done);
  state_->upcoming = state_->source->next();
  asio::post(state_->context, [state = state_] { state->walk(); });
}

void ReplayDriver::stop() {
  while (state_->upcoming) {
    ++state_->figures.unsent;
    state_->upcoming = state_->source->next();
  }
  state_->timer.cancel();
  state_->end_if_all_ended();
}

void ReplayDriver::abandon() {
  stop();
  const std::set<HttpClient*> active = state_->active;
  for (HttpClient* const client : active)
    client->close();
}

const ReplayFigures& ReplayDriver::figures() const {
  return state_->figures;
}

std::string ReplayDriver::invalid_reason() const {
  const ReplayFigures& figures = state_->figures;
  const Duration late = figures.begun_late.at_quantile(0.99);
  if (late > state_->config.late_bound) {
    return "the client could not keep its schedule: 99% of the sends were begun within " +
           in_ms(late) + " of their time, allowed are " + in_ms(state_->config.late_bound) +
           "; replay at a lower rate or on a machine with more processors";
  }
  if (figures.local_failures > 0) {
    return std::to_string(figures.local_failures) +
           " sends failed on this machine (no local port or file descriptor left); raise the limit "
           "(ulimit -n) or replay at a lower rate";
  }
  return {};
}

}  // namespace gatedrill::replay
