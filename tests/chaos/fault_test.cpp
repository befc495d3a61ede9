#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/fault/draw.hpp"
#include "chaos/fault/latency.hpp"
#include "chaos/fault/refuse.hpp"
#include "chaos/fault/reset_all.hpp"
#include "chaos/fault/reset_idle.hpp"
#include "chaos/fault/reset_on_request.hpp"
#include "chaos/fault/response_header.hpp"
#include "chaos/fault/sightings.hpp"

namespace gatedrill::chaos {
namespace {

using namespace std::chrono_literals;

RequestSight sight_of(std::string_view id, std::uint32_t attempt = 1) {
  RequestSight sight;
  sight.request_id = id;
  sight.attempt = attempt;
  return sight;
}

TEST(Draw, DependsOnSeedRuleRequestAttemptAndPurposeAndOnNothingElse) {
  const Draw draw(7, "storm");
  const double one = draw.of_request("shop-1", sight_of("r-1"), "share");
  EXPECT_EQ(one, Draw(7, "storm").of_request("shop-2", sight_of("r-1"), "share"))
      << "the link does not count where the request has an id";
  EXPECT_NE(one, Draw(8, "storm").of_request("shop-1", sight_of("r-1"), "share"));
  EXPECT_NE(one, Draw(7, "flood").of_request("shop-1", sight_of("r-1"), "share"));
  EXPECT_NE(one, draw.of_request("shop-1", sight_of("r-2"), "share"));
  EXPECT_NE(one, draw.of_request("shop-1", sight_of("r-1", 2), "share"));
  EXPECT_NE(one, draw.of_request("shop-1", sight_of("r-1"), "to_origin"));
}

TEST(Draw, KnowsARequestWithoutIdByLinkConnectionAndOrdinal) {
  const Draw draw(7, "storm");
  RequestSight sight;
  sight.connection = 3;
  sight.ordinal = 2;
  const double one = draw.of_request("shop-1", sight, "share");
  EXPECT_NE(one, draw.of_request("shop-2", sight, "share"));
  sight.ordinal = 3;
  EXPECT_NE(one, draw.of_request("shop-1", sight, "share"));
}

TEST(Draw, IsUniformEnoughToHitItsShare) {
  const Draw draw(1, "five percent");
  int hits = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string id = "r-" + std::to_string(i);
    if (draw.of_request("shop-1", sight_of(id), "share") < 0.05) ++hits;
  }
  // 1000 expected, standard deviation 31.
  EXPECT_NEAR(hits, 1000, 125);
}

TEST(ResetOnRequest, HitsTheRequestsItIsAboutAndNoOther) {
  struct Row {
    ResetOnRequest::Settings settings;
    std::uint32_t ordinal;
    Duration idle;
    bool hit;
    std::string_view why;
  };

  const std::vector<Row> rows = {
      {{}, 1, 0ms, false, "the first request of a connection is not a reuse"},
      {{}, 2, 0ms, true, "from the second on by default"},
      {{}, 900, 0ms, true, "without end"},
      {{.ordinal_min = 3, .ordinal_max = 3}, 2, 0ms, false, "exactly the third: not the second"},
      {{.ordinal_min = 3, .ordinal_max = 3}, 3, 0ms, true, "exactly the third"},
      {{.ordinal_min = 3, .ordinal_max = 3}, 4, 0ms, false, "exactly the third: not the fourth"},
      {{.idle_min = 50ms}, 2, 49ms, false, "not idle long enough"},
      {{.idle_min = 50ms}, 2, 50ms, true, "idle long enough"},
  };
  for (const Row& row : rows) {
    RequestSight sight;
    sight.ordinal = row.ordinal;
    sight.idle = row.idle;
    EXPECT_EQ(ResetOnRequest(row.settings).on_request(sight).has_value(), row.hit) << row.why;
  }
}

TEST(Latency, TakesEachDirectionFromItsOwnDistribution) {
  const Latency latency(
      {.to_origin = Distribution::fixed(3ms), .to_gateway = Distribution::uniform(10ms, 20ms)});
  EXPECT_EQ(latency.delay(Direction::to_origin, 0.9), 3ms);
  EXPECT_EQ(latency.delay(Direction::to_gateway, 0.0), 10ms);
  EXPECT_EQ(latency.delay(Direction::to_gateway, 0.5), 15ms);
}

TEST(ResponseHeader, MakesAFieldLineOfExactlyThatManyBytes) {
  for (const std::size_t bytes : {ResponseHeader::kBytesMin, std::size_t{100}, std::size_t{8192}}) {
    const std::string line = ResponseHeader::field_line(bytes);
    EXPECT_EQ(line.size(), bytes);
    EXPECT_TRUE(line.starts_with("x-padding: p"));
    EXPECT_TRUE(line.ends_with("p\r\n"));
  }
}

TEST(Fault, SaysItsKindShapeAndHowItIsSimulated) {
  const Refuse refuse;
  EXPECT_EQ(refuse.kind(), "refuse");
  EXPECT_TRUE(refuse.refuses());
  EXPECT_FALSE(refuse.resets_at_once());
  EXPECT_TRUE(ResetAll().resets_at_once());
  EXPECT_EQ(ResetIdle(5s).idle_limit(), Duration(5s));
  EXPECT_EQ(ResponseHeader(8192).shape(), FaultShape::message);
  EXPECT_EQ(ResponseHeader(8192).in_simulation(), InSimulation::outcome);
  EXPECT_EQ(Latency({}).shape(), FaultShape::bytes);
  EXPECT_EQ(to_string(ResetMoment::before_origin), "before_origin");
}

TEST(Sightings, CountsEachIdByItself) {
  Sightings sightings;
  EXPECT_EQ(sightings.see("a"), 1U);
  EXPECT_EQ(sightings.see("b"), 1U);
  EXPECT_EQ(sightings.see("a"), 2U);
  EXPECT_EQ(sightings.see(""), 1U);
  EXPECT_EQ(sightings.see(""), 1U) << "no id is nobody's second attempt";
}

TEST(Sightings, ForgetsTheOldestIdsFirst) {
  Sightings sightings(2);
  EXPECT_EQ(sightings.see("a"), 1U);
  EXPECT_EQ(sightings.see("b"), 1U);
  EXPECT_EQ(sightings.see("c"), 1U);
  EXPECT_EQ(sightings.see("b"), 2U);
  EXPECT_EQ(sightings.see("a"), 1U) << "a was forgotten for c";
}

}  // namespace
}  // namespace gatedrill::chaos
