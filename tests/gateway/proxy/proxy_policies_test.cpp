// The policies at work in a running gateway.
#include <atomic>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string next_answer(PeerSocket& client, const std::string& request) {
  EXPECT_TRUE(client.send(request));
  return client.read_request();
}

void wait_until_begun(RunningGateway& gateway, std::uint64_t requests) {
  for (std::uint64_t begun = 0; begun < requests;) {
    gateway.on_its_thread(
        [&](gateway::GatewayServer& server) { begun = server.counts().requests_begun; });
  }
}

TEST(ProxyPolicies, ARateLimitAnswers429AndSaysWhen) {
  ScriptedPeer origin(always_answer("in time"));
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.routes[0].rate_limit.count = 2;
  config.routes[0].rate_limit.period = std::chrono::minutes{1};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  EXPECT_THAT(next_answer(client, get("/")), EndsWith("in time"));
  EXPECT_THAT(next_answer(client, get("/")), EndsWith("in time"));
  const std::string answer = next_answer(client, post("/", "with a body"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429 Too Many Requests\r\n"));
  EXPECT_THAT(answer, ContainsRegex("retry-after: (29|30)\r\n"));
  // Keep-alive survives, and what comes next is not taken for the body.
  EXPECT_THAT(next_answer(client, get("/")), StartsWith("HTTP/1.1 429 "));
  const auto requests = gateway.events().wait_for<RequestDone>(4);
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[3].cause, Cause::rate_limited);
  EXPECT_EQ(name_of(requests[3].limiter), "all");
  EXPECT_EQ(requests[3].attempts, 0);
}

TEST(ProxyPolicies, ABreakerOpensAndRefusesWithoutSending) {
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.upstreams[0].breaker.consecutive_failures = 3;
  config.routes[0].retry.max_retries = 0;
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(next_answer(client, get("/")), StartsWith("HTTP/1.1 502 "));
  const std::string answer = next_answer(client, get("/"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("retry-after: 5\r\n"));
  const auto requests = gateway.events().wait_for<RequestDone>(4);
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[3].cause, Cause::breaker_open);
  const auto transitions = gateway.events().all<Transition>();
  ASSERT_EQ(transitions.size(), 1U);
  EXPECT_EQ(transitions[0].kind, Transition::Kind::breaker);
  EXPECT_EQ(name_of(transitions[0].subject), "shop");
  EXPECT_EQ(name_of(transitions[0].to_state), "open");
}

TEST(ProxyPolicies, AnEndpointThatFailsItsProbesIsLeftOutAndTakenBack) {
  std::atomic<bool> well = false;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      peer.send(answer_of(request.find("GET /health ") == 0 && !well ? 503 : 200, "served"));
    }
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.upstreams[0].load_balancer.panic_percent = 0;
  auto& health = config.upstreams[0].health;
  health.enabled = true;
  health.interval = health.fast_interval = health.down_interval = milliseconds{20};
  RunningGateway gateway(config);
  const auto down = gateway.events().wait_for<Transition>(1);
  ASSERT_EQ(down.size(), 1U);
  EXPECT_EQ(name_of(down[0].to_state), "down");
  EXPECT_EQ(name_of(down[0].reason), "status 503");
  PeerSocket client = connect_to(gateway.port());
  EXPECT_THAT(next_answer(client, get("/")), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(gateway.events().wait_for<RequestDone>(1)[0].cause, Cause::no_healthy_upstream);
  well = true;
  ASSERT_EQ(gateway.events().wait_for<Transition>(2).size(), 2U);
  EXPECT_THAT(next_answer(client, get("/")), EndsWith("served"));
  EXPECT_FALSE(gateway.events().all<ProbeDone>().empty());
}

TEST(ProxyPolicies, ProbesSayWhatWasWrong) {
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.upstreams[0].health.enabled = true;
  RunningGateway gateway(config);
  const auto probes = gateway.events().wait_for<ProbeDone>(1);
  ASSERT_FALSE(probes.empty());
  EXPECT_EQ(name_of(probes[0].verdict), "refused");
}

TEST(ProxyPolicies, PanicSendsToAnEndpointThatIsDown) {
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      peer.send(answer_of(request.find("GET /health ") == 0 ? 503 : 200, "served"));
    }
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  auto& health = config.upstreams[0].health;
  health.enabled = true;
  health.interval = health.fast_interval = health.down_interval = milliseconds{20};
  RunningGateway gateway(config);
  ASSERT_EQ(gateway.events().wait_for<Transition>(1).size(), 1U);
  PeerSocket client = connect_to(gateway.port());
  EXPECT_THAT(next_answer(client, get("/")), EndsWith("served"));
  EXPECT_EQ(gateway.events().wait_for<RequestDone>(1)[0].cause, Cause::panic);
}

TEST(ProxyPolicies, TooManyRequestsAtOnceOverflow) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.read_request();  // never answers
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.upstreams[0].max_requests = 1;
  RunningGateway gateway(config);
  PeerSocket first = connect_to(gateway.port());
  first.send(get("/"));
  while (origin.connections() == 0)
    std::this_thread::yield();
  PeerSocket second = connect_to(gateway.port());
  EXPECT_THAT(next_answer(second, get("/")), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(gateway.events().wait_for<RequestDone>(1)[0].cause, Cause::upstream_overflow);
}

TEST(ProxyPolicies, WhoFindsTheUpstreamFullWaitsForAPlaceIfThereIsAQueue) {
  std::promise<void> answer;
  const auto answered = answer.get_future().share();
  std::atomic<int> asked = 0;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    while (!peer.read_request().empty()) {
      ++asked;
      answered.wait();
      peer.send(answer_of(200, "late"));
    }
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.upstreams[0].max_requests = 1;
  config.upstreams[0].queue = {.max = 1, .timeout = std::chrono::seconds{20}};
  config.routes[0].timeouts.total = std::chrono::seconds{20};
  config.routes[0].timeouts.response = std::chrono::seconds{20};
  RunningGateway gateway(config);
  PeerSocket first = connect_to(gateway.port());
  first.send(get("/"));
  while (asked == 0)
    std::this_thread::yield();
  PeerSocket second = connect_to(gateway.port());
  second.send(get("/"));
  wait_until_begun(gateway, 2);
  PeerSocket third = connect_to(gateway.port());
  EXPECT_THAT(next_answer(third, get("/")), StartsWith("HTTP/1.1 503 ")) << "the queue is full";
  EXPECT_EQ(gateway.events().wait_for<RequestDone>(1)[0].cause, Cause::upstream_overflow);
  EXPECT_EQ(asked, 1);
  answer.set_value();
  EXPECT_THAT(first.read_request(), EndsWith("late"));
  EXPECT_THAT(second.read_request(), EndsWith("late"));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(gateway.events().wait_for<RequestDone>(3).back().cause, Cause::ok);
}

TEST(ProxyPolicies, WhoGetsNoPlaceInTimeOverflows) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.read_request();  // never answers
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.upstreams[0].max_requests = 1;
  config.upstreams[0].queue = {.max = 1, .timeout = milliseconds{50}};
  RunningGateway gateway(config);
  PeerSocket first = connect_to(gateway.port());
  first.send(get("/"));
  while (origin.connections() == 0)
    std::this_thread::yield();
  PeerSocket second = connect_to(gateway.port());
  EXPECT_THAT(next_answer(second, get("/")), StartsWith("HTTP/1.1 503 "));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::upstream_overflow);
  EXPECT_GE(requests[0].latency, milliseconds{50});
  EXPECT_EQ(requests[0].attempts, 0);
}

TEST(ProxyPolicies, AClientThatGoesWhileItWaitsForAPlaceIsNotSent) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.read_request();  // never answers
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.upstreams[0].max_requests = 1;
  config.upstreams[0].queue = {.max = 1, .timeout = std::chrono::seconds{20}};
  RunningGateway gateway(config);
  PeerSocket first = connect_to(gateway.port());
  first.send(get("/"));
  while (origin.connections() == 0)
    std::this_thread::yield();
  PeerSocket second = connect_to(gateway.port());
  second.send(get("/"));
  wait_until_begun(gateway, 2);
  second.close();
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::client_closed);
  EXPECT_EQ(requests[0].attempts, 0);
}

TEST(ProxyPolicies, APoolThatIsOffOpensAConnectionForEveryRequest) {
  ScriptedPeer origin(always_answer("x"));
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.upstreams[0].pool.enabled = false;
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 3; ++i)
    next_answer(client, get("/"));
  EXPECT_EQ(origin.connections(), 3);
}

TEST(ProxyPolicies, AnIdleConnectionIsClosedInTime) {
  ScriptedPeer origin(always_answer("x"));
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.upstreams[0].pool.idle_timeout = milliseconds{50};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  next_answer(client, get("/"));
  for (std::size_t open = 1; open > 0;) {
    gateway.on_its_thread(
        [&](gateway::GatewayServer& server) { open = server.counts().upstream_connections; });
  }
  next_answer(client, get("/"));
  EXPECT_EQ(origin.connections(), 2);
}

TEST(ProxyPolicies, AKeepAliveHintLowersTheIdleTimeout) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    while (!peer.read_request().empty())
      peer.send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 1\r\n\r\nx");
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  next_answer(client, get("/"));
  next_answer(client, get("/"));
  EXPECT_EQ(origin.connections(), 2);
}

}  // namespace
}  // namespace gatedrill::testing
