#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/distribution.hpp"
#include "gateway/core/histogram.hpp"
#include "gateway/core/random.hpp"

namespace gatedrill {
namespace {

using namespace std::chrono_literals;

// The nearest-rank quantile of the values themselves.
Duration exact_quantile(std::vector<Duration> values, double quantile) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(
      std::ceil(std::nextafter(quantile * static_cast<double>(values.size()), 0.0)));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

TEST(Histogram, AnEmptyOneHasNoQuantiles) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.at_quantile(0.99), 0ns);
  EXPECT_EQ(empty.max(), 0ns);
}

TEST(Histogram, QuantilesAgreeWithASortWithinATenthOfAPercent) {
  const std::vector<Distribution> shapes = {
      Distribution::log_normal(20ms, 900ms), Distribution::uniform(5ms, 40ms),
      Distribution::log_normal(300us, 2s),
      Distribution::quantiles({{0.0, 2ms}, {0.9, 3ms}, {0.9, 5s}, {1.0, 6s}})};
  for (const Distribution& shape : shapes) {
    Random random(17);
    Histogram histogram;
    std::vector<Duration> values;
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(shape.sample(random));
      histogram.record(values.back());
    }
    for (const double quantile : {0.0, 0.07, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0}) {
      const double exact = to_ms(exact_quantile(values, quantile));
      EXPECT_NEAR(to_ms(histogram.at_quantile(quantile)), exact, exact * 0.001 + 0.001)
          << "at " << quantile;
    }
  }
}

TEST(Histogram, AQuantileCountsWholeRanksWhateverTheRoundingOfTheProduct) {
  for (int percent = 1; percent <= 100; ++percent) {
    for (const int size : {100, 200, 700, 1000}) {
      Histogram histogram;
      for (int i = 1; i <= size; ++i)
        histogram.record(std::chrono::microseconds{i});
      ASSERT_EQ(histogram.at_quantile(percent / 100.0),
                std::chrono::microseconds{percent * size / 100})
          << percent << " % of " << size;
    }
  }
}

TEST(Histogram, QuantilesOneIsTheMaximumExactly) {
  Histogram histogram;
  histogram.record(1ms);
  histogram.record(123456789ns);
  EXPECT_EQ(histogram.max(), 123456789ns);
  EXPECT_EQ(histogram.at_quantile(1.0), 123456789ns);
}

TEST(Histogram, MergingLosesNothingWhicheverWayPartsCombine) {
  Random random(23);
  const Distribution shape = Distribution::log_normal(20ms, 2s);
  Histogram whole;
  std::vector<Histogram> parts(5);
  for (int i = 0; i < 10'000; ++i) {
    const Duration value = shape.sample(random);
    whole.record(value);
    parts[random.below(parts.size())].record(value);
  }
  Histogram forwards;
  for (const Histogram& part : parts)
    forwards.merge(part);
  Histogram backwards = parts.back();
  for (auto part = std::next(parts.rbegin()); part != parts.rend(); ++part)
    backwards.merge(*part);
  for (const Histogram& merged : {forwards, backwards}) {
    EXPECT_EQ(merged.count(), whole.count());
    EXPECT_EQ(merged.max(), whole.max());
    EXPECT_TRUE(std::equal(merged.counts().begin(), merged.counts().end(), whole.counts().begin(),
                           whole.counts().end()));
  }
}

TEST(Histogram, ACountRecordsAValueThatOften) {
  Histogram histogram;
  histogram.record(1ms, 99);
  histogram.record(1s, 1);
  histogram.record(5s, 0);
  EXPECT_EQ(histogram.count(), 100U);
  EXPECT_EQ(histogram.at_quantile(0.99), 1ms);
  EXPECT_EQ(histogram.max(), 1s);
}

TEST(Histogram, NegativeValuesCountAsZeroAndTheLongestAsOneHour) {
  Histogram histogram;
  histogram.record(-5ms);
  EXPECT_EQ(histogram.at_quantile(1.0), 0ns);
  histogram.record(3h);
  EXPECT_EQ(histogram.count(), 2U);
  EXPECT_NEAR(to_ms(histogram.at_quantile(1.0)), 3.6e6, 3.6e3);
}

// HdrHistogram's own layout: values below 2048 us each have an index; from there on, 1024 indices
// for each doubling.
TEST(Histogram, IndicesFollowHdrHistogramsLayout) {
  const auto index_of = [](Duration value) {
    Histogram histogram;
    histogram.record(value);
    return histogram.counts().size() - 1;
  };
  EXPECT_EQ(index_of(0us), 0U);
  EXPECT_EQ(index_of(1us), 1U);
  EXPECT_EQ(index_of(2047us), 2047U);
  EXPECT_EQ(index_of(2048us), 2048U);
  EXPECT_EQ(index_of(2049us), 2048U);
  EXPECT_EQ(index_of(4095us), 3071U);
  EXPECT_EQ(index_of(4096us), 3072U);
}

}  // namespace
}  // namespace gatedrill
