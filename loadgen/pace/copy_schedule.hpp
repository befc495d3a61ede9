// When each request of a recording is due, once or in overlapping copies.
//
// A due time is always `start of the copy + recorded offset`, never a sum of waits, so nothing
// drifts. To reach a stated rate R with N requests, a new copy of the whole recording starts every
// N / R seconds; the first copies start before time 0, so that the rate is the same from time 0 on:
//
//   copy 0   ──x──x───x──|··x······x          (what lies before 0 is left out)
//   copy 1       ──x──x──|─x──x······x
//   copy 2           ────|x──x───x──x······x
//                       time 0
//
// Every span of N / R seconds then holds each request exactly once. A rate below the recorded one
// would leave gaps between copies; there the offsets are stretched until the copies touch.
//
// Pure and lazy: memory grows with the copies that overlap, not with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill::loadgen {

struct CopyTiming {
  double speed = 1;  // offsets are divided by it; > 0
  // > 0. Without: one copy, as recorded.
  std::optional<double> rate_per_second = std::nullopt;
  // The window is [0, duration). Required with a rate.
  std::optional<Duration> duration = std::nullopt;
};

class CopySchedule {
 public:
  struct Due {
    TimePoint at;
    std::uint64_t copy = 0;   // from 0, in the order in which copies start
    std::size_t request = 0;  // index into the offsets
  };

  // `offsets` ascend, start at zero or later, and hold at least one; they outlive the schedule.
  CopySchedule(const std::vector<Duration>& offsets, CopyTiming timing);

  // The sends in the order of their time; ties by copy, then by request.
  [[nodiscard]] std::optional<Due> next();

  // By how much offsets were stretched (> 1) because the rate is below the recorded one, else 1.
  [[nodiscard]] double stretch() const { return stretch_; }

 private:
  struct Later {
    bool operator()(const Due& a, const Due& b) const;
  };

  [[nodiscard]] TimePoint due_time(std::uint64_t copy, std::size_t request) const;
  void start_copy(std::uint64_t copy);

  const std::vector<Duration>* offsets_;
  double scale_ = 1;  // of the offsets
  double stretch_ = 1;
  double period_ns_ = 0;             // between copies; 0: one copy only
  std::uint64_t copies_before_ = 0;  // copies that start before time 0
  std::uint64_t next_copy_ = 0;
  TimePoint end_ = kNever;
  std::priority_queue<Due, std::vector<Due>, Later> upcoming_;
};

}  // namespace gatedrill::loadgen
