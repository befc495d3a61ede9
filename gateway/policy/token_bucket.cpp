#include "gateway/policy/token_bucket.hpp"

#include <algorithm>
#include <cassert>

namespace gatedrill::gateway {

TokenBucket::TokenBucket(const Config& config)
    : config_(config),
      credit_max_((config.capacity > 0 ? config.capacity : config.count) * config.period.count()),
      credit_(credit_max_) {
  assert(config.count >= 0 && config.period.count() > 0);
}

TokenBucket::Verdict TokenBucket::take(TimePoint now) {
  if (!config_.enabled()) return {};
  if (now > latest_) {
    // Whatever lies beyond a full bucket earns nothing; the bound also keeps the product in range.
    const std::int64_t until_full = (credit_max_ - credit_) / config_.count + 1;
    const std::int64_t elapsed = std::min((now - latest_).count(), until_full);
    credit_ = std::min(credit_max_, credit_ + elapsed * config_.count);
    latest_ = now;
  }
  const std::int64_t cost = config_.period.count();
  if (credit_ >= cost) {
    credit_ -= cost;
    return {};
  }
  const std::int64_t missing = cost - credit_;
  return {false, Duration{(missing + config_.count - 1) / config_.count}};
}

}  // namespace gatedrill::gateway
