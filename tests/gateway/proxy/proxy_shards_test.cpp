// A gateway of several shards: what users read as one number is one number.
#include <atomic>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::StartsWith;

// So many connections that the kernel hardly gives all of them to one shard.
constexpr int kClients = 24;

class ProxyShards : public ::testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static gateway::GatewayConfig config_of(std::uint16_t port) {
    gateway::GatewayConfig config = shop_config({port});
    config.threads = GetParam();
    return config;
  }

  static std::vector<PeerSocket> connect_all(const RunningGateway& gateway) {
    std::vector<PeerSocket> clients;
    for (int i = 0; i < kClients; ++i)
      clients.push_back(connect_to(gateway.port()));
    return clients;
  }

  static std::string ask(PeerSocket& client) {
    EXPECT_TRUE(client.send(get("/")));
    return client.read_request();
  }

  static gateway::GatewayServer::Counts counts_of(RunningGateway& gateway) {
    gateway::GatewayServer::Counts counts;
    gateway.on_its_thread([&](gateway::GatewayServer& server) { counts = server.counts(); });
    return counts;
  }
};

TEST_P(ProxyShards, ServeManyClientsAtOnceAndRecordEachRequest) {
  constexpr int kRequests = 40;
  ScriptedPeer origin(always_answer("served"));
  RunningGateway gateway(config_of(origin.port()));
  std::atomic<int> served = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&] {
      PeerSocket client = connect_to(gateway.port());
      for (int request = 0; request < kRequests; ++request) {
        if (ask(client).ends_with("served")) ++served;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(served, kClients * kRequests);
  const auto requests = gateway.events().wait_for<RequestDone>(kClients * kRequests);
  std::set<std::string> ids;
  for (const RequestDone& request : requests)
    ids.emplace(request.request_id.view());
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kClients * kRequests));
}

TEST_P(ProxyShards, GiveConnectionsIdsOfTheirOwn) {
  ScriptedPeer origin(always_answer("x"));
  RunningGateway gateway(config_of(origin.port()));
  auto clients = connect_all(gateway);
  for (PeerSocket& client : clients)
    ask(client);
  std::set<std::uint64_t> opened;
  std::size_t first_uses = 0;
  for (const AttemptDone& attempt : gateway.events().wait_for<AttemptDone>(kClients)) {
    if (attempt.reused) continue;
    ++first_uses;
    opened.insert(attempt.connection_id);
  }
  EXPECT_EQ(opened.size(), first_uses);
  EXPECT_GT(first_uses, 1U);  // more than one shard took part
}

TEST_P(ProxyShards, ShareARateLimit) {
  ScriptedPeer origin(always_answer("in time"));
  gateway::GatewayConfig config = config_of(origin.port());
  config.routes[0].rate_limit.count = 10;
  config.routes[0].rate_limit.period = std::chrono::minutes{10};
  RunningGateway gateway(config);
  auto clients = connect_all(gateway);
  int admitted = 0;
  for (int round = 0; round < 2; ++round) {
    for (PeerSocket& client : clients)
      admitted += ask(client).ends_with("in time") ? 1 : 0;
  }
  EXPECT_EQ(admitted, 10);
}

TEST_P(ProxyShards, ShareABreakerAndRecordItsOpeningOnce) {
  gateway::GatewayConfig config = config_of(unused_port());
  config.upstreams[0].breaker.consecutive_failures = 3;
  config.upstreams[0].breaker.open_base = std::chrono::minutes{1};
  config.routes[0].retry.max_retries = 0;
  RunningGateway gateway(config);
  auto clients = connect_all(gateway);
  int tried = 0;
  for (PeerSocket& client : clients)
    tried += ask(client).starts_with("HTTP/1.1 502 ") ? 1 : 0;
  EXPECT_EQ(tried, 3);
  for (PeerSocket& client : clients)
    EXPECT_THAT(ask(client), StartsWith("HTTP/1.1 503 "));
  const auto changes = gateway.events().all<Transition>();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(name_of(changes[0].to_state), "open");
}

TEST_P(ProxyShards, ShareTheNumberOfRequestsAtAnUpstream) {
  std::promise<void> answer;
  const auto answered = answer.get_future().share();
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    while (!peer.read_request().empty()) {
      answered.wait();
      peer.send(answer_of(200, "late"));
    }
  });
  gateway::GatewayConfig config = config_of(origin.port());
  config.upstreams[0].max_requests = 5;
  RunningGateway gateway(config);
  auto clients = connect_all(gateway);
  for (PeerSocket& client : clients)
    client.send(get("/"));
  const auto refused = gateway.events().wait_for<RequestDone>(kClients - 5);
  EXPECT_EQ(refused.size(), static_cast<std::size_t>(kClients - 5));
  for (const RequestDone& request : refused)
    EXPECT_EQ(request.cause, Cause::upstream_overflow);
  answer.set_value();
  int late = 0;
  for (PeerSocket& client : clients)
    late += client.read_request().ends_with("late") ? 1 : 0;
  EXPECT_EQ(late, 5);
}

TEST_P(ProxyShards, ShareTheQueueForAnUpstreamAndTellEachOtherWhoseTurnItIs) {
  constexpr int kAtOnce = 2;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    while (!peer.read_request().empty()) {
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      --inside;
      peer.send(answer_of(200, "in turn"));
    }
  });
  gateway::GatewayConfig config = config_of(origin.port());
  config.upstreams[0].max_requests = kAtOnce;
  config.upstreams[0].queue = {.max = kClients, .timeout = std::chrono::seconds{20}};
  config.routes[0].timeouts.total = std::chrono::seconds{20};
  RunningGateway gateway(config);
  auto clients = connect_all(gateway);
  for (int round = 0; round < 10; ++round) {
    for (PeerSocket& client : clients)
      client.send(get("/"));
    for (PeerSocket& client : clients)
      ASSERT_THAT(client.read_request(), EndsWith("in turn"));
  }
  EXPECT_LE(most, kAtOnce);
  for (const RequestDone& request : gateway.events().all<RequestDone>())
    EXPECT_LT(request.latency, std::chrono::seconds{10}) << "nobody is forgotten";
}

TEST_P(ProxyShards, ShareThePlacesForClients) {
  constexpr int kPlaces = 5;
  ScriptedPeer origin(always_answer("served"));
  gateway::GatewayConfig config = config_of(origin.port());
  config.client.connections_max = kPlaces;
  RunningGateway gateway(config);
  auto clients = connect_all(gateway);
  for (PeerSocket& client : clients)
    client.send(get("/"));
  EXPECT_EQ(gateway.events().wait_for<RequestDone>(kPlaces).size(),
            static_cast<std::size_t>(kPlaces));
  EXPECT_EQ(counts_of(gateway).client_connections, static_cast<std::size_t>(kPlaces));
  EXPECT_EQ(gateway.events().all<RequestDone>().size(), static_cast<std::size_t>(kPlaces));
  // Who leaves makes room for one who waits, whichever shard that one waits at: all are served.
  std::vector<std::thread> readers;
  std::atomic<int> served = 0;
  for (PeerSocket& client : clients) {
    readers.emplace_back([&] {
      if (client.read_request().ends_with("served")) ++served;
      client.close();
    });
  }
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_EQ(served, kClients);
}

TEST_P(ProxyShards, CloseTheirKeptConnectionsToWhoWentDown) {
  std::atomic<bool> healthy = true;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    for (;;) {
      const std::string request = peer.read_request();
      if (request.empty()) return;
      const bool probe = request.starts_with("GET /health");
      peer.send(answer_of(probe && !healthy ? 500 : 200, "x"));
    }
  });
  gateway::GatewayConfig config = config_of(origin.port());
  auto& health = config.upstreams[0].health;
  health.enabled = true;
  health.path = "/health";
  health.fall = 1;
  health.interval = health.fast_interval = milliseconds{20};
  RunningGateway gateway(config);
  auto clients = connect_all(gateway);
  for (PeerSocket& client : clients)
    ask(client);
  EXPECT_GT(counts_of(gateway).upstream_connections, 1U);
  healthy = false;
  const auto changes = gateway.events().wait_for<Transition>(1);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(name_of(changes[0].to_state), "down");
  while (counts_of(gateway).upstream_connections > 0)
    std::this_thread::yield();
}

TEST_P(ProxyShards, DrainOnAllThreadsAndSayOnceWhenDone) {
  std::promise<void> answer;
  const auto answered = answer.get_future().share();
  std::atomic<int> asked = 0;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    while (!peer.read_request().empty()) {
      ++asked;
      answered.wait();
      peer.send(answer_of(200, "last"));
    }
  });
  RunningGateway gateway(config_of(origin.port()));
  auto busy = connect_all(gateway);
  auto idle = connect_all(gateway);
  for (PeerSocket& client : busy)
    client.send(get("/"));
  while (asked < kClients)
    std::this_thread::yield();
  std::promise<void> drained;
  gateway.on_its_thread(
      [&](gateway::GatewayServer& server) { server.drain([&] { drained.set_value(); }); });
  for (PeerSocket& client : idle)
    EXPECT_EQ(client.read_to_end(), "");
  answer.set_value();
  for (PeerSocket& client : busy)
    EXPECT_THAT(client.read_to_end(), EndsWith("last"));
  drained.get_future().wait();
  EXPECT_EQ(counts_of(gateway).client_connections, 0U);
}

TEST_P(ProxyShards, StopOnAllThreadsAndAnswerWhatIsUnanswered) {
  std::atomic<int> asked = 0;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    peer.read_request();
    ++asked;
    peer.read_to_end();
  });
  RunningGateway gateway(config_of(origin.port()));
  auto clients = connect_all(gateway);
  for (PeerSocket& client : clients)
    client.send(get("/"));
  while (asked < kClients)
    std::this_thread::yield();
  gateway.on_its_thread([](gateway::GatewayServer& server) {
    server.stop();
    EXPECT_EQ(server.counts().client_connections, 0U);
  });
  for (PeerSocket& client : clients)
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 503 "));
}

TEST_P(ProxyShards, DoNotShareTheirPortWithAnotherGateway) {
  RunningGateway first(config_of(unused_port()));
  gateway::GatewayConfig config = config_of(unused_port());
  config.listen = {"127.0.0.1:" + std::to_string(first.port())};
  const SteadyClock clock;
  NullSink sink;
  boost::asio::io_context context;
  gateway::GatewayServer second(config, clock, sink, context);
  const auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::outside);
}

INSTANTIATE_TEST_SUITE_P(Threads, ProxyShards, ::testing::Values(2, 4));

}  // namespace
}  // namespace gatedrill::testing
