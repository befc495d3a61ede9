#include "chaos/proxy/fault_timeline.hpp"

#include <boost/asio.hpp>

namespace gatedrill::chaos {

namespace asio = boost::asio;

struct FaultTimeline::State {
  State(asio::io_context& io,
        const SteadyClock& time,
        const FaultPlan& faults,
        NameId variant,
        EventSink& events)
      : timer(io), clock(time), plan(faults), gateway(variant), sink(events) {}

  asio::awaitable<void> play(std::shared_ptr<State> self);

  asio::steady_timer timer;
  const SteadyClock& clock;
  const FaultPlan& plan;
  NameId gateway;
  EventSink& sink;
  bool stopped = false;
};

asio::awaitable<void> FaultTimeline::State::play(std::shared_ptr<State> /*self*/) {
  TimePoint published = TimePoint::min();
  while (!stopped) {
    const TimePoint now = clock.now();
    for (const FaultWindow& window : plan.windows_begun(published, now)) {
      sink.publish({gateway, window});
    }
    published = now;
    timer.expires_at(clock.steady(plan.next_change(now)));
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

FaultTimeline::FaultTimeline(asio::io_context& io,
                             const SteadyClock& clock,
                             const FaultPlan& plan,
                             NameId gateway,
                             EventSink& sink)
    : state_(std::make_shared<State>(io, clock, plan, gateway, sink)) {
  asio::co_spawn(io, state_->play(state_), asio::detached);
}

FaultTimeline::~FaultTimeline() {
  state_->stopped = true;
  state_->timer.cancel();
}

}  // namespace gatedrill::chaos
