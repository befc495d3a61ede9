#include "gateway/net/deadline.hpp"

#include <utility>

namespace gatedrill::gateway {

DeadlineTimer::DeadlineTimer(boost::asio::io_context& context,
                             const SteadyClock& clock,
                             DeadlineOwner& owner)
    : state_(std::make_shared<State>(context, clock, owner)) {}

// NOLINTNEXTLINE(bugprone-exception-escape): cancelling a timer that exists does not fail
DeadlineTimer::~DeadlineTimer() {
  state_->owner = nullptr;
  state_->timer.cancel();
}

void DeadlineTimer::set(TimePoint at) {
  state_->at = at;
  if (at < state_->armed) arm(state_);
}

void DeadlineTimer::arm(const std::shared_ptr<State>& state) {
  state->armed = state->at;
  state->timer.expires_at(state->clock.steady(state->armed));
  state->timer.async_wait([state](const boost::system::error_code& error) {
    if (error || state->owner == nullptr) return;  // cancelled, or armed anew
    state->armed = kNever;
    if (state->at == kNever) return;
    if (state->clock.now() < state->at) {
      arm(state);
      return;
    }
    state->at = kNever;
    state->owner->on_deadline();
  });
}

}  // namespace gatedrill::gateway
