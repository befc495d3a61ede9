// The small words: causes, results, times, texts in events.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gateway/core/cause.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/fixed_text.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill {
namespace {

using namespace std::chrono_literals;

TEST(Cause, EveryCauseHasASpellingOfItsOwnThatReadsBack) {
  std::set<std::string_view> spellings;
  for (int i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(cause_from_string(to_string(cause)), cause);
    spellings.insert(to_string(cause));
  }
  EXPECT_EQ(spellings.size(), static_cast<std::size_t>(kCauseCount));
  EXPECT_EQ(cause_from_string("no such cause"), std::nullopt);
}

// The column "gatedrill" and the column "PS" of the gateway reference, 2.7.
TEST(Cause, StatusAndProxyStatusTokenFollowTheReferenceTable) {
  struct Row {
    Cause cause;
    int status;
    std::string_view token;
  };

  const std::vector<Row> rows = {
      {Cause::connect_refused, 502, "connection_refused"},
      {Cause::connect_timeout, 504, "connection_timeout"},
      {Cause::unroutable, 502, "destination_ip_unroutable"},
      {Cause::local_ports_exhausted, 502, "proxy_internal_error"},
      {Cause::dns_failure, 502, "dns_error"},
      {Cause::upstream_tls, 502, "tls_protocol_error"},
      {Cause::no_healthy_upstream, 503, "destination_unavailable"},
      {Cause::upstream_overflow, 503, "connection_limit_reached"},
      {Cause::breaker_open, 503, "destination_unavailable"},
      {Cause::upstream_closed, 502, "connection_terminated"},
      {Cause::stale_reuse, 502, "connection_terminated"},
      {Cause::send_failed, 502, "connection_terminated"},
      {Cause::stream_reset, 502, "connection_terminated"},
      {Cause::malformed_response, 502, "http_protocol_error"},
      {Cause::response_header_too_large, 502, "http_response_header_section_size"},
      {Cause::response_timeout, 504, "http_response_timeout"},
      {Cause::total_timeout, 504, "http_response_timeout"},
      {Cause::body_truncated, 0, "http_response_incomplete"},
      {Cause::body_idle_timeout, 0, "connection_read_timeout"},
      {Cause::client_closed, 499, ""},
      {Cause::client_header_timeout, 408, "http_request_error"},
      {Cause::client_body_timeout, 408, "http_request_error"},
      {Cause::request_header_too_large, 431, "http_request_error"},
      {Cause::uri_too_long, 414, "http_request_error"},
      {Cause::request_body_too_large, 413, "http_request_error"},
      {Cause::malformed_request, 400, "http_request_error"},
      {Cause::no_route, 404, ""},
      {Cause::unauthenticated, 401, "http_request_denied"},
      {Cause::forbidden, 403, "http_request_denied"},
      {Cause::rate_limited, 429, "http_request_denied"},
      {Cause::overloaded, 503, "proxy_internal_response"},
      {Cause::degraded, 503, "proxy_internal_response"},
      {Cause::draining, 503, ""},
      {Cause::internal, 500, "proxy_internal_error"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(local_status(row.cause), row.status) << to_string(row.cause);
    EXPECT_EQ(proxy_status_token(row.cause), row.token) << to_string(row.cause);
  }
}

TEST(Cause, TheFlagsOfEnvoyAndHaproxyAreTheOnesThatTheirUsersKnow) {
  EXPECT_EQ(envoy_flag(Cause::connect_refused), "UF");
  EXPECT_EQ(haproxy_state(Cause::connect_refused), "SC");
  EXPECT_EQ(haproxy_state(Cause::connect_timeout), "sC");
  EXPECT_EQ(envoy_flag(Cause::stale_reuse), "UC");
  EXPECT_EQ(haproxy_state(Cause::stale_reuse), "SH");
  EXPECT_EQ(envoy_flag(Cause::response_timeout), "UT");
  EXPECT_EQ(haproxy_state(Cause::response_timeout), "sH");
  EXPECT_EQ(envoy_flag(Cause::client_closed), "DC");
  EXPECT_EQ(haproxy_state(Cause::client_header_timeout), "cR");
  EXPECT_EQ(envoy_flag(Cause::breaker_open), "") << "Envoy has no such breaker";
  EXPECT_EQ(haproxy_state(Cause::ok), "--");
}

TEST(Result, AnErrorSaysWithWhichStatusTheProgramEnds) {
  EXPECT_EQ(exit_status(usage_error("x").code), 2);
  EXPECT_EQ(exit_status(outside_error("x").code), 3);
  EXPECT_EQ(exit_status(evidence_error("x").code), 4);
}

TEST(Result, TheValueOfAFailedResultIsABrokenPromise) {
  const Result<int> failed = usage_error("wrong");
  EXPECT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "wrong");
  EXPECT_THROW(static_cast<void>(failed.value()), std::logic_error);
}

TEST(FixedText, LongerInputIsCutAtItsSize) {
  const std::string text(50, 'x');
  EXPECT_EQ(RequestId(text).view(), std::string(40, 'x'));
  EXPECT_TRUE(RequestId("").empty());
}

TEST(FixedText, TextsAreEqualWhateverWasThereBefore) {
  RequestId text(std::string(40, 'y'));
  text = RequestId("ab");
  EXPECT_EQ(text, RequestId("ab"));
  EXPECT_FALSE(text == RequestId("abc"));
}

TEST(Time, MillisecondsSurviveTheWayThroughADouble) {
  for (std::int64_t us = 0; us < 20'000; ++us) {
    const Duration exact{us * 1000};
    ASSERT_EQ(from_ms(to_ms(exact)), exact);
  }
  EXPECT_EQ(from_ms(-1.001), Duration{-1'001'000});
}

TEST(Time, AClockStartsAtZeroAndKnowsTheCalendar) {
  SteadyClock clock;
  const TimePoint now = clock.now();
  EXPECT_GE(now, TimePoint{});
  EXPECT_EQ(clock.unix_time(TimePoint{3s}).ns - clock.unix_time(TimePoint{1s}).ns, 2'000'000'000);
  EXPECT_EQ(clock.steady(TimePoint{3s}) - clock.steady(TimePoint{1s}), 2s);
}

TEST(Time, NeverIsALongWayOffButNotBeyondTheClock) {
  const SteadyClock clock;
  EXPECT_GT(clock.steady(kNever), clock.steady(TimePoint{std::chrono::hours{24 * 365}}));
}

TEST(Event, TransitionKindsAreSpelledAsTheViewsSay) {
  EXPECT_EQ(to_string(Transition::Kind::breaker), "breaker");
  EXPECT_EQ(to_string(Transition::Kind::health), "health");
  EXPECT_EQ(to_string(Transition::Kind::ejection), "ejection");
  EXPECT_EQ(to_string(Transition::Kind::limiter), "limiter");
  EXPECT_EQ(to_string(Transition::Kind::level), "level");
  EXPECT_EQ(to_string(Transition::Kind::config), "config");
  EXPECT_EQ(to_string(Transition::Kind::canary), "canary");
  EXPECT_EQ(to_string(Transition::Kind::drain), "drain");
}

}  // namespace
}  // namespace gatedrill
