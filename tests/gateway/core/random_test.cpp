// The golden values were computed by an independent implementation of the published algorithms;
// they must never change, or every recorded seed would tell another story.
#include "gateway/core/random.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace gatedrill {
namespace {

std::vector<std::uint64_t> draw(Random random, int count) {
  std::vector<std::uint64_t> values;
  values.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    values.push_back(random.next());
  return values;
}

TEST(Random, ASeedGivesTheGoldenSequence) {
  EXPECT_EQ(draw(Random(42), 4),
            (std::vector<std::uint64_t>{0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1,
                                        0xecb8ad4703b360a1}));
  EXPECT_EQ(draw(Random(0), 2),
            (std::vector<std::uint64_t>{0x99ec5f36cb75f2b4, 0xbf6e1f784956452a}));
}

TEST(Random, AForkGivesTheGoldenSequence) {
  EXPECT_EQ(draw(Random(42).fork("endpoints"), 2),
            (std::vector<std::uint64_t>{0x86156ed3bfd9a87e, 0xba333d234b660446}));
  EXPECT_EQ(draw(Random(42).fork(7), 2),
            (std::vector<std::uint64_t>{0x6b5d51aada6787a3, 0x3c4d2160538bef8f}));
}

TEST(Random, UniformAndBelowGiveTheGoldenValues) {
  Random random(42);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.08386297105988216);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.3789802506626686);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.6800434110281394);
  Random again(42);
  for (const std::uint64_t expected : {2U, 2U, 9U, 3U, 6U, 4U, 4U, 7U, 8U, 5U})
    EXPECT_EQ(again.below(10), expected);
}

TEST(Random, AForkDoesNotDependOnWhatWasDrawnBefore) {
  Random used(7);
  for (int i = 0; i < 100; ++i)
    used.next();
  EXPECT_EQ(draw(used.fork("x"), 8), draw(Random(7).fork("x"), 8));
  EXPECT_NE(draw(used.fork("x"), 8), draw(used.fork("y"), 8));
}

TEST(Random, BelowIsUniformWithinStatisticalError) {
  Random random(1);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i)
    ++counts[random.below(7)];
  double chi_square = 0;
  for (const int count : counts)
    chi_square += std::pow(count - 10'000.0, 2) / 10'000.0;
  EXPECT_LT(chi_square, 22.46);  // 6 degrees of freedom, p = 0.001
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(3);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.015);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.02);
}

TEST(NormalQuantile, AgreesWithTheTables) {
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_quantile(0.99), 2.3263478740408408, 1e-8);
  EXPECT_NEAR(normal_quantile(0.999), 3.090232306167813, 1e-8);
  EXPECT_NEAR(normal_quantile(0.01), -2.3263478740408408, 1e-8);
  EXPECT_NEAR(normal_quantile(0.02), -2.0537489106318225, 1e-8);
  EXPECT_NEAR(normal_quantile(1e-6), -4.753424308822899, 1e-8);
}

TEST(StableHash, GivesTheGoldenValues) {
  EXPECT_EQ(stable_hash(""), 0xaebe53f85cdc3c4cU);
  EXPECT_EQ(stable_hash("a"), 0x66d7010a9a2ca88dU);
  EXPECT_EQ(stable_hash("GET /order/1"), 0x220478f039cf86e6U);
  EXPECT_EQ(stable_hash("a", 1), 0x7fa5f2e1d98c59d3U);
}

TEST(StableHash, SharesOfSimilarTextsAreEven) {
  int hit = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (stable_hash("request-" + std::to_string(i)) % 100 < 10) ++hit;
  }
  EXPECT_NEAR(hit, 1000, 100);
}

}  // namespace
}  // namespace gatedrill
