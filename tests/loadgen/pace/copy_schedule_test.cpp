#include "loadgen/pace/copy_schedule.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::loadgen {
namespace {

using ::testing::ElementsAre;

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<CopySchedule::Due> all(const std::vector<Duration>& offsets, CopyTiming timing) {
  CopySchedule schedule(offsets, timing);
  std::vector<CopySchedule::Due> due;
  while (const auto next = schedule.next())
    due.push_back(*next);
  return due;
}

std::vector<double> times_ms(const std::vector<CopySchedule::Due>& due) {
  std::vector<double> times;
  for (const auto& send : due)
    times.push_back(to_ms(send.at - TimePoint{}));
  return times;
}

TEST(CopySchedule, PlaysARecordingOnceAtItsOwnOffsets) {
  const std::vector<Duration> offsets = {seconds{0}, milliseconds{30}, milliseconds{31}};
  EXPECT_THAT(times_ms(all(offsets, {})), ElementsAre(0, 30, 31));
}

TEST(CopySchedule, ScalesTheOffsetsByTheSpeed) {
  const std::vector<Duration> offsets = {seconds{0}, milliseconds{30}, seconds{1}};
  EXPECT_THAT(times_ms(all(offsets, {.speed = 2})), ElementsAre(0, 15, 500));
  EXPECT_THAT(times_ms(all(offsets, {.speed = 0.5})), ElementsAre(0, 60, 2000));
}

TEST(CopySchedule, EndsBeforeTheWindowDoes) {
  const std::vector<Duration> offsets = {seconds{0}, milliseconds{30}, milliseconds{31}};
  EXPECT_THAT(times_ms(all(offsets, {.duration = milliseconds{31}})), ElementsAre(0, 30));
}

TEST(CopySchedule, OneRequestComesAtTheRate) {
  const std::vector<Duration> offsets = {seconds{0}};
  const CopyTiming timing{.rate_per_second = 100, .duration = milliseconds{50}};
  EXPECT_THAT(times_ms(all(offsets, timing)), ElementsAre(0, 10, 20, 30, 40));
}

TEST(CopySchedule, RequestsOfOneMomentComeTogether) {
  const std::vector<Duration> offsets(3);
  const CopyTiming timing{.rate_per_second = 30, .duration = milliseconds{250}};
  EXPECT_THAT(times_ms(all(offsets, timing)), ElementsAre(0, 0, 0, 100, 100, 100, 200, 200, 200));
}

TEST(CopySchedule, OverlapsCopiesSoThatTheRateHoldsFromTheStart) {
  // 4 requests in 90 ms at 100/s: a copy each 40 ms, the first ones at -80 and -40 ms.
  const std::vector<Duration> offsets = {milliseconds{0}, milliseconds{10}, milliseconds{85},
                                         milliseconds{90}};
  const auto due = all(offsets, {.rate_per_second = 100, .duration = milliseconds{80}});
  EXPECT_THAT(times_ms(due), ElementsAre(0, 5, 10, 10, 40, 45, 50, 50));
  std::map<std::size_t, int> times;
  for (const auto& send : due)
    ++times[send.request];
  for (const auto& [request, count] : times)
    EXPECT_EQ(count, 2) << request;
  EXPECT_EQ(due[0].copy, 2U);
  EXPECT_EQ(due[1].copy, 0U);  // its last two requests only
}

TEST(CopySchedule, EveryPeriodHoldsEveryRequestOnce) {
  std::vector<Duration> offsets;
  for (int i = 0; i < 57; ++i)
    offsets.push_back(milliseconds{i * i * 7});
  const auto due = all(offsets, {.rate_per_second = 2000, .duration = seconds{3}});
  const double period_ms = 57.0 / 2000 * 1000;
  std::map<std::int64_t, std::map<std::size_t, int>> periods;
  for (const auto& send : due) {
    const auto period =
        static_cast<std::int64_t>((to_ms(send.at - TimePoint{}) + 1e-6) / period_ms);
    ++periods[period][send.request];
  }
  periods.erase(std::prev(periods.end()));  // cut by the window
  EXPECT_EQ(periods.size(), 105U);
  for (const auto& [period, requests] : periods) {
    EXPECT_EQ(requests.size(), 57U) << period;
  }
  EXPECT_NEAR(static_cast<double>(due.size()), 6000, 57);
}

TEST(CopySchedule, ComesInTheOrderOfTime) {
  std::vector<Duration> offsets;
  for (int i = 0; i < 200; ++i)
    offsets.push_back(microseconds{i * 12'345});
  TimePoint last;
  for (const auto& send : all(offsets, {.rate_per_second = 12'345, .duration = seconds{1}})) {
    ASSERT_GE(send.at, TimePoint{});
    ASSERT_LT(send.at, TimePoint{} + seconds{1});
    ASSERT_GE(send.at, last);
    last = send.at;
  }
}

TEST(CopySchedule, StretchesARecordingThatIsFasterThanTheRate) {
  const std::vector<Duration> offsets = {milliseconds{0}, milliseconds{1}, milliseconds{4}};
  const CopyTiming timing{.rate_per_second = 10, .duration = milliseconds{600}};
  EXPECT_THAT(times_ms(all(offsets, timing)), ElementsAre(0, 50, 200, 300, 350, 500));
  EXPECT_DOUBLE_EQ(CopySchedule(offsets, timing).stretch(), 50);
}

TEST(CopySchedule, ThousandsOfCopiesOverlapWithoutDrift) {
  // An hour of 10 requests at 100/s: 36,000 copies overlap.
  std::vector<Duration> offsets;
  for (int i = 0; i < 10; ++i)
    offsets.push_back(seconds{i * 400});
  CopySchedule schedule(offsets, {.rate_per_second = 100, .duration = seconds{60}});
  std::uint64_t count = 0;
  TimePoint last;
  while (const auto next = schedule.next()) {
    ++count;
    last = next->at;
  }
  EXPECT_EQ(count, 6000U);
  EXPECT_EQ(last, TimePoint{} + milliseconds{59'900});
}

TEST(CopySchedule, IsTheSameEachTime) {
  const std::vector<Duration> offsets = {milliseconds{0}, milliseconds{10}, milliseconds{90}};
  const CopyTiming timing{.speed = 1.3, .rate_per_second = 333, .duration = seconds{2}};
  const auto one = all(offsets, timing);
  const auto two = all(offsets, timing);
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].at, two[i].at);
    EXPECT_EQ(one[i].copy, two[i].copy);
    EXPECT_EQ(one[i].request, two[i].request);
  }
}

}  // namespace
}  // namespace gatedrill::loadgen
