#include "chaos/proxy/live_link.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <boost/asio.hpp>

#include "chaos/proxy/held_port.hpp"
#include "chaos/proxy/link_connection.hpp"

namespace gatedrill::chaos {

using asio::ip::tcp;
using boost::system::error_code;

namespace {
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
}

struct LiveLink::State : std::enable_shared_from_this<State> {
  State(asio::io_context& context,
        const SteadyClock& time,
        Settings given,
        FaultRun& faults,
        EventSink& events)
      : io(context),
        clock(time),
        settings(std::move(given)),
        model(settings.link, faults),
        sink(events),
        plan_timer(io) {}

  using Self = std::shared_ptr<State>;
  asio::awaitable<void> accept(Self self, std::shared_ptr<tcp::acceptor> from);
  asio::awaitable<void> follow_plan(Self self);
  void follow_model();
  Result<void> open();
  void close();
  void note_refusal(TimePoint now);
  void take(tcp::socket socket);
  void stop();

  asio::io_context& io;
  const SteadyClock& clock;
  Settings settings;
  LinkModel model;
  EventSink& sink;
  std::optional<HeldPort> held;
  std::shared_ptr<tcp::acceptor> acceptor;
  asio::steady_timer plan_timer;
  std::vector<std::weak_ptr<LinkConnection>> connections;
  std::optional<NameId> refusing;
  Counts counts;
  bool stopped = false;
};

Result<void> LiveLink::State::open() {
  const Result<int> listener = held->listen();
  if (!listener) return listener.error();
  acceptor = std::make_shared<tcp::acceptor>(io, tcp::v4(), *listener);
  asio::co_spawn(io, accept(shared_from_this(), acceptor), asio::detached);
  return {};
}

void LiveLink::State::close() {
  if (!acceptor) return;
  error_code ignored;
  acceptor->close(ignored);
  acceptor = nullptr;
}

void LiveLink::State::follow_model() {
  if (stopped || !held) return;
  const TimePoint now = clock.now();
  note_refusal(now);
  if (!model.accepts(now)) {
    close();
  } else if (!acceptor && !open()) {
    // The port is held, so this is a lack of descriptors: the next change tries again.
    sink.publish({settings.gateway, Dropped{intern("link"), intern("cannot listen again"), 1}});
  }
}

// Connections refused by the kernel are not seen, so the fault's hit is that the port went away.
void LiveLink::State::note_refusal(TimePoint now) {
  const std::optional<NameId> fault = model.refusing_fault(now);
  if (fault && fault != refusing) {
    FaultHit hit;
    hit.at = now;
    hit.fault = *fault;
    hit.target = model.target();
    hit.planned = std::string_view("new connections refused");
    hit.observed = std::string_view(acceptor ? "listening socket closed" : "was not listening");
    sink.publish({settings.gateway, hit});
  }
  refusing = fault;
}

asio::awaitable<void> LiveLink::State::accept(Self /*self*/, std::shared_ptr<tcp::acceptor> from) {
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

void LiveLink::State::take(tcp::socket socket) {
  std::erase_if(connections, [](const auto& each) { return each.expired(); });
  const LinkContext context{io, clock, model, sink, settings.gateway, counts};
  const auto connection =
      std::make_shared<LinkConnection>(context, std::move(socket), ++counts.connections);
  connections.push_back(connection);
  const tcp::endpoint target(asio::ip::make_address(settings.target_address), settings.target_port);
  connection->start(target);
}

asio::awaitable<void> LiveLink::State::follow_plan(Self /*self*/) {
  while (!stopped) {
    follow_model();
    plan_timer.expires_at(clock.steady(model.next_change(clock.now())));
    co_await plan_timer.async_wait(kAsTuple);
  }
}

void LiveLink::State::stop() {
  stopped = true;
  close();
  plan_timer.cancel();
  for (const auto& each : connections) {
    if (const auto connection = each.lock()) connection->stop();
  }
  connections.clear();
}

LiveLink::LiveLink(asio::io_context& io,
                   const SteadyClock& clock,
                   Settings settings,
                   FaultRun& faults,
                   EventSink& sink)
    : state_(std::make_shared<State>(io, clock, std::move(settings), faults, sink)) {}

LiveLink::~LiveLink() {
  state_->stop();
}

Result<void> LiveLink::start() {
  error_code bad;
  asio::ip::make_address(state_->settings.target_address, bad);
  if (bad) {
    return usage_error("'" + state_->settings.target_address + "' is not an address to connect to");
  }
  Result<HeldPort> held =
      HeldPort::take(state_->settings.listen_address, state_->settings.listen_port);
  if (!held) return held.error();
  state_->held.emplace(std::move(*held));
  if (state_->model.accepts(state_->clock.now())) {
    const Result<void> opened = state_->open();
    if (!opened) return opened.error();
  }
  asio::co_spawn(state_->io, state_->follow_plan(state_), asio::detached);
  return {};
}

std::uint16_t LiveLink::port() const {
  return state_->held ? state_->held->port() : 0;
}

void LiveLink::set_target_port(std::uint16_t port) {
  state_->settings.target_port = port;
}

void LiveLink::set_origin_listening(bool listening) {
  state_->model.set_origin_listening(listening);
  state_->follow_model();
}

void LiveLink::stop() {
  state_->stop();
}

LiveLink::Counts LiveLink::counts() const {
  return state_->counts;
}

}  // namespace gatedrill::chaos
