// Publishes each fault's window when it begins: one of these for a variant, live.
#pragma once

#include <memory>

#include "chaos/plan.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/time.hpp"

namespace boost::asio {
class io_context;
}

namespace gatedrill::chaos {

// Runs on the caller's io_context from construction to destruction. All that it is given outlives
// it.
class FaultTimeline {
 public:
  FaultTimeline(boost::asio::io_context& io,
                const SteadyClock& clock,
                const FaultPlan& plan,
                NameId gateway,
                EventSink& sink);
  FaultTimeline(const FaultTimeline&) = delete;
  FaultTimeline& operator=(const FaultTimeline&) = delete;
  ~FaultTimeline();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::chaos
