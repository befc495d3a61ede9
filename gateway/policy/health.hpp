// Active health of one endpoint: HAProxy's counter (gateway reference 2.3).
//
//   h in [0, rise + fall - 1]; up <=> h >= rise
//   up,   success: h = rise + fall - 1        up,   failure: h - 1; below rise: down, h = 0
//   down, success: h + 1; at rise: up, full   down, failure: h = 0
//
//   next probe after: fully up: interval · fully down: down_interval · between or unchecked: fast
//
// An endpoint begins up and unchecked at h = rise: its first probe decides.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/core/random.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

class Health {
 public:
  struct Config {
    bool enabled = false;
    std::string path = "/health";
    Duration interval = std::chrono::seconds{5};
    Duration timeout = std::chrono::seconds{2};
    int fall = 3;
    int rise = 2;
    Duration fast_interval = std::chrono::seconds{1};
    Duration down_interval = std::chrono::seconds{5};
    int jitter_percent = 10;

    bool operator==(const Config&) const = default;
  };

  Health(const Config& config, Random random);

  [[nodiscard]] bool up() const { return counter_ >= config_.rise; }

  // When the next probe is due; kNever if there are none or one is running.
  [[nodiscard]] TimePoint next_probe() const { return next_probe_; }

  void on_probe_started();
  // True if this verdict changed up().
  bool on_probe_done(TimePoint now, bool success);

  [[nodiscard]] const Config& config() const { return config_; }

 private:
  [[nodiscard]] Duration next_interval();

  Config config_;
  Random random_;
  int counter_;
  TimePoint next_probe_;
};

}  // namespace gatedrill::gateway
