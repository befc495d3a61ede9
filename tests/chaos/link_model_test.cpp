#include "chaos/link_model.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/fault/latency.hpp"
#include "chaos/fault/refuse.hpp"
#include "chaos/fault/reset_all.hpp"
#include "chaos/fault/reset_idle.hpp"
#include "chaos/fault/reset_on_request.hpp"
#include "chaos/fault/response_header.hpp"

namespace gatedrill::chaos {
namespace {

using namespace std::chrono_literals;

PlacedFault place(std::string name, FaultPointer fault, Duration at = 0s, Duration until = 1h) {
  PlacedFault placed;
  placed.name = std::move(name);
  placed.fault = std::move(fault);
  placed.at = TimePoint{at};
  placed.until = TimePoint{until};
  return placed;
}

struct World {
  explicit World(std::vector<PlacedFault> faults, std::uint64_t seed = 1)
      : plan(FaultPlan::make(seed, std::move(faults)).value()), run(plan) {}

  LinkModel link(std::string endpoint = "shop-1", Duration base = 2ms) {
    return LinkModel(
        {{"shop", std::move(endpoint)}, Distribution::fixed(base), Distribution::fixed(base)}, run);
  }

  FaultPlan plan;
  FaultRun run;
};

RequestSight request(std::string_view id, std::uint32_t ordinal = 1) {
  RequestSight sight;
  sight.request_id = id;
  sight.method = "GET";
  sight.target = "/cart";
  sight.connection = 1;
  sight.ordinal = ordinal;
  return sight;
}

TEST(LinkModel, HasItsBaseDelayWithoutAnyFault) {
  World world({});
  LinkModel link = world.link("shop-1", 3ms);
  const RequestVerdict verdict = link.on_request(TimePoint{}, request("r-1"));
  EXPECT_EQ(verdict.to_origin, 3ms);
  EXPECT_EQ(verdict.to_gateway, 3ms);
  EXPECT_FALSE(verdict.reset);
  EXPECT_TRUE(verdict.hits.empty());
  EXPECT_EQ(link.close_delay(TimePoint{}, Direction::to_gateway, 1), 3ms);
}

TEST(LinkModel, AddsLatenciesWhileTheyAreActive) {
  Latency::Settings settings{Distribution::fixed(10ms), Distribution::fixed(40ms)};
  World world({place("slow", std::make_shared<Latency>(settings), 1s, 2s)});
  LinkModel link = world.link();
  EXPECT_EQ(link.on_request(TimePoint{999ms}, request("r-1")).to_gateway, 2ms);
  const RequestVerdict verdict = link.on_request(TimePoint{1s}, request("r-2"));
  EXPECT_EQ(verdict.to_origin, 12ms);
  EXPECT_EQ(verdict.to_gateway, 42ms);
  ASSERT_EQ(verdict.hits.size(), 1U);
  EXPECT_EQ(verdict.hits[0].planned.view(), "+40.0ms to_gateway");
  EXPECT_EQ(link.close_delay(TimePoint{1s}, Direction::to_gateway, 1), 42ms);
  EXPECT_EQ(link.on_request(TimePoint{2s}, request("r-3")).to_gateway, 2ms);
}

TEST(LinkModel, ResetsTheRequestThatTheFaultIsAbout) {
  ResetOnRequest::Settings third{.ordinal_min = 3, .ordinal_max = 3};
  World world({place("rst", std::make_shared<ResetOnRequest>(third))});
  LinkModel link = world.link();
  EXPECT_FALSE(link.on_request(TimePoint{}, request("r-1", 2)).reset);
  const RequestVerdict verdict = link.on_request(TimePoint{}, request("r-2", 3));
  EXPECT_EQ(verdict.reset, ResetMoment::before_origin);
  ASSERT_EQ(verdict.hits.size(), 1U);
  EXPECT_EQ(verdict.hits[0].planned.view(), "RST on request 3 before_origin");
  EXPECT_EQ(name_of(verdict.hits[0].fault), "rst");
}

TEST(LinkModel, HitsTheSameRequestsInAnyOrderAndOnAnyLink) {
  const auto hit_ids = [](bool backwards) {
    PlacedFault some = place("rst", std::make_shared<ResetOnRequest>(ResetOnRequest::Settings{}));
    some.share = 0.2;
    World world({some});
    LinkModel one = world.link("shop-1");
    LinkModel two = world.link("shop-2");
    std::vector<std::string> ids;
    for (int i = 0; i < 500; ++i)
      ids.push_back("r-" + std::to_string(i));
    if (backwards) std::reverse(ids.begin(), ids.end());
    std::set<std::string> hit;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      LinkModel& link = i % 3 == 0 ? one : two;
      if (link.on_request(TimePoint{}, request(ids[i], 2)).reset) hit.insert(ids[i]);
    }
    return hit;
  };
  const std::set<std::string> hit = hit_ids(false);
  EXPECT_EQ(hit, hit_ids(true));
  EXPECT_NEAR(static_cast<double>(hit.size()), 100.0, 40.0);
}

TEST(LinkModel, RollsAgainForARetryBecauseItCountsSightings) {
  PlacedFault half = place("rst", std::make_shared<ResetOnRequest>(ResetOnRequest::Settings{}));
  half.share = 0.5;
  World world({half});
  LinkModel one = world.link("shop-1");
  LinkModel two = world.link("shop-2");
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string id = "r-" + std::to_string(i);
    const RequestVerdict first = one.on_request(TimePoint{}, request(id, 2));
    const RequestVerdict retry = two.on_request(TimePoint{}, request(id, 2));
    EXPECT_EQ(first.attempt, 1U);
    EXPECT_EQ(retry.attempt, 2U);
    if (first.reset.has_value() != retry.reset.has_value()) ++differ;
  }
  EXPECT_NEAR(differ, 100, 40);
}

TEST(LinkModel, RefusesWhileTheFaultIsActiveOrTheOriginIsDown) {
  World world({place("refuse", std::make_shared<Refuse>(), 1s, 2s)});
  LinkModel link = world.link();
  EXPECT_TRUE(link.accepts(TimePoint{}));
  EXPECT_FALSE(link.accepts(TimePoint{1s}));
  EXPECT_EQ(name_of(*link.refusing_fault(TimePoint{1s})), "refuse");
  EXPECT_EQ(link.next_change(TimePoint{1s}), TimePoint{2s});
  EXPECT_TRUE(link.accepts(TimePoint{2s}));
  link.set_origin_listening(false);
  EXPECT_FALSE(link.accepts(TimePoint{2s}));
  EXPECT_FALSE(link.refusing_fault(TimePoint{2s})) << "that is nobody's fault";
}

TEST(LinkModel, ResetsLiveConnectionsWhenResetAllBeginsAndNewOnesWhenAccepted) {
  World world({place("cut", std::make_shared<ResetAll>(), 5s, 6s)});
  LinkModel link = world.link();
  const auto due = link.reset_due(TimePoint{1s}, 1, std::nullopt);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->at, TimePoint{5s});
  EXPECT_FALSE(link.on_connect(TimePoint{4s}, 2).reset);
  EXPECT_TRUE(link.on_connect(TimePoint{5500ms}, 3).reset);
  EXPECT_FALSE(link.reset_due(TimePoint{5500ms}, 3, std::nullopt)) << "its beginning has passed";
}

TEST(LinkModel, ResetsIdleConnectionsOnceTheyAreIdleForLongEnoughInsideTheWindow) {
  World world({place("idle", std::make_shared<ResetIdle>(300ms), 1s, 2s)});
  LinkModel link = world.link();
  EXPECT_FALSE(link.reset_due(TimePoint{1s}, 1, std::nullopt)) << "a busy one is left alone";
  EXPECT_EQ(link.reset_due(TimePoint{1s}, 1, TimePoint{1100ms})->at, TimePoint{1400ms});
  EXPECT_EQ(link.reset_due(TimePoint{500ms}, 1, TimePoint{100ms})->at, TimePoint{1s})
      << "idle long before: as soon as the fault begins";
  EXPECT_FALSE(link.reset_due(TimePoint{1s}, 1, TimePoint{1800ms})) << "the fault ends before";
}

TEST(LinkModel, StopsAtTheLimitOfHits) {
  PlacedFault once = place("rst", std::make_shared<ResetOnRequest>(ResetOnRequest::Settings{}));
  once.hits_max = 1;
  World world({once});
  LinkModel link = world.link();
  EXPECT_TRUE(link.on_request(TimePoint{}, request("r-1", 2)).reset);
  EXPECT_FALSE(link.on_request(TimePoint{}, request("r-2", 2)).reset);
}

TEST(LinkModel, GrowsTheAnswersHead) {
  World world({place("fat", std::make_shared<ResponseHeader>(8192))});
  LinkModel link = world.link();
  const RequestVerdict verdict = link.on_request(TimePoint{}, request("r-1"));
  EXPECT_EQ(verdict.head_growth, 8192U);
  ASSERT_EQ(verdict.hits.size(), 1U);
  EXPECT_EQ(verdict.hits[0].planned.view(), "answer head +8192 bytes");
}

TEST(LinkModel, LeavesOtherLinksAndFilteredRequestsAlone) {
  PlacedFault rst = place("rst", std::make_shared<ResetOnRequest>(ResetOnRequest::Settings{}));
  rst.target = {Target::Kind::endpoint, "shop-1"};
  rst.requests.path_prefix_not = "/ready";
  World world({rst});
  LinkModel other = world.link("shop-2");
  EXPECT_FALSE(other.on_request(TimePoint{}, request("r-1", 2)).reset);
  LinkModel mine = world.link("shop-1");
  RequestSight probe = request("", 2);
  probe.target = "/ready";
  EXPECT_FALSE(mine.on_request(TimePoint{}, probe).reset);
  EXPECT_TRUE(mine.on_request(TimePoint{}, request("r-2", 2)).reset);
}

TEST(InOrder, NeverLetsALaterDeliveryOvertakeAnEarlierOne) {
  InOrder order;
  EXPECT_EQ(order.at(TimePoint{10ms}), TimePoint{10ms});
  EXPECT_EQ(order.at(TimePoint{5ms}), TimePoint{10ms});
  EXPECT_EQ(order.at(TimePoint{11ms}), TimePoint{11ms});
}

}  // namespace
}  // namespace gatedrill::chaos
