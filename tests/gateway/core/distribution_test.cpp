#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/distribution.hpp"

namespace gatedrill {
namespace {

using namespace std::chrono_literals;

TEST(Distribution, TheDefaultIsAlwaysZero) {
  const Distribution none;
  EXPECT_TRUE(none.is_zero());
  EXPECT_EQ(none.at(0.999), 0ns);
  EXPECT_FALSE(Distribution::fixed(1ns).is_zero());
}

TEST(Distribution, AFixedOneHasOneValue) {
  const Distribution fixed = Distribution::fixed(12ms);
  EXPECT_EQ(fixed.at(0.0), 12ms);
  EXPECT_EQ(fixed.at(1.0), 12ms);
}

TEST(Distribution, AUniformOneIsLinear) {
  const Distribution uniform = Distribution::uniform(10ms, 20ms);
  EXPECT_EQ(uniform.at(0.0), 10ms);
  EXPECT_EQ(uniform.at(0.25), 12500us);
  EXPECT_EQ(uniform.at(1.0), 20ms);
}

TEST(Distribution, TheP50AndP99OfALogNormalAreExact) {
  for (const Duration p50 : {Duration{1us}, Duration{7us}, Duration{1ms}, Duration{10ms},
                             Duration{123456789ns}, Duration{3s}, Duration{1h}}) {
    for (const int factor : {1, 2, 3, 7, 40}) {
      const Distribution latency = Distribution::log_normal(p50, p50 * factor);
      EXPECT_EQ(latency.at(0.5), p50);
      EXPECT_EQ(latency.at(0.99), p50 * factor);
    }
  }
}

TEST(Distribution, ALogNormalIsSymmetricInItsLogarithm) {
  const Distribution latency = Distribution::log_normal(100ms, 400ms);
  EXPECT_NEAR(to_ms(latency.at(0.01)), 25.0, 0.001);
}

TEST(Distribution, ALogNormalHasFiniteEnds) {
  const Distribution latency = Distribution::log_normal(10ms, 100ms);
  EXPECT_GE(latency.at(0.0), 0ns);
  EXPECT_LT(latency.at(0.0), 1ms);
  EXPECT_GT(latency.at(1.0), 100ms);
  EXPECT_LT(latency.at(1.0), 10min);
}

TEST(Distribution, AQuantileTableInterpolatesBetweenItsPoints) {
  const Distribution table =
      Distribution::quantiles({{0.5, 10ms}, {0.9, 50ms}, {0.99, 230ms}, {1.0, 1s}});
  EXPECT_EQ(table.at(0.5), 10ms);
  EXPECT_EQ(table.at(0.7), 30ms);
  EXPECT_EQ(table.at(0.9), 50ms);
  EXPECT_NEAR(to_ms(table.at(0.945)), 140.0, 1e-5);
  EXPECT_EQ(table.at(1.0), 1s);
}

TEST(Distribution, OutsideItsPointsAQuantileTableKeepsItsEnds) {
  const Distribution table = Distribution::quantiles({{0.5, 10ms}, {0.9, 50ms}});
  EXPECT_EQ(table.at(0.1), 10ms);
  EXPECT_EQ(table.at(0.95), 50ms);
  EXPECT_EQ(Distribution::quantiles({{0.5, 7ms}}).at(0.2), 7ms);
}

TEST(Distribution, AStepInAQuantileTableTakesTheUpperValueFromItsProbabilityOn) {
  const Distribution table =
      Distribution::quantiles({{0.0, 1ms}, {0.99, 1ms}, {0.99, 5s}, {1.0, 5s}});
  EXPECT_EQ(table.at(0.98), 1ms);
  EXPECT_EQ(table.at(0.99), 5s);
}

TEST(DistributionDeathTest, AQuantileTableMustAscendInBothColumns) {
  EXPECT_DEATH(static_cast<void>(Distribution::quantiles({{0.9, 1ms}, {0.5, 2ms}})), "");
  EXPECT_DEATH(static_cast<void>(Distribution::quantiles({{0.5, 2ms}, {0.9, 1ms}})), "");
  EXPECT_DEATH(static_cast<void>(Distribution::quantiles({})), "");
}

TEST(Distribution, AtNeverDescends) {
  const std::vector<Distribution> all = {
      Distribution::uniform(0ms, 3ms), Distribution::log_normal(1ms, 9ms),
      Distribution::quantiles({{0.1, 1ms}, {0.5, 1ms}, {0.9, 4ms}})};
  for (const Distribution& each : all) {
    for (int i = 1; i <= 10'000; ++i) {
      ASSERT_GE(each.at(i / 10'000.0), each.at((i - 1) / 10'000.0));
    }
  }
}

TEST(Distribution, ASampleIsRepeatableAndTakesOneDraw) {
  const Distribution latency = Distribution::log_normal(10ms, 100ms);
  Random first(5);
  Random second(5);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(latency.sample(first), latency.sample(second));
  const Distribution fixed = Distribution::fixed(1ms);
  static_cast<void>(fixed.sample(first));
  second.next();
  EXPECT_EQ(first.next(), second.next()) << "streams stay aligned whatever the kind";
}

TEST(Distribution, SamplesFallBelowAQuantileAsOftenAsItSays) {
  const Distribution latency = Distribution::log_normal(10ms, 100ms);
  Random random(11);
  int below = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (latency.sample(random) <= 100ms) ++below;
  }
  EXPECT_NEAR(below, 99'000, 200);
}

}  // namespace
}  // namespace gatedrill
