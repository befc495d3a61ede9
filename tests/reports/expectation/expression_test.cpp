#include "reports/expectation/expression.hpp"

#include <gtest/gtest.h>

namespace gatedrill::reports {
namespace {

using Measure = Expression::Measure;

Expression parsed(std::string_view text) {
  Result<Expression> expression = parse_expression(text);
  EXPECT_TRUE(expression) << text << ": " << (expression ? "" : expression.error().message);
  return expression ? *expression : Expression{};
}

std::string error_of(std::string_view text) {
  const Result<Expression> expression = parse_expression(text);
  return expression ? "no error" : expression.error().message;
}

TEST(Expression, ReadsACountWithConditionsAndAPhase) {
  const Expression expression = parsed(
      "count(cause = stale_reuse and method != POST and path = /cart/*) == 0 during restart*");
  EXPECT_EQ(expression.measure, Measure::count);
  ASSERT_EQ(expression.conditions.size(), 3U);
  EXPECT_EQ(expression.conditions[0].text, "stale_reuse");
  EXPECT_EQ(expression.conditions[1].comparison, Comparison::not_equal);
  EXPECT_EQ(expression.conditions[2].text, "/cart/");
  EXPECT_TRUE(expression.conditions[2].prefix);
  EXPECT_EQ(expression.comparison, Comparison::equal);
  EXPECT_EQ(expression.when.relation, When::Relation::during);
  EXPECT_TRUE(expression.when.matches("restart-3"));
  EXPECT_FALSE(expression.when.matches("outage"));
}

TEST(Expression, ReadsAShareOfAStatusClass) {
  const Expression expression = parsed("share(status = 504, of = 5xx) >= 80%");
  EXPECT_EQ(expression.measure, Measure::share);
  EXPECT_EQ(expression.conditions.at(0).status_from, 504);
  EXPECT_EQ(expression.of.at(0).status_from, 500);
  EXPECT_EQ(expression.of.at(0).status_until, 599);
  EXPECT_DOUBLE_EQ(expression.limit, 0.8);
}

TEST(Expression, ReadsPercentilesAndDurations) {
  EXPECT_DOUBLE_EQ(parsed("p99(latency) < 200ms during outage").quantile, 0.99);
  EXPECT_DOUBLE_EQ(parsed("p99(latency) < 200ms").limit, 200e6);
  EXPECT_DOUBLE_EQ(parsed("p99.9(latency, route = shop) <= 1.5s").quantile, 0.999);
  EXPECT_DOUBLE_EQ(parsed("max(latency) < 2m").limit, 120e9);
  EXPECT_DOUBLE_EQ(parsed("max(latency) < 2m").quantile, 1);
}

TEST(Expression, ReadsTheOtherMeasures) {
  EXPECT_DOUBLE_EQ(parsed("amplification <= 1.2").limit, 1.2);
  EXPECT_EQ(parsed("duplicates(POST) == 0").method, "POST");
  EXPECT_EQ(parsed("duplicates(*) == 0").method, "");
  EXPECT_EQ(parsed("recovery(after = outage) < 5s").recovered_from.phase, "outage");
  EXPECT_DOUBLE_EQ(parsed("answered_as_recorded == 100%").limit, 1);
  EXPECT_EQ(parsed("missing == 0").measure, Measure::missing);
  EXPECT_EQ(parsed("sql(\"select count(*) from probes\") >= 1").sql, "select count(*) from probes");
}

TEST(Expression, TakesThePhaseBeforeTheComparisonToo) {
  EXPECT_EQ(parsed("count(status = 504) during 'the outage' > 0").when.phase, "the outage");
}

TEST(Expression, ReadsK6Thresholds) {
  const Expression failed = parsed("http_req_failed: rate<0.01");
  EXPECT_EQ(failed.measure, Measure::share);
  EXPECT_EQ(failed.conditions.at(0).subject, Condition::Subject::failed);
  EXPECT_DOUBLE_EQ(failed.limit, 0.01);
  const Expression duration = parsed("http_req_duration:p(95)<200");
  EXPECT_DOUBLE_EQ(duration.quantile, 0.95);
  EXPECT_DOUBLE_EQ(duration.limit, 200e6);
  EXPECT_EQ(parsed("http_reqs: count>100").measure, Measure::count);
}

TEST(Expression, SaysWhereAndWhatWasProbablyMeant) {
  struct Case {
    std::string_view text;
    std::string_view message;
  };

  for (const Case& each : {
           Case{"cont(status = 504) == 0",
                "column 1: 'cont' is not something to measure; did you mean count?"},
           Case{
               "count(caus = stale_reuse) == 0",
               "column 7: expected a condition on method, path, route, upstream, endpoint, source, "
               "cause, status or failed, got 'caus'; did you mean cause?"},
           Case{"count(cause = stale_reues) == 0",
                "column 15: 'stale_reues' is not a cause; did you mean stale_reuse?"},
           Case{"count(status = 999) == 0",
                "column 16: expected a status such as 504, 5xx or none, got '999'"},
           Case{"count(status = 504) == 0 durng outage",
                "column 26: did not expect 'durng' here; did you mean during?"},
           Case{"p99(latency) < 200",
                "column 16: expected a duration such as 250ms or 2s, got '200'"},
           Case{"share(status = 504) >= 80",
                "column 24: expected a share such as 80% or 0.8, got '80'"},
           Case{"count(status = 504) == 5s",
                "column 24: expected a number without a unit, got '5s'"},
           Case{"count(status = 504", "column 19: expected ')', got the end"},
           Case{"count(path > /a) == 0", "column 12: only a status can be compared with '>'"},
           Case{"", "column 1: expected what to measure, such as count(status = 504), got the end"},
           Case{"count(path = '/a) == 0", "column 14: the quotation mark is never closed"},
           Case{"http_req_duraton: p(95)<200",
                "column 1: 'http_req_duraton' is not a k6 metric that is known here; did you mean "
                "http_req_duration?"},
           Case{"http_req_duration: p95<200",
                "column 20: expected p(95), med, max or avg, got 'p95'"},
       }) {
    EXPECT_EQ(error_of(each.text), each.message) << each.text;
  }
}

TEST(Expression, TellsThePhasesThatItNames) {
  EXPECT_TRUE(phases_of(parsed("missing == 0")).empty());
  EXPECT_EQ(phases_of(parsed("missing == 0 during a")).at(0).phase, "a");
  EXPECT_EQ(phases_of(parsed("recovery(after = b) < 5s")).at(0).phase, "b");
}

}  // namespace
}  // namespace gatedrill::reports
