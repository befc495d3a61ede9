#include "gateway/core/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gatedrill {
namespace {

// HdrHistogram's constants for three digits: 2048 sub-buckets, the upper half of which is used
// from the second bucket on.
constexpr int kSubBucketHalfMagnitude = 10;
constexpr std::int64_t kSubBucketCount = 2048;
constexpr std::int64_t kSubBucketHalf = kSubBucketCount / 2;

std::size_t index_of(std::int64_t micros) {
  const auto value = static_cast<std::uint64_t>(micros);
  const int bucket = 64 -
                     std::countl_zero(value | static_cast<std::uint64_t>(kSubBucketCount - 1)) -
                     (kSubBucketHalfMagnitude + 1);
  const auto sub_bucket = static_cast<std::int64_t>(value >> static_cast<unsigned>(bucket));
  return static_cast<std::size_t>(
      ((static_cast<std::int64_t>(bucket) + 1) << kSubBucketHalfMagnitude) + sub_bucket -
      kSubBucketHalf);
}

// The highest value that shares a bucket with the index's lowest.
std::int64_t highest_at(std::size_t index) {
  auto bucket = static_cast<int>(index >> kSubBucketHalfMagnitude) - 1;
  auto sub_bucket = (static_cast<std::int64_t>(index) & (kSubBucketHalf - 1)) + kSubBucketHalf;
  if (bucket < 0) {
    sub_bucket -= kSubBucketHalf;
    bucket = 0;
  }
  return ((sub_bucket + 1) << bucket) - 1;
}

}  // namespace

void Histogram::record(Duration value, std::uint64_t count) {
  if (count == 0) return;
  const std::int64_t micros = std::clamp<std::int64_t>(value.count() / 1000, 0, kHighestMicros);
  const std::size_t index = index_of(micros);
  if (index >= counts_.size()) counts_.resize(index + 1);
  counts_[index] += count;
  total_ += count;
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i)
    counts_[i] += other.counts_[i];
  total_ += other.total_;
  max_ = std::max(max_, other.max_);
}

Histogram Histogram::from_counts(std::span<const std::uint64_t> counts) {
  Histogram histogram;
  counts = counts.first(std::min(counts.size(), index_of(kHighestMicros) + 1));
  while (!counts.empty() && counts.back() == 0) counts = counts.first(counts.size() - 1);
  histogram.counts_.assign(counts.begin(), counts.end());
  for (const std::uint64_t count : counts) histogram.total_ += count;
  if (!counts.empty()) {
    histogram.max_ = Duration{std::chrono::microseconds{highest_at(counts.size() - 1)}};
  }
  return histogram;
}

Histogram Histogram::from_counts(std::span<const std::uint64_t> counts, Duration max) {
  Histogram histogram = from_counts(counts);
  histogram.max_ = max;
  return histogram;
}

Duration Histogram::at_quantile(double quantile) const {
  if (total_ == 0) return Duration{0};
  // The product may lie just above the whole number that it stands for (0.07 * 100): one step of
  // the double down, as HdrHistogram does.
  const double product = std::nextafter(quantile * static_cast<double>(total_), 0.0);
  const auto wanted =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(product)), 1, total_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted) return std::min(max_, Duration{std::chrono::microseconds{highest_at(i)}});
  }
  return max_;
}

}  // namespace gatedrill
