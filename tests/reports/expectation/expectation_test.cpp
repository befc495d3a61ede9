#include "reports/expectation/expectation.hpp"

#include <gtest/gtest.h>

#include "tests/reports/run_maker.hpp"

namespace gatedrill::reports {
namespace {

Verdict verdict_on(RunMaker& run, const std::string& text, const std::string& gateway = "g") {
  const std::vector<Expectation> expectations{{"", text, {gateway}}};
  const Result<Judgement> judgement = judge(run.path(), expectations);
  EXPECT_TRUE(judgement) << text << ": " << (judgement ? "" : judgement.error().message);
  return judgement ? judgement->verdicts.at(0) : Verdict{};
}

// A gateway g in trouble between 2 s and 4 s: of 100 requests 8 end as 504, 2 as 502, one before.
class Judging : public testing::Test {
 protected:
  Judging() {
    run_.phase("quiet", 20'000, 30'000);
    run_.phase("outage", 2000, 4000).phase("restart-1", 2000, 2500).phase("restart-2", 3000, 3500);
    for (int second = 0; second < 8; ++second) {
      const double at = second * 1000.0;
      run_.request({.at = at, .path = "/item/7", .latency = 20}, 10);
    }
    run_.request({.at = 1500, .status = 502, .cause = Cause::upstream_closed, .latency = 5});
    run_.request({.at = 2100,
                  .method = "POST",
                  .path = "/order",
                  .status = 504,
                  .cause = Cause::response_timeout,
                  .latency = 1000,
                  .attempts = 1},
                 4);
    run_.request({.at = 3900,
                  .status = 504,
                  .cause = Cause::response_timeout,
                  .latency = 1000,
                  .attempts = 2},
                 4);
    run_.request({.at = 3200, .status = 502, .cause = Cause::stale_reuse, .latency = 3});
    run_.request(
        {.at = 4500, .status = 503, .cause = Cause::breaker_open, .latency = 1, .attempts = 0}, 4);
    run_.request({.at = 5500, .status = 504, .cause = Cause::response_timeout, .latency = 1000}, 6);
    run_.finish();
  }

  void expect(const std::string& text, const std::string& actual, std::optional<bool> passed) {
    const Verdict verdict = verdict_on(run_, text);
    EXPECT_EQ(verdict.actual, actual) << text;
    EXPECT_EQ(verdict.passed, passed) << text << " " << verdict.note;
  }

  RunMaker run_;
};

TEST_F(Judging, CountsByStatusAndCause) {
  expect("count(status = 504) == 14", "14", true);
  expect("count(status = 504) < 14", "14", false);
  expect("count(cause = stale_reuse) == 0", "1", false);
  expect("count(status = 5xx) == 20", "20", true);
  expect("count(status >= 503) == 18", "18", true);
  expect("count(status != 5xx) == 80", "80", true);
  expect("count() == 100", "100", true);
  expect("count(cause = malformed_response) == 0", "0", true);
}

TEST_F(Judging, CountsByMethodPathAndRoute) {
  expect("count(method = POST and status = 504) == 4", "4", true);
  expect("count(path = /item/*) == 80", "80", true);
  expect("count(path = /item) == 0", "0", true);
  expect("count(route = shop) == 100", "100", true);
}

TEST_F(Judging, CountsWithinPhases) {
  expect("count(status = 504) == 8 during outage", "8", true);
  expect("count(status = 5xx) == 1 before outage", "1", true);
  expect("count(status = 5xx) == 10 after outage", "10", true);
  expect("count(status = 5xx) == 11 outside outage", "11", true);
  expect("count(cause = stale_reuse) == 1 during restart*", "1", true);
  expect("count(cause = stale_reuse) == 0 outside restart*", "0", true);
}

TEST_F(Judging, SharesOfAllOrOfAClass) {
  expect("share(status = 504, of = 5xx) >= 70%", "70 % (14 of 20)", true);
  expect("share(cause = response_timeout, of = 5xx) >= 80%", "70 % (14 of 20)", false);
  expect("share(status = 5xx) == 20%", "20 % (20 of 100)", true);
  expect("share(cause = stale_reuse, of = (status = 502)) == 0.5", "50 % (1 of 2)", true);
  expect("http_req_failed: rate<0.3", "20 % (20 of 100)", true);
}

TEST_F(Judging, ReadsPercentilesOfTheWholeRunAndOfAPhase) {
  expect("p50(latency) < 21ms", "20 ms", true);
  expect("p99(latency) < 200ms", "1 s", false);
  expect("max(latency) == 1s", "1 s", true);
  expect("p50(latency) < 21ms before outage", "20 ms", true);
  expect("p90(latency, method = POST) >= 1s during outage", "1 s", true);
  expect("http_req_duration: p(95)<200", "1 s", false);
}

// 100 requests, 4 of them not sent, 4 sent twice.
TEST_F(Judging, RelatesAttemptsToTheRequestsThatWereSent) {
  expect("amplification <= 1.2", "1.042 (100 for 96)", true);
  expect("amplification <= 1.1 during outage", "1.138 (33 for 29)", false);
}

// Before the outage 1 of 21 failed; the seconds from 4 s on have 4 of 14, 6 of 16, 0 of 10.
TEST_F(Judging, FindsTheSecondInWhichFailuresAreBackToNormal) {
  expect("recovery(after = outage) < 3s", "2 s", true);
  expect("recovery(after = outage) < 2s", "2 s", false);
}

TEST_F(Judging, HasNoDataForWhatNeverWas) {
  expect("count(status = 504) == 0 during upgrade", "no data", std::nullopt);
  expect("count(status = 504) == 0 during quiet", "no data", std::nullopt);
  expect("share(status = 504, of = 3xx) >= 80%", "no data", std::nullopt);
  expect("duplicates(POST) == 0", "no data", std::nullopt);
  expect("missing == 0", "no data", std::nullopt);
  expect("answered_as_recorded == 100%", "no data", std::nullopt);
  expect("p99(latency, path = /nowhere) < 1s", "no data", std::nullopt);
  EXPECT_EQ(verdict_on(run_, "count() >= 0", "nobody").passed, std::nullopt);
  expect("sql(\"select null\") == 0", "no data", std::nullopt);
}

TEST_F(Judging, EvaluatesAQuery) {
  expect("sql(\"select count(*) from requests where gateway = :gateway and status = 504\") == 14",
         "14", true);
  expect(
      "sql('select count(*) from requests where gateway = :gateway and at_ms between :from_ms "
      "and :until_ms and status = 504') == 8 during outage",
      "8", true);
}

TEST_F(Judging, RefusesAQueryThatIsWrongOrWrites) {
  const std::vector<Expectation> wrong{{"", "sql('select x from nowhere') == 0", {}}};
  const Result<Judgement> refused = judge(run_.path(), wrong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_EQ(refused.error().message,
            "sql('select x from nowhere') == 0: the query is wrong: no such table: nowhere");
  const std::vector<Expectation> writes{{"", "sql('delete from t_run') == 0", {}}};
  ASSERT_FALSE(judge(run_.path(), writes));
}

TEST_F(Judging, WritesItsVerdictsInPlaceOfEarlierOnes) {
  const std::vector<Expectation> expectations{{"few timeouts", "count(status = 504) < 10", {"g"}},
                                              {"", "count() > 0", {"g", "nobody"}}};
  for (int i = 0; i < 2; ++i) {
    const Result<Judgement> judgement = judge(run_.path(), expectations);
    ASSERT_TRUE(judgement);
    EXPECT_TRUE(judgement->valid);
    EXPECT_EQ(judgement->exit_status(), 1);
    EXPECT_EQ(read_judgement(run_.path())->verdicts, judgement->verdicts);
  }
  EXPECT_EQ(rows_of(run_.path(), "SELECT name, gateway, expression, actual, passed FROM verdicts"),
            "few timeouts|g|count(status = 504) < 10|14|0\n"
            "count() > 0|g|count() > 0|100|1\n"
            "count() > 0|nobody|count() > 0|no data|NULL\n");
}

TEST_F(Judging, RefusesATextThatIsNoExpectationBeforeItWritesAnything) {
  const std::vector<Expectation> good{{"", "count() > 0", {}}};
  ASSERT_TRUE(judge(run_.path(), good));
  const std::vector<Expectation> bad{{"", "count( > 0", {}}};
  const Result<Judgement> refused = judge(run_.path(), bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_EQ(read_judgement(run_.path())->verdicts.size(), 1U);
}

TEST(JudgingSends, ComparesAnswersWithTheRecording) {
  RunMaker run;
  run.send({}, 6)
      .send({.status = 504, .body = false})
      .send({.status = 0, .body = false})
      .send({.body = false})
      .send({.status = 404, .expected = 404});
  run.finish();
  const Verdict answered = verdict_on(run, "answered_as_recorded == 100%");
  EXPECT_EQ(answered.actual, "70 % (7 of 10)");
  EXPECT_EQ(answered.passed, false);
  EXPECT_EQ(verdict_on(run, "missing == 1").passed, true);
}

TEST(JudgingSends, NeverRoundsToAll) {
  RunMaker run;
  run.send({}, 9999).send({.status = 0, .body = false});
  run.finish();
  const Verdict answered = verdict_on(run, "answered_as_recorded == 100%");
  EXPECT_EQ(answered.actual, "99.99 % (9,999 of 10,000)");
  EXPECT_EQ(answered.passed, false);
}

TEST(JudgingSends, SeesAForeignGatewayAsItsClientDoes) {
  RunMaker run;
  run.phase("outage", 1000, 2000);
  run.send({.gateway = "nginx", .at = 100, .latency = 30}, 8)
      .send({.gateway = "nginx", .at = 1500, .status = 504, .latency = 1000}, 2);
  run.execution("nginx", "GET", "a").execution("nginx", "GET", "b");
  run.finish();
  const Verdict timeouts = verdict_on(run, "share(status = 504, of = 5xx) >= 80%", "nginx");
  EXPECT_EQ(timeouts.actual, "100 % (2 of 2)");
  EXPECT_EQ(timeouts.passed, true);
  EXPECT_NE(timeouts.note.find("as its client saw it"), std::string::npos);
  EXPECT_EQ(verdict_on(run, "p50(latency) <= 30ms", "nginx").passed, true);
  EXPECT_EQ(verdict_on(run, "p50(latency) == 1s during outage", "nginx").passed, true);
  EXPECT_EQ(verdict_on(run, "amplification <= 1", "nginx").actual, "0.2 (2 for 10)");
  const Verdict cause = verdict_on(run, "count(cause = stale_reuse) == 0", "nginx");
  EXPECT_EQ(cause.passed, std::nullopt) << "what cannot be seen is never a pass";
  EXPECT_NE(cause.note.find("no cause is known"), std::string::npos);
}

TEST(JudgingExecutions, FindsBusinessKeysExecutedMoreThanOnce) {
  RunMaker run;
  run.execution("g", "POST", "a").execution("g", "POST", "b").execution("g", "POST", "a");
  run.execution("g", "POST", "a").execution("g", "GET", "c").execution("g", "GET", "c");
  run.execution("h", "POST", "b");
  run.finish();
  const Verdict posts = verdict_on(run, "duplicates(POST) == 0");
  EXPECT_EQ(posts.actual, "2 (of 1 requests)");
  EXPECT_EQ(posts.passed, false);
  EXPECT_EQ(verdict_on(run, "duplicates(*) == 3").passed, true);
  EXPECT_EQ(verdict_on(run, "duplicates(POST) == 0", "h").passed, true);
}

TEST(JudgingAttempts, CountsAttemptsAtAnEndpoint) {
  RunMaker run;
  run.request({});
  AttemptDone attempt;
  attempt.request_id = RequestId("r1");
  attempt.endpoint = intern("127.0.0.1:9001");
  attempt.cause = Cause::stale_reuse;
  run.publish("g", attempt);
  attempt.endpoint = intern("127.0.0.1:9002");
  attempt.cause = Cause::ok;
  run.publish("g", attempt);
  run.finish();
  EXPECT_EQ(verdict_on(run, "count(endpoint = 127.0.0.1:9001) == 1").passed, true);
  EXPECT_EQ(verdict_on(run, "count(endpoint = 127.0.0.1:* and method = GET) == 2").passed, true);
  EXPECT_EQ(verdict_on(run, "share(cause = ok, of = (endpoint = 127.0.0.1:9001)) == 0%").passed,
            true);
}

TEST(JudgingSampledRows, KeepsWholeRunFiguresExact) {
  RunMaker run;
  RequestDone request;
  request.request_id = RequestId("r");
  request.latency = from_ms(10);
  request.status = 200;
  request.attempts = 1;
  Tally tally;
  for (int i = 0; i < 95; ++i)
    tally.count(intern("g"), request);
  run.store().count(tally);
  for (int i = 0; i < 9; ++i)
    run.store().add_row(Event{intern("g"), request}, 10);
  run.phase("all", 0, 1000);
  run.finish();
  EXPECT_EQ(verdict_on(run, "count() == 95").passed, true);
  const Verdict phase = verdict_on(run, "count() == 90 during all");
  EXPECT_EQ(phase.passed, true);
  EXPECT_NE(phase.note.find("sampled"), std::string::npos);
  EXPECT_EQ(verdict_on(run, "p99(latency) < 11ms during all").note, "by whole seconds");
}

TEST(Judgement, IsNoEvidenceForARunThatWasNotFinished) {
  RunMaker run;
  run.request({});
  ASSERT_TRUE(run.store().flush());
  const Result<Judgement> judgement = judge(run.path(), {});
  ASSERT_TRUE(judgement);
  EXPECT_EQ(judgement->exit_status(), 4);
  EXPECT_EQ(judgement->invalid_because.at(0),
            "the run was not finished: it was killed, or its disk was full");
}

TEST(Judgement, IsNoEvidenceWhateverHeldIfTheRunIsInvalid) {
  RunMaker run;
  run.request({});
  run.store().invalidate("the load generator was saturated");
  run.finish();
  const std::vector<Expectation> expectations{{"", "count() == 1", {}}};
  const Result<Judgement> judgement = judge(run.path(), expectations);
  ASSERT_TRUE(judgement);
  EXPECT_EQ(judgement->verdicts.at(0).passed, true);
  EXPECT_EQ(judgement->exit_status(), 4);
  EXPECT_EQ(judgement->invalid_because,
            std::vector<std::string>{"the load generator was saturated"});
}

TEST(Judgement, RefusesWhatIsNoRun) {
  const TemporaryFolder folder;
  const auto error_of = [](const std::string& path) { return read_judgement(path).error(); };
  EXPECT_EQ(error_of(folder.file("none.db")).code, ErrorCode::outside);
  EXPECT_EQ(error_of(folder.path()).code, ErrorCode::usage);
  const std::string empty = folder.file("empty.db");
  std::ofstream(empty).flush();
  EXPECT_EQ(error_of(empty).message, empty + " is empty: nothing was ever recorded in it");
  const std::string text = folder.file("text.db");
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_EQ(error_of(text).code, ErrorCode::usage);
  EXPECT_NE(error_of(text).message.find("is not a run.db"), std::string::npos);
}

}  // namespace
}  // namespace gatedrill::reports
