#include "loadgen/pace/copy_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

namespace gatedrill::loadgen {

bool CopySchedule::Later::operator()(const Due& a, const Due& b) const {
  return std::tie(a.at, a.copy, a.request) > std::tie(b.at, b.copy, b.request);
}

CopySchedule::CopySchedule(const std::vector<Duration>& offsets, CopyTiming timing)
    : offsets_(&offsets) {
  assert(!offsets.empty());
  assert(offsets.front() >= Duration::zero());
  assert(timing.speed > 0);
  scale_ = 1 / timing.speed;
  if (timing.duration) end_ = TimePoint{} + *timing.duration;
  if (!timing.rate_per_second) return;

  assert(*timing.rate_per_second > 0);
  assert(timing.duration);
  const auto count = static_cast<double>(offsets.size());
  period_ns_ = count / *timing.rate_per_second * 1e9;
  double span_ns = static_cast<double>(offsets.back().count()) * scale_;
  // The last request of a copy and the first of the next are then one mean gap apart.
  const double touching_span_ns = period_ns_ * (count - 1) / count;
  if (span_ns > 0 && span_ns < touching_span_ns) {
    stretch_ = touching_span_ns / span_ns;
    scale_ *= stretch_;
    span_ns = touching_span_ns;
  }
  copies_before_ = static_cast<std::uint64_t>(std::floor(span_ns / period_ns_));
}

TimePoint CopySchedule::due_time(std::uint64_t copy, std::size_t request) const {
  const double copies = static_cast<double>(copy) - static_cast<double>(copies_before_);
  const double start_ns = std::round(copies * period_ns_);
  const double offset_ns = std::round(static_cast<double>((*offsets_)[request].count()) * scale_);
  return TimePoint{} + Duration{static_cast<std::int64_t>(start_ns)} +
         Duration{static_cast<std::int64_t>(offset_ns)};
}

void CopySchedule::start_copy(std::uint64_t copy) {
  std::size_t low = 0;
  std::size_t high = offsets_->size();
  while (low < high) {  // the first request of the copy that is not before time 0
    const std::size_t middle = low + (high - low) / 2;
    if (due_time(copy, middle) < TimePoint{}) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == offsets_->size()) return;
  const TimePoint at = due_time(copy, low);
  if (at < end_) upcoming_.push(Due{at, copy, low});
}

std::optional<CopySchedule::Due> CopySchedule::next() {
  const bool loops = period_ns_ > 0;
  while (loops || next_copy_ == 0) {
    const TimePoint first = due_time(next_copy_, 0);
    if (first >= end_ || (!upcoming_.empty() && upcoming_.top().at < first)) break;
    start_copy(next_copy_++);
  }
  if (upcoming_.empty()) return std::nullopt;
  const Due due = upcoming_.top();
  upcoming_.pop();
  if (due.request + 1 < offsets_->size()) {
    const TimePoint at = due_time(due.copy, due.request + 1);
    if (at < end_) upcoming_.push(Due{at, due.copy, due.request + 1});
  }
  return due;
}

}  // namespace gatedrill::loadgen
