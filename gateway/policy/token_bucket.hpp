// Token bucket: at most `capacity` at once and `count` per `period` in the long run (Turner, "New
// directions in communications", 1986). Admitted in any interval t: <= capacity + count/period * t.
//
// Integers throughout: one token is `period` units of credit and every nanosecond earns `count`, so
// nothing is lost to rounding; in 128 bits, because a thousand million an hour with a burst to
// match does not fit 64.
#pragma once

#include <cstdint>

#include <boost/config.hpp>

#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

class TokenBucket {
 public:
  struct Config {
    std::int64_t count = 0;  // 0: no limit
    Duration period = std::chrono::seconds{1};
    std::int64_t capacity = 0;  // 0: the same as count

    [[nodiscard]] bool enabled() const { return count > 0; }

    bool operator==(const Config&) const = default;
  };

  struct Verdict {
    bool admitted = true;
    Duration retry_after{0};  // when not admitted: until there will be a token
  };

  explicit TokenBucket(const Config& config);

  // Takes one token if there is one. A `now` before the latest seen counts as the latest.
  Verdict take(TimePoint now);

 private:
  using Credit = boost::int128_type;

  Config config_;
  Credit credit_max_;
  Credit credit_;
  TimePoint latest_{};
};

}  // namespace gatedrill::gateway
