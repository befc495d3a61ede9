#include "scenarios/origin/live_restart.hpp"

#include <boost/asio.hpp>

namespace gatedrill::scenarios {

namespace asio = boost::asio;

struct LiveRestart::State {
  State(asio::io_context& io,
        const SteadyClock& time,
        RollingRestart::Settings settings,
        std::vector<LiveOrigin*> all)
      : timer(io), clock(time), origins(std::move(all)), plan(settings, origins.size()) {}

  asio::awaitable<void> play(std::shared_ptr<State> self);

  asio::steady_timer timer;
  const SteadyClock& clock;
  std::vector<LiveOrigin*> origins;
  RollingRestart plan;
  bool stopped = false;
};

asio::awaitable<void> LiveRestart::State::play(std::shared_ptr<State> /*self*/) {
  while (!stopped && !plan.done()) {
    while (const std::optional<std::size_t> instance = plan.stop_next(clock.now())) {
      origins[*instance]->stop(plan.settings().order);
    }
    timer.expires_at(clock.steady(plan.next_wakeup()));
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

LiveRestart::LiveRestart(asio::io_context& io,
                         const SteadyClock& clock,
                         RollingRestart::Settings settings,
                         std::vector<LiveOrigin*> origins)
    : state_(std::make_shared<State>(io, clock, settings, std::move(origins))) {
  for (std::size_t i = 0; i < state_->origins.size(); ++i) {
    state_->origins[i]->on_state([state = std::weak_ptr(state_), i](OriginState to, TimePoint at) {
      const auto alive = state.lock();
      if (!alive || to != OriginState::ready) return;
      alive->plan.on_ready(i, at);
      alive->timer.cancel();
    });
  }
  asio::co_spawn(io, state_->play(state_), asio::detached);
}

LiveRestart::~LiveRestart() {
  state_->stopped = true;
  state_->timer.cancel();
}

bool LiveRestart::done() const {
  return state_->plan.done();
}

}  // namespace gatedrill::scenarios
