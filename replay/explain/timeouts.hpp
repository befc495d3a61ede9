// Timeouts: those that the field's gateways have unless told otherwise, those that the user names,
// and those that a recording shows because many waits end after the same time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::replay::explain {

struct Timeout {
  Duration after{0};
  std::string name{};  // "nginx proxy_read_timeout (default)"
  bool given = false;  // by the user: what comes near it is worth a line
};

[[nodiscard]] const std::vector<Timeout>& usual_timeouts();

// "1s", "750ms", "route=15s".
[[nodiscard]] Result<Timeout> parse_timeout(const std::string& text);

// The one that a wait of that length may have run into: it never ends before it, and not long
// after. Those that were given come first.
[[nodiscard]] const Timeout* match(const std::vector<Timeout>& timeouts, Duration waited);

// Many waits of nearly the same length.
struct Cluster {
  Duration low{0};
  Duration high{0};
  std::size_t count = 0;
  std::size_t of = 0;

  // With what the place of the capture may change of a wait.
  [[nodiscard]] bool holds(Duration value) const {
    return value >= low - low / 50 && value <= high + high / 50;
  }
};

struct ClusterRule {
  double width = 0.1;  // of its lowest value
  std::size_t least = 3;
  double share = 1.0 / 3;  // of all values
};

// The largest group of values that lie close together, if it is worth the name.
[[nodiscard]] std::optional<Cluster> cluster_of(std::vector<Duration> values,
                                                const ClusterRule& rule = {});

// What the whole recording shows, for judging one chain of it.
struct Hints {
  std::vector<Timeout> timeouts{};              // given and usual ones
  std::map<std::string, Cluster> waits{};       // that ended in 504 or were given up, by listener
  std::map<std::string, Cluster> keep_alive{};  // after how long idle a server closes
};

// The deadline that answers of this listener seem to have, if the recording or the user names one.
[[nodiscard]] std::optional<Duration> deadline_of(const Hints& hints, const std::string& listener);

// A bounded, even choice from what it is shown.
class Sample {
 public:
  void add(Duration value);

  [[nodiscard]] const std::vector<Duration>& values() const { return values_; }

 private:
  std::vector<Duration> values_;
  std::uint64_t every_ = 1;
  std::uint64_t seen_ = 0;
};

}  // namespace gatedrill::replay::explain
