// A peer that moves bytes, but too slowly.
#include "gateway/policy/minimum_rate.hpp"

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"

namespace gatedrill::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds{100}};

MinimumRate rate_of(std::uint64_t bytes_per_second, Duration grace) {
  MinimumRate rate(MinimumRate::Config{bytes_per_second, grace});
  rate.turn(kStart, true);
  return rate;
}

TEST(MinimumRate, APeerThatMovesNothingHasItsGrace) {
  EXPECT_EQ(rate_of(100, seconds{5}).deadline(), kStart + seconds{5});
}

TEST(MinimumRate, EachByteBuysTheTimeThatItMayTake) {
  MinimumRate rate = rate_of(100, seconds{5});
  rate.on_bytes(kStart + seconds{4}, 200);  // 1 s left, and 2 s more
  EXPECT_EQ(rate.deadline(), kStart + seconds{7});
}

TEST(MinimumRate, AFastBeginningBuysNoSlowEnd) {
  MinimumRate rate = rate_of(100, seconds{5});
  rate.on_bytes(kStart + seconds{1}, 1'000'000'000'000);
  EXPECT_EQ(rate.deadline(), kStart + seconds{6});
}

TEST(MinimumRate, TimeThatIsNotThePeersTurnDoesNotCount) {
  MinimumRate rate = rate_of(100, seconds{5});
  rate.turn(kStart + seconds{2}, false);
  EXPECT_EQ(rate.deadline(), kNever);
  rate.turn(kStart + seconds{60}, true);
  EXPECT_EQ(rate.deadline(), kStart + seconds{63});
}

TEST(MinimumRate, ItIsNotItsTurnBeforeItIsSaidTo) {
  EXPECT_EQ(MinimumRate(MinimumRate::Config{}).deadline(), kNever);
}

TEST(MinimumRate, ZeroLetsAnyRateDo) {
  MinimumRate rate = rate_of(0, seconds{5});
  EXPECT_EQ(rate.deadline(), kNever);
  rate.on_bytes(kStart + seconds{60}, 1);
  EXPECT_EQ(rate.deadline(), kNever);
}

TEST(MinimumRate, TheTimeMayGoBackALittle) {
  MinimumRate rate = rate_of(100, seconds{5});
  rate.on_bytes(kStart + seconds{2}, 0);
  rate.on_bytes(kStart + seconds{1}, 0);
  EXPECT_EQ(rate.deadline(), kStart + seconds{5});
}

// Whoever keeps the rate is never late; whoever moves less in any stretch of the grace's length and
// another one before it is late in the end.
TEST(MinimumRate, TheRateDividesThoseWhoPassFromThoseWhoDoNot) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t per_second = 10 + random.below(1000);
    MinimumRate rate = rate_of(per_second, seconds{3});
    const bool keeps_up = i % 2 == 0;
    TimePoint now = kStart;
    bool late = false;
    for (int step = 0; step < 400 && !late; ++step) {
      const Duration pause = milliseconds{1 + static_cast<std::int64_t>(random.below(200))};
      now += pause;
      late = now >= rate.deadline();
      const std::uint64_t due =
          per_second * static_cast<std::uint64_t>(pause.count()) / 1'000'000'000;
      rate.on_bytes(now, keeps_up ? due + 1 : due / 2);
    }
    EXPECT_EQ(late, !keeps_up) << per_second;
  }
}

}  // namespace
}  // namespace gatedrill::gateway
