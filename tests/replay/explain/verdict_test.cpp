#include "replay/explain/verdict.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/explain/hops.hpp"

namespace gatedrill::replay::explain {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using tests::attempt;
using tests::chain_of;
using tests::HopMaker;
using tests::kGateway;
using tests::kRequestBytes;
using tests::kShop;

Hints hints_with(const std::string& timeout = {}) {
  Hints hints;
  if (!timeout.empty()) hints.timeouts.push_back(parse_timeout(timeout).value());
  const auto& usual = usual_timeouts();
  hints.timeouts.insert(hints.timeouts.end(), usual.begin(), usual.end());
  return hints;
}

Verdict verdict_of(const Chain& chain, const Hints& hints = hints_with()) {
  return judge(chain, tests::gateway_and_shop(), hints);
}

// Without any leg behind what was asked.
Verdict alone(const HopMaker& hop, const Hints& hints = hints_with()) {
  return judge(chain_of(hop), Topology(), hints);
}

HopMaker asked(int status, double ms) {
  return HopMaker(kGateway, 0).answered(status, ms);
}

TEST(Verdict, AGoodAnswerNeedsNone) {
  const Verdict verdict =
      verdict_of(chain_of(asked(200, 5), {HopMaker(kShop, 1).answered(200, 3)}));
  EXPECT_FALSE(verdict.worth_telling());
  EXPECT_EQ(verdict.answer, "200");
}

TEST(Verdict, WhatReachedAnUpstreamAfterTheAnswerDidNotCauseIt) {
  const Verdict verdict = verdict_of(chain_of(
      asked(504, 1000), {HopMaker(kShop, 1).client_fin(999),
                         HopMaker(kShop, 1020).kept(9, 5000).server_rst(0, std::nullopt)}));
  EXPECT_EQ(verdict.cause, Cause::response_timeout);
  EXPECT_EQ(verdict.certainty, Certainty::seen);
}

TEST(Verdict, AKeptConnectionThatTheUpstreamClosedWithoutTheRequestIsStale) {
  const Verdict verdict = verdict_of(
      chain_of(asked(502, 3),
               {HopMaker(kShop, 1).kept(9, 5000).server_fin(-0.1, 0).server_rst(1, std::nullopt)}));
  EXPECT_TRUE(verdict.failed);
  EXPECT_EQ(verdict.cause, Cause::stale_reuse);
  EXPECT_EQ(verdict.certainty, Certainty::seen);
  EXPECT_FALSE(verdict.may_have_run);
  EXPECT_THAT(verdict.why, HasSubstr("5.000 s after its last use"));
  EXPECT_THAT(verdict.why, HasSubstr("crossed"));
}

TEST(Verdict, AKeptConnectionThatWasCutAfterTheRequestMayHaveRunIt) {
  const Verdict verdict = verdict_of(
      chain_of(asked(502, 9), {HopMaker(kShop, 1).kept(9, 50).server_rst(5, kRequestBytes)}));
  EXPECT_EQ(verdict.cause, Cause::stale_reuse);
  EXPECT_TRUE(verdict.may_have_run);
}

TEST(Verdict, AFreshConnectionThatTheUpstreamClosedIsNotStale) {
  const Verdict verdict =
      verdict_of(chain_of(asked(502, 9), {HopMaker(kShop, 1).server_fin(5, kRequestBytes)}));
  EXPECT_EQ(verdict.cause, Cause::upstream_closed);
  EXPECT_EQ(verdict.certainty, Certainty::seen);
}

TEST(Verdict, OnAConnectionOlderThanTheCaptureStaleIsOnlyLikely) {
  const Verdict verdict = verdict_of(chain_of(
      asked(502, 9), {HopMaker(kShop, 1).older_than_the_capture().server_fin(5, kRequestBytes)}));
  EXPECT_EQ(verdict.cause, Cause::stale_reuse);
  EXPECT_EQ(verdict.certainty, Certainty::likely);
}

TEST(Verdict, AGatewayThatGaveUpAndAnswered504RanIntoItsTimeout) {
  const Verdict verdict = verdict_of(
      chain_of(asked(504, 1001), {HopMaker(kShop, 1).client_fin(1000)}), hints_with("route=1s"));
  EXPECT_EQ(verdict.cause, Cause::response_timeout);
  EXPECT_EQ(verdict.certainty, Certainty::seen);
  EXPECT_TRUE(verdict.may_have_run);
  EXPECT_THAT(verdict.why, HasSubstr("the timeout route of 1.000 s"));
}

TEST(Verdict, AnUpstreamThatAnswersAfterThe504WasTooSlow) {
  const Verdict verdict =
      verdict_of(chain_of(asked(504, 1000), {HopMaker(kShop, 1).answered(200, 3200)}));
  EXPECT_EQ(verdict.cause, Cause::response_timeout);
  EXPECT_THAT(verdict.why, HasSubstr("answered 200 2.201 s later"));
}

TEST(Verdict, AnUpstreamWhoseConnectionStaysOpenAfterThe504WasTooSlow) {
  const Verdict verdict = verdict_of(chain_of(asked(504, 1000), {HopMaker(kShop, 1)}));
  EXPECT_EQ(verdict.cause, Cause::response_timeout);
}

TEST(Verdict, WhatTheUpstreamAnsweredItselfIsNotTheGatewaysFault) {
  const Verdict verdict =
      verdict_of(chain_of(asked(503, 5), {HopMaker(kShop, 1).answered(503, 3)}));
  EXPECT_EQ(verdict.cause, Cause::upstream_status);
  EXPECT_EQ(verdict.certainty, Certainty::seen);
}

TEST(Verdict, A502ThatCameThroughTwoProxiesIsExplainedWhereItBegan) {
  Chain chain = chain_of(asked(502, 9), {HopMaker(kShop, 1).answered(502, 7)});
  chain.children.front().children.push_back(
      chain_of(HopMaker("10.0.2.7:9100", 2).kept(3, 4000).server_fin(0, 0)));
  chain.children.front().children.back().joined_by = KeyKind::request_id;
  const Verdict verdict = verdict_of(chain);
  EXPECT_EQ(verdict.cause, Cause::stale_reuse);
  EXPECT_THAT(verdict.why, HasSubstr("10.0.1.5:9001 itself answered 502"));
}

TEST(Verdict, AMalformedAnswerThatTheGatewayDidNotPassOnIsLikelyTheReason) {
  HopMaker malformed = HopMaker(kShop, 1).answered(200, 3);
  malformed.hop().answer_defects = "length_and_coding";
  const Verdict verdict = verdict_of(chain_of(asked(502, 5), {malformed}));
  EXPECT_EQ(verdict.cause, Cause::malformed_response);
  EXPECT_EQ(verdict.certainty, Certainty::likely);
}

TEST(Verdict, AGoodAnswerThatTheGatewayDidNotPassOnStaysOpen) {
  const Verdict verdict =
      verdict_of(chain_of(asked(502, 5), {HopMaker(kShop, 1).answered(200, 3)}));
  EXPECT_EQ(verdict.cause, std::nullopt);
  EXPECT_EQ(verdict.certainty, Certainty::open);
}

TEST(Verdict, ARefusedConnectionIsSeenAndAnUnansweredOneIsATimeout) {
  Chain refused = chain_of(asked(502, 3));
  refused.attempts.push_back(attempt(kShop, 1, "refused"));
  EXPECT_EQ(verdict_of(refused).cause, Cause::connect_refused);
  EXPECT_EQ(verdict_of(refused).certainty, Certainty::seen);
  Chain unanswered = chain_of(asked(504, 5000));
  unanswered.attempts.push_back(attempt(kShop, 1, "unanswered"));
  EXPECT_EQ(verdict_of(unanswered).cause, Cause::connect_timeout);
  EXPECT_THAT(verdict_of(unanswered).why, HasSubstr("did not answer 3 SYNs"));
}

TEST(Verdict, AnAttemptThatAnotherRequestMayHaveCausedIsOnlyLikely) {
  Chain chain = chain_of(asked(502, 3));
  chain.attempts.push_back(attempt(kShop, 1, "refused"));
  chain.attempts.back().rivals = 2;
  EXPECT_EQ(verdict_of(chain).certainty, Certainty::likely);
}

TEST(Verdict, AnAnswerAtOnceWithoutAnythingUpstreamIsTheGatewaysOwn) {
  const Verdict verdict = verdict_of(chain_of(asked(503, 0.4)));
  EXPECT_EQ(verdict.cause, std::nullopt);
  EXPECT_THAT(verdict.why, HasSubstr("no healthy upstream, an open breaker or a limit"));
}

TEST(Verdict, WithOneLegA504AtAUsualTimeoutIsLikely) {
  const Verdict verdict = alone(asked(504, 60'010));
  EXPECT_EQ(verdict.cause, Cause::response_timeout);
  EXPECT_EQ(verdict.certainty, Certainty::likely);
  EXPECT_THAT(verdict.why, HasSubstr("nginx proxy_read_timeout"));
  EXPECT_THAT(verdict.why, HasSubstr("the upstream leg is not in the recording"));
}

TEST(Verdict, WithOneLegA504AtNoKnownTimeoutStaysOpen) {
  EXPECT_EQ(alone(asked(504, 7300)).cause, std::nullopt);
}

TEST(Verdict, WithOneLegA502StaysOpenAndSaysWhatToCapture) {
  const Verdict verdict = alone(asked(502, 3));
  EXPECT_EQ(verdict.cause, std::nullopt);
  EXPECT_THAT(verdict.why, HasSubstr("capture between the gateway and the upstream"));
}

TEST(Verdict, OnTheUpstreamLegAloneWhatWouldBecomeA502IsExplained) {
  const Verdict verdict = alone(HopMaker(kShop, 0).kept(4, 3000).server_fin(0.1, 0));
  EXPECT_TRUE(verdict.failed);
  EXPECT_EQ(verdict.answer, "none");
  EXPECT_EQ(verdict.cause, Cause::stale_reuse);
}

TEST(Verdict, OnTheUpstreamLegAloneWhatWasGivenUpAtAGivenTimeoutIsLikelyA504) {
  const Verdict verdict = alone(HopMaker(kShop, 0).client_fin(1003), hints_with("1s"));
  EXPECT_EQ(verdict.answer, "gave up");
  EXPECT_EQ(verdict.cause, Cause::response_timeout);
  EXPECT_EQ(verdict.certainty, Certainty::likely);
  EXPECT_THAT(verdict.why, HasSubstr("a gateway answers 504 to that"));
}

TEST(Verdict, AClientThatLeavesWhileTheUpstreamWorksIsTheClientsAffair) {
  const Verdict verdict = verdict_of(
      chain_of(HopMaker(kGateway, 0).client_fin(800), {HopMaker(kShop, 1).client_fin(801)}));
  EXPECT_EQ(verdict.answer, "gave up");
  EXPECT_EQ(verdict.cause, Cause::client_closed);
  EXPECT_EQ(verdict.certainty, Certainty::seen);
}

TEST(Verdict, AnAnswerThatTheUpstreamCutIsTruncated) {
  const Verdict verdict = verdict_of(
      chain_of(HopMaker(kGateway, 0).answered(200, 9).answer_cut().server_rst(30, kRequestBytes),
               {HopMaker(kShop, 1).answered(200, 5).answer_cut().server_fin(25, kRequestBytes)}));
  EXPECT_EQ(verdict.answer, "200 cut");
  EXPECT_EQ(verdict.cause, Cause::body_truncated);
  EXPECT_THAT(verdict.signs, Contains(Sign::answer_cut));
}

TEST(Verdict, AStreamThatTheUpstreamResetIsNoClosedConnection) {
  const Verdict verdict = verdict_of(
      chain_of(asked(502, 9), {HopMaker(kShop, 1).kept(9, 50).stream_reset(3, "server")}));
  EXPECT_EQ(verdict.cause, Cause::stream_reset);
  EXPECT_EQ(verdict.certainty, Certainty::seen);
  EXPECT_THAT(verdict.why, HasSubstr("reset the stream without an answer, 3.00 ms after"));
  const Verdict cut =
      alone(HopMaker(kGateway, 0).answered(200, 1).answer_cut().stream_reset(3, "server"));
  EXPECT_TRUE(cut.failed);
  EXPECT_EQ(cut.cause, Cause::body_truncated);
  EXPECT_THAT(cut.why, HasSubstr("reset the stream inside its answer"));
}

TEST(Verdict, WhatIsNotHttpIsAMalformedAnswerWhoeverEndedTheConnection) {
  for (const bool by_server : {true, false}) {
    HopMaker below = HopMaker(kShop, 1).kept(9, 50).malformed(3);
    if (by_server) {
      below.server_fin(3.1, kRequestBytes);
    } else {
      below.client_fin(3.1);
    }
    const Verdict verdict = verdict_of(chain_of(asked(502, 5), {below}));
    EXPECT_EQ(verdict.cause, Cause::malformed_response);
    EXPECT_EQ(verdict.certainty, Certainty::seen);
    EXPECT_THAT(verdict.why, HasSubstr("after 3.00 ms with what is not HTTP"));
  }
  const Verdict late = verdict_of(chain_of(asked(504, 1000), {HopMaker(kShop, 1).malformed(2000)}));
  EXPECT_EQ(late.cause, Cause::response_timeout) << "it was answered before that";
  const Verdict passed_on = alone(HopMaker(kGateway, 0).malformed(3));
  EXPECT_TRUE(passed_on.failed);
  EXPECT_EQ(passed_on.answer, "not HTTP");
}

TEST(Verdict, AnAnswerThatTheGatewayBrokeOffTimedOutOnlyIfNothingCame) {
  const auto below = [](double ended_ms) {
    return HopMaker(kShop, 1).answered(200, 2).answer_cut().answer_until(4).client_fin(ended_ms);
  };
  HopMaker above = HopMaker(kGateway, 0).answered(200, 3).answer_cut().server_fin(1010, 0);
  const Verdict stalled = verdict_of(chain_of(above, {below(1004)}), hints_with("read=1s"));
  EXPECT_EQ(stalled.cause, Cause::body_idle_timeout);
  EXPECT_EQ(stalled.certainty, Certainty::likely);
  EXPECT_THAT(stalled.why, HasSubstr("1.000 s after the last of it, the timeout read of 1.000 s"));
  EXPECT_EQ(verdict_of(chain_of(above, {below(4.2)})).cause, std::nullopt);
  // What the upstream sends to a gateway that is gone was not waited for.
  const Verdict more =
      verdict_of(chain_of(above, {below(1004).answer_until(2000)}), hints_with("read=1s"));
  EXPECT_EQ(more.cause, Cause::body_idle_timeout);
  EXPECT_THAT(more.why, HasSubstr("1.002 s after it had begun, the timeout read of 1.000 s"));
  EXPECT_EQ(verdict_of(chain_of(above, {below(404).answer_until(2000)})).cause, std::nullopt);
  HopMaker framing = below(4.2);
  framing.malformed(4);
  EXPECT_EQ(verdict_of(chain_of(above, {framing})).cause, Cause::malformed_response);
}

TEST(Verdict, AKeptConnectionThatWasClosedLongAfterTheRequestIsOnlyLikelyStale) {
  const Verdict verdict = verdict_of(
      chain_of(asked(502, 409), {HopMaker(kShop, 1).kept(9, 50).server_rst(402, kRequestBytes)}));
  EXPECT_EQ(verdict.cause, Cause::stale_reuse);
  EXPECT_EQ(verdict.certainty, Certainty::likely);
  EXPECT_THAT(verdict.why, HasSubstr("may have failed at the request"));
}

// On one leg nobody can say whose patience it was.
TEST(Verdict, WaitsOfTheSameLengthAreTheirAskersTimeoutOfWhomIsOpen) {
  Hints hints = hints_with();
  std::vector<Duration> waits(12, from_ms(250));
  const auto cluster = cluster_of(waits);
  ASSERT_TRUE(cluster);
  hints.waits[kShop] = *cluster;
  const Verdict verdict = alone(HopMaker(kShop, 0).client_fin(250), hints);
  EXPECT_TRUE(verdict.failed);
  EXPECT_EQ(verdict.cause, std::nullopt);
  EXPECT_THAT(verdict.why, HasSubstr("or of its clients'"));
  EXPECT_EQ(alone(HopMaker(kShop, 0).client_fin(1000), hints).cause, Cause::response_timeout);
  EXPECT_EQ(alone(HopMaker(kShop, 0).client_fin(333), hints).cause, Cause::client_closed);
}

TEST(Verdict, AHoleOnTheUpstreamConnectionLeavesTheCauseOpen) {
  const Verdict verdict = verdict_of(
      chain_of(asked(502, 9), {HopMaker(kShop, 1).kept(3, 10).hole(400).server_fin(5, 0)}));
  EXPECT_EQ(verdict.cause, std::nullopt);
  EXPECT_EQ(verdict.certainty, Certainty::open);
  EXPECT_THAT(verdict.why, HasSubstr("the capture misses 400 bytes"));
}

TEST(Verdict, ARetryThatTheClientDidNotNoticeIsSuspicious) {
  const Verdict verdict =
      verdict_of(chain_of(asked(200, 30), {HopMaker(kShop, 1).kept(9, 5000).server_fin(0, 0),
                                           HopMaker(kShop, 3).answered(200, 20)}));
  EXPECT_FALSE(verdict.failed);
  EXPECT_THAT(verdict.signs, testing::ElementsAre(Sign::hidden_retry));
}

TEST(Verdict, APostThatReachedTheUpstreamTwiceIsSuspicious) {
  const auto twice = [](const std::string& method, const HopMaker& first) {
    HopMaker top = asked(200, 30);
    top.method(method);
    return verdict_of(chain_of(top, {first, HopMaker(kShop, 3).answered(200, 20)})).signs;
  };
  const HopMaker received = HopMaker(kShop, 1).kept(9, 50).server_rst(1, kRequestBytes);
  EXPECT_THAT(twice("POST", received), Contains(Sign::repeated_unsafe));
  EXPECT_THAT(twice("GET", received), Not(Contains(Sign::repeated_unsafe)));
  EXPECT_THAT(twice("POST", HopMaker(kShop, 1).kept(9, 50).server_fin(0, 0)),
              Not(Contains(Sign::repeated_unsafe)))
      << "the first never arrived";
}

TEST(Verdict, WhatIsAnsweredShortlyBeforeAGivenTimeoutIsSuspicious) {
  EXPECT_THAT(alone(asked(200, 850), hints_with("1s")).signs, Contains(Sign::near_timeout));
  EXPECT_THAT(alone(asked(200, 700), hints_with("1s")).signs, IsEmpty());
  EXPECT_THAT(alone(asked(200, 1200), hints_with("1s")).signs, IsEmpty()) << "it was not the limit";
  EXPECT_THAT(alone(asked(200, 14'000)).signs, Contains(Sign::near_timeout)) << "Envoy's 15 s";
}

TEST(Verdict, AWaitOfTheSameLengthAsManyThatFailedIsTheirDeadline) {
  Hints hints = hints_with();
  hints.waits[kGateway] = {.low = from_ms(2000), .high = from_ms(2050), .count = 40, .of = 41};
  EXPECT_THAT(verdict_of(chain_of(asked(200, 1900)), hints).signs, Contains(Sign::near_timeout));
  const Verdict verdict = alone(asked(504, 2010), hints);
  EXPECT_EQ(verdict.cause, Cause::response_timeout);
  EXPECT_THAT(verdict.why, HasSubstr("as 39 others did"));
}

TEST(Verdict, ARequestSentWhenTheServerWasAboutToCloseIsSuspicious) {
  Hints hints = hints_with();
  hints.keep_alive[kShop] = {.low = from_ms(5000), .high = from_ms(5010), .count = 9, .of = 10};
  const auto signs = [&](double idle) {
    return verdict_of(chain_of(asked(200, 5), {HopMaker(kShop, 1).kept(7, idle).answered(200, 3)}),
                      hints)
        .signs;
  };
  EXPECT_THAT(signs(4600), Contains(Sign::keep_alive_race));
  EXPECT_THAT(signs(3500), IsEmpty());
}

TEST(Verdict, RepeatedSynsAndDataAreSuspicious) {
  HopMaker slow = HopMaker(kShop, 1).answered(200, 3);
  slow.hop().connection.syns = 2;
  EXPECT_THAT(verdict_of(chain_of(asked(200, 5), {slow})).signs, Contains(Sign::slow_connect));
  HopMaker again = HopMaker(kShop, 1).answered(200, 3);
  again.hop().transport->retransmissions = 1;
  EXPECT_THAT(verdict_of(chain_of(asked(200, 5), {again})).signs, Contains(Sign::retransmitted));
}

TEST(Verdict, AClosedWindowIsSuspiciousWhereTheAnswerIsNotWhole) {
  const auto signs = [](HopMaker hop, std::uint32_t of_client, std::uint32_t of_server) {
    hop.hop().connection.client_side.zero_windows = of_client;
    hop.hop().connection.server_side.zero_windows = of_server;
    return alone(hop).signs;
  };
  const HopMaker cut = asked(200, 9).answer_cut().client_rst(40);
  EXPECT_THAT(signs(cut, 2, 0), Contains(Sign::window_closed));
  EXPECT_THAT(signs(cut, 0, 1), Contains(Sign::window_closed));
  EXPECT_THAT(signs(cut, 0, 0), Not(Contains(Sign::window_closed)));
  EXPECT_THAT(signs(asked(200, 9), 2, 1), IsEmpty()) << "it opened again";
}

TEST(Verdict, ARequestThatItsClientCutIsSuspiciousButHasNotFailed) {
  const Verdict verdict = alone(HopMaker(kGateway, 0).request_cut().client_fin(30));
  EXPECT_FALSE(verdict.failed);
  EXPECT_THAT(verdict.signs, Contains(Sign::request_cut));
  EXPECT_EQ(verdict.cause, Cause::client_closed);
}

// The client may meet the reset before it reads the answer.
TEST(Verdict, AnUploadThatTheServerAnsweredAndCutIsSuspicious) {
  const auto early = [] { return asked(413, 2).request_cut(); };
  const Verdict verdict = alone(early().server_fin(3, 90).server_rst(4, std::nullopt));
  EXPECT_FALSE(verdict.failed);
  EXPECT_THAT(verdict.signs, Contains(Sign::upload_cut));
  EXPECT_THAT(alone(early()).signs, IsEmpty()) << "it may go on";
  EXPECT_THAT(alone(early().hole(10).server_fin(3, 90)).signs, IsEmpty()) << "it may be whole";
  EXPECT_THAT(alone(asked(413, 2).server_fin(3, 90)).signs, IsEmpty());
}

TEST(Timeouts, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_timeout("1s")->after, from_ms(1000));
  EXPECT_EQ(parse_timeout("route=750ms")->after, from_ms(750));
  EXPECT_EQ(parse_timeout("route=750ms")->name, "route");
  EXPECT_EQ(parse_timeout("1m")->after, from_ms(60'000));
  for (const char* wrong : {"1", "", "s", "-1s", "1h", "route=", "1s "}) {
    EXPECT_FALSE(parse_timeout(wrong)) << wrong;
  }
}

TEST(Timeouts, AWaitMatchesWhatItEndsShortlyAfter) {
  const std::vector<Timeout> one = {{from_ms(1000), "one", true}};
  EXPECT_EQ(match(one, from_ms(980)), nullptr);
  EXPECT_NE(match(one, from_ms(999)), nullptr);
  EXPECT_NE(match(one, from_ms(1049)), nullptr);
  EXPECT_EQ(match(one, from_ms(1100)), nullptr);
}

TEST(Timeouts, ManyWaitsOfTheSameLengthAreACluster) {
  std::vector<Duration> waits;
  for (int i = 0; i < 10; ++i)
    waits.push_back(from_ms(1000 + i));
  for (int i = 0; i < 5; ++i)
    waits.push_back(from_ms(100 * (i + 1)));
  const auto cluster = cluster_of(waits);
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->count, 10U);
  EXPECT_EQ(cluster->of, 15U);
  EXPECT_EQ(cluster->low, from_ms(1000));
  EXPECT_EQ(cluster_of({from_ms(1), from_ms(1)}), std::nullopt) << "two are none";
  EXPECT_EQ(cluster_of({}), std::nullopt);
}

TEST(Timeouts, ASampleStaysBoundedAndEven) {
  Sample sample;
  for (int i = 0; i < 1'000'000; ++i)
    sample.add(from_ms(i));
  EXPECT_LE(sample.values().size(), 20'000U);
  EXPECT_GE(sample.values().size(), 5'000U);
  EXPECT_GT(sample.values().back(), from_ms(990'000));
}

}  // namespace
}  // namespace gatedrill::replay::explain
