#include "replay/explain/outcome.hpp"

#include <gtest/gtest.h>

#include "tests/replay/explain/hops.hpp"

namespace gatedrill::replay::explain {
namespace {

using tests::HopMaker;
using tests::kRequestBytes;
using tests::kShop;

Outcome of(const HopMaker& maker) {
  return outcome_of(maker.make());
}

TEST(Outcome, AWholeAnswerIsAnswered) {
  const Outcome outcome = of(HopMaker(kShop, 0).answered(200, 12));
  EXPECT_EQ(outcome.fate, Fate::answered);
  EXPECT_EQ(outcome.waited, from_ms(12));
  EXPECT_EQ(outcome.reused, false);
}

TEST(Outcome, AnEndThatAcknowledgesNothingOfTheRequestWasSentWithoutIt) {
  const Outcome outcome =
      of(HopMaker(kShop, 0).kept(5, 4000).server_fin(0.2, 0).not_acknowledged());
  EXPECT_EQ(outcome.fate, Fate::closed_before_request);
  EXPECT_EQ(outcome.reused, true);
  EXPECT_EQ(outcome.end_before_request, from_ms(-0.2));
  EXPECT_FALSE(outcome.end_was_known);
  EXPECT_FALSE(outcome.by_reset);
}

TEST(Outcome, AnEndThatTheClientHadSeenWasSentWithoutTheRequestWhateverCameLater) {
  const Outcome outcome = of(
      HopMaker(kShop, 0).kept(5, 4000).server_fin(-3, 0).server_rst(0.1, std::nullopt).after_fin());
  EXPECT_EQ(outcome.fate, Fate::closed_before_request);
  EXPECT_TRUE(outcome.end_was_known);
  EXPECT_EQ(outcome.end_before_request, from_ms(3));
}

TEST(Outcome, AnEndThatAcknowledgesTheRequestWasSentWithIt) {
  EXPECT_EQ(of(HopMaker(kShop, 0).server_rst(8, kRequestBytes)).fate, Fate::closed_after_request);
  EXPECT_EQ(of(HopMaker(kShop, 0).server_fin(8, kRequestBytes)).fate, Fate::closed_after_request);
}

TEST(Outcome, AnEndInsideTheRequestHadAPartOfIt) {
  EXPECT_EQ(of(HopMaker(kShop, 0).server_fin(8, kRequestBytes / 2)).fate,
            Fate::closed_inside_request);
}

TEST(Outcome, AResetThatAcknowledgesNothingSaysNothingUnlessTheRequestWasAcknowledged) {
  EXPECT_EQ(of(HopMaker(kShop, 0).server_rst(8, std::nullopt).not_acknowledged()).fate,
            Fate::closed_unclear);
  EXPECT_EQ(of(HopMaker(kShop, 0).server_rst(8, std::nullopt)).fate, Fate::closed_after_request);
}

TEST(Outcome, WithoutWhatTcpShowedItStaysUnclear) {
  HopMaker maker = HopMaker(kShop, 0).server_fin(8, 0);
  maker.hop().transport.reset();
  EXPECT_EQ(of(maker).fate, Fate::closed_unclear);
}

TEST(Outcome, AClientThatEndsFirstGaveUp) {
  const Outcome outcome = of(HopMaker(kShop, 0).client_fin(1000));
  EXPECT_EQ(outcome.fate, Fate::abandoned);
  EXPECT_EQ(outcome.waited, from_ms(1000));
  EXPECT_EQ(of(HopMaker(kShop, 0).client_rst(900)).fate, Fate::abandoned);
}

TEST(Outcome, AnAnswerToAClientThatIsGoneComesTooLate) {
  const HopMaker late = HopMaker(kShop, 0).answered(200, 1500).client_fin(1000).client_rst(1500);
  EXPECT_EQ(of(late).fate, Fate::abandoned);
  EXPECT_EQ(of(late).waited, from_ms(1000));
}

TEST(Outcome, AClientThatOnlyEndsItsOwnSideTakesTheAnswer) {
  EXPECT_EQ(of(HopMaker(kShop, 0).answered(200, 1500).client_fin(20)).fate, Fate::answered);
}

TEST(Outcome, AClientThatEndsItsSideWithTheRequestHasNotLeftUnlessTheServerThinksSo) {
  EXPECT_EQ(of(HopMaker(kShop, 0).client_fin(0.1)).fate, Fate::unfinished);
  EXPECT_EQ(of(HopMaker(kShop, 0).client_fin(0.1).server_rst(5000, kRequestBytes)).fate,
            Fate::closed_after_request);
  const Outcome outcome = of(HopMaker(kShop, 0).client_fin(0.1).server_fin(0.6, kRequestBytes));
  EXPECT_EQ(outcome.fate, Fate::abandoned);
  EXPECT_EQ(outcome.waited, from_ms(0.1));
  EXPECT_EQ(of(HopMaker(kShop, 0).client_fin(0.1).answered(200, 5)).fate, Fate::answered);
  EXPECT_EQ(of(HopMaker(kShop, 0).client_fin(0.1).answered(200, 5).client_rst(5.1)).fate,
            Fate::abandoned)
      << "its system answers for a client that is gone";
}

TEST(Outcome, AClientThatEndsAtOnceInsideTheAnswerCutsIt) {
  EXPECT_EQ(of(HopMaker(kShop, 0).answered(200, 0.12).answer_cut().client_fin(0.14).server_fin(
                   100, kRequestBytes))
                .fate,
            Fate::cut_by_client);
}

TEST(Outcome, AStreamThatWasResetEndedThereWhateverItsConnectionDid) {
  const Outcome left = of(HopMaker(kShop, 0).stream_reset(250, "client").server_fin(3000, 500));
  EXPECT_EQ(left.fate, Fate::abandoned);
  EXPECT_EQ(left.waited, from_ms(250));
  EXPECT_TRUE(left.of_stream);
  const Outcome refused = of(HopMaker(kShop, 0).stream_reset(2, "server").client_fin(1));
  EXPECT_EQ(refused.fate, Fate::closed_after_request);
  EXPECT_TRUE(refused.of_stream);
  EXPECT_EQ(of(HopMaker(kShop, 0).request_cut().stream_reset(2, "server")).fate,
            Fate::closed_inside_request);
  EXPECT_EQ(of(HopMaker(kShop, 0).request_cut().stream_reset(2, "client")).fate, Fate::request_cut);
  EXPECT_EQ(
      of(HopMaker(kShop, 0).answered(200, 1).answer_cut().stream_reset(3, "server").client_fin(2))
          .fate,
      Fate::cut_by_server);
  EXPECT_FALSE(of(HopMaker(kShop, 0).answered(200, 1)).of_stream);
}

TEST(Outcome, AStreamEndsWithItsReset) {
  const Hop hop = HopMaker(kShop, 0).stream_reset(250, "client").server_fin(9000, 500).make();
  EXPECT_EQ(hop.end(), UnixTime{hop.begin.ns + from_ms(250).count()});
}

// What had left the server by then is in the capture, but nobody took it.
TEST(Outcome, WhatComesBehindTheClientsResetIsNoAnswer) {
  const auto late = [](double reset_ms) {
    return of(HopMaker(kShop, 0).answered(200, 5).answer_until(9).stream_reset(reset_ms, "client"))
        .fate;
  };
  EXPECT_EQ(late(4), Fate::abandoned);
  EXPECT_EQ(late(7), Fate::cut_by_client);
  EXPECT_EQ(late(10), Fate::answered);
}

TEST(Outcome, WhatIsNotHttpIsNoAnswer) {
  const Outcome none = of(HopMaker(kShop, 0).malformed(3).server_fin(4, kRequestBytes));
  EXPECT_EQ(none.fate, Fate::malformed);
  EXPECT_EQ(none.waited, from_ms(3));
  EXPECT_EQ(of(HopMaker(kShop, 0).answered(200, 1).malformed(3).client_fin(3.1)).fate,
            Fate::malformed);
  EXPECT_EQ(of(HopMaker(kShop, 0).malformed(2000).client_fin(1000)).fate, Fate::abandoned)
      << "nobody waited for it";
  EXPECT_EQ(of(HopMaker(kShop, 0).malformed(3).hole(10)).fate, Fate::hole);
}

TEST(Outcome, WhoEndsInsideTheAnswerCutsIt) {
  EXPECT_EQ(of(HopMaker(kShop, 0).answered(200, 5).answer_cut().server_rst(9, kRequestBytes)).fate,
            Fate::cut_by_server);
  EXPECT_EQ(of(HopMaker(kShop, 0).answered(200, 5).answer_cut().client_fin(9)).fate,
            Fate::cut_by_client);
}

TEST(Outcome, AClientThatEndsInsideItsRequestCutsIt) {
  EXPECT_EQ(of(HopMaker(kShop, 0).request_cut().client_fin(9)).fate, Fate::request_cut);
}

TEST(Outcome, WhatNobodyEndedIsUnfinished) {
  EXPECT_EQ(of(HopMaker(kShop, 0)).fate, Fate::unfinished);
}

TEST(Outcome, AHoleInTheCaptureHidesTheAnswer) {
  EXPECT_EQ(of(HopMaker(kShop, 0).hole(100).server_fin(9, 0)).fate, Fate::hole);
  EXPECT_EQ(of(HopMaker(kShop, 0).hole(100).answered(200, 5)).fate, Fate::answered);
}

TEST(Outcome, WhetherAConnectionOlderThanTheCaptureWasUsedIsNotKnown) {
  EXPECT_EQ(of(HopMaker(kShop, 0).older_than_the_capture().answered(200, 5)).reused, std::nullopt);
}

}  // namespace
}  // namespace gatedrill::replay::explain
