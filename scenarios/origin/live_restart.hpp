// Plays a rolling restart on live origins.
#pragma once

#include <memory>
#include <vector>

#include "gateway/core/time.hpp"
#include "scenarios/origin/live_origin.hpp"
#include "scenarios/origin/rolling_restart.hpp"

namespace boost::asio {
class io_context;
}

namespace gatedrill::scenarios {

// Begins at its settings' time and goes on until done or destroyed. It takes the origins' on_state;
// the origins outlive it.
class LiveRestart {
 public:
  LiveRestart(boost::asio::io_context& io,
              const SteadyClock& clock,
              RollingRestart::Settings settings,
              std::vector<LiveOrigin*> origins);
  LiveRestart(const LiveRestart&) = delete;
  LiveRestart& operator=(const LiveRestart&) = delete;
  ~LiveRestart();

  [[nodiscard]] bool done() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::scenarios
