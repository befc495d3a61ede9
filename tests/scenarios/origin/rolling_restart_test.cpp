#include "scenarios/origin/rolling_restart.hpp"

#include <chrono>
#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::scenarios {
namespace {

using namespace std::chrono_literals;

RollingRestart::Settings settings() {
  RollingRestart::Settings settings;
  settings.at = TimePoint{10s};
  settings.pause = 2s;
  return settings;
}

TEST(RollingRestart, StopsTheNextAPauseAfterTheOneBeforeIsReady) {
  RollingRestart restart(settings(), 3);
  EXPECT_EQ(restart.next_wakeup(), TimePoint{10s});
  EXPECT_FALSE(restart.stop_next(TimePoint{9s}));
  EXPECT_EQ(restart.stop_next(TimePoint{10s}), std::size_t{0});
  EXPECT_FALSE(restart.stop_next(TimePoint{10s}));
  EXPECT_EQ(restart.next_wakeup(), kNever);
  restart.on_ready(2, TimePoint{11s});
  EXPECT_EQ(restart.next_wakeup(), kNever) << "it waits for instance 0";
  restart.on_ready(0, TimePoint{15s});
  EXPECT_EQ(restart.next_wakeup(), TimePoint{17s});
  EXPECT_EQ(restart.stop_next(TimePoint{17s}), std::size_t{1});
  restart.on_ready(1, TimePoint{20s});
  EXPECT_EQ(restart.stop_next(TimePoint{22s}), std::size_t{2});
  EXPECT_FALSE(restart.done());
  restart.on_ready(2, TimePoint{30s});
  EXPECT_TRUE(restart.done());
  EXPECT_EQ(restart.next_wakeup(), kNever);
}

TEST(RollingRestart, HasNothingToDoWithoutInstances) {
  RollingRestart restart(settings(), 0);
  EXPECT_EQ(restart.next_wakeup(), kNever);
  EXPECT_TRUE(restart.done());
}

// Six models in virtual time: one is down at a time, and all end on the new version.
TEST(RollingRestart, TakesASetOfInstancesThroughOneByOne) {
  std::deque<OriginModel> instances;
  for (int i = 0; i < 6; ++i) {
    OriginConfig config;
    config.name = "shop-" + std::to_string(i + 1);
    config.versions = {{"v1", {}, {}}, {"v2", {}, {}}};
    instances.emplace_back(config);
  }
  RollingRestart::Settings plan = settings();
  plan.order = {.style = StopStyle::abrupt, .removal_wait = 1s, .start_time = 3s, .version = 1};
  RollingRestart restart(plan, instances.size());
  TimePoint now;
  int down_most = 0;
  while (!restart.done()) {
    TimePoint next = restart.next_wakeup();
    for (const OriginModel& each : instances)
      next = std::min(next, each.next_wakeup());
    ASSERT_NE(next, kNever);
    now = next;
    while (const auto index = restart.stop_next(now))
      instances[*index].stop(plan.order, now);
    int down = 0;
    for (std::size_t i = 0; i < instances.size(); ++i) {
      instances[i].wake(now);
      for (const OriginStep& step : instances[i].take_steps()) {
        const auto* change = std::get_if<ChangeState>(&step.body);
        if (change != nullptr && change->to == OriginState::ready) restart.on_ready(i, step.at);
      }
      down += instances[i].listening() ? 0 : 1;
    }
    down_most = std::max(down_most, down);
  }
  EXPECT_EQ(down_most, 1);
  EXPECT_EQ(now, TimePoint{10s + 6 * 4s + 5 * 2s});
  for (const OriginModel& each : instances)
    EXPECT_EQ(each.version().name, "v2");
}

}  // namespace
}  // namespace gatedrill::scenarios
