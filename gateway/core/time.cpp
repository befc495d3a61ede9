#include "gateway/core/time.hpp"

namespace gatedrill {

SteadyClock::SteadyClock() { restart(); }

void SteadyClock::restart() {
  start_ = std::chrono::steady_clock::now();
  const auto unix_now = std::chrono::system_clock::now().time_since_epoch();
  unix_start_.ns = std::chrono::duration_cast<std::chrono::nanoseconds>(unix_now).count();
}

TimePoint SteadyClock::now() const {
  return TimePoint{std::chrono::steady_clock::now() - start_};
}

UnixTime SteadyClock::unix_time(TimePoint at) const {
  return UnixTime{unix_start_.ns + at.time_since_epoch().count()};
}

std::chrono::steady_clock::time_point SteadyClock::steady(TimePoint at) const {
  // Beyond the clock's range means never; half a century is near enough.
  constexpr Duration kFar = std::chrono::hours{24 * 365 * 50};
  const Duration since_start = at.time_since_epoch();
  return start_ + (since_start > kFar ? kFar : since_start);
}

}  // namespace gatedrill
