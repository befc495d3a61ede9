// Restarts the instances of a service one after another, the next one a pause after the one before
// is ready again: a rolling upgrade. Pure; the driver tells it when an instance has become ready.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gateway/core/time.hpp"
#include "scenarios/origin/origin_model.hpp"

namespace gatedrill::scenarios {

class RollingRestart {
 public:
  struct Settings {
    TimePoint at;  // the first one's stop
    Duration pause{0};
    StopOrder order;  // for each; start_again must be set
  };

  RollingRestart(Settings settings, std::size_t instances);

  // When stop_next has an instance to stop; kNever while one is on its way or all are done.
  [[nodiscard]] TimePoint next_wakeup() const { return next_stop_; }

  // The instance to be stopped with settings().order, if its time has come. Call until it gives
  // none.
  [[nodiscard]] std::optional<std::size_t> stop_next(TimePoint now);
  // An instance's state became ready; others than the one on its way are ignored.
  void on_ready(std::size_t instance, TimePoint now);

  [[nodiscard]] const Settings& settings() const { return settings_; }

  [[nodiscard]] bool done() const { return restarted_ == instances_; }

 private:
  Settings settings_;
  std::size_t instances_;
  std::size_t restarted_ = 0;  // also the index of the one on its way or next
  TimePoint next_stop_;
};

}  // namespace gatedrill::scenarios
