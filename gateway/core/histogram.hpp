// A mergeable histogram of latencies: the bucket layout of HdrHistogram (Gil Tene) with a lowest
// discernible value of 1 us, three significant digits and a highest value of one hour; larger
// values count as one hour. Merging adds counts, so nothing is lost whichever way parts combine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill {

class Histogram {
 public:
  void record(Duration value, std::uint64_t count = 1);
  void merge(const Histogram& other);

  // From counts by index, as counts() gives them; more than an hour's are cut. The maximum, if not
  // known better, is the highest value of the last used bucket.
  static Histogram from_counts(std::span<const std::uint64_t> counts);
  static Histogram from_counts(std::span<const std::uint64_t> counts, Duration max);

  [[nodiscard]] std::uint64_t count() const { return total_; }

  // The smallest bucket's highest value such that at least quantile * count values are at or below
  // it; zero when empty. quantile in [0, 1].
  [[nodiscard]] Duration at_quantile(double quantile) const;

  [[nodiscard]] Duration max() const { return max_; }

  // Counts by HdrHistogram index, in microseconds, trimmed after the last used one.
  [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }

  static constexpr int kSignificantDigits = 3;
  static constexpr std::int64_t kHighestMicros = 3'600'000'000;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  Duration max_{0};
};

}  // namespace gatedrill
