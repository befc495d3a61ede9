#include "scenarios/origin/rolling_restart.hpp"

#include <cassert>

namespace gatedrill::scenarios {

RollingRestart::RollingRestart(Settings settings, std::size_t instances)
    : settings_(settings),
      instances_(instances),
      next_stop_(instances == 0 ? kNever : settings.at) {
  assert(settings.order.start_again);
}

std::optional<std::size_t> RollingRestart::stop_next(TimePoint now) {
  if (now < next_stop_) return std::nullopt;
  next_stop_ = kNever;
  return restarted_;
}

void RollingRestart::on_ready(std::size_t instance, TimePoint now) {
  const bool on_its_way = next_stop_ == kNever && restarted_ < instances_;
  if (!on_its_way || instance != restarted_) return;
  ++restarted_;
  if (restarted_ < instances_) next_stop_ = now + settings_.pause;
}

}  // namespace gatedrill::scenarios
