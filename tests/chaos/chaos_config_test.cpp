#include "chaos/chaos_config.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::chaos {
namespace {

using namespace std::chrono_literals;
using gateway::YamlDocument;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> problems_of(std::string_view text, ChaosConfig& config) {
  YamlDocument document = YamlDocument::from_text(text, "chaos.yaml");
  document.read(config);
  std::vector<std::string> problems;
  for (const gateway::Problem& problem : document.problems())
    problems.push_back(to_string(problem));
  return problems;
}

TEST(ChaosConfig, ReadsLinksAndEveryKindOfFault) {
  ChaosConfig config;
  const auto problems = problems_of(
      "seed: 7\n"
      "links:\n"
      "  shop-1: {listen: 127.0.0.1:9101, to: 127.0.0.1:9001, upstream: shop, delay: 2ms}\n"
      "faults:\n"
      "  - {name: cut, at: 5s, for: 20s, kind: reset_on_request, request: 3, idle: 10ms,\n"
      "     moment: after_origin, share: 5%, hits_max: 9}\n"
      "  - {name: slow, target: {upstream: shop}, kind: latency, to_gateway: {p50: 40ms, p99: "
      "2s},\n"
      "     requests: {methods: [GET], path_prefix_not: /ready}}\n"
      "  - {name: idle, target: {endpoint: shop-1}, kind: reset_idle, after: 2s}\n"
      "  - {name: gone, kind: refuse}\n"
      "  - {name: all, target: all, kind: reset_all}\n"
      "  - {name: fat, kind: response_header, bytes: 16KiB}\n",
      config);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_EQ(config.links.size(), 1U);
  EXPECT_EQ(config.links[0].delay, Distribution::fixed(2ms));
  ASSERT_EQ(config.faults.size(), 6U);
  const PlacedFault& cut = config.faults[0];
  EXPECT_EQ(cut.at, TimePoint{5s});
  EXPECT_EQ(cut.until, TimePoint{25s});
  EXPECT_EQ(cut.share, 0.05);
  EXPECT_EQ(cut.hits_max, 9U);
  RequestSight third;
  third.ordinal = 3;
  third.idle = 10ms;
  EXPECT_EQ(cut.fault->on_request(third), ResetMoment::after_origin);
  EXPECT_EQ(config.faults[1].target.text(), "upstream shop");
  EXPECT_EQ(config.faults[1].until, kNever);
  EXPECT_EQ(config.faults[1].fault->delay(Direction::to_gateway, 0.5), 40ms);
  EXPECT_EQ(config.faults[2].fault->idle_limit(), Duration(2s));
  EXPECT_TRUE(config.faults[3].fault->refuses());
  EXPECT_TRUE(config.faults[4].fault->resets_at_once());
  EXPECT_EQ(config.faults[5].fault->head_growth(), 16384U);
}

TEST(ChaosConfig, SaysWhatIsWrongAndWhere) {
  ChaosConfig config;
  const auto problems = problems_of(
      "links:\n"
      "  shop-1: {listen: localhost:9101, to: 127.0.0.1:9001}\n"
      "faults:\n"
      "  - {name: a, kind: reset_onrequest}\n"
      "  - {name: b, kind: latency}\n"
      "  - {name: c, kind: response_header, bytes: 5}\n"
      "  - {name: d, kind: refuse, target: {endpoint: shop-2}}\n"
      "  - {name: e, kind: refuse, at: 1s, fro: 2s}\n",
      config);
  ASSERT_EQ(problems.size(), 6U);
  EXPECT_EQ(problems[0],
            "chaos.yaml:2:20: links.shop-1.listen: expected an IPv4 address and a port such as "
            "127.0.0.1:9101, got 'localhost:9101'");
  EXPECT_THAT(problems[1], ::testing::HasSubstr("did you mean reset_on_request?"));
  EXPECT_THAT(problems[2], ::testing::HasSubstr("needs to_origin or to_gateway"));
  EXPECT_THAT(problems[3], ::testing::HasSubstr("faults[2].bytes"));
  EXPECT_THAT(problems[4], ::testing::HasSubstr("no link is 'endpoint shop-2'"));
  EXPECT_THAT(problems[5], ::testing::HasSubstr("did you mean for?"));
}

TEST(ChaosConfig, RefusesTwoFaultsOfOneName) {
  ChaosConfig config;
  const auto problems = problems_of(
      "links: {a: {listen: 127.0.0.1:1, to: 127.0.0.1:2}}\n"
      "faults: [{name: x, kind: refuse}, {name: x, kind: reset_all}]\n",
      config);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0], ::testing::HasSubstr("fault 'x' is there twice"));
}

}  // namespace
}  // namespace gatedrill::chaos
