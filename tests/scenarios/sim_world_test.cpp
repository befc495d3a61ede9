#include "scenarios/sim/sim_world.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/fault/response_header.hpp"

using namespace std::chrono_literals;

namespace gatedrill::scenarios {
namespace {

class VectorSink final : public EventSink {
 public:
  void publish(const Event& event) noexcept override { events.push_back(event); }

  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const Event& event : events) {
      if (const auto* body = std::get_if<T>(&event.body)) found.push_back(*body);
    }
    return found;
  }

  std::vector<Event> events;
};

// A recording of `count` requests, 10 ms apart, on four connections; every fourth is a POST.
std::vector<replay::RecordedExchange> recording(int count) {
  std::vector<replay::RecordedExchange> exchanges;
  for (int i = 0; i < count; ++i) {
    replay::RecordedExchange exchange;
    exchange.id = i + 1;
    exchange.at = UnixTime{1'000'000'000LL + i * 10'000'000LL};
    exchange.connection = i % 4 + 1;
    exchange.protocol = "http/1.1";
    exchange.host = "shop.test";
    replay::RecordedRequest request;
    request.method = i % 4 == 3 ? "POST" : "GET";
    request.target = "/item/" + std::to_string(i % 50);
    request.version = "HTTP/1.1";
    request.fields = {{"Host", "shop.test"}};
    if (i % 8 == 3) request.fields.push_back({"Idempotency-Key", "order-" + std::to_string(i)});
    exchange.request = request;
    replay::RecordedResponse response;
    response.status = 200;
    response.version = "HTTP/1.1";
    response.body = "body " + std::to_string(i);
    exchange.response = response;
    exchanges.push_back(exchange);
  }
  return exchanges;
}

struct Play {
  Variant variant;
  Duration duration = 20s;
  double rate = 200;
  std::uint64_t seed = 1;
  VectorSink sink;

  Play() {
    variant.name = "test";
    World& world = variant.world;
    OriginSpec shop;
    shop.instances = 3;
    shop.answers.from_recording = true;
    shop.latency = Distribution::fixed(20ms);
    shop.workers = 100;
    shop.stop.style = StopStyle::abrupt;
    shop.stop.removal_wait = 1s;
    shop.stop.start_time = 500ms;
    world.origins["shop"] = shop;
    world.link.delay = Distribution::fixed(4ms);
    gateway::UpstreamConfig upstream;
    upstream.name = "shop";
    upstream.endpoint_names = instance_names("shop", 3);
    upstream.endpoints = upstream.endpoint_names;
    upstream.breaker.enabled = false;
    world.gateway.upstreams = {upstream};
    gateway::RouteConfig route;
    route.upstream = "shop";
    world.gateway.routes = {route};
    world.upstream_origins["shop"] = "shop";
  }

  void run() {
    const auto exchanges = recording(400);
    loadgen::CopyTiming timing;
    timing.rate_per_second = rate;
    timing.duration = duration;
    auto plan = replay::ReplayPlan::make(exchanges, timing);
    ASSERT_TRUE(plan) << plan.error().message;
    auto book = std::make_shared<AnswerBook>();
    for (const auto& exchange : exchanges)
      book->add(exchange);
    const AnswerBooks books{{"shop", book}};
    SimOrder order;
    order.variant = &variant;
    order.traffic = *plan;
    order.answers = &books;
    order.seed = seed;
    order.duration = duration;
    order.sink = &sink;
    const auto played = simulate(order);
    ASSERT_TRUE(played) << played.error().message;
  }

  void restart_at(Duration at, Duration interval) {
    variant.world.timeline.push_back(
        {"restarts", TimePoint{at}, std::nullopt, RestartAction{"shop", interval}});
  }

  gateway::RouteConfig& route() { return variant.world.gateway.routes[0]; }

  std::map<Cause, int> causes() const {
    std::map<Cause, int> counts;
    for (const auto& request : sink.all<RequestDone>())
      ++counts[request.cause];
    return counts;
  }
};

TEST(SimWorld, EveryIntendedRequestEndsOnceAndIsAnsweredAsRecorded) {
  Play play;
  play.run();
  const auto sends = play.sink.all<SendDone>();
  EXPECT_EQ(sends.size(), 4000U);
  std::set<std::string> ids;
  for (const auto& send : sends) {
    ids.insert(std::string(send.request_id.view()));
    EXPECT_EQ(send.status, 200);
    EXPECT_TRUE(send.body_as_expected);
    EXPECT_EQ(send.done - send.intended, 28ms);
  }
  EXPECT_EQ(ids.size(), sends.size());
  EXPECT_EQ(play.sink.all<RequestDone>().size(), sends.size());
  EXPECT_EQ(play.sink.all<Execution>().size(), sends.size());
}

TEST(SimWorld, AnAbruptRestartCutsRequestsOnKeptConnections) {
  Play play;
  play.route().retry.on_stale_reuse = false;
  play.restart_at(5s, 2s);
  play.run();
  const auto causes = play.causes();
  EXPECT_GT(causes.at(Cause::stale_reuse), 0);
  for (const auto& request : play.sink.all<RequestDone>()) {
    if (request.cause != Cause::stale_reuse) continue;
    EXPECT_EQ(request.status, 502);
    EXPECT_GE(request.at, TimePoint{5s});
    EXPECT_LE(request.at, TimePoint{12s});
  }
}

TEST(SimWorld, StaleReuseIsRetriedForIdempotentRequestsOnly) {
  Play play;
  play.restart_at(5s, 2s);
  play.run();
  int retried = 0;
  for (const auto& request : play.sink.all<RequestDone>()) {
    if (request.cause == Cause::stale_reuse) {
      EXPECT_EQ(name_of(request.method), "POST");
      EXPECT_EQ(request.attempts, 1);
    }
    if (request.attempts > 1) ++retried;
  }
  EXPECT_GT(retried, 0);
  std::map<std::string, int> posts;
  for (const auto& execution : play.sink.all<Execution>()) {
    if (name_of(execution.method) == "POST") ++posts[std::string(execution.request_id.view())];
  }
  for (const auto& [id, times] : posts)
    EXPECT_EQ(times, 1) << id;
}

TEST(SimWorld, AKeyOfItsOwnMakesAPostRepeatableWhereTheRouteSaysSo) {
  Play play;
  play.route().retry.idempotency_key_header = "Idempotency-Key";
  play.restart_at(5s, 2s);
  play.run();
  std::map<std::string, std::set<std::string>> orders;
  for (const auto& execution : play.sink.all<Execution>()) {
    const std::string key(execution.business_key.view());
    if (key.starts_with("order-")) orders[key].emplace(execution.request_id.view());
  }
  // Every copy of the recording is orders of its own: 20 s at 200/s, every eighth request, but for
  // the few that met a closed port.
  EXPECT_GT(orders.size(), 450U);
  for (const auto& [key, requests] : orders)
    EXPECT_EQ(requests.size(), 1U) << key;
  int retried = 0;
  for (const auto& request : play.sink.all<RequestDone>()) {
    if (name_of(request.method) == "POST" && request.attempts > 1) ++retried;
  }
  EXPECT_GT(retried, 0);
}

TEST(SimWorld, AGracefulRestartBehindHealthChecksLosesNothing) {
  Play play;
  play.variant.world.origins["shop"].stop.style = StopStyle::graceful;
  gateway::UpstreamConfig& upstream = play.variant.world.gateway.upstreams[0];
  upstream.health = {.enabled = true,
                     .path = "/ready",
                     .interval = 200ms,
                     .timeout = 100ms,
                     .fall = 2,
                     .rise = 2,
                     .fast_interval = 100ms,
                     .down_interval = 100ms,
                     .jitter_percent = 10};
  play.restart_at(5s, 3s);
  play.run();
  for (const auto& send : play.sink.all<SendDone>()) {
    EXPECT_EQ(send.status, 200) << send.request_id.view();
    EXPECT_TRUE(send.body_as_expected);
  }
  EXPECT_EQ(play.causes().size(), 1U);
}

TEST(SimWorld, AHeadBeyondTheGatewaysLimitFailsTheRequestAndASmallerOneDoesNot) {
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{40'000}}) {
    Play play;
    FaultAction action;
    action.fault.name = "big";
    action.fault.fault = std::make_shared<chaos::ResponseHeader>(bytes);
    action.fault.at = TimePoint{5s};
    action.fault.until = TimePoint{6s};
    play.variant.world.timeline.push_back({"big", TimePoint{5s}, 1s, action});
    play.run();
    EXPECT_EQ(play.sink.all<FaultHit>().size(), 200U);
    const auto causes = play.causes();
    const auto found = causes.find(Cause::response_header_too_large);
    EXPECT_EQ(found == causes.end() ? 0 : found->second, bytes > 32'768 ? 200 : 0);
  }
}

TEST(SimWorld, SlowAnswersBecomeResponseTimeouts) {
  Play play;
  play.variant.world.origins["shop"].latency =
      Distribution::quantiles({{0.0, 100ms}, {0.5, 1s}, {1.0, 1900ms}});
  play.variant.world.origins["shop"].workers = 1000;
  play.route().timeouts.response = 1s;
  play.run();
  const auto causes = play.causes();
  const double share = causes.at(Cause::response_timeout) / 4000.0;
  // Two link delays of 4 ms come on top of the median.
  EXPECT_NEAR(share, 0.5, 0.03);
  for (const auto& request : play.sink.all<RequestDone>()) {
    if (request.cause == Cause::response_timeout) {
      EXPECT_EQ(request.latency, 1s);
    }
  }
}

// Two seconds of more than four at once can serve.
TEST(SimWorld, WhoFindsTheUpstreamFullWaitsForAPlaceIfThereIsAQueue) {
  const auto play_with = [](Play& play, gateway::QueueConfig queue) {
    play.duration = 2s;
    gateway::UpstreamConfig& upstream = play.variant.world.gateway.upstreams[0];
    upstream.max_requests = 4;
    upstream.queue = queue;
    play.run();
  };
  Play without;
  play_with(without, {});
  EXPECT_GT(without.causes()[Cause::upstream_overflow], 40);

  Play patient;
  play_with(patient, {.max = 1000, .timeout = 4s});
  EXPECT_EQ(patient.causes(), (std::map<Cause, int>{{Cause::ok, 400}}));
  Duration longest{0};
  for (const auto& request : patient.sink.all<RequestDone>())
    longest = std::max(longest, request.latency);
  EXPECT_GT(longest, 500ms) << "they did wait";

  Play hurried;
  play_with(hurried, {.max = 1000, .timeout = 100ms});
  EXPECT_GT(hurried.causes()[Cause::upstream_overflow], 0);
  EXPECT_GT(hurried.causes()[Cause::ok], without.causes()[Cause::ok]);
  for (const auto& request : hurried.sink.all<RequestDone>()) {
    if (request.cause == Cause::upstream_overflow) {
      EXPECT_EQ(request.latency, 100ms);
    }
  }
}

TEST(SimWorld, TheSameSeedGivesTheSameEventsAndAnotherSeedOthers) {
  const auto latencies = [](std::uint64_t seed) {
    Play play;
    play.seed = seed;
    play.variant.world.origins["shop"].latency = Distribution::log_normal(20ms, 80ms);
    play.restart_at(5s, 2s);
    play.run();
    std::vector<std::pair<std::string, Duration>> all;
    for (const auto& request : play.sink.all<RequestDone>()) {
      all.emplace_back(std::string(request.request_id.view()), request.latency);
    }
    return all;
  };
  const auto first = latencies(1);
  EXPECT_EQ(first, latencies(1));
  EXPECT_NE(first, latencies(2));
}

}  // namespace
}  // namespace gatedrill::scenarios
