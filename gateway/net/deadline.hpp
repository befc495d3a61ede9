// A deadline that moves with every step of a request and costs nothing until it is reached: the
// timer is armed once and, when it fires early, armed again for what is left. Only an earlier
// deadline than the armed one touches the timer.
#pragma once

#include <memory>

#include <boost/asio.hpp>

#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

class DeadlineOwner {
 public:
  DeadlineOwner() = default;
  DeadlineOwner(const DeadlineOwner&) = delete;
  DeadlineOwner& operator=(const DeadlineOwner&) = delete;
  virtual ~DeadlineOwner() = default;
  // The deadline has passed. It is told once.
  virtual void on_deadline() = 0;
};

// Used on the context's thread. `clock` and `owner` outlive it.
class DeadlineTimer {
 public:
  DeadlineTimer(boost::asio::io_context& context, const SteadyClock& clock, DeadlineOwner& owner);
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;
  ~DeadlineTimer();

  void set(TimePoint at);

  [[nodiscard]] TimePoint at() const { return state_->at; }

 private:
  // Outlives the timer's owner as long as a wait is in flight.
  struct State {
    State(boost::asio::io_context& context, const SteadyClock& its_clock, DeadlineOwner& its_owner)
        : timer(context), clock(its_clock), owner(&its_owner) {}

    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>,
                                      boost::asio::io_context::executor_type>
        timer;
    const SteadyClock& clock;
    DeadlineOwner* owner;
    TimePoint at = kNever;
    TimePoint armed = kNever;
  };

  static void arm(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::gateway
