// HAProxy's counter, the intervals and the windows of the gateway reference 2.3.
#include "gateway/policy/health.hpp"

#include <gtest/gtest.h>

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint at(Duration since_start) {
  return TimePoint{since_start};
}

Health::Config config_of(int fall, int rise) {
  Health::Config config;
  config.enabled = true;
  config.fall = fall;
  config.rise = rise;
  config.jitter_percent = 0;
  return config;
}

TEST(Health, WithoutChecksAnEndpointIsUpAndNeverProbed) {
  const Health health(Health::Config{}, Random(1));
  EXPECT_TRUE(health.up());
  EXPECT_EQ(health.next_probe(), kNever);
}

TEST(Health, TheFirstProbeIsDueAtOnceAndItsFailureAloneIsEnough) {
  Health health(config_of(3, 2), Random(1));
  EXPECT_TRUE(health.up());
  EXPECT_EQ(health.next_probe(), at(0s));
  EXPECT_TRUE(health.on_probe_done(at(0s), false));
  EXPECT_FALSE(health.up());
}

TEST(Health, ACheckedEndpointFallsAfterFallFailuresInARow) {
  Health health(config_of(3, 2), Random(1));
  EXPECT_FALSE(health.on_probe_done(at(0s), true)) << "it was up already";
  EXPECT_FALSE(health.on_probe_done(at(1s), false));
  EXPECT_FALSE(health.on_probe_done(at(2s), false));
  EXPECT_FALSE(health.on_probe_done(at(3s), true)) << "one success fills the counter";
  EXPECT_FALSE(health.on_probe_done(at(4s), false));
  EXPECT_FALSE(health.on_probe_done(at(5s), false));
  EXPECT_TRUE(health.up());
  EXPECT_TRUE(health.on_probe_done(at(6s), false));
  EXPECT_FALSE(health.up());
}

TEST(Health, ADownEndpointRisesAfterRiseSuccessesInARow) {
  Health health(config_of(3, 2), Random(1));
  static_cast<void>(health.on_probe_done(at(0s), false));
  EXPECT_FALSE(health.on_probe_done(at(1s), true));
  EXPECT_FALSE(health.on_probe_done(at(2s), false)) << "back to the bottom";
  EXPECT_FALSE(health.on_probe_done(at(3s), true));
  EXPECT_TRUE(health.on_probe_done(at(4s), true));
  EXPECT_TRUE(health.up());
  EXPECT_FALSE(health.on_probe_done(at(5s), false)) << "risen to the full counter";
  EXPECT_FALSE(health.on_probe_done(at(6s), false));
  EXPECT_TRUE(health.up());
}

TEST(Health, TheIntervalIsFastOnlyBetweenFullyUpAndFullyDown) {
  Health health(config_of(3, 2), Random(1));
  const auto next_after = [&](bool success) {
    health.on_probe_started();
    EXPECT_EQ(health.next_probe(), kNever) << "one probe at a time";
    static_cast<void>(health.on_probe_done(at(100s), success));
    return health.next_probe() - at(100s);
  };
  EXPECT_EQ(next_after(true), 5s);   // fully up
  EXPECT_EQ(next_after(false), 1s);  // falling
  EXPECT_EQ(next_after(false), 1s);
  EXPECT_EQ(next_after(false), 5s);  // down
  EXPECT_EQ(next_after(true), 1s);   // rising
  EXPECT_EQ(next_after(true), 5s);   // fully up
}

TEST(Health, JitterSpreadsTheIntervalByItsShareAndRepeats) {
  Health::Config config = config_of(3, 2);
  config.jitter_percent = 10;
  Health health(config, Random(9));
  Health again(config, Random(9));
  Duration least = 1h;
  Duration most{0};
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(health.on_probe_done(at(0s), true));
    static_cast<void>(again.on_probe_done(at(0s), true));
    EXPECT_EQ(health.next_probe(), again.next_probe());
    const Duration interval = health.next_probe() - at(0s);
    least = std::min(least, interval);
    most = std::max(most, interval);
  }
  EXPECT_GE(least, 4500ms);
  EXPECT_LT(least, 4550ms);
  EXPECT_LE(most, 5500ms);
  EXPECT_GT(most, 5450ms);
}

// An endpoint that hangs: every probe ends at its timeout, the next follows after the interval.
// The time from the first probe that hangs to "down" is T * fall + I * (fall - 1).
TEST(Health, TheDetectionTimesOfTheReferenceTableHold) {
  struct Row {
    Duration interval;
    Duration timeout;
    int fall;
    int rise;
    Duration fail_window;
    Duration ok_window;
  };

  for (const Row& row :
       {Row{30s, 5s, 1, 2, 5s, 40s}, Row{10s, 2s, 3, 2, 26s, 14s}, Row{5s, 3s, 3, 3, 19s, 19s}}) {
    Health::Config config = config_of(row.fall, row.rise);
    config.interval = config.fast_interval = config.down_interval = row.interval;
    config.timeout = row.timeout;
    Health health(config, Random(1));
    static_cast<void>(health.on_probe_done(at(0s), true));
    const auto time_until_change = [&](bool success) {
      const TimePoint first = health.next_probe();
      TimePoint ended{};
      do {
        ended = health.next_probe() + config.timeout;
      } while (!health.on_probe_done(ended, success));
      return ended - first;
    };
    EXPECT_EQ(time_until_change(false), row.fail_window);
    EXPECT_EQ(time_until_change(true), row.ok_window);
  }
}

}  // namespace
}  // namespace gatedrill::gateway
