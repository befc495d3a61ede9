#include "scenarios/origin/live_origin.hpp"

#include <map>
#include <optional>

#include <boost/asio.hpp>

#include "chaos/proxy/held_port.hpp"
#include "gateway/http/head.hpp"
#include "scenarios/origin/origin_session.hpp"

namespace gatedrill::scenarios {

using asio::ip::tcp;
using boost::system::error_code;

namespace {
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
}

struct LiveOrigin::State final : OriginSession::Host, std::enable_shared_from_this<State> {
  State(asio::io_context& context,
        const SteadyClock& time,
        Settings given,
        OriginWorld& shared,
        EventSink& events)
      : io(context),
        clock(time),
        settings(std::move(given)),
        model(settings.origin),
        world(shared),
        sink(events),
        name(intern(settings.origin.name)),
        timer(io, asio::steady_timer::time_point::max()) {}

  using Self = std::shared_ptr<State>;
  asio::awaitable<void> accept(Self self, std::shared_ptr<tcp::acceptor> from);
  asio::awaitable<void> run_model(Self self);

  void on_bytes(OriginConnection connection) override;
  bool on_request(OriginConnection connection, const ServedRequest& request) override;
  void on_end(OriginConnection connection) override;

  void take(tcp::socket socket);
  void settle();
  void act(const BeginWork& step, TimePoint at);
  void act(const SendAnswer& step, TimePoint at);
  void act(const DropWork& step, TimePoint at);
  void act(const CloseConnection& step, TimePoint at);
  void act(const SetListening& step, TimePoint at);
  void act(const ChangeState& step, TimePoint at);
  Result<void> open();
  void close_listener();
  void shut_down();

  asio::io_context& io;
  const SteadyClock& clock;
  Settings settings;
  OriginModel model;
  OriginWorld& world;
  EventSink& sink;
  NameId name;
  asio::steady_timer timer;
  TimePoint timer_at = kNever;
  std::optional<chaos::HeldPort> held;
  std::shared_ptr<tcp::acceptor> acceptor;
  std::function<void(bool)> follow;
  std::function<void(OriginState, TimePoint)> tell;

  OriginConnection last_connection = 0;
  std::map<OriginConnection, std::shared_ptr<OriginSession>> sessions;
  std::map<OriginTicket, ServedRequest> served;  // accepted by the model and not answered yet
  bool settling = false;
  bool stopped = false;
};

Result<void> LiveOrigin::State::open() {
  const Result<int> listener = held->listen();
  if (!listener) return listener.error();
  acceptor = std::make_shared<tcp::acceptor>(io, tcp::v4(), *listener);
  asio::co_spawn(io, accept(shared_from_this(), acceptor), asio::detached);
  return {};
}

void LiveOrigin::State::close_listener() {
  if (!acceptor) return;
  error_code ignored;
  acceptor->close(ignored);
  acceptor = nullptr;
}

asio::awaitable<void> LiveOrigin::State::accept(Self /*self*/,
                                                std::shared_ptr<tcp::acceptor> from) {
  for (;;) {
    auto [failed, socket] = co_await from->async_accept(kAsTuple);
    if (stopped || !from->is_open()) co_return;
    if (failed) {
      // Out of descriptors, most likely: let some be closed first.
      asio::steady_timer pause(io, std::chrono::milliseconds(10));
      co_await pause.async_wait(kAsTuple);
      if (stopped || !from->is_open()) co_return;
      continue;
    }
    take(std::move(socket));
  }
}

void LiveOrigin::State::take(tcp::socket socket) {
  const TimePoint now = clock.now();
  model.wake(now);
  const bool listening = model.listening();
  if (listening) {
    const OriginConnection id = ++last_connection;
    const auto session = std::make_shared<OriginSession>(*this, std::move(socket), id);
    sessions[id] = session;
    model.on_connect(id, now);
    session->start();
  }
  settle();
}

void LiveOrigin::State::on_bytes(OriginConnection connection) {
  model.on_bytes(connection, clock.now());
  settle();
}

bool LiveOrigin::State::on_request(OriginConnection connection, const ServedRequest& request) {
  OriginRequest arrived;
  arrived.request_id = request.request_id;
  arrived.method = request.method;
  arrived.target = request.target;
  if (!model.is_health_path(request.target)) {
    arrived.attempt = world.sightings.see(request.request_id);
  }
  const OriginTicket ticket = model.on_request(connection, arrived, clock.now());
  if (ticket != 0) served[ticket] = request;
  settle();
  return ticket != 0;
}

void LiveOrigin::State::on_end(OriginConnection connection) {
  if (sessions.erase(connection) == 0) return;
  model.on_peer_closed(connection, clock.now());
  settle();
}

// Does what the model wants done, and sets the alarm for what it will want next.
void LiveOrigin::State::settle() {
  if (stopped || settling) return;
  settling = true;
  for (auto steps = model.take_steps(); !steps.empty(); steps = model.take_steps()) {
    for (const OriginStep& step : steps) {
      std::visit([&](const auto& body) { act(body, step.at); }, step.body);
      if (stopped) return;
    }
  }
  settling = false;
  if (model.next_wakeup() < timer_at) timer.cancel();
}

void LiveOrigin::State::act(const BeginWork& step, TimePoint at) {
  const auto found = served.find(step.ticket);
  if (found == served.end()) return;
  const ServedRequest& request = found->second;
  Execution execution;
  execution.request_id = std::string_view(request.request_id);
  execution.business_key = std::string_view(request.business_key);
  execution.endpoint = name;
  execution.method = intern_untrusted(request.method);
  execution.path = intern_untrusted(http::path_of(request.target));
  execution.at = at;
  sink.publish({settings.gateway, execution});
}

void LiveOrigin::State::act(const SendAnswer& step, TimePoint /*at*/) {
  const auto request = served.find(step.ticket);
  const auto session = sessions.find(step.connection);
  if (request == served.end()) return;
  if (session != sessions.end()) {
    const ServedRequest& asked = request->second;
    if (step.source == SendAnswer::Source::service) {
      const Answer& answer =
          world.answers.choose(asked.method, asked.target, asked.exchange, world.turns);
      const std::string_view body =
          answer.has_body(asked.method) ? answer.body : std::string_view();
      session->second->answer(answer.head(asked.method, step.close), body, step.close);
    } else {
      Answer plain;
      plain.status = step.status;
      session->second->answer(plain.head(asked.method, step.close), {}, step.close);
    }
  }
  served.erase(request);
}

void LiveOrigin::State::act(const DropWork& step, TimePoint /*at*/) {
  served.erase(step.ticket);
}

void LiveOrigin::State::act(const CloseConnection& step, TimePoint /*at*/) {
  const auto found = sessions.find(step.connection);
  if (found != sessions.end()) found->second->close(step.reset);
}

void LiveOrigin::State::act(const SetListening& step, TimePoint /*at*/) {
  if (!step.listening) {
    close_listener();
  } else if (!acceptor && !open()) {
    sink.publish({settings.gateway, Dropped{intern("origin"), intern("cannot listen again"), 1}});
    return;
  }
  if (follow) follow(step.listening);
}

void LiveOrigin::State::act(const ChangeState& step, TimePoint at) {
  const bool down = step.to == OriginState::stopped || step.to == OriginState::starting;
  if (down) served.clear();  // whatever was waiting is gone with the process
  Transition transition;
  transition.at = at;
  transition.kind = Transition::Kind::drain;
  transition.subject = name;
  transition.from_state = intern(to_string(step.from));
  transition.to_state = intern(to_string(step.to));
  transition.reason = intern(model.version().name);
  sink.publish({settings.gateway, transition});
  if (tell) tell(step.to, at);
}

asio::awaitable<void> LiveOrigin::State::run_model(Self /*self*/) {
  while (!stopped) {
    timer_at = model.next_wakeup();
    timer.expires_at(clock.steady(timer_at));
    co_await timer.async_wait(kAsTuple);
    if (stopped) co_return;
    model.wake(clock.now());
    settle();
  }
}

void LiveOrigin::State::shut_down() {
  stopped = true;
  close_listener();
  timer.cancel();
  for (const auto& [id, session] : sessions)
    session->abandon();
  sessions.clear();
}

LiveOrigin::LiveOrigin(asio::io_context& io,
                       const SteadyClock& clock,
                       Settings settings,
                       OriginWorld& world,
                       EventSink& sink)
    : state_(std::make_shared<State>(io, clock, std::move(settings), world, sink)) {}

LiveOrigin::~LiveOrigin() {
  state_->shut_down();
}

Result<void> LiveOrigin::start() {
  Result<chaos::HeldPort> held =
      chaos::HeldPort::take(state_->settings.listen_address, state_->settings.listen_port);
  if (!held) return held.error();
  state_->held.emplace(std::move(*held));
  const Result<void> opened = state_->open();
  if (!opened) return opened.error();
  asio::co_spawn(state_->io, state_->run_model(state_), asio::detached);
  return {};
}

std::uint16_t LiveOrigin::port() const {
  return state_->held ? state_->held->port() : 0;
}

void LiveOrigin::on_listening(std::function<void(bool)> follow) {
  state_->follow = std::move(follow);
}

void LiveOrigin::on_state(std::function<void(OriginState, TimePoint)> tell) {
  state_->tell = std::move(tell);
}

void LiveOrigin::stop(const StopOrder& order) {
  state_->model.stop(order, state_->clock.now());
  state_->settle();
}

void LiveOrigin::start_again() {
  state_->model.start(state_->clock.now());
  state_->settle();
}

const OriginModel& LiveOrigin::model() const {
  return state_->model;
}

void LiveOrigin::shut_down() {
  state_->shut_down();
}

}  // namespace gatedrill::scenarios
