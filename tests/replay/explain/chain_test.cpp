#include "replay/explain/chain.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/explain/hops.hpp"

namespace gatedrill::replay::explain {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using tests::HopMaker;
using tests::kGateway;
using tests::kRequestBytes;
using tests::kShop;

constexpr const char* kOrigin = "10.0.2.7:9100";
constexpr const char* kOther = "10.0.1.6:9001";

// "gateway(shop(origin) shop)": who is under whom, by server.
std::string shape(const Chain& chain) {
  std::string text = chain.hop.server;
  if (chain.children.empty()) return text;
  text += "(";
  for (const Chain& child : chain.children) {
    if (text.back() != '(') text += " ";
    text += shape(child);
  }
  return text + ")";
}

int depth_of(const Chain& chain) {
  int deepest = 0;
  for (const Chain& child : chain.children)
    deepest = std::max(deepest, depth_of(child));
  return deepest + 1;
}

std::vector<Chain> join(std::vector<Hop> hops, const Topology& topology) {
  std::vector<Chain> chains;
  Joiner joiner(topology, [&](const Chain& chain) { chains.push_back(chain); });
  std::stable_sort(hops.begin(), hops.end(),
                   [](const Hop& a, const Hop& b) { return a.begin < b.begin; });
  for (Hop& hop : hops)
    joiner.add(std::move(hop));
  joiner.finish();
  return chains;
}

std::vector<std::string> shapes(const std::vector<Chain>& chains) {
  std::vector<std::string> all;
  for (const Chain& chain : chains)
    all.push_back(shape(chain));
  return all;
}

Topology learn(std::vector<Hop> hops) {
  TopologyLearner learner;
  std::stable_sort(hops.begin(), hops.end(),
                   [](const Hop& a, const Hop& b) { return a.begin < b.begin; });
  for (const Hop& hop : hops)
    learner.see(hop);
  return learner.learn();
}

// A request through gateway, shop and origin, `count` times, a second apart.
std::vector<Hop> three_legs(int count) {
  std::vector<Hop> hops;
  for (int i = 0; i < count; ++i) {
    const std::string id = "request-" + std::to_string(i);
    const double begin = i * 1000.0;
    hops.push_back(HopMaker(kGateway, begin).id(id).answered(200, 30).make());
    hops.push_back(HopMaker(kShop, begin + 1).id(id).answered(200, 25).make());
    hops.push_back(HopMaker(kOrigin, begin + 2).id(id).answered(200, 20).make());
  }
  return hops;
}

TEST(Topology, WhoEnclosesTheExchangesOfAServerCallsIt) {
  const Topology topology = learn(three_legs(3));
  EXPECT_FALSE(topology.is_callee(kGateway));
  EXPECT_TRUE(topology.calls(kGateway, kShop));
  EXPECT_TRUE(topology.calls(kShop, kOrigin));
  EXPECT_FALSE(topology.calls(kOrigin, kShop));
  EXPECT_TRUE(topology.has_callees(kShop));
}

TEST(Topology, AGatewayThatWasSentTheSameRequestsDoesNotCallTheOthersServer) {
  constexpr const char* kOtherGateway = "10.0.0.1:8081";
  std::vector<Hop> hops;
  for (int i = 0; i < 20; ++i) {
    const std::string id = "request-" + std::to_string(i);
    const double begin = i * 1000.0;
    // The other gateway's upstream is as often quicker as it is slower.
    const double other = i % 2 == 0 ? 20 : 50;
    hops.push_back(HopMaker(kOtherGateway, begin).id(id).answered(200, other).make());
    hops.push_back(HopMaker(kGateway, begin + 0.1).id(id).answered(200, 40).make());
    hops.push_back(HopMaker(kShop, begin + 0.2).id(id).answered(200, 35).make());
  }
  const Topology topology = learn(hops);
  EXPECT_TRUE(topology.calls(kGateway, kShop));
  EXPECT_FALSE(topology.calls(kOtherGateway, kShop));
}

TEST(Topology, ASlowGatewayThatEnclosesTheQuickOnesExchangesByChanceDoesNotCallItsServer) {
  constexpr const char* kSlowGateway = "10.0.0.1:8081";
  constexpr const char* kSlowShop = "10.0.1.9:9001";
  std::vector<Hop> hops;
  for (int i = 0; i < 50; ++i) {
    const std::string id = "request-" + std::to_string(i);
    const double begin = i * 1000.0;
    hops.push_back(HopMaker(kSlowGateway, begin + 0.2).id(id).answered(200, 500).make());
    hops.push_back(HopMaker(kSlowShop, begin + 0.3).id(id).answered(200, 490).make());
    // Either comes first, but what it calls comes after both.
    hops.push_back(
        HopMaker(kGateway, begin + (i % 2 == 0 ? 0 : 0.4)).id(id).answered(200, 40).make());
    hops.push_back(HopMaker(kShop, begin + 0.6).id(id).answered(200, 35).make());
    hops.push_back(HopMaker(kOrigin, begin + 0.8).id(id).answered(200, 30).make());
  }
  const Topology topology = learn(hops);
  EXPECT_FALSE(topology.calls(kSlowGateway, kShop));
  EXPECT_FALSE(topology.calls(kSlowGateway, kOrigin));
  EXPECT_TRUE(topology.calls(kGateway, kShop));
  EXPECT_TRUE(topology.calls(kShop, kOrigin));
  EXPECT_TRUE(topology.calls(kSlowGateway, kSlowShop));
}

TEST(Topology, OfTwoThatAreEquallyCloseTheOneThatAskedForAllOfItCalls) {
  constexpr const char* kOtherGateway = "10.0.0.1:8081";
  std::vector<Hop> hops;
  for (int i = 0; i < 40; ++i) {
    const std::string id = "request-" + std::to_string(i);
    const double begin = i * 1000.0;
    if (i % 4 != 0) {
      const double end = i % 2 == 0 ? 32 : 30;
      hops.push_back(HopMaker(kOtherGateway, begin).id(id).answered(200, end).make());
    }
    hops.push_back(HopMaker(kGateway, begin + 0.1).id(id).answered(200, 31).make());
    hops.push_back(HopMaker(kShop, begin + 0.2).id(id).answered(200, 29).make());
  }
  const Topology topology = learn(hops);
  EXPECT_TRUE(topology.calls(kGateway, kShop));
  EXPECT_FALSE(topology.calls(kOtherGateway, kShop));
}

TEST(Topology, WhoEnclosesWhatTheOthersDoNotCalls) {
  constexpr const char* kOtherGateway = "10.0.0.1:8081";
  std::vector<Hop> hops;
  for (int i = 0; i < 60; ++i) {
    const std::string id = "request-" + std::to_string(i);
    const double begin = i * 1000.0;
    // The other is nearly always first and nearly always closer.
    const double other = i % 30 == 7 ? 5 : (i % 3 == 0 ? -0.1 : 0.15);
    hops.push_back(HopMaker(kOtherGateway, begin + other).id(id).answered(200, 30.1).make());
    hops.push_back(HopMaker(kGateway, begin).id(id).answered(200, 33).make());
    hops.push_back(HopMaker(kShop, begin + 0.2).id(id).answered(200, 29).make());
  }
  const Topology topology = learn(hops);
  EXPECT_TRUE(topology.calls(kGateway, kShop));
  EXPECT_FALSE(topology.calls(kOtherGateway, kShop));
}

TEST(Topology, TwoGatewaysThatShareAServerBothCallIt) {
  constexpr const char* kOtherGateway = "10.0.0.2:8080";
  std::vector<Hop> hops;
  for (int i = 0; i < 10; ++i) {
    const std::string id = "request-" + std::to_string(i);
    hops.push_back(HopMaker(i % 2 == 0 ? kGateway : kOtherGateway, i * 1000.0)
                       .id(id)
                       .answered(200, 40)
                       .make());
    hops.push_back(HopMaker(kShop, i * 1000.0 + 1).id(id).answered(200, 35).make());
  }
  const Topology topology = learn(hops);
  EXPECT_TRUE(topology.calls(kGateway, kShop));
  EXPECT_TRUE(topology.calls(kOtherGateway, kShop));
}

TEST(Topology, WithoutIdsTheContentTells) {
  std::vector<Hop> hops;
  for (int i = 0; i < 5; ++i) {
    hops.push_back(HopMaker(kGateway, i * 1000.0).answered(200, 40).make());
    hops.push_back(HopMaker(kShop, i * 1000.0 + 1).answered(200, 35).make());
  }
  const Topology topology = learn(hops);
  ASSERT_NE(topology.callers_of(kShop), nullptr);
  EXPECT_EQ(topology.callers_of(kShop)->kind, KeyKind::content);
}

// The gateway makes the id itself, so its clients' requests have none.
TEST(Topology, WhereTheGatewayMakesTheIdTheContentTellsThatItCalls) {
  std::vector<Hop> hops;
  for (int i = 0; i < 3; ++i) {
    const std::string id = "request-" + std::to_string(i);
    const double begin = i * 1000.0;
    hops.push_back(HopMaker(kGateway, begin).answered(200, 30).make());
    hops.push_back(HopMaker(kShop, begin + 1).id(id).answered(200, 25).make());
    hops.push_back(HopMaker(kOrigin, begin + 2).id(id).answered(200, 20).make());
  }
  const Topology topology = learn(hops);
  EXPECT_TRUE(topology.calls(kGateway, kShop));
  EXPECT_TRUE(topology.calls(kShop, kOrigin));
  EXPECT_FALSE(topology.is_callee(kGateway));
}

TEST(Topology, GatewaysThatAreKnownByIdsAreNotSaidToCallEachOtherByContent) {
  constexpr const char* kOtherGateway = "10.0.0.1:8081";
  std::vector<Hop> hops;
  for (int i = 0; i < 40; ++i) {
    const std::string id = "request-" + std::to_string(i);
    const double begin = i * 10.0;  // while the last ones are still waiting
    hops.push_back(HopMaker(kGateway, begin).id(id).answered(200, 50).make());
    hops.push_back(HopMaker(kOtherGateway, begin + 1).id(id).answered(200, 90).make());
  }
  const Topology topology = learn(hops);
  EXPECT_FALSE(topology.is_callee(kGateway));
}

TEST(Joiner, PutsEachExchangeUnderTheInnermostThatEnclosesIt) {
  const auto hops = three_legs(2);
  const auto chains = join(hops, learn(hops));
  const std::string whole = std::string(kGateway) + "(" + kShop + "(" + kOrigin + "))";
  EXPECT_THAT(shapes(chains), ElementsAre(whole, whole));
  EXPECT_EQ(chains[0].children.front().joined_by, KeyKind::request_id);
  EXPECT_EQ(chains[0].children.front().rivals, 0);
}

TEST(Joiner, ARetryStandsBesideTheAttemptBefore) {
  const std::vector<Hop> hops = {
      HopMaker(kGateway, 0).id("request-1").answered(200, 60).make(),
      HopMaker(kShop, 1).id("request-1").kept(4, 900).server_rst(2, 0).make(),
      HopMaker(kShop, 5).id("request-1").answered(200, 50).make()};
  const auto chains = join(hops, tests::gateway_and_shop());
  ASSERT_THAT(chains, SizeIs(1));
  EXPECT_THAT(chains[0].children, SizeIs(2));
}

TEST(Joiner, WhatTheUpstreamDoesAfterTheGatewayAnsweredBelongsToItStill) {
  const std::vector<Hop> hops = {HopMaker(kGateway, 0).id("request-1").answered(504, 1000).make(),
                                 HopMaker(kShop, 1).id("request-1").answered(200, 3000).make(),
                                 HopMaker(kGateway, 1500).id("request-2").answered(200, 10).make()};
  const auto chains = join(hops, tests::gateway_and_shop());
  EXPECT_THAT(shapes(chains),
              UnorderedElementsAre(std::string(kGateway) + "(" + kShop + ")", kGateway));
}

// The gateway gave up on the relay, which passed the request on all the same.
std::vector<Hop> passed_on_late(int number, double late_ms) {
  const std::string id = "request-" + std::to_string(number);
  const double begin = number * 2000.0;
  return {HopMaker(kGateway, begin).id(id).answered(504, 1000).make(),
          HopMaker(kShop, begin + 1).id(id).kept(4, 900).server_fin(2, kRequestBytes).make(),
          HopMaker(kOrigin, begin + 3 + late_ms).id(id).kept(4, 900).server_rst(0, 0).make(),
          HopMaker(kOther, begin + 4).id(id).client_fin(996).make()};
}

TEST(Topology, ARelayThatPassesOnLateCallsItsServerAllTheSame) {
  std::vector<Hop> hops = three_legs(3);
  for (Hop& hop : passed_on_late(2, 20))
    hops.push_back(std::move(hop));
  const Topology topology = learn(hops);
  EXPECT_TRUE(topology.calls(kShop, kOrigin));
  EXPECT_TRUE(topology.calls(kGateway, kShop));
}

TEST(Topology, ARelayIsCloserThanWhoAsksItThoughTheLateAnswersPassItAlone) {
  std::vector<Hop> hops;
  for (int i = 0; i < 20; ++i) {
    const std::string id = "request-" + std::to_string(i);
    const double begin = i * 1000.0;
    const bool late = i % 2 == 0;  // the gateway has given up, and the relay is slow to pass it on
    hops.push_back(HopMaker(kGateway, begin).id(id).answered(late ? 504 : 200, 100).make());
    hops.push_back(HopMaker(kShop, begin + 1).id(id).answered(200, late ? 300 : 98).make());
    hops.push_back(HopMaker(kOrigin, begin + 6).id(id).answered(200, late ? 200 : 88).make());
  }
  const Topology topology = learn(hops);
  EXPECT_TRUE(topology.calls(kShop, kOrigin));
  EXPECT_TRUE(topology.calls(kGateway, kShop));
}

TEST(Joiner, WhatARelayPassesOnAfterItsClientHasGoneStandsUnderTheRelay) {
  Topology topology;
  topology.set(kShop, {.kind = KeyKind::request_id, .servers = {kGateway}});
  topology.set(kOther, {.kind = KeyKind::request_id, .servers = {kGateway}});
  topology.set(kOrigin, {.kind = KeyKind::request_id, .servers = {kShop, kGateway}});
  const std::string relayed = std::string(kShop) + "(" + kOrigin + ")";
  EXPECT_THAT(shapes(join(passed_on_late(0, 20), topology)),
              ElementsAre(std::string(kGateway) + "(" + relayed + " " + kOther + ")"));
  EXPECT_THAT(
      shapes(join(passed_on_late(0, 200), topology)),
      ElementsAre(std::string(kGateway) + "(" + kShop + " " + kOther + " " + kOrigin + ")"));
}

TEST(Joiner, WhatComesAfterTheAnswerIsNotTheLastThatWasDoneForIt) {
  const std::vector<Hop> hops = {
      HopMaker(kGateway, 0).id("request-1").answered(504, 1000).make(),
      HopMaker(kShop, 1).id("request-1").client_fin(999).make(),
      HopMaker(kShop, 1020).id("request-1").kept(4, 900).server_rst(0, 0).make()};
  const auto chains = join(hops, tests::gateway_and_shop());
  ASSERT_THAT(chains, SizeIs(1));
  ASSERT_THAT(chains[0].children, SizeIs(2));
  EXPECT_EQ(chains[0].last_child(), &chains[0].children.front());
}

TEST(Joiner, AnIdThatComesAgainLaterIsAnotherRequest) {
  const std::vector<Hop> hops = {HopMaker(kGateway, 0).id("request-1").answered(200, 10).make(),
                                 HopMaker(kShop, 1).id("request-1").answered(200, 5).make(),
                                 HopMaker(kGateway, 500).id("request-1").answered(200, 10).make(),
                                 HopMaker(kShop, 501).id("request-1").answered(200, 5).make()};
  const std::string pair = std::string(kGateway) + "(" + kShop + ")";
  EXPECT_THAT(shapes(join(hops, tests::gateway_and_shop())), ElementsAre(pair, pair));
}

TEST(Joiner, RequestsThatAreAlikeAreJoinedInTurnAndSaidToBeDoubtful) {
  Topology topology;
  topology.set(kShop, {.kind = KeyKind::content, .servers = {kGateway}});
  const std::vector<Hop> hops = {HopMaker(kGateway, 0).answered(200, 50).make(),
                                 HopMaker(kGateway, 1).answered(200, 50).make(),
                                 HopMaker(kShop, 2).answered(200, 40).make(),
                                 HopMaker(kShop, 3).answered(200, 40).make()};
  const auto chains = join(hops, topology);
  const std::string pair = std::string(kGateway) + "(" + kShop + ")";
  EXPECT_THAT(shapes(chains), ElementsAre(pair, pair));
  EXPECT_EQ(chains[0].children.front().joined_by, KeyKind::content);
  EXPECT_EQ(chains[0].children.front().rivals, 1);
}

TEST(Joiner, OfRequestsThatAreAlikeTheOneThatPassedTheAnswerOnMadeIt) {
  Topology topology;
  topology.set(kShop, {.kind = KeyKind::content, .servers = {kGateway}});
  const std::vector<Hop> hops = {HopMaker(kGateway, 0).answered(200, 50).make(),
                                 HopMaker(kGateway, 1).answered(503, 44).make(),
                                 HopMaker(kShop, 2).answered(503, 40).make(),
                                 HopMaker(kShop, 3).answered(200, 40).make()};
  const auto chains = join(hops, topology);
  ASSERT_THAT(chains, SizeIs(2));
  for (const Chain& chain : chains) {
    ASSERT_THAT(chain.children, SizeIs(1));
    EXPECT_EQ(chain.children.front().hop.status, chain.hop.status);
  }
}

TEST(Joiner, AWeakerKeyIsNotBelievedWhereIdsAreUsed) {
  const std::vector<Hop> hops = {HopMaker(kGateway, 0).id("request-1").answered(200, 50).make(),
                                 HopMaker(kShop, 2).id("request-9").answered(200, 40).make()};
  EXPECT_THAT(shapes(join(hops, tests::gateway_and_shop())), ElementsAre(kShop, kGateway));
}

TEST(Joiner, AnAttemptInVainBelongsToTheRequestThatWaitsForIt) {
  const Topology topology = tests::gateway_and_shop();
  std::vector<Chain> chains;
  Joiner joiner(topology, [&](const Chain& chain) { chains.push_back(chain); });
  joiner.add(HopMaker(kGateway, 0).id("request-1").answered(502, 3).make());
  joiner.add(tests::attempt(kShop, 1, "refused"));
  joiner.add(HopMaker(kGateway, 100).id("request-2").answered(200, 3).make());
  joiner.add(tests::attempt(kShop, 500, "refused"));  // nobody waits then
  joiner.finish();
  ASSERT_THAT(chains, SizeIs(2));
  EXPECT_THAT(chains[0].attempts, SizeIs(1));
  EXPECT_THAT(chains[1].attempts, SizeIs(0));
}

TEST(Joiner, AnAttemptInVainBelongsToTheRequestThatFailedByItRatherThanToOneThatWentOn) {
  const Topology topology = tests::gateway_and_shop();
  std::vector<Chain> chains;
  Joiner joiner(topology, [&](const Chain& chain) { chains.push_back(chain); });
  joiner.add(HopMaker(kGateway, 0).id("request-1").answered(502, 0.5).make());
  joiner.add(HopMaker(kGateway, 0.2).id("request-2").answered(504, 1000).make());
  joiner.add(tests::attempt(kShop, 0.3, "refused"));
  joiner.add(HopMaker(kShop, 0.4).id("request-2").client_fin(999).make());
  joiner.finish();
  ASSERT_THAT(chains, SizeIs(2));
  EXPECT_THAT(chains[0].attempts, SizeIs(1));
  EXPECT_EQ(chains[0].attempts[0].rivals, 1);
  EXPECT_THAT(chains[1].attempts, SizeIs(0));
}

TEST(Joiner, AttemptsAtTheSameTimeAreSharedOut) {
  const Topology topology = tests::gateway_and_shop();
  std::vector<Chain> chains;
  Joiner joiner(topology, [&](const Chain& chain) { chains.push_back(chain); });
  joiner.add(HopMaker(kGateway, 0).id("request-1").answered(502, 9).make());
  joiner.add(HopMaker(kGateway, 1).id("request-2").answered(502, 9).make());
  joiner.add(tests::attempt(kShop, 2, "refused"));
  joiner.add(tests::attempt(kShop, 3, "refused"));
  joiner.finish();
  ASSERT_THAT(chains, SizeIs(2));
  EXPECT_THAT(chains[0].attempts, SizeIs(1));
  EXPECT_THAT(chains[1].attempts, SizeIs(1));
  EXPECT_EQ(chains[1].attempts[0].rivals, 1);
}

TEST(Joiner, OnOneLegARetryIsKnownByItsRequest) {
  const std::vector<Hop> hops = {
      HopMaker(kShop, 0).id("request-1").kept(4, 900).server_rst(2, 0).make(),
      HopMaker("10.0.1.6:9001", 5).id("request-1").answered(200, 50).make(),
      HopMaker(kShop, 40'000).id("request-1").answered(200, 50).make()};
  const auto chains = join(hops, Topology());
  ASSERT_THAT(chains, SizeIs(3));
  EXPECT_EQ(chains[0].repeats, std::nullopt);
  EXPECT_EQ(chains[1].repeats, chains[0].hop.id);
  EXPECT_EQ(chains[2].repeats, std::nullopt) << "that is another one";
}

TEST(Hop, ItsKeysAreInOrderWhateverTheOrderOfItsFields) {
  const Hop hop = HopMaker(kShop, 0).field("b3: 80f198ee56343ba8-1").id("request-1").make();
  ASSERT_THAT(hop.keys, SizeIs(3));
  EXPECT_EQ(hop.keys[0].kind, KeyKind::request_id);
  EXPECT_EQ(hop.keys[1].kind, KeyKind::trace);
  EXPECT_EQ(hop.keys[2].kind, KeyKind::content);
  EXPECT_EQ(hop.request_id, "request-1");
}

TEST(Joiner, AnotherIdIsAnotherRequestThoughItIsAlike) {
  const std::vector<Hop> hops = {
      HopMaker(kShop, 0).id("request-1").kept(4, 900).server_rst(2, 0).make(),
      HopMaker(kShop, 5).id("request-2").answered(200, 50).make()};
  EXPECT_EQ(join(hops, Topology()).back().repeats, std::nullopt);
}

TEST(Joiner, WhatAnotherGatewayIsSentRepeatsNothing) {
  constexpr const char* kOtherGateway = "10.0.0.1:8081";
  Topology topology = tests::gateway_and_shop();
  topology.set(kOther, {.kind = KeyKind::request_id, .servers = {kOtherGateway}});
  const auto second_at = [&](const std::string& server) {
    const std::vector<Hop> hops = {
        HopMaker(kGateway, 0).id("request-1").from("10.9.9.9:5000").answered(502, 1).make(),
        HopMaker(server, 5).id("request-1").from("10.9.9.9:5001").answered(200, 50).make()};
    return join(hops, topology).back().repeats.has_value();
  };
  EXPECT_FALSE(second_at(kOtherGateway));
  EXPECT_TRUE(second_at(kGateway));
}

struct TraceField {
  const char* first;   // of the client's request
  const char* second;  // and of the upstream's, whose span is another
};

class TracesTest : public testing::TestWithParam<TraceField> {};

TEST_P(TracesTest, JoinTheLegs) {
  std::vector<Hop> hops;
  for (int i = 0; i < 3; ++i) {
    const auto numbered = [i](std::string text) {
      const std::size_t at = text.find('#');
      return text.replace(at, 1, std::to_string(i));
    };
    const double begin = i * 1000.0;
    hops.push_back(
        HopMaker(kGateway, begin).field(numbered(GetParam().first)).answered(200, 30).make());
    hops.push_back(
        HopMaker(kShop, begin + 1).field(numbered(GetParam().second)).answered(200, 25).make());
  }
  const auto chains = join(hops, learn(hops));
  ASSERT_THAT(chains, SizeIs(3));
  for (const Chain& chain : chains) {
    ASSERT_THAT(chain.children, SizeIs(1));
    EXPECT_EQ(chain.children.front().joined_by, KeyKind::trace);
    EXPECT_EQ(chain.children.front().rivals, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fields,
    TracesTest,
    testing::Values(
        TraceField{"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e473#-00f067aa0ba902b7-01",
                   "Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e473#-53995c3f42cd8ad8-01"},
        TraceField{"b3: 80f198ee56343ba864fe8b2a57d3eff#-e457b5a2e4d86bd1-1",
                   "b3: 80f198ee56343ba864fe8b2a57d3eff#-05e3ac9a4f6e3b90-1-e457b5a2e4d86bd1"},
        TraceField{"x-b3-traceid: 463ac35c9f6413ad48485a3953bb612#",
                   "X-B3-TraceId: 463ac35c9f6413ad48485a3953bb612#"},
        TraceField{"uber-trace-id: 3a2fb4a1d1a96d3#:1:0:1",
                   "uber-trace-id: 3a2fb4a1d1a96d3#:2:1:1"},
        TraceField{"x-amzn-trace-id: Root=1-67891233-abcdef01234567891234567#;Sampled=1",
                   "x-amzn-trace-id: Self=1-1-2;Root=1-67891233-abcdef01234567891234567#"},
        TraceField{"x-cloud-trace-context: 105445aa7843bc8bf206b1200010000#/1;o=1",
                   "x-cloud-trace-context: 105445aa7843bc8bf206b1200010000#/2;o=1"},
        TraceField{"x-datadog-trace-id: 111764561112223#", "x-datadog-trace-id: 111764561112223#"},
        TraceField{"sw8: 1-TRACE#ID-U0VHTUVOVElE-3-a-b-c-d", "sw8: 1-TRACE#ID-T1RIRVI=-4-a-b-c-d"},
        TraceField{"x-trace-id: trace-#", "x-trace-id: trace-#"}));

TEST(Joiner, WithoutIdsARetryComesAtOnceFromTheSameClient) {
  const auto second = [](double ms, const std::string& client) {
    const std::vector<Hop> hops = {HopMaker(kShop, 0).kept(4, 900).server_rst(2, 0).make(),
                                   HopMaker(kShop, ms).from(client).answered(200, 50).make()};
    return join(hops, Topology()).back().repeats.has_value();
  };
  EXPECT_TRUE(second(5, "10.0.0.1:41001"));
  EXPECT_FALSE(second(3000, "10.0.0.1:41001"));
  EXPECT_FALSE(second(5, "10.0.0.77:41001"));
}

// Which of the requests repeat another, by their places in the order of time.
std::vector<std::pair<std::size_t, std::size_t>> repeats_of(const std::vector<Hop>& hops) {
  const auto chains = join(hops, Topology());
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (chains[i].repeats == chains[j].hop.id) found.emplace_back(i, j);
    }
  }
  return found;
}

TEST(Joiner, OfARequestThatIsAskedAllTheTimeNobodySaysThatItRepeatsOneThatFailed) {
  std::vector<Hop> hops;
  for (int i = 0; i < 800; ++i)
    hops.push_back(HopMaker(kShop, i * 12).answered(i % 5 == 4 ? 503 : 200, 2).make());
  EXPECT_THAT(repeats_of(hops), ElementsAre());
}

TEST(Joiner, WhatWasAskedOftenWhenItFailedIsStillThatWhenItEndsMuchLater) {
  std::vector<Hop> hops;
  for (int i = 0; i < 5; ++i)
    hops.push_back(HopMaker(kShop, i * 2000).answered(200, 2).make());
  hops.push_back(HopMaker(kShop, 9000).server_fin(30'000, kRequestBytes).make());
  hops.push_back(HopMaker(kShop, 39'500).answered(200, 2).make());
  EXPECT_THAT(repeats_of(hops), ElementsAre());
}

TEST(Joiner, OfARequestThatIsPolledARetryIsKnownByComingAtOnce) {
  const std::vector<Hop> hops = {HopMaker(kShop, 0).answered(200, 2).make(),
                                 HopMaker(kShop, 5000).answered(200, 2).make(),
                                 HopMaker(kShop, 10'000).answered(503, 2).make(),
                                 HopMaker(kShop, 10'030).answered(200, 2).make(),
                                 HopMaker(kShop, 15'000).answered(503, 2).make(),
                                 HopMaker(kShop, 20'000).answered(200, 2).make()};
  EXPECT_THAT(repeats_of(hops), ElementsAre(std::pair(3U, 2U)));
}

TEST(Joiner, WithoutIdsAFailureIsRepeatedOnceAndARetryThatFailsIsRepeatedInTurn) {
  const std::vector<Hop> once = {HopMaker(kShop, 0).answered(503, 2).make(),
                                 HopMaker(kShop, 10).answered(200, 2).make(),
                                 HopMaker(kShop, 20).answered(200, 2).make()};
  EXPECT_THAT(repeats_of(once), ElementsAre(std::pair(1U, 0U)));
  const std::vector<Hop> in_turn = {HopMaker(kShop, 0).answered(503, 2).make(),
                                    HopMaker(kShop, 10).answered(503, 2).make(),
                                    HopMaker(kShop, 20).answered(200, 2).make()};
  EXPECT_THAT(repeats_of(in_turn), ElementsAre(std::pair(1U, 0U), std::pair(2U, 1U)));
}

TEST(Joiner, AnothersFailureDoesNotHideARetry) {
  const std::vector<Hop> hops = {HopMaker(kShop, 0).answered(503, 2).make(),
                                 HopMaker(kShop, 5).from("10.0.0.77:4000").answered(503, 2).make(),
                                 HopMaker(kShop, 10).answered(200, 2).make()};
  EXPECT_THAT(repeats_of(hops), ElementsAre(std::pair(2U, 0U)));
}

TEST(Joiner, AnIdTellsARetryOfARequestThatIsAskedAllTheTime) {
  std::vector<Hop> hops;
  for (int i = 0; i < 100; ++i)
    hops.push_back(HopMaker(kShop, i * 12).answered(200, 2).make());
  hops.push_back(HopMaker(kShop, 2000).id("request-1").answered(503, 2).make());
  hops.push_back(HopMaker(kShop, 2500).id("request-1").answered(200, 2).make());
  EXPECT_THAT(repeats_of(hops), ElementsAre(std::pair(101U, 100U)));
}

TEST(Joiner, HoldsOnlyWhatGoesOnAtOneTime) {
  const Topology topology = tests::gateway_and_shop();
  std::size_t told = 0;
  Joiner joiner(topology, [&](const Chain&) { ++told; });
  for (int i = 0; i < 10'000; ++i)
    joiner.add(HopMaker(kGateway, i).id("request-" + std::to_string(i)).answered(200, 2).make());
  // One begins each millisecond, and each is waited for until nothing more can be passed on.
  EXPECT_GE(told, 9'890U);
}

// Each shares an id with the next two, and none ends.
TEST(Joiner, IdsThatOneRequestLendsTheNextMakeNoEndlessChain) {
  std::vector<Hop> hops;
  for (int i = 0; i < 3000; ++i) {
    hops.push_back(HopMaker(i % 2 == 0 ? kGateway : kShop, i)
                       .from(i % 2 == 0 ? "10.0.1.5:41000" : "10.0.0.1:41000")
                       .field("X-Request-Id: id-" + std::to_string(i))
                       .field("X-Correlation-Id: id-" + std::to_string(i + 1))
                       .field("Request-Id: id-" + std::to_string(i + 2))
                       .make());
  }
  int deepest = 0;
  for (const Chain& chain : join(hops, learn(hops)))
    deepest = std::max(deepest, depth_of(chain));
  EXPECT_GT(deepest, 2);
  EXPECT_LE(deepest, 16);
}

}  // namespace
}  // namespace gatedrill::replay::explain
