// One request's life, path by path. The properties that hold on every path are in
// exchange_properties_test.cpp.
#include "gateway/policy/exchange.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint at(Duration since_start) {
  return TimePoint{since_start};
}

// What an exchange published.
struct Published {
  std::vector<RequestDone> requests;
  std::vector<AttemptDone> attempts;
};

class Recorder final : public EventSink {
 public:
  void publish(const Event& event) noexcept override {
    if (const auto* request = std::get_if<RequestDone>(&event.body)) {
      published.requests.push_back(*request);
    }
    if (const auto* attempt = std::get_if<AttemptDone>(&event.body)) {
      published.attempts.push_back(*attempt);
    }
  }

  Published published;
};

UpstreamConfig two_endpoints() {
  UpstreamConfig config;
  config.name = "shop";
  config.endpoints = {"10.0.0.1:80", "10.0.0.2:80"};
  return config;
}

// One route to one upstream, and exchanges on it.
struct World {
  explicit World(const UpstreamConfig& upstream_config = two_endpoints(),
                 const RouteConfig& route_config = {})
      : upstream(upstream_config, Random(1)),
        pools(upstream_config, next_id),
        route{route_config, intern("order"), &upstream, TokenBucket(route_config.rate_limit)} {}

  Exchange exchange(std::string_view method = "GET") {
    Exchange::Request request;
    request.id = RequestId("r-" + std::to_string(++requests));
    request.facts.safe = method == "GET";
    request.facts.idempotent = method != "POST";
    return Exchange(route, pools, request);
  }

  // A request that went well and left its connection idle at the endpoint of its turn.
  void succeed(TimePoint now) {
    Exchange each = exchange();
    ASSERT_TRUE(std::holds_alternative<Send>(each.start(now)));
    ASSERT_TRUE(std::holds_alternative<Forward>(each.on_response_head(now, 200)));
    ASSERT_TRUE(std::get<Done>(each.on_response_end(now, Cause::ok, true)).keep_connection);
  }

  void expect_idle_upstream() {
    EXPECT_EQ(upstream.active(), 0);
    EXPECT_EQ(upstream.retry_budget().in_flight(), 0);
    for (std::size_t i = 0; i < upstream.endpoint_count(); ++i)
      EXPECT_EQ(pools.pool(i).busy_count(), 0);
  }

  std::uint64_t next_id = 1;
  int requests = 0;
  Upstream upstream;
  UpstreamPools pools;
  Route route;
};

Published reported(const Exchange& exchange) {
  Recorder recorder;
  exchange.report(intern("as_was"), recorder);
  return recorder.published;
}

const Send& expect_send(const Step& step) {
  EXPECT_TRUE(std::holds_alternative<Send>(step));
  return std::get<Send>(step);
}

void expect_reply(const Step& step, Cause cause, int status) {
  ASSERT_TRUE(std::holds_alternative<LocalReply>(step));
  EXPECT_EQ(std::get<LocalReply>(step).cause, cause);
  EXPECT_EQ(std::get<LocalReply>(step).status, status);
}

FailureFacts closed_after_sending() {
  return {.cause = Cause::upstream_closed, .request_started = true};
}

FailureFacts refused() {
  return {.cause = Cause::connect_refused};
}

TEST(Exchange, AGoodAnswerIsForwardedAndItsConnectionKept) {
  World world;
  Exchange exchange = world.exchange();
  const Send send = expect_send(exchange.start(at(1s)));
  EXPECT_FALSE(send.connection.reused());
  EXPECT_EQ(world.upstream.active(), 1);
  EXPECT_EQ(world.pools.pool(send.endpoint).busy_count(), 1);
  EXPECT_TRUE(std::holds_alternative<Forward>(exchange.on_response_head(at(1100ms), 200)));
  const Step end = exchange.on_response_end(at(1200ms), Cause::ok, true);
  EXPECT_TRUE(std::get<Done>(end).keep_connection);
  EXPECT_FALSE(std::get<Done>(end).abort_client);
  EXPECT_EQ(world.pools.pool(send.endpoint).idle_count(), 1U);
  world.expect_idle_upstream();

  const Published published = reported(exchange);
  ASSERT_EQ(published.requests.size(), 1U);
  EXPECT_EQ(published.requests[0].cause, Cause::ok);
  EXPECT_EQ(published.requests[0].status, 200);
  EXPECT_EQ(published.requests[0].at, at(1s));
  EXPECT_EQ(published.requests[0].latency, 200ms);
  EXPECT_EQ(published.requests[0].attempts, 1);
  EXPECT_EQ(name_of(published.requests[0].route), "order");
  EXPECT_EQ(name_of(published.requests[0].upstream), "shop");
  ASSERT_EQ(published.attempts.size(), 1U);
  EXPECT_EQ(name_of(published.attempts[0].endpoint), "10.0.0.1:80");
  EXPECT_EQ(published.attempts[0].connection_ordinal, 1U);
}

TEST(Exchange, AnAnswerOfTheUpstreamsOwnErrorIsItsStatus) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  static_cast<void>(exchange.on_response_head(at(0s), 404));
  static_cast<void>(exchange.on_response_end(at(0s), Cause::ok, true));
  EXPECT_EQ(reported(exchange).requests[0].cause, Cause::upstream_status);
  EXPECT_EQ(reported(exchange).requests[0].status, 404);
}

TEST(Exchange, AnAnswerCutShortAbortsTheClientAndLosesTheConnection) {
  for (const Cause cause : {Cause::body_truncated, Cause::body_idle_timeout}) {
    World world;
    Exchange exchange = world.exchange();
    const Send send = expect_send(exchange.start(at(0s)));
    static_cast<void>(exchange.on_response_head(at(0s), 200));
    const Step end = exchange.on_response_end(at(1s), cause, true);
    EXPECT_FALSE(std::get<Done>(end).keep_connection);
    EXPECT_TRUE(std::get<Done>(end).abort_client);
    EXPECT_EQ(world.pools.pool(send.endpoint).idle_count(), 0U);
    EXPECT_EQ(reported(exchange).requests[0].cause, cause);
    EXPECT_EQ(reported(exchange).requests[0].status, 200);
    world.expect_idle_upstream();
  }
}

TEST(Exchange, ARateLimitIsAnsweredWithoutTouchingTheUpstream) {
  RouteConfig route;
  route.rate_limit = {.count = 1};
  World world(two_endpoints(), route);
  world.succeed(at(0s));
  Exchange exchange = world.exchange();
  const Step step = exchange.start(at(200ms));
  expect_reply(step, Cause::rate_limited, 429);
  EXPECT_EQ(std::get<LocalReply>(step).retry_after, 800ms);
  EXPECT_TRUE(std::holds_alternative<Done>(exchange.on_reply_sent(at(200ms))));
  const Published published = reported(exchange);
  EXPECT_EQ(name_of(published.requests[0].limiter), "order");
  EXPECT_TRUE(published.attempts.empty());
  world.expect_idle_upstream();
}

TEST(Exchange, MoreThanTheUpstreamsRequestsAtOnceAreOverflow) {
  UpstreamConfig config = two_endpoints();
  config.max_requests = 1;
  World world(config);
  Exchange first = world.exchange();
  static_cast<void>(first.start(at(0s)));
  Exchange second = world.exchange();
  expect_reply(second.start(at(0s)), Cause::upstream_overflow, 503);
  static_cast<void>(second.on_reply_sent(at(0s)));
  EXPECT_EQ(world.upstream.active(), 1) << "the rejected one gives back nothing it did not take";
  static_cast<void>(first.on_client_gone(at(0s)));
  world.expect_idle_upstream();
}

// One request at once; `waiting` more may wait for a second.
UpstreamConfig one_at_once(int waiting) {
  UpstreamConfig config = two_endpoints();
  config.max_requests = 1;
  config.queue = {.max = waiting, .timeout = 1s};
  return config;
}

RequestQueue::Ticket expect_park(const Step& step, TimePoint until) {
  EXPECT_TRUE(std::holds_alternative<Park>(step));
  EXPECT_EQ(std::get<Park>(step).until, until);
  return std::get<Park>(step).ticket;
}

std::vector<RequestQueue::Ticket> granted(World& world) {
  std::vector<RequestQueue::Ticket> tickets;
  for (const RequestQueue::Grant& grant : world.upstream.queue().take_granted())
    tickets.push_back(grant.ticket);
  return tickets;
}

TEST(Exchange, ThoseWhoWaitForAPlaceGetItInTheirOrderAndAreNotOvertaken) {
  World world(one_at_once(2));
  Exchange first = world.exchange();
  expect_send(first.start(at(0s)));
  Exchange second = world.exchange();
  Exchange third = world.exchange();
  Exchange fourth = world.exchange();
  const auto second_ticket = expect_park(second.start(at(1ms)), at(1001ms));
  const auto third_ticket = expect_park(third.start(at(2ms)), at(1002ms));
  expect_reply(fourth.start(at(3ms)), Cause::upstream_overflow, 503);
  EXPECT_FALSE(second.has_place());

  static_cast<void>(first.on_client_gone(at(100ms)));
  EXPECT_EQ(granted(world), std::vector{second_ticket});
  EXPECT_TRUE(second.has_place());
  EXPECT_FALSE(third.has_place());
  EXPECT_EQ(world.upstream.active(), 1) << "its place is kept for it";
  Exchange fifth = world.exchange();
  expect_park(fifth.start(at(101ms)), at(1101ms));

  expect_send(second.on_place(at(110ms)));
  static_cast<void>(second.on_response_head(at(120ms), 200));
  static_cast<void>(second.on_response_end(at(130ms), Cause::ok, true));
  EXPECT_EQ(granted(world), std::vector{third_ticket});
  const Published published = reported(second);
  EXPECT_EQ(published.requests[0].latency, 129ms) << "the wait is the request's";
  EXPECT_EQ(published.attempts[0].at, at(110ms)) << "but not its attempt's";
  static_cast<void>(third.on_client_gone(at(140ms)));
  static_cast<void>(fifth.on_client_gone(at(150ms)));
  world.expect_idle_upstream();
}

TEST(Exchange, WhoGetsNoPlaceInTimeIsOverflowAndLeavesTheQueue) {
  World world(one_at_once(1));
  Exchange first = world.exchange();
  expect_send(first.start(at(0s)));
  Exchange second = world.exchange();
  expect_park(second.start(at(0s)), at(1s));
  expect_reply(second.on_waited(at(1s)), Cause::upstream_overflow, 503);
  static_cast<void>(second.on_reply_sent(at(1s)));
  EXPECT_EQ(reported(second).requests[0].attempts, 0);
  Exchange third = world.exchange();
  expect_park(third.start(at(1s)), at(2s));
  static_cast<void>(first.on_client_gone(at(1s)));
  EXPECT_TRUE(third.has_place());
  expect_send(third.on_waited(at(2s)));  // told late: the place counts
  static_cast<void>(third.on_client_gone(at(2s)));
  world.expect_idle_upstream();
}

TEST(Exchange, AClientThatGoesWhileItWaitsGivesUpItsTurn) {
  World world(one_at_once(2));
  Exchange first = world.exchange();
  expect_send(first.start(at(0s)));
  Exchange second = world.exchange();
  Exchange third = world.exchange();
  expect_park(second.start(at(0s)), at(1s));
  expect_park(third.start(at(0s)), at(1s));
  EXPECT_TRUE(std::holds_alternative<Done>(second.on_client_gone(at(10ms))));
  EXPECT_EQ(reported(second).requests[0].cause, Cause::client_closed);
  EXPECT_EQ(world.upstream.active(), 1);
  static_cast<void>(first.on_client_gone(at(20ms)));
  EXPECT_TRUE(third.has_place());
  expect_reply(third.on_request_failed(at(30ms), Cause::draining), Cause::draining, 503);
  world.expect_idle_upstream();
}

TEST(Exchange, APlaceThatWasGivenToWhoHasGonePassesOn) {
  World world(one_at_once(2));
  Exchange first = world.exchange();
  expect_send(first.start(at(0s)));
  Exchange second = world.exchange();
  Exchange third = world.exchange();
  expect_park(second.start(at(0s)), at(1s));
  const auto last = expect_park(third.start(at(0s)), at(1s));
  static_cast<void>(first.on_client_gone(at(10ms)));
  ASSERT_TRUE(second.has_place());
  static_cast<void>(second.on_client_gone(at(10ms)));
  EXPECT_TRUE(third.has_place());
  EXPECT_EQ(granted(world).back(), last);
  EXPECT_EQ(world.upstream.active(), 1);
  expect_send(third.on_place(at(10ms)));
  static_cast<void>(third.on_client_gone(at(20ms)));
  world.expect_idle_upstream();
}

TEST(Exchange, TheTotalTimeoutCountsWhileItWaitsForAPlace) {
  RouteConfig route;
  route.timeouts.total = 500ms;
  World world(one_at_once(2), route);
  Exchange first = world.exchange();
  expect_send(first.start(at(0s)));
  Exchange second = world.exchange();
  Exchange third = world.exchange();
  expect_park(second.start(at(0s)), at(500ms));
  expect_park(third.start(at(0s)), at(500ms));
  expect_reply(second.on_waited(at(500ms)), Cause::total_timeout, 504);
  static_cast<void>(first.on_client_gone(at(600ms)));
  expect_reply(third.on_place(at(600ms)), Cause::total_timeout, 504);
  world.expect_idle_upstream();
}

TEST(Exchange, NoEndpointUpAndNoPanicIsNoHealthyUpstream) {
  UpstreamConfig config = two_endpoints();
  config.health.enabled = true;
  config.load_balancer.panic_percent = 0;
  World world(config);
  world.upstream.on_probe_done(at(0s), 0, false, "timeout");
  world.upstream.on_probe_done(at(0s), 1, false, "timeout");
  Exchange exchange = world.exchange();
  expect_reply(exchange.start(at(0s)), Cause::no_healthy_upstream, 503);
  world.expect_idle_upstream();
}

TEST(Exchange, InPanicAnAnswerFromAnEndpointThatIsDownSaysSo) {
  UpstreamConfig config = two_endpoints();
  config.health.enabled = true;
  World world(config);
  world.upstream.on_probe_done(at(0s), 0, false, "timeout");
  world.upstream.on_probe_done(at(0s), 1, false, "timeout");
  Exchange exchange = world.exchange();
  static_cast<void>(expect_send(exchange.start(at(0s))));
  static_cast<void>(exchange.on_response_head(at(0s), 200));
  static_cast<void>(exchange.on_response_end(at(0s), Cause::ok, true));
  EXPECT_EQ(reported(exchange).requests[0].cause, Cause::panic);
  EXPECT_EQ(reported(exchange).requests[0].status, 200);
  EXPECT_EQ(reported(exchange).attempts[0].cause, Cause::ok);
}

TEST(Exchange, AnEndpointThatWentDownMeanwhileDoesNotGetItsConnectionBack) {
  UpstreamConfig config = two_endpoints();
  config.health.enabled = true;
  World world(config);
  Exchange exchange = world.exchange();
  const Send send = expect_send(exchange.start(at(0s)));
  world.upstream.on_probe_done(at(0s), send.endpoint, false, "timeout");
  static_cast<void>(exchange.on_response_head(at(0s), 200));
  const Step end = exchange.on_response_end(at(0s), Cause::ok, true);
  EXPECT_FALSE(std::get<Done>(end).keep_connection);
  EXPECT_EQ(world.pools.pool(send.endpoint).idle_count(), 0U);
  world.expect_idle_upstream();
}

TEST(Exchange, ARefusedConnectionIsRetriedAtTheOtherEndpointAfterABackoff) {
  World world;
  Exchange exchange = world.exchange("POST");
  const Send first = expect_send(exchange.start(at(0s)));
  const Step wait = exchange.on_attempt_failed(at(1ms), refused());
  ASSERT_TRUE(std::holds_alternative<Wait>(wait));
  EXPECT_GE(std::get<Wait>(wait).until, at(1ms));
  EXPECT_LT(std::get<Wait>(wait).until, at(26ms)) << "full jitter below 25 ms";
  EXPECT_EQ(world.upstream.retry_budget().in_flight(), 1);
  EXPECT_EQ(world.pools.pool(first.endpoint).busy_count(), 0);
  const Send second = expect_send(exchange.on_waited(std::get<Wait>(wait).until));
  EXPECT_NE(second.endpoint, first.endpoint);
  EXPECT_EQ(exchange.attempt(), 2);
  static_cast<void>(exchange.on_response_head(at(30ms), 200));
  static_cast<void>(exchange.on_response_end(at(30ms), Cause::ok, true));
  world.expect_idle_upstream();

  const Published published = reported(exchange);
  EXPECT_EQ(published.requests[0].cause, Cause::ok);
  EXPECT_EQ(published.requests[0].attempts, 2);
  EXPECT_FALSE(published.requests[0].retries_exhausted);
  EXPECT_EQ(published.attempts[0].cause, Cause::connect_refused);
  EXPECT_EQ(name_of(published.attempts[0].why_retried), "conn-failure");
  EXPECT_EQ(name_of(published.attempts[1].why_retried), "");
}

TEST(Exchange, TheBackoffRepeatsForTheSameRequestAndDiffersBetweenRequests) {
  std::vector<TimePoint> first;
  std::vector<TimePoint> again;
  for (std::vector<TimePoint>* waits : {&first, &again}) {
    World world;
    for (int i = 0; i < 8; ++i) {
      Exchange exchange = world.exchange();
      static_cast<void>(exchange.start(at(0s)));
      const Step step = exchange.on_attempt_failed(at(0s), refused());
      ASSERT_TRUE(std::holds_alternative<Wait>(step));
      waits->push_back(std::get<Wait>(step).until);
      static_cast<void>(exchange.on_client_gone(at(0s)));
    }
  }
  EXPECT_EQ(first, again);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::unique(first.begin(), first.end()), first.end());
}

TEST(Exchange, RetriesEndWithTheLastCauseAndTheFlag) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  static_cast<void>(exchange.on_attempt_failed(at(0s), refused()));
  static_cast<void>(exchange.on_waited(at(25ms)));
  const Step end = exchange.on_attempt_failed(at(1s), {.cause = Cause::connect_timeout});
  expect_reply(end, Cause::connect_timeout, 504);
  static_cast<void>(exchange.on_reply_sent(at(1s)));
  const Published published = reported(exchange);
  EXPECT_TRUE(published.requests[0].retries_exhausted);
  EXPECT_EQ(published.requests[0].attempts, 2);
  EXPECT_EQ(name_of(published.attempts[1].why_retried), "") << "nothing followed";
  world.expect_idle_upstream();
}

TEST(Exchange, AnEmptyBudgetEndsRetries) {
  UpstreamConfig config = two_endpoints();
  config.retry_budget = {.percent = 0, .min_concurrent = 3, .burst = 1};
  World world(config);
  for (const bool retried : {true, false}) {
    Exchange exchange = world.exchange();
    static_cast<void>(exchange.start(at(0s)));
    const Step step = exchange.on_attempt_failed(at(0s), refused());
    EXPECT_EQ(std::holds_alternative<Wait>(step), retried);
    if (!retried) {
      EXPECT_TRUE(reported(exchange).requests[0].retries_exhausted);
    }
    static_cast<void>(exchange.on_client_gone(at(0s)));
    world.expect_idle_upstream();
  }
}

// Stale reuse: S2.
TEST(Exchange, StaleReuseOfAnIdempotentRequestGoesOnAFreshConnectionAtOnceAndUncharged) {
  UpstreamConfig config = two_endpoints();
  config.endpoints = {"10.0.0.1:80"};
  config.retry_budget = {.percent = 0, .min_concurrent = 0, .burst = 0};  // would forbid any
  RouteConfig route;
  route.retry.max_retries = 0;
  World world(config, route);
  Exchange earlier = world.exchange();
  Exchange parallel = world.exchange();
  static_cast<void>(earlier.start(at(0s)));
  static_cast<void>(parallel.start(at(0s)));
  for (Exchange* each : {&earlier, &parallel}) {
    static_cast<void>(each->on_response_head(at(0s), 200));
    static_cast<void>(each->on_response_end(at(0s), Cause::ok, true));
  }
  ASSERT_EQ(world.pools.pool(0).idle_count(), 2U);

  Exchange exchange = world.exchange();
  const Send first = expect_send(exchange.start(at(10s)));
  EXPECT_TRUE(first.connection.reused());
  const Send second = expect_send(exchange.on_attempt_failed(at(10s), closed_after_sending()));
  EXPECT_FALSE(second.connection.reused()) << "though another kept one was there";
  EXPECT_NE(second.connection.id, first.connection.id);
  static_cast<void>(exchange.on_response_head(at(10s), 200));
  static_cast<void>(exchange.on_response_end(at(10s), Cause::ok, true));
  const Published published = reported(exchange);
  EXPECT_EQ(published.requests[0].cause, Cause::ok);
  EXPECT_EQ(published.attempts[0].cause, Cause::stale_reuse);
  EXPECT_TRUE(published.attempts[0].reused);
  EXPECT_EQ(published.attempts[0].connection_age, 10s);
  EXPECT_EQ(published.attempts[0].connection_ordinal, 2U);
  EXPECT_EQ(name_of(published.attempts[0].why_retried), "empty-response");
  world.expect_idle_upstream();
}

TEST(Exchange, StaleReuseOfAPostIsA502OfThatCause) {
  World world;
  world.succeed(at(0s));
  world.succeed(at(0s));
  Exchange exchange = world.exchange("POST");
  EXPECT_TRUE(expect_send(exchange.start(at(1s))).connection.reused());
  expect_reply(exchange.on_attempt_failed(at(1s), closed_after_sending()), Cause::stale_reuse, 502);
  static_cast<void>(exchange.on_reply_sent(at(1s)));
  EXPECT_FALSE(reported(exchange).requests[0].retries_exhausted);
  world.expect_idle_upstream();
}

TEST(Exchange, AStaleConnectionThatTookNoByteOfAPostIsReplacedUncharged) {
  RouteConfig route;
  route.retry.max_retries = 0;
  World world(two_endpoints(), route);
  world.succeed(at(0s));
  Exchange exchange = world.exchange("POST");
  // The turn of the second endpoint, which has no kept connection; then the first's.
  world.succeed(at(0s));
  EXPECT_TRUE(expect_send(exchange.start(at(1s))).connection.reused());
  const Send again = expect_send(exchange.on_attempt_failed(at(1s), {.cause = Cause::send_failed}));
  EXPECT_FALSE(again.connection.reused());
}

TEST(Exchange, TheSecondStaleReuseIsNotRetriedAgain) {
  World world;
  Exchange exchange = world.exchange();
  world.succeed(at(0s));
  world.succeed(at(0s));
  static_cast<void>(expect_send(exchange.start(at(1s))));
  EXPECT_FALSE(
      expect_send(exchange.on_attempt_failed(at(1s), closed_after_sending())).connection.reused());
  expect_reply(exchange.on_attempt_failed(at(1s), closed_after_sending()), Cause::upstream_closed,
               502);
}

TEST(Exchange, AFullPoolOfIdleConnectionsStillHasRoomForAFreshOne) {
  UpstreamConfig config = two_endpoints();
  config.pool.max_connections = 1;
  World world(config);
  world.succeed(at(0s));
  world.succeed(at(0s));
  ASSERT_EQ(world.pools.pool(1).idle_count(), 1U);
  Exchange exchange = world.exchange();
  EXPECT_EQ(expect_send(exchange.start(at(1s))).endpoint, 0U);
  const Send fresh = expect_send(exchange.on_attempt_failed(at(1s), closed_after_sending()));
  EXPECT_EQ(fresh.endpoint, 1U);
  EXPECT_FALSE(fresh.connection.reused());
  EXPECT_EQ(world.pools.pool(1).take_evicted().size(), 1U);
}

TEST(Exchange, AllConnectionsBusyIsOverflowAndGivesTheBreakersPermitBack) {
  UpstreamConfig config = two_endpoints();
  config.endpoints = {"10.0.0.1:80"};
  config.pool.max_connections = 1;
  config.breaker.consecutive_failures = 1;
  config.breaker.probes_max = 1;
  RouteConfig route;
  route.retry.max_retries = 0;
  World world(config, route);
  Exchange holder = world.exchange();
  static_cast<void>(holder.start(at(0s)));
  static_cast<void>(holder.on_response_head(at(0s), 503));  // opens the breaker, body goes on
  EXPECT_EQ(world.upstream.breaker().state(), CircuitBreaker::State::open);
  Exchange probe = world.exchange();
  expect_reply(probe.start(at(5s)), Cause::upstream_overflow, 503);
  static_cast<void>(probe.on_reply_sent(at(5s)));
  static_cast<void>(holder.on_response_end(at(5s), Cause::ok, true));
  Exchange next = world.exchange();
  EXPECT_TRUE(std::holds_alternative<Send>(next.start(at(5s)))) << "the probe's place is free";
}

// The breaker.
TEST(Exchange, AnOpenBreakerIsAnsweredWithTheTimeThatIsLeft) {
  UpstreamConfig config = two_endpoints();
  config.breaker.consecutive_failures = 1;
  World world(config);
  Exchange failing = world.exchange("POST");
  static_cast<void>(failing.start(at(0s)));
  expect_reply(failing.on_attempt_failed(at(0s), closed_after_sending()), Cause::upstream_closed,
               502);
  Exchange rejected = world.exchange();
  const Step step = rejected.start(at(2s));
  expect_reply(step, Cause::breaker_open, 503);
  EXPECT_EQ(std::get<LocalReply>(step).retry_after, 3s);
  static_cast<void>(rejected.on_reply_sent(at(2s)));
  EXPECT_EQ(reported(rejected).requests[0].attempts, 0);
  EXPECT_TRUE(world.upstream.endpoint_up(0)) << "an open breaker takes no endpoint down";
  EXPECT_TRUE(world.upstream.endpoint_up(1));
}

TEST(Exchange, ARetryThatTheBreakerForbidsEndsWithTheFailureItself) {
  UpstreamConfig config = two_endpoints();
  config.breaker.consecutive_failures = 1;
  World world(config);
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  const Step wait = exchange.on_attempt_failed(at(0s), refused());
  ASSERT_TRUE(std::holds_alternative<Wait>(wait));
  expect_reply(exchange.on_waited(std::get<Wait>(wait).until), Cause::connect_refused, 502);
  static_cast<void>(exchange.on_reply_sent(at(1s)));
  const Published published = reported(exchange);
  ASSERT_EQ(published.attempts.size(), 1U);
  EXPECT_EQ(name_of(published.attempts[0].why_retried), "") << "it was not retried after all";
  world.expect_idle_upstream();
}

TEST(Exchange, EveryFailureOfAnAttemptCountsForTheBreaker) {
  for (const Cause cause :
       {Cause::connect_refused, Cause::connect_timeout, Cause::upstream_closed, Cause::send_failed,
        Cause::response_timeout, Cause::total_timeout, Cause::malformed_response}) {
    UpstreamConfig config = two_endpoints();
    config.breaker.consecutive_failures = 1;
    World world(config);
    Exchange exchange = world.exchange("POST");
    static_cast<void>(exchange.start(at(0s)));
    static_cast<void>(
        exchange.on_attempt_failed(at(0s), {.cause = cause, .request_started = true}));
    EXPECT_EQ(world.upstream.breaker().state(), CircuitBreaker::State::open) << to_string(cause);
  }
}

TEST(Exchange, OurOwnWantOfDescriptorsSaysNothingOfTheUpstream) {
  UpstreamConfig config = two_endpoints();
  config.breaker.consecutive_failures = 1;
  World world(config);
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  expect_reply(exchange.on_attempt_failed(at(0s), {.cause = Cause::internal}), Cause::internal,
               500);
  EXPECT_EQ(world.upstream.breaker().state(), CircuitBreaker::State::closed);
}

TEST(Exchange, ARequestThatFailsByItselfIsAnsweredAndCountsForNobody) {
  struct Row {
    Cause cause;
    int status;
  };

  for (const Row& row :
       {Row{Cause::client_body_timeout, 408}, Row{Cause::request_body_too_large, 413},
        Row{Cause::malformed_request, 400}, Row{Cause::draining, 503}}) {
    UpstreamConfig config = two_endpoints();
    config.breaker.consecutive_failures = 1;
    World world(config);
    Exchange exchange = world.exchange();
    static_cast<void>(exchange.start(at(0s)));
    expect_reply(exchange.on_request_failed(at(1s), row.cause), row.cause, row.status);
    static_cast<void>(exchange.on_reply_sent(at(1s)));
    EXPECT_EQ(world.upstream.breaker().state(), CircuitBreaker::State::closed);
    EXPECT_EQ(reported(exchange).attempts[0].cause, row.cause);
    EXPECT_EQ(reported(exchange).attempts[0].status, 0);
    world.expect_idle_upstream();
  }
}

TEST(Exchange, ARequestThatFailsDuringItsAnswerCutsItShort) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  static_cast<void>(exchange.on_response_head(at(0s), 200));
  const Step end = exchange.on_request_failed(at(1s), Cause::draining);
  EXPECT_TRUE(std::get<Done>(end).abort_client);
  EXPECT_EQ(reported(exchange).requests[0].status, 200);
  EXPECT_EQ(reported(exchange).requests[0].cause, Cause::draining);
  world.expect_idle_upstream();
}

TEST(Exchange, WhichStatusesTheBreakerCounts) {
  for (const int status : {200, 304, 404, 429, 499, 500, 501, 502, 503, 504, 505}) {
    UpstreamConfig config = two_endpoints();
    config.breaker.consecutive_failures = 1;
    World world(config);
    Exchange exchange = world.exchange();
    static_cast<void>(exchange.start(at(0s)));
    static_cast<void>(exchange.on_response_head(at(0s), status));
    EXPECT_EQ(world.upstream.breaker().state() == CircuitBreaker::State::open,
              status >= 502 && status <= 504)
        << status;
  }
}

TEST(Exchange, AStaleConnectionThatIsReplacedSaysNothingOfTheUpstream) {
  UpstreamConfig config = two_endpoints();
  config.endpoints = {"10.0.0.1:80"};
  config.breaker.consecutive_failures = 1;
  World world(config);
  // The backend fails, the breaker opens; meanwhile the backend restarts, so that the kept
  // connection is dead. The probe meets it, and goes on a fresh one.
  world.succeed(at(0s));
  Exchange busy = world.exchange();
  static_cast<void>(busy.start(at(0s)));
  Exchange failing = world.exchange("POST");
  static_cast<void>(failing.start(at(0s)));
  static_cast<void>(busy.on_response_head(at(0s), 200));
  static_cast<void>(busy.on_response_end(at(0s), Cause::ok, true));
  static_cast<void>(failing.on_attempt_failed(at(0s), closed_after_sending()));
  ASSERT_EQ(world.upstream.breaker().state(), CircuitBreaker::State::open);

  Exchange probe = world.exchange();
  EXPECT_TRUE(expect_send(probe.start(at(5s))).connection.reused());
  const Step step = probe.on_attempt_failed(at(5s), closed_after_sending());
  ASSERT_TRUE(std::holds_alternative<Send>(step)) << "the probe was not a failure";
  EXPECT_FALSE(std::get<Send>(step).connection.reused());
  static_cast<void>(probe.on_response_head(at(5s), 200));
  static_cast<void>(probe.on_response_end(at(5s), Cause::ok, true));
  EXPECT_EQ(world.upstream.breaker().state(), CircuitBreaker::State::half_open);
}

// The client goes, in each state.
TEST(Exchange, AClientThatGoesBeforeTheAnswerIs499) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  const Step end = exchange.on_client_gone(at(1s));
  EXPECT_FALSE(std::get<Done>(end).keep_connection);
  EXPECT_TRUE(std::get<Done>(end).abort_client);
  EXPECT_EQ(reported(exchange).requests[0].status, 499);
  EXPECT_EQ(reported(exchange).requests[0].cause, Cause::client_closed);
  EXPECT_EQ(reported(exchange).attempts[0].cause, Cause::client_closed);
  EXPECT_EQ(reported(exchange).attempts[0].latency, 1s);
  world.expect_idle_upstream();
}

TEST(Exchange, AClientThatGoesDuringTheAnswerKeepsItsStatus) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  static_cast<void>(exchange.on_response_head(at(0s), 200));
  static_cast<void>(exchange.on_client_gone(at(1s)));
  EXPECT_EQ(reported(exchange).requests[0].status, 200) << "it was sent already";
  EXPECT_EQ(reported(exchange).requests[0].cause, Cause::client_closed);
  EXPECT_EQ(reported(exchange).attempts[0].status, 200);
  world.expect_idle_upstream();
}

TEST(Exchange, AClientThatGoesDuringTheBackoffIsNotRetriedFor) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  static_cast<void>(exchange.on_attempt_failed(at(0s), refused()));
  static_cast<void>(exchange.on_client_gone(at(1ms)));
  const Published published = reported(exchange);
  EXPECT_EQ(published.requests[0].cause, Cause::client_closed);
  EXPECT_EQ(published.requests[0].attempts, 1);
  EXPECT_EQ(published.attempts[0].cause, Cause::connect_refused);
  EXPECT_EQ(name_of(published.attempts[0].why_retried), "");
  world.expect_idle_upstream();
}

TEST(Exchange, AClientThatGoesDuringOurOwnReplyDoesNotHideWhyWeReplied) {
  World world;
  Exchange exchange = world.exchange("POST");
  static_cast<void>(exchange.start(at(0s)));
  expect_reply(exchange.on_attempt_failed(
                   at(3s), {.cause = Cause::response_timeout, .request_started = true}),
               Cause::response_timeout, 504);
  const Step end = exchange.on_client_gone(at(3s));
  EXPECT_TRUE(std::get<Done>(end).abort_client);
  EXPECT_EQ(reported(exchange).requests[0].cause, Cause::response_timeout);
  EXPECT_EQ(reported(exchange).requests[0].status, 504);
  world.expect_idle_upstream();
}

TEST(Exchange, AProbeWhoseClientGoesIsGivenBack) {
  UpstreamConfig config = two_endpoints();
  config.breaker.consecutive_failures = 1;
  config.breaker.probes_max = 1;
  World world(config);
  Exchange failing = world.exchange("POST");
  static_cast<void>(failing.start(at(0s)));
  static_cast<void>(failing.on_attempt_failed(at(0s), closed_after_sending()));
  Exchange probe = world.exchange();
  ASSERT_TRUE(std::holds_alternative<Send>(probe.start(at(5s))));
  Exchange second = world.exchange();
  expect_reply(second.start(at(5s)), Cause::breaker_open, 503);
  static_cast<void>(probe.on_client_gone(at(6s)));
  Exchange third = world.exchange();
  EXPECT_TRUE(std::holds_alternative<Send>(third.start(at(6s))));
}

// Deadlines.
TEST(Exchange, EachPhaseHasItsDeadlineAndTheTotalCutsThemShort) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  const Deadline connect = exchange.deadline(Phase::connect, at(0s));
  EXPECT_EQ(connect.at, at(1s));
  EXPECT_EQ(connect.cause, Cause::connect_timeout);
  const Deadline response = exchange.deadline(Phase::response, at(1s));
  EXPECT_EQ(response.at, at(4s));
  EXPECT_EQ(response.cause, Cause::response_timeout);
  const Deadline cut = exchange.deadline(Phase::response, at(3s));
  EXPECT_EQ(cut.at, at(5s));
  EXPECT_EQ(cut.cause, Cause::total_timeout);
  const Deadline body = exchange.deadline(Phase::body, at(4s));
  EXPECT_EQ(body.at, at(19s)) << "the total ends with the answer's head";
  EXPECT_EQ(body.cause, Cause::body_idle_timeout);
}

TEST(Exchange, TheTotalTimeoutBeginsWhenTheClientHasSentItsBody) {
  World world;
  Exchange::Request request;
  request.body_owed = true;
  Exchange exchange(world.route, world.pools, request);
  static_cast<void>(exchange.start(at(0s)));
  EXPECT_EQ(exchange.deadline(Phase::request, at(100s)).at, kNever)
      << "a slow client says nothing of the upstream";
  exchange.on_request_received(at(100s));
  exchange.on_request_received(at(101s));
  const Deadline response = exchange.deadline(Phase::response, at(104s));
  EXPECT_EQ(response.at, at(105s));
  EXPECT_EQ(response.cause, Cause::total_timeout);
}

TEST(Exchange, APerTryTimeoutCutsOneAttemptShortFromItsStart) {
  RouteConfig route;
  route.timeouts.per_try = 2s;
  route.retry.on_timeout = true;
  World world(two_endpoints(), route);
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  EXPECT_EQ(exchange.deadline(Phase::connect, at(0s)).at, at(1s)) << "connect is shorter";
  const Deadline first = exchange.deadline(Phase::response, at(1s));
  EXPECT_EQ(first.at, at(2s));
  EXPECT_EQ(first.cause, Cause::response_timeout);
  const Step wait = exchange.on_attempt_failed(
      at(2s), {.cause = Cause::response_timeout, .request_started = true});
  ASSERT_TRUE(std::holds_alternative<Wait>(wait));
  static_cast<void>(exchange.on_waited(at(2100ms)));
  EXPECT_EQ(exchange.deadline(Phase::response, at(2100ms)).at, at(4100ms));
  static_cast<void>(exchange.on_client_gone(at(3s)));
}

TEST(Exchange, TheTotalTimeoutIncludesTheBackoff) {
  RouteConfig route;
  route.timeouts.total = 1001ms;
  World world(two_endpoints(), route);
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  const Step step = exchange.on_attempt_failed(at(1s), {.cause = Cause::connect_timeout});
  ASSERT_TRUE(std::holds_alternative<Wait>(step));
  EXPECT_LE(std::get<Wait>(step).until, at(1001ms));
  expect_reply(exchange.on_waited(at(1001ms)), Cause::total_timeout, 504);
  world.expect_idle_upstream();
}

TEST(Exchange, AfterTheTotalTimeoutNothingIsRetried) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  expect_reply(exchange.on_attempt_failed(at(5s), refused()), Cause::connect_refused, 502);
  world.expect_idle_upstream();
}

TEST(Exchange, ABodyThatLeftTheReplayBufferIsNotSentAgain) {
  World world;
  world.succeed(at(0s));
  world.succeed(at(0s));
  Exchange exchange = world.exchange("PUT");
  EXPECT_TRUE(expect_send(exchange.start(at(1s))).connection.reused());
  exchange.on_body_not_replayable();
  expect_reply(exchange.on_attempt_failed(at(1s), closed_after_sending()), Cause::stale_reuse, 502);
}

RouteConfig retrying_503() {
  RouteConfig route;
  route.retry.on_status = {503};
  return route;
}

TEST(Exchange, AStatusThatIsListedIsRetriedElsewhereAndItsConnectionGivenUp) {
  World world(two_endpoints(), retrying_503());
  Exchange exchange = world.exchange();
  const std::size_t first = expect_send(exchange.start(at(0s))).endpoint;
  const Step wait = exchange.on_response_head(at(10ms), 503);
  ASSERT_TRUE(std::holds_alternative<Wait>(wait));
  const Send second = expect_send(exchange.on_waited(std::get<Wait>(wait).until));
  EXPECT_NE(second.endpoint, first);
  ASSERT_TRUE(std::holds_alternative<Forward>(exchange.on_response_head(at(50ms), 200)));
  static_cast<void>(exchange.on_response_end(at(50ms), Cause::ok, true));
  const Published published = reported(exchange);
  ASSERT_EQ(published.attempts.size(), 2U);
  EXPECT_EQ(published.attempts[0].status, 503);
  EXPECT_EQ(published.attempts[0].cause, Cause::upstream_status);
  EXPECT_EQ(name_of(published.attempts[0].why_retried), "503");
  EXPECT_EQ(published.requests[0].cause, Cause::ok);
  world.expect_idle_upstream();
}

TEST(Exchange, AStatusIsNotRetriedUnlessItIsListedAndTheMethodIsSafe) {
  World unlisted(two_endpoints(), retrying_503());
  Exchange other = unlisted.exchange();
  static_cast<void>(other.start(at(0s)));
  EXPECT_TRUE(std::holds_alternative<Forward>(other.on_response_head(at(0s), 502)));
  World posting(two_endpoints(), retrying_503());
  Exchange put = posting.exchange("PUT");
  static_cast<void>(put.start(at(0s)));
  EXPECT_TRUE(std::holds_alternative<Forward>(put.on_response_head(at(0s), 503)));
}

TEST(Exchange, RetryAfterIsWaitedForAndForwardedWhenTheTotalTimeoutComesFirst) {
  World world(two_endpoints(), retrying_503());
  Exchange patient = world.exchange();
  static_cast<void>(patient.start(at(0s)));
  const Step wait = patient.on_response_head(at(1s), 503, 2s);
  ASSERT_TRUE(std::holds_alternative<Wait>(wait));
  EXPECT_EQ(std::get<Wait>(wait).until, at(3s));
  Exchange hurried = world.exchange();
  static_cast<void>(hurried.start(at(0s)));
  EXPECT_TRUE(std::holds_alternative<Forward>(hurried.on_response_head(at(1s), 503, 4s)))
      << "1 s + 4 s is the total timeout";
  Exchange dated = world.exchange();
  static_cast<void>(dated.start(at(0s)));
  EXPECT_TRUE(
      std::holds_alternative<Forward>(dated.on_response_head(at(1s), 503, Duration::max())));
}

TEST(Exchange, TheLastAnswerIsForwardedWhenItsRetriesAreUsedUp) {
  World world(two_endpoints(), retrying_503());
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  const Step wait = exchange.on_response_head(at(0s), 503);
  static_cast<void>(exchange.on_waited(std::get<Wait>(wait).until));
  ASSERT_TRUE(std::holds_alternative<Forward>(exchange.on_response_head(at(50ms), 503)));
  static_cast<void>(exchange.on_response_end(at(50ms), Cause::ok, true));
  const Published published = reported(exchange);
  EXPECT_EQ(published.requests[0].status, 503);
  EXPECT_EQ(published.requests[0].cause, Cause::upstream_status);
  EXPECT_TRUE(published.requests[0].retries_exhausted);
}

TEST(Exchange, AStatusWhoseRetryCannotBeSentIsToldToTheClient) {
  UpstreamConfig config = two_endpoints();
  config.breaker.consecutive_failures = 1;  // the first 503 opens it
  World world(config, retrying_503());
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  const Step wait = exchange.on_response_head(at(0s), 503);
  ASSERT_TRUE(std::holds_alternative<Wait>(wait));
  expect_reply(exchange.on_waited(std::get<Wait>(wait).until), Cause::upstream_status, 503);
  static_cast<void>(exchange.on_reply_sent(at(1s)));
  world.expect_idle_upstream();
}

TEST(Exchange, TheTimesOfAnAttemptsPhasesAddUpToItsLatency) {
  World world;
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(0s)));
  exchange.on_connected(at(2ms));
  exchange.on_request_sent(at(5ms));
  static_cast<void>(exchange.on_response_head(at(105ms), 200));
  static_cast<void>(exchange.on_response_end(at(125ms), Cause::ok, true));
  const PhaseTimes phases = reported(exchange).attempts[0].phases;
  EXPECT_EQ(phases, (PhaseTimes{2ms, 3ms, 100ms, 20ms}));
}

TEST(Exchange, AKeptConnectionHasNoConnectPhaseAndAPhaseThatNeverCameNoTime) {
  World world;
  world.succeed(at(0s));
  world.succeed(at(0s));
  Exchange exchange = world.exchange();
  static_cast<void>(exchange.start(at(1s)));
  exchange.on_request_sent(at(1s));
  static_cast<void>(exchange.on_attempt_failed(
      at(4s), {.cause = Cause::response_timeout, .request_started = true}));
  const PhaseTimes phases = reported(exchange).attempts[0].phases;
  EXPECT_EQ(phases, (PhaseTimes{PhaseTimes::kNotBegun, 0ms, 3s, PhaseTimes::kNotBegun}))
      << "it ended while it waited, after 3 s";
}

TEST(Exchange, AnAnswerThatCameBeforeTheRequestWasSentHasNoWait) {
  World world;
  Exchange exchange = world.exchange("POST");
  static_cast<void>(exchange.start(at(0s)));
  exchange.on_connected(at(1ms));
  static_cast<void>(exchange.on_response_head(at(3ms), 413));
  exchange.on_request_sent(at(4ms));
  static_cast<void>(exchange.on_response_end(at(5ms), Cause::ok, false));
  EXPECT_EQ(reported(exchange).attempts[0].phases,
            (PhaseTimes{1ms, 2ms, PhaseTimes::kNotBegun, 2ms}));
}

}  // namespace
}  // namespace gatedrill::gateway
