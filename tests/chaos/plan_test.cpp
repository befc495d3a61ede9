#include "chaos/plan.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/fault/refuse.hpp"
#include "chaos/fault/reset_all.hpp"

namespace gatedrill::chaos {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PlacedFault placed(std::string name, Duration at, Duration until) {
  PlacedFault fault;
  fault.name = std::move(name);
  fault.fault = std::make_shared<Refuse>();
  fault.at = TimePoint{at};
  fault.until = TimePoint{until};
  return fault;
}

std::vector<std::string> active_names(const FaultPlan& plan, Duration now) {
  std::vector<std::string> names;
  for (const PlacedFault* fault : plan.active(TimePoint{now}))
    names.push_back(fault->name);
  return names;
}

TEST(FaultPlan, IsActiveFromItsBeginUpToItsEnd) {
  const FaultPlan plan = FaultPlan::make(1, {placed("a", 10s, 20s), placed("b", 15s, 30s)}).value();
  EXPECT_THAT(active_names(plan, 9999ms), ElementsAre());
  EXPECT_THAT(active_names(plan, 10s), ElementsAre("a"));
  EXPECT_THAT(active_names(plan, 15s), ElementsAre("a", "b"));
  EXPECT_THAT(active_names(plan, 20s), ElementsAre("b"));
  EXPECT_THAT(active_names(plan, 30s), ElementsAre());
}

TEST(FaultPlan, NamesItsNextChange) {
  const FaultPlan plan = FaultPlan::make(1, {placed("a", 10s, 20s), placed("b", 15s, 30s)}).value();
  EXPECT_EQ(plan.next_change(TimePoint{}), TimePoint{10s});
  EXPECT_EQ(plan.next_change(TimePoint{10s}), TimePoint{15s});
  EXPECT_EQ(plan.next_change(TimePoint{15s}), TimePoint{20s});
  EXPECT_EQ(plan.next_change(TimePoint{30s}), kNever);
}

TEST(FaultPlan, GivesEachWindowOnceAsTimePasses) {
  const FaultPlan plan = FaultPlan::make(1, {placed("a", 0s, 20s), placed("b", 15s, 30s)}).value();
  const auto first = plan.windows_begun(TimePoint::min(), TimePoint{});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(name_of(first[0].name), "a");
  EXPECT_EQ(name_of(first[0].kind), "refuse");
  EXPECT_EQ(name_of(first[0].target), "all");
  EXPECT_EQ(first[0].until, TimePoint{20s});
  EXPECT_TRUE(plan.windows_begun(TimePoint{}, TimePoint{14s}).empty());
  EXPECT_EQ(plan.windows_begun(TimePoint{14s}, TimePoint{15s}).size(), 1U);
  EXPECT_TRUE(plan.windows_begun(TimePoint{15s}, TimePoint{1h}).empty());
}

TEST(FaultPlan, RefusesWhatCannotBeMeant) {
  const auto twice = FaultPlan::make(1, {placed("a", 0s, 1s), placed("a", 2s, 3s)});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("'a' is there twice"));
  const auto empty = FaultPlan::make(1, {placed("a", 5s, 5s)});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("ends before it begins"));
  PlacedFault share = placed("a", 0s, 1s);
  share.share = 1.5;
  EXPECT_FALSE(FaultPlan::make(1, {share}));
}

TEST(FaultPlan, TargetsAllAnUpstreamOrAnEndpoint) {
  const LinkName link{"shop", "shop-1"};
  EXPECT_TRUE(covers({}, link));
  EXPECT_TRUE(covers({Target::Kind::upstream, "shop"}, link));
  EXPECT_FALSE(covers({Target::Kind::upstream, "shop-1"}, link));
  EXPECT_TRUE(covers({Target::Kind::endpoint, "shop-1"}, link));
  EXPECT_FALSE(covers({Target::Kind::endpoint, "shop-2"}, link));
}

TEST(RequestFilter, LetsProbesStayHealthy) {
  RequestFilter filter;
  filter.path_prefix_not = "/ready";
  RequestSight sight;
  sight.method = "GET";
  sight.target = "/ready?from=gateway";
  EXPECT_FALSE(filter.passes(sight));
  sight.target = "/cart";
  EXPECT_TRUE(filter.passes(sight));
  filter.methods = {"POST"};
  EXPECT_FALSE(filter.passes(sight));
  filter = {.methods = {}, .path_prefix = "/cart", .path_prefix_not = {}};
  EXPECT_TRUE(filter.passes(sight));
  sight.target = "/";
  EXPECT_FALSE(filter.passes(sight));
}

TEST(FaultRun, StopsHittingAtTheLimit) {
  PlacedFault limited = placed("a", 0s, 1s);
  limited.hits_max = 2;
  const FaultPlan plan = FaultPlan::make(1, {limited, placed("b", 0s, 1s)}).value();
  FaultRun run(plan);
  EXPECT_TRUE(run.take_hit(0));
  EXPECT_TRUE(run.take_hit(0));
  EXPECT_FALSE(run.take_hit(0));
  EXPECT_EQ(run.hits(0), 2U);
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(run.take_hit(1));
}

}  // namespace
}  // namespace gatedrill::chaos
