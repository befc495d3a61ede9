#include "gateway/policy/token_bucket.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint at(Duration since_start) {
  return TimePoint{since_start};
}

int take_all(TokenBucket& bucket, TimePoint now, int asked) {
  int admitted = 0;
  for (int i = 0; i < asked; ++i) {
    if (bucket.take(now).admitted) ++admitted;
  }
  return admitted;
}

TEST(TokenBucket, WithoutACountEverythingIsAdmitted) {
  TokenBucket bucket(TokenBucket::Config{});
  EXPECT_EQ(take_all(bucket, at(0s), 10'000), 10'000);
}

TEST(TokenBucket, ItStartsFullAndTheCapacityIsTheCountUnlessStated) {
  TokenBucket by_default({.count = 10});
  EXPECT_EQ(take_all(by_default, at(0s), 50), 10);
  TokenBucket stated({.count = 10, .capacity = 25});
  EXPECT_EQ(take_all(stated, at(0s), 50), 25);
}

TEST(TokenBucket, ATokenComesAtTheNanosecondItIsDue) {
  TokenBucket bucket({.count = 10, .capacity = 1});
  EXPECT_TRUE(bucket.take(at(0ms)).admitted);
  EXPECT_FALSE(bucket.take(at(100ms - 1ns)).admitted);
  EXPECT_TRUE(bucket.take(at(100ms)).admitted);
  EXPECT_FALSE(bucket.take(at(150ms)).admitted);
  EXPECT_TRUE(bucket.take(at(200ms)).admitted);
}

TEST(TokenBucket, RetryAfterIsWhenThereWillBeAToken) {
  for (const std::int64_t count : {1, 3, 7, 1000}) {
    TokenBucket bucket({.count = count, .capacity = 1});
    EXPECT_TRUE(bucket.take(at(1s)).admitted);
    const TokenBucket::Verdict rejected = bucket.take(at(1s));
    EXPECT_FALSE(rejected.admitted);
    TokenBucket early = bucket;
    EXPECT_FALSE(early.take(at(1s) + rejected.retry_after - 1ns).admitted) << count;
    EXPECT_TRUE(bucket.take(at(1s) + rejected.retry_after).admitted) << count;
  }
}

TEST(TokenBucket, NothingIsLostToRoundingInALongTime) {
  TokenBucket bucket({.count = 7, .period = 1s, .capacity = 7});
  std::int64_t admitted = 0;
  for (Duration now{0}; now < 1000s; now += 3ms + 1ns) {
    if (bucket.take(at(now)).admitted) ++admitted;
  }
  EXPECT_NEAR(static_cast<double>(admitted), 7 * 1000 + 7, 1);
}

TEST(TokenBucket, ALongPauseFillsItOnceOnly) {
  TokenBucket bucket({.count = 1'000'000, .capacity = 5});
  EXPECT_EQ(take_all(bucket, at(0s), 10), 5);
  EXPECT_EQ(take_all(bucket, at(std::chrono::hours{24 * 365 * 100}), 10), 5);
}

TEST(TokenBucket, ATimeThatGoesBackEarnsNothing) {
  TokenBucket bucket({.count = 1, .capacity = 1});
  EXPECT_TRUE(bucket.take(at(10s)).admitted);
  EXPECT_FALSE(bucket.take(at(3s)).admitted);
  EXPECT_FALSE(bucket.take(at(10s)).admitted);
  EXPECT_TRUE(bucket.take(at(11s)).admitted);
}

TEST(TokenBucket, LargeCountsOfLongPeriodsHold) {
  for (const auto& [count, period] : {std::pair<std::int64_t, Duration>{1'000'000, 24h},
                                      {1'000'003, 24h},
                                      {50'000'000, 1h},
                                      {1'000'000'000, 1s},
                                      {30'000'001, 24h * 30}}) {
    TokenBucket bucket({.count = count, .period = period, .capacity = count});
    for (int i = 0; i < 1000; ++i)
      ASSERT_TRUE(bucket.take(at(0s)).admitted) << count;
    TokenBucket small({.count = count, .period = period, .capacity = 1});
    EXPECT_TRUE(small.take(at(0s)).admitted);
    const double expected = static_cast<double>(period.count()) / static_cast<double>(count);
    EXPECT_NEAR(static_cast<double>(small.take(at(0s)).retry_after.count()), expected,
                expected * 1e-4 + 1.0)
        << count;
  }
}

// In every interval of length t at most capacity + rate * t are admitted, also when the clock of
// some caller lags behind.
TEST(TokenBucketProperty, AdmittedNeverExceedsCapacityPlusRateTimesTime) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const TokenBucket::Config config{.count = 1 + static_cast<std::int64_t>(random.below(200)),
                                     .period = std::chrono::milliseconds{1 + random.below(2000)},
                                     .capacity = 1 + static_cast<std::int64_t>(random.below(50))};
    TokenBucket bucket(config);
    std::vector<Duration> admitted;  // by the latest time seen
    Duration latest{0};
    Duration now{0};
    for (int i = 0; i < 2000; ++i) {
      now += std::chrono::microseconds{random.below(20'000)};
      if (random.chance(0.2)) now -= std::chrono::microseconds{random.below(60'000)};
      now = std::max(now, Duration{0});
      latest = std::max(latest, now);
      if (bucket.take(at(now)).admitted) admitted.push_back(latest);
    }
    for (std::size_t first = 0; first < admitted.size(); ++first) {
      for (std::size_t last = first; last < admitted.size(); ++last) {
        const double interval = to_ms(admitted[last] - admitted[first]);
        const double allowed = static_cast<double>(config.capacity) +
                               static_cast<double>(config.count) * interval / to_ms(config.period);
        ASSERT_LE(static_cast<double>(last - first + 1), allowed + 1e-6) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace gatedrill::gateway
