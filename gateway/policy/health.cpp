#include "gateway/policy/health.hpp"

#include <algorithm>
#include <cassert>

namespace gatedrill::gateway {

Health::Health(const Config& config, Random random)
    : config_(config),
      random_(random),
      counter_(config.rise),
      next_probe_(config.enabled ? TimePoint{} : kNever) {
  assert(config.rise > 0 && config.fall > 0);
}

void Health::on_probe_started() {
  next_probe_ = kNever;
}

bool Health::on_probe_done(TimePoint now, bool success) {
  const bool was_up = up();
  if (success) {
    counter_ =
        was_up || counter_ + 1 >= config_.rise ? config_.rise + config_.fall - 1 : counter_ + 1;
  } else {
    counter_ = was_up && counter_ - 1 >= config_.rise ? counter_ - 1 : 0;
  }
  next_probe_ = now + next_interval();
  return up() != was_up;
}

Duration Health::next_interval() {
  Duration base = config_.fast_interval;
  if (counter_ == config_.rise + config_.fall - 1) base = config_.interval;
  if (counter_ == 0) base = config_.down_interval;
  const double jitter = (2.0 * random_.uniform() - 1.0) * config_.jitter_percent / 100.0;
  return base + Duration{static_cast<std::int64_t>(jitter * static_cast<double>(base.count()))};
}

}  // namespace gatedrill::gateway
