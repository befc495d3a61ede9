#include "gateway/policy/token_bucket.hpp"

#include <algorithm>
#include <cassert>

namespace gatedrill::gateway {

TokenBucket::TokenBucket(const Config& config)
    : config_(config),
      credit_max_(Credit{config.capacity > 0 ? config.capacity : config.count} *
                  config.period.count()),
      credit_(credit_max_) {
  assert(config.count >= 0 && config.period.count() > 0);
}

TokenBucket::Verdict TokenBucket::take(TimePoint now) {
  if (!config_.enabled()) return {};
  if (now > latest_) {
    credit_ = std::min(credit_max_, credit_ + Credit{(now - latest_).count()} * config_.count);
    latest_ = now;
  }
  const Credit cost{config_.period.count()};
  if (credit_ >= cost) {
    credit_ -= cost;
    return {};
  }
  const auto missing = static_cast<std::int64_t>(cost - credit_);
  return {false, Duration{(missing + config_.count - 1) / config_.count}};
}

}  // namespace gatedrill::gateway
