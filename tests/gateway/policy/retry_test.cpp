// The table S0 to S7 of the gateway reference 2.2, row by row, and the budget.
#include <vector>

#include <gtest/gtest.h>

#include "gateway/http/head.hpp"
#include "gateway/policy/retry_budget.hpp"
#include "gateway/policy/retry_rules.hpp"

namespace gatedrill::gateway {
namespace {

const std::vector<std::string_view> kMethods = {"GET",    "HEAD", "OPTIONS", "TRACE", "PUT",
                                                "DELETE", "POST", "PATCH",   "LOCK"};

RequestFacts facts_of(std::string_view method) {
  RequestFacts facts;
  facts.safe = http::is_safe(method);
  facts.idempotent = http::is_idempotent(method);
  return facts;
}

// Everything that can be switched on.
RetryConfig all_on() {
  RetryConfig config;
  config.on_reset = true;
  config.on_timeout = true;
  return config;
}

TEST(RetryRules, S0WhenNothingWasWrittenAnyMethodIsSentAgain) {
  for (const std::string_view method : kMethods) {
    for (const Cause cause : {Cause::connect_refused, Cause::connect_timeout, Cause::unroutable,
                              Cause::local_ports_exhausted, Cause::dns_failure, Cause::upstream_tls,
                              Cause::upstream_closed, Cause::send_failed}) {
      const RetryVerdict verdict = may_retry(RetryConfig{}, facts_of(method), {.cause = cause});
      EXPECT_TRUE(verdict.retry) << method << ' ' << to_string(cause);
      EXPECT_TRUE(verdict.charged);
      EXPECT_EQ(verdict.why, "conn-failure");
    }
  }
  RetryConfig off;
  off.on_connect = false;
  EXPECT_FALSE(may_retry(off, facts_of("GET"), {.cause = Cause::connect_refused}).retry);
}

TEST(RetryRules, S2OnAReusedConnectionAnIdempotentRequestGoesOnceMoreUnchargedOnAFreshOne) {
  for (const std::string_view method : kMethods) {
    const FailureFacts failure{
        .cause = Cause::stale_reuse, .request_started = true, .reused = true};
    const RetryVerdict verdict = may_retry(RetryConfig{}, facts_of(method), failure);
    EXPECT_EQ(verdict.retry, http::is_idempotent(method)) << method;
    if (!verdict.retry) continue;
    EXPECT_FALSE(verdict.charged);
    EXPECT_TRUE(verdict.fresh_connection);
    EXPECT_EQ(verdict.why, "empty-response");
  }
}

TEST(RetryRules, S2APostWithItsIdempotencyKeyIsSentAgain) {
  RequestFacts post = facts_of("POST");
  const FailureFacts failure{.cause = Cause::stale_reuse, .request_started = true, .reused = true};
  EXPECT_FALSE(may_retry(RetryConfig{}, post, failure).retry);
  post.has_idempotency_key = true;
  EXPECT_TRUE(may_retry(RetryConfig{}, post, failure).retry);
}

TEST(RetryRules, S2CanBeSwitchedOff) {
  RetryConfig config;
  config.on_stale_reuse = false;
  EXPECT_FALSE(may_retry(config, facts_of("GET"),
                         {.cause = Cause::stale_reuse, .request_started = true, .reused = true})
                   .retry);
}

TEST(RetryRules, AReusedConnectionThatDiedBeforeAByteWasWrittenIsNotChargedWhateverTheMethod) {
  for (const std::string_view method : kMethods) {
    const RetryVerdict verdict =
        may_retry(RetryConfig{}, facts_of(method), {.cause = Cause::stale_reuse, .reused = true});
    EXPECT_TRUE(verdict.retry) << method;
    EXPECT_FALSE(verdict.charged) << method;
    EXPECT_TRUE(verdict.fresh_connection) << method;
  }
}

TEST(RetryRules, S3OnAFreshConnectionOnlyByChoiceAndNeverForOthersThanIdempotent) {
  for (const std::string_view method : kMethods) {
    for (const Cause cause : {Cause::upstream_closed, Cause::send_failed}) {
      const FailureFacts failure{.cause = cause, .request_started = true};
      RequestFacts facts = facts_of(method);
      EXPECT_FALSE(may_retry(RetryConfig{}, facts, failure).retry) << method;
      facts.has_idempotency_key = true;
      EXPECT_EQ(may_retry(all_on(), facts, failure).retry, http::is_idempotent(method)) << method;
    }
  }
}

TEST(RetryRules, S4ATimeoutOnlyByChoiceAndOnlyForSafeMethods) {
  for (const std::string_view method : kMethods) {
    const FailureFacts failure{.cause = Cause::response_timeout, .request_started = true};
    EXPECT_FALSE(may_retry(RetryConfig{}, facts_of(method), failure).retry) << method;
    EXPECT_EQ(may_retry(all_on(), facts_of(method), failure).retry, http::is_safe(method))
        << method;
    EXPECT_FALSE(may_retry(all_on(), facts_of(method),
                           {.cause = Cause::total_timeout, .request_started = true})
                     .retry)
        << "never on the total timeout";
  }
}

TEST(RetryRules, S5NeverOnceAByteOfTheAnswerCame) {
  for (const std::string_view method : kMethods) {
    for (int i = 0; i < kCauseCount; ++i) {
      for (const bool reused : {false, true}) {
        const FailureFacts failure{static_cast<Cause>(i), true, true, reused};
        EXPECT_FALSE(may_retry(all_on(), facts_of(method), failure).retry);
      }
    }
  }
}

TEST(RetryRules, S7NeverAfterOurOwnRejectionsNorWhereASecondTryChangesNothing) {
  for (const Cause cause :
       {Cause::upstream_overflow, Cause::breaker_open, Cause::rate_limited, Cause::overloaded,
        Cause::no_healthy_upstream, Cause::client_closed, Cause::client_body_timeout,
        Cause::malformed_request, Cause::request_body_too_large, Cause::malformed_response,
        Cause::response_header_too_large, Cause::internal}) {
    for (const bool reused : {false, true}) {
      for (const bool started : {false, true}) {
        EXPECT_FALSE(may_retry(all_on(), facts_of("GET"), {cause, started, false, reused}).retry)
            << to_string(cause);
      }
    }
  }
}

TEST(RetryRules, ABodyThatIsNoLongerThereIsNotSentAgain) {
  RequestFacts put = facts_of("PUT");
  put.body_replayable = false;
  for (const bool reused : {false, true}) {
    EXPECT_FALSE(may_retry(all_on(), put, {Cause::upstream_closed, true, false, reused}).retry);
  }
  RequestFacts get = facts_of("GET");
  get.body_replayable = false;
  EXPECT_FALSE(may_retry(all_on(), get, {Cause::response_timeout, true, false, false}).retry);
}

TEST(RetryBudget, AtMostTheShareOfActiveRequestsAtOnceAndThreeInAnyCase) {
  RetryBudget few(RetryBudget::Config{});
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(few.try_start(5));
  EXPECT_FALSE(few.try_start(5));
  few.finish();
  EXPECT_TRUE(few.try_start(5));

  RetryBudget many(RetryBudget::Config{.burst = 1000});
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(many.try_start(500));
  EXPECT_FALSE(many.try_start(509));
  EXPECT_TRUE(many.try_start(510));
  EXPECT_EQ(many.in_flight(), 51);
}

TEST(RetryBudget, InTheLongRunOneRequestInTenIsRetried) {
  RetryBudget budget(RetryBudget::Config{});
  int retries = 0;
  for (int i = 0; i < 10'000; ++i) {
    budget.on_request();
    if (budget.try_start(1000)) {
      ++retries;
      budget.finish();
    }
  }
  EXPECT_GE(retries, 1000);
  EXPECT_LE(retries, 1000 + 10) << "with what a quiet spell had saved up";
}

}  // namespace
}  // namespace gatedrill::gateway
