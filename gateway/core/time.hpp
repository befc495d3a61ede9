// Time as every decision sees it: an argument.
//
// A run starts at TimePoint{} (zero), live or simulated. `RunTime` has no now(), so that nothing
// reads a clock by accident; only drivers hold a `Clock`, sample it once per wake-up and pass the
// value on. `UnixTime` is for what needs the calendar.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace gatedrill {

using Duration = std::chrono::nanoseconds;

struct RunTime {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<RunTime, Duration>;
  static constexpr bool is_steady = true;
};

using TimePoint = RunTime::time_point;

// Later than anything that happens: "no deadline".
inline constexpr TimePoint kNever = TimePoint::max();

// Nanoseconds since 1970-01-01 UTC.
struct UnixTime {
  std::int64_t ns = 0;
  auto operator<=>(const UnixTime&) const = default;
};

inline constexpr double to_ms(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

// To the nearest nanosecond.
inline constexpr Duration from_ms(double ms) {
  return Duration{static_cast<std::int64_t>(ms * 1e6 + (ms < 0 ? -0.5 : 0.5))};
}

// The drivers' source of time. Implementations are thread-safe.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
  // The calendar time of a TimePoint in this run.
  [[nodiscard]] virtual UnixTime unix_time(TimePoint at) const = 0;
};

// The machine's steady clock, starting at zero when constructed.
class SteadyClock final : public Clock {
 public:
  SteadyClock();
  // Makes it zero now. Only while nobody else uses the clock: a run is set up first, then begins.
  void restart();
  [[nodiscard]] TimePoint now() const override;
  [[nodiscard]] UnixTime unix_time(TimePoint at) const override;
  // The steady_clock instant of a TimePoint, for timers that wait in real time.
  [[nodiscard]] std::chrono::steady_clock::time_point steady(TimePoint at) const;

 private:
  std::chrono::steady_clock::time_point start_;
  UnixTime unix_start_;
};

}  // namespace gatedrill
