#include "replay/explain/incidents.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/explain/explain.hpp"
#include "tests/replay/explain/hops.hpp"

namespace gatedrill::replay::explain {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using tests::chain_of;
using tests::HopMaker;
using tests::kGateway;
using tests::kRequestBytes;
using tests::kShop;

constexpr double kSecond = 1000;

class IncidentsTest : public testing::Test {
 protected:
  void add(const Chain& chain) { findings.add(chain, judge(chain, findings.topology(), hints)); }

  void good(double at) {
    add(chain_of(HopMaker(kGateway, at).answered(200, 6),
                 {HopMaker(kShop, at + 1).kept(5, 100).answered(200, 4)}));
  }

  void timed_out(double at) {
    add(chain_of(HopMaker(kGateway, at).answered(504, 1001),
                 {HopMaker(kShop, at + 1).kept(5, 100).client_fin(1000)}));
  }

  void stale(double at) {
    add(chain_of(HopMaker(kGateway, at).answered(502, 3),
                 {HopMaker(kShop, at + 1).kept(5, 4000).server_fin(0, 0)}));
  }

  void own_answer(double at, int status) {
    add(chain_of(HopMaker(kGateway, at).answered(status, 0.5)));
  }

  std::vector<Likeness> found() { return known_incidents(findings, hints); }

  const Likeness* find(const std::string& incident) {
    all_ = found();
    const auto one = std::find_if(all_.begin(), all_.end(),
                                  [&](const Likeness& like) { return like.incident == incident; });
    return one == all_.end() ? nullptr : &*one;
  }

  Hints hints;
  Findings findings{tests::gateway_and_shop(), 2};

 private:
  std::vector<Likeness> all_;
};

TEST_F(IncidentsTest, TrafficWithoutFailuresLooksLikeNone) {
  for (int i = 0; i < 200; ++i)
    good(i * kSecond);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(IncidentsTest, Many504AllAlongAndAFew502AtFirstOnKeptConnectionsAreTheRollingUpgrade) {
  for (int i = 0; i < 600; ++i)
    timed_out(i * kSecond);
  for (int i = 0; i < 20; ++i)
    stale(i * 4 * kSecond);
  const Likeness* like = find("INC-1");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::strong);
  EXPECT_EQ(like->listener, kGateway);
  EXPECT_THAT(like->evidence, Contains(HasSubstr("600 504 and 20 502")));
  EXPECT_THAT(like->evidence, Contains(HasSubstr("20 of 20 502 are kept connections")));
  EXPECT_THAT(like->counter_evidence, IsEmpty());
  EXPECT_THAT(like->next, SizeIs(3));
}

TEST_F(IncidentsTest, The502SpreadLikeThe504SpeakAgainstTheRollingUpgrade) {
  for (int i = 0; i < 600; ++i)
    timed_out(i * kSecond);
  for (int i = 0; i < 20; ++i)
    stale(i * 30 * kSecond);
  const Likeness* like = find("INC-1");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::partial);
  EXPECT_THAT(like->counter_evidence, Contains(HasSubstr("not confined to the beginning")));
}

TEST_F(IncidentsTest, TimeoutsAloneAreHalfOfTheRollingUpgrade) {
  for (int i = 0; i < 600; ++i)
    timed_out(i * kSecond);
  const Likeness* like = find("INC-1");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::partial);
  EXPECT_THAT(like->counter_evidence, Contains(HasSubstr("half of INC-1")));
}

TEST_F(IncidentsTest, RefusedConnectionsSpeakAgainstTheRollingUpgrade) {
  for (int i = 0; i < 600; ++i)
    timed_out(i * kSecond);
  for (int i = 0; i < 10; ++i) {
    stale(i * kSecond);
    Chain refused = chain_of(HopMaker(kGateway, i * kSecond).answered(502, 3));
    refused.attempts.push_back(tests::attempt(kShop, i * kSecond + 1, "refused"));
    add(refused);
  }
  const Likeness* like = find("INC-1");
  ASSERT_NE(like, nullptr);
  EXPECT_THAT(like->counter_evidence, Contains(HasSubstr("10 502 are refused connections")));
}

TEST_F(IncidentsTest, TheEvidenceNamesWhatItCountsByItsStatus) {
  for (int i = 0; i < 28; ++i)
    timed_out(i * kSecond);
  for (int i = 0; i < 4; ++i)
    stale(i * kSecond);
  for (int i = 0; i < 46; ++i) {  // the gateway passes the end on
    add(chain_of(HopMaker(kGateway, i * kSecond).server_fin(4, kRequestBytes),
                 {HopMaker(kShop, i * kSecond + 1).kept(5, 10).server_fin(2, kRequestBytes)}));
  }
  for (int i = 0; i < 35; ++i) {
    Chain refused = chain_of(HopMaker(kGateway, i * kSecond).answered(503, 3));
    refused.attempts.push_back(tests::attempt(kShop, i * kSecond + 1, "refused"));
    add(refused);
  }
  const Likeness* like = find("INC-1");
  ASSERT_NE(like, nullptr);
  EXPECT_THAT(like->evidence,
              Contains(HasSubstr("50 of 85 other failures (4 of 4 502, 0 of 35 503, 46 of 46 "
                                 "closed without an answer) are kept connections")));
  EXPECT_THAT(like->evidence, Contains(HasSubstr("28 of 28 504 by a timeout came after 1.001 s")));
  EXPECT_THAT(like->counter_evidence,
              Contains("28 504, 4 502, 35 503 and 46 closed without an answer: 504 is not the "
                       "large majority, as it was in INC-1"));
  EXPECT_THAT(like->counter_evidence,
              Contains("the last other failure came 45.0 s after the first error, the last error "
                       "after 45.0 s: other failures are not confined to the beginning"));
  EXPECT_THAT(like->counter_evidence, Contains("no 504 after the last other failure"));
  EXPECT_THAT(like->counter_evidence, Contains(HasSubstr("35 503 are refused connections")));
  EXPECT_EQ(like->degree, Degree::partial);
}

// Only the upstream leg: who asked gave up there.
class UpstreamLegTest : public IncidentsTest {
 protected:
  UpstreamLegTest() { findings = Findings(Topology(), 2); }

  void given_up(double at, double after) { add(chain_of(HopMaker(kShop, at).client_fin(after))); }

  void cut(double at) { add(chain_of(HopMaker(kShop, at).kept(5, 4000).server_fin(0, 0))); }

  // Ten minutes of it: slow all along, connections cut in the first 80 seconds.
  void upgrade() {
    for (int i = 0; i < 600; ++i)
      given_up(i * kSecond, 1001);
    for (int i = 0; i < 20; ++i)
      cut(i * 4 * kSecond);
  }
};

TEST_F(UpstreamLegTest, ClientsThatLeaveAreNo504) {
  hints.waits[kShop] = {.low = from_ms(250), .high = from_ms(250), .count = 12, .of = 15};
  for (int i = 0; i < 12; ++i)
    given_up(i * kSecond, 250);
  for (int i = 0; i < 3; ++i) {
    add(chain_of(HopMaker(kShop, i * kSecond).answered(504, 0.2)));
    add(chain_of(HopMaker(kShop, i * kSecond).answered(502, 0.2)));
  }
  for (int i = 0; i < 48; ++i)
    cut(i * kSecond);
  const Likeness* like = find("INC-1");
  ASSERT_NE(like, nullptr);
  EXPECT_THAT(like->counter_evidence,
              Contains(HasSubstr("3 504, 3 502 and 48 closed without an answer: 504 is not")));
  EXPECT_THAT(like->evidence, Not(Contains(HasSubstr("a timeout of the gateway's"))));
  EXPECT_THAT(like->not_shown,
              Contains(HasSubstr("who gave up 12 requests, most of them after 250 ms to 250 ms")));
}

TEST_F(UpstreamLegTest, WhatIsGivenUpAfterTheGatewaysTimeoutIsTheRollingUpgradeAsSeenFromBehind) {
  hints.timeouts = {{.after = from_ms(1000), .name = "route", .given = true}};
  upgrade();
  const Likeness* like = find("INC-1");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::strong);
  EXPECT_THAT(like->evidence,
              Contains(HasSubstr("600 given up after a timeout and 20 closed without an answer: "
                                 "timeouts are the large majority (96.8 %)")));
}

TEST_F(UpstreamLegTest, WithoutTheGatewaysTimeoutNobodyKnowsWhoGaveUp) {
  hints.waits[kShop] = {.low = from_ms(1001), .high = from_ms(1001), .count = 600, .of = 600};
  upgrade();
  const Likeness* like = find("INC-1");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::partial);
  EXPECT_THAT(like->counter_evidence, IsEmpty());
  EXPECT_THAT(like->not_shown, Contains(HasSubstr("name the gateway's timeout (--timeout)")));
}

TEST_F(IncidentsTest, RareBurstsOf502WithSlowHealthChecksAndAnAbsentHostAreTheFlapping) {
  // A second host that gets nothing for a minute now and then.
  Topology both = tests::gateway_and_shop();
  constexpr const char* kSlowHost = "10.0.1.6:9001";
  both.set(kSlowHost, {.kind = KeyKind::request_id, .servers = {kGateway}});
  findings = Findings(std::move(both), 2);
  for (int i = 0; i < 3600; ++i) {
    for (int j = 0; j < 5; ++j)
      good(i * kSecond + j);
    if (i / 60 % 2 == 0) {
      add(chain_of(HopMaker(kGateway, i * kSecond + 9).answered(200, 6),
                   {HopMaker(kSlowHost, i * kSecond + 10).answered(200, 4)}));
    }
    if (i % 60 == 0) {
      stale(i * kSecond + 20);
      add(chain_of(HopMaker(kSlowHost, i * kSecond).target("/health").answered(200, 4800)));
    }
  }
  const Likeness* like = find("INC-2");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::strong);
  EXPECT_THAT(like->evidence, Contains(HasSubstr("10.0.1.6:9001: GET /health failed 0 of 60")));
  EXPECT_THAT(like->evidence, Contains(HasSubstr("10 s or more while others did: 10.0.1.6:9001")));
}

TEST_F(IncidentsTest, RareBurstsOf502WithoutTheChecksAreOnlyPartlyTheFlapping) {
  for (int i = 0; i < 600; ++i) {
    for (int j = 0; j < 5; ++j)
      good(i * kSecond + j);
    if (i % 60 == 0) stale(i * kSecond + 20);
  }
  const Likeness* like = find("INC-2");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::partial);
  EXPECT_THAT(like->not_shown, Contains(HasSubstr("health checks")));
  EXPECT_THAT(like->counter_evidence, Contains(HasSubstr("none was ejected")));
}

TEST_F(IncidentsTest, BurstsOf503AreNamedSoAndCountAsBursts) {
  for (int i = 0; i < 600; ++i) {
    for (int j = 0; j < 5; ++j)
      good(i * kSecond + j);
    if (i % 60 == 0) own_answer(i * kSecond + 20, 503);
    if (i == 30) stale(i * kSecond + 20);
  }
  const Likeness* like = find("INC-2");
  ASSERT_NE(like, nullptr);
  EXPECT_THAT(like->evidence, Contains(HasSubstr("1 502 and 10 503 (0.37 %) in 11 bursts")));
}

TEST_F(IncidentsTest, ClientsThatLeaveAreNotSaidToHaveBeenAnswered504) {
  for (int i = 0; i < 100; ++i) {
    const double at = i * kSecond;
    HopMaker top = HopMaker(kGateway, at).client_fin(1500);
    top.method("POST");
    add(chain_of(top, {HopMaker(kShop, at + 1).client_fin(1000),
                       HopMaker(kShop, at + 1010).client_fin(500)}));
  }
  const Likeness* like = find("INC-3a");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::strong);
  EXPECT_THAT(like->evidence, Contains("100 requests were given up by their clients"));
  EXPECT_THAT(like->evidence, Not(Contains(HasSubstr("504"))));
}

TEST_F(IncidentsTest, PostsThatTimeOutAndAreSentAgainAreTheAvalanche) {
  for (int i = 0; i < 100; ++i) {
    const double at = i * kSecond;
    HopMaker top = HopMaker(kGateway, at).answered(504, 2100);
    top.method("POST");
    add(chain_of(top, {HopMaker(kShop, at + 1).client_fin(1000),
                       HopMaker(kShop, at + 1010).client_fin(1000)}));
  }
  const Likeness* like = find("INC-3a");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::strong);
  EXPECT_THAT(like->evidence, Contains(HasSubstr("2.00 times the load")));
}

TEST_F(IncidentsTest, ManyUsersTurnedAwayBehindOneAddressAreTheLimiter) {
  for (int i = 0; i < 50; ++i) {
    HopMaker user = HopMaker(kGateway, i * kSecond).answered(429, 0.4);
    read_request_fields("Authorization: Bearer " + std::to_string(i % 20) + "\n", user.hop());
    add(chain_of(user));
  }
  const Likeness* like = find("INC-3b");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::strong);
  EXPECT_THAT(like->evidence, Contains(HasSubstr("50 of 50 429 went to 10.9.9.9")));
  EXPECT_THAT(like->evidence, Contains(HasSubstr("20 different users")));
}

TEST_F(IncidentsTest, OneUserTurnedAwayIsWhatALimiterIsFor) {
  for (int i = 0; i < 50; ++i) {
    HopMaker user = HopMaker(kGateway, i * kSecond).answered(429, 0.4);
    read_request_fields("Authorization: Bearer one\n", user.hop());
    add(chain_of(user));
  }
  const Likeness* like = find("INC-3b");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::partial);
  EXPECT_THAT(like->counter_evidence, Contains(HasSubstr("1 different user")));
}

TEST_F(IncidentsTest, AConnectionForEachRequestIsTheMissingPool) {
  for (int i = 0; i < 20'000; ++i) {
    add(chain_of(HopMaker(kGateway, i).answered(200, 6),
                 {HopMaker(kShop, i + 1).answered(200, 4)}));
  }
  const Likeness* like = find("INC-3c");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::strong);
  EXPECT_THAT(like->evidence, Contains(HasSubstr("20,000 connections for 20,000 exchanges")));
}

TEST_F(IncidentsTest, LargeHeadsThatAreAnswered431AreTheHeaderBloat) {
  for (int i = 0; i < 50; ++i) {
    good(i * kSecond);
    HopMaker large = HopMaker(kGateway, i * kSecond + 10).answered(431, 0.4);
    large.hop().request_head_bytes = 9000;
    add(chain_of(large));
  }
  const Likeness* like = find("INC-3d");
  ASSERT_NE(like, nullptr);
  EXPECT_EQ(like->degree, Degree::strong);
  EXPECT_THAT(like->evidence, Contains(HasSubstr("at least 9,000 bytes")));
}

TEST_F(IncidentsTest, WhatReachedAnUpstreamDirectlyIsJudgedByNoIncident) {
  for (int i = 0; i < 50; ++i)
    add(chain_of(HopMaker(kShop, i * kSecond).answered(504, 1000)));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(IncidentsTest, OnThePageWhatFollowsACauseIsInOneColumn) {
  own_answer(0, 503);
  HopMaker upstream = HopMaker(kShop, 1001).answered(200, 1);
  upstream.hop().answer_defects = "no colon";
  add(chain_of(HopMaker(kGateway, 1000).answered(502, 3), {upstream}));
  const std::string page = render(Report{.findings = findings}, 5);
  const auto column_of = [&](const std::string& text) {
    const std::size_t at = page.find(text);
    EXPECT_NE(at, std::string::npos) << text << " is not in:\n" << page;
    return at - page.rfind('\n', at);
  };
  EXPECT_THAT(page, HasSubstr(" malformed_response "));
  EXPECT_EQ(column_of("1 likely; "), column_of("1 open; "));
}

TEST_F(IncidentsTest, CountsAreExactByAnswerAndCause) {
  for (int i = 0; i < 30; ++i)
    good(i * kSecond);
  for (int i = 0; i < 5; ++i)
    timed_out(i * kSecond);
  for (int i = 0; i < 3; ++i)
    stale(i * kSecond);
  own_answer(0, 503);
  const Listener& listener = findings.listeners().at(kGateway);
  EXPECT_EQ(listener.requests, 39U);
  EXPECT_EQ(listener.failed(), 9U);
  EXPECT_EQ(listener.count("504"), 5U);
  EXPECT_EQ(listener.count("502", Cause::stale_reuse), 3U);
  EXPECT_EQ(listener.count("503"), 1U);
  EXPECT_EQ(listener.answers.at("200"), 30U);
  EXPECT_EQ(findings.exchanges(), 39U + 38U);
  const Group& group = listener.groups.at({"504", Cause::response_timeout});
  EXPECT_THAT(group.examples, SizeIs(2)) << "no more than asked for";
  EXPECT_EQ(group.first, tests::at_ms(0));
  EXPECT_EQ(group.last, tests::at_ms(4000));
}

}  // namespace
}  // namespace gatedrill::replay::explain
