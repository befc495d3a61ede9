// A distribution of durations, as an operator states one: fixed, uniform, a log-normal through its
// p50 and p99, or a table of quantiles (linear between them).
//
// `at(p)` is the quantile function, `sample(random)` draws by inversion: one draw a sample, so that
// streams stay aligned whatever the kind.
#pragma once

#include <utility>
#include <vector>

#include "gateway/core/random.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill {

class Distribution {
 public:
  // Always zero.
  Distribution() = default;

  static Distribution fixed(Duration value);
  static Distribution uniform(Duration low, Duration high);
  // Requires 0 < p50 <= p99.
  static Distribution log_normal(Duration p50, Duration p99);
  // Pairs of (probability in [0, 1], value), both ascending, at least one. Below the first and
  // above the last probability the value stays that of the end.
  static Distribution quantiles(std::vector<std::pair<double, Duration>> points);

  [[nodiscard]] Duration at(double p) const;

  [[nodiscard]] Duration sample(Random& random) const { return at(random.uniform()); }

  [[nodiscard]] bool is_zero() const;

  bool operator==(const Distribution&) const = default;

 private:
  enum class Kind { fixed, log_normal, table };
  Kind kind_ = Kind::fixed;
  Duration fixed_{0};
  double log_p50_ = 0;
  double sigma_ = 0;
  std::vector<std::pair<double, Duration>> table_;
};

}  // namespace gatedrill
