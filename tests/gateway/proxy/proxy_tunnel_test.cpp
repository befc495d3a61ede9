// A client that changes protocols (WebSocket): when it may, what passes, and how it ends.
#include <future>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kWebSocket =
    "GET /chat HTTP/1.1\r\nHost: shop.example\r\nConnection: keep-alive, Upgrade\r\n"
    "Upgrade: WebSocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\nSec-WebSocket-Version: 13\r\n"
    "\r\n";
constexpr const char* kSwitching =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\r\n\r\n";

gateway::GatewayConfig config_of(const ScriptedPeer& origin) {
  return shop_config({origin.port()});
}

// Switches, and then does as `rest` says.
ScriptedPeer::Script switching(ScriptedPeer::Script rest) {
  return [rest = std::move(rest)](PeerSocket& peer, int connection) {
    if (peer.read_until("\r\n\r\n").empty()) return;
    peer.send(kSwitching);
    rest(peer, connection);
  };
}

PeerSocket switched(const RunningGateway& gateway) {
  PeerSocket client = connect_to(gateway.port());
  client.send(kWebSocket);
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
  return client;
}

RequestDone only_request(const RunningGateway& gateway) {
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  EXPECT_EQ(requests.size(), 1U);
  return requests.empty() ? RequestDone{} : requests[0];
}

std::size_t upstream_connections(RunningGateway& gateway) {
  std::size_t count = 0;
  gateway.on_its_thread(
      [&](gateway::GatewayServer& server) { count = server.counts().upstream_connections; });
  return count;
}

TEST(ProxyTunnel, TheHandshakePassesWithItsOwnFieldsAndThenBytesFlowBothWays) {
  std::promise<std::string> request;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    request.set_value(peer.read_until("\r\n\r\n"));
    peer.send(kSwitching);
    EXPECT_EQ(peer.read_until("ping"), "ping");
    peer.send("pong");
    EXPECT_EQ(peer.read_to_end(), "");
  });
  RunningGateway gateway(config_of(origin));
  PeerSocket client = connect_to(gateway.port());
  client.send(kWebSocket);
  EXPECT_THAT(client.read_until("\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 101 Switching Protocols\r\n"),
                    HasSubstr("connection: upgrade\r\nupgrade: websocket\r\n"),
                    HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\r\n")));
  EXPECT_THAT(request.get_future().get(),
              AllOf(HasSubstr("connection: upgrade\r\nupgrade: websocket\r\n"),
                    HasSubstr("Sec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n")));
  client.send("ping");
  EXPECT_EQ(client.read_until("pong"), "pong");
  EXPECT_TRUE(gateway.events().all<RequestDone>().empty());
  client.finish();
  EXPECT_EQ(client.read_to_end(), "");
  const RequestDone done = only_request(gateway);
  EXPECT_EQ(done.status, 101);
  EXPECT_EQ(done.cause, Cause::ok);
  EXPECT_EQ(done.attempts, 1);
  EXPECT_EQ(upstream_connections(gateway), 0U);
}

TEST(ProxyTunnel, WhatTheClientSendsBeforeThe101WaitsForIt) {
  std::promise<void> sent;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    sent.get_future().wait();
    EXPECT_EQ(peer.read_available(), 0U);
    peer.send(std::string(kSwitching) + "welcome");
    EXPECT_EQ(peer.read_until("early"), "early");
  });
  RunningGateway gateway(config_of(origin));
  PeerSocket client = connect_to(gateway.port());
  client.send(std::string(kWebSocket) + "early");
  sent.set_value();
  EXPECT_THAT(client.read_until("welcome"), EndsWith("\r\n\r\nwelcome"));
  client.finish();
  client.read_to_end();
}

TEST(ProxyTunnel, AnotherAnswerIsAnOrdinaryOne) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    while (!peer.read_request().empty())
      peer.send(answer_of(426, "no"));
  });
  RunningGateway gateway(config_of(origin));
  PeerSocket client = connect_to(gateway.port());
  client.send(kWebSocket);
  EXPECT_THAT(client.read_request(), AllOf(StartsWith("HTTP/1.1 426 "), EndsWith("no")));
  client.send(get("/next"));
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 426 "));
  EXPECT_EQ(origin.connections(), 1);
}

TEST(ProxyTunnel, OnlyAWholeRequestForAnAllowedProtocolIsPassedOn) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    std::string request;
    while (!(request = peer.read_request()).empty())
      peer.send(answer_of(200, request));
  });
  const std::string upgrade = "Connection: upgrade\r\nUpgrade: ";

  struct Case {
    std::string request;
    bool passed;
  };

  const Case cases[] = {
      {get("/", upgrade + "websocket\r\n"), true},
      {get("/", upgrade + "h2c, WebSocket\r\n"), true},
      {get("/", upgrade + "h2c\r\nHTTP2-Settings: AAMAAABk\r\n"), false},
      {get("/", upgrade + "websocket/13\r\n"), false},
      {get("/", "Upgrade: websocket\r\n"), false},
      {get("/", "Connection: upgrade\r\n"), false},
      {post("/", "", upgrade + "websocket\r\n"), false},
      {"GET / HTTP/1.1\r\nHost: h\r\n" + upgrade + "websocket\r\nContent-Length: 1\r\n\r\nx",
       false},
      {"GET / HTTP/1.0\r\nHost: h\r\n" + upgrade + "websocket\r\n\r\n", false},
  };
  RunningGateway gateway(config_of(origin));
  for (const Case& each : cases) {
    PeerSocket client = connect_to(gateway.port());
    client.send(each.request);
    const std::string seen = client.read_request();
    EXPECT_THAT(seen, StartsWith("HTTP/1.1 200 ")) << each.request;
    EXPECT_EQ(seen.find("upgrade: websocket\r\n") != std::string::npos, each.passed)
        << each.request << seen;
    EXPECT_THAT(seen, Not(HasSubstr("h2c"))) << each.request;
    EXPECT_EQ(seen.find("connection: upgrade\r\n") != std::string::npos, each.passed) << seen;
  }
}

TEST(ProxyTunnel, ARouteSaysWhichProtocols) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    const std::string request = peer.read_request();
    peer.send(answer_of(200, request));
  });
  gateway::GatewayConfig config = config_of(origin);
  config.routes[0].upgrade = {"my-protocol"};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/", "Connection: upgrade\r\nUpgrade: websocket, my-protocol\r\n"));
  EXPECT_THAT(client.read_request(),
              AllOf(HasSubstr("upgrade: my-protocol\r\n"), Not(HasSubstr("websocket"))));
}

TEST(ProxyTunnel, A101ToAnotherProtocolIsMalformed) {
  for (const char* fields :
       {"Connection: upgrade\r\nUpgrade: h2c\r\n", "Connection: upgrade\r\n",
        "Upgrade: websocket\r\n",
        "Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: websocket\r\n"}) {
    ScriptedPeer origin([&](PeerSocket& peer, int) {
      peer.read_request();
      peer.send("HTTP/1.1 101 Switching Protocols\r\n" + std::string(fields) + "\r\n");
      peer.read_to_end();
    });
    RunningGateway gateway(config_of(origin));
    PeerSocket client = connect_to(gateway.port());
    client.send(kWebSocket);
    EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 502 ")) << fields;
    EXPECT_EQ(only_request(gateway).cause, Cause::malformed_response) << fields;
  }
}

TEST(ProxyTunnel, AnEndOfFilePassesAndTheOtherDirectionGoesOn) {
  ScriptedPeer origin(switching([](PeerSocket& peer, int) {
    const std::string all = peer.read_to_end();
    peer.send("got " + all);
  }));
  RunningGateway gateway(config_of(origin));
  PeerSocket client = switched(gateway);
  client.send("everything");
  client.finish();
  EXPECT_EQ(client.read_to_end(), "got everything");
  EXPECT_EQ(only_request(gateway).cause, Cause::ok);
}

TEST(ProxyTunnel, TheTimeoutsOfAnAnswerDoNotEndIt) {
  std::promise<void> go_on;
  ScriptedPeer origin(switching([&](PeerSocket& peer, int) {
    go_on.get_future().wait();
    peer.send("late");
    peer.read_to_end();
  }));
  gateway::GatewayConfig config = config_of(origin);
  config.routes[0].timeouts.total = milliseconds{100};
  config.routes[0].timeouts.response = milliseconds{100};
  config.routes[0].timeouts.idle = milliseconds{50};
  config.client.body_timeout = milliseconds{50};
  config.client.header_timeout = milliseconds{50};
  RunningGateway gateway(config);
  PeerSocket client = switched(gateway);
  // Each timeout has passed once a request that waits longer has ended.
  LoopbackListener silent;
  gateway::GatewayConfig slow = shop_config({silent.port()});
  slow.routes[0].timeouts.total = milliseconds{200};
  RunningGateway meanwhile(slow);
  PeerSocket waiting = connect_to(meanwhile.port());
  waiting.send(get("/"));
  EXPECT_THAT(waiting.read_request(), StartsWith("HTTP/1.1 504 "));
  EXPECT_TRUE(gateway.events().all<RequestDone>().empty());
  go_on.set_value();
  EXPECT_EQ(client.read_until("late"), "late");
  client.finish();
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_GE(only_request(gateway).latency, milliseconds{200});
}

TEST(ProxyTunnel, NeitherSideMayBeSilentForever) {
  ScriptedPeer origin(switching([](PeerSocket& peer, int) { peer.read_to_end(); }));
  gateway::GatewayConfig config = config_of(origin);
  config.routes[0].timeouts.tunnel = milliseconds{100};
  RunningGateway gateway(config);
  PeerSocket client = switched(gateway);
  EXPECT_EQ(client.read_to_end(), "");
  const RequestDone done = only_request(gateway);
  EXPECT_EQ(done.cause, Cause::body_idle_timeout);
  EXPECT_EQ(done.status, 101);
  EXPECT_EQ(upstream_connections(gateway), 0U);
}

TEST(ProxyTunnel, OnceOneSideHasEndedTheOtherHasTheIdleTimeout) {
  std::promise<void> over;
  ScriptedPeer origin(switching([&](PeerSocket& peer, int) {
    peer.read_to_end();
    over.get_future().wait();
  }));
  gateway::GatewayConfig config = config_of(origin);
  config.routes[0].timeouts.idle = milliseconds{100};
  RunningGateway gateway(config);
  PeerSocket client = switched(gateway);
  client.finish();
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_EQ(only_request(gateway).cause, Cause::body_idle_timeout);
  over.set_value();
}

TEST(ProxyTunnel, AResetOfEitherSideEndsBothAndSaysWhose) {
  {
    std::promise<void> ended;
    ScriptedPeer origin(switching([&](PeerSocket& peer, int) {
      peer.read_to_end();
      ended.set_value();
    }));
    RunningGateway gateway(config_of(origin));
    PeerSocket client = switched(gateway);
    client.reset();
    ended.get_future().wait();
    EXPECT_EQ(only_request(gateway).cause, Cause::client_closed);
  }
  ScriptedPeer origin(switching([](PeerSocket& peer, int) { peer.reset(); }));
  RunningGateway gateway(config_of(origin));
  PeerSocket client = connect_to(gateway.port());
  client.send(kWebSocket);
  client.read_to_end();
  EXPECT_EQ(only_request(gateway).cause, Cause::body_truncated);
}

TEST(ProxyTunnel, TheBreakerSeesSuccessAtThe101) {
  ScriptedPeer origin(switching([](PeerSocket& peer, int) { peer.read_to_end(); }));
  gateway::GatewayConfig config = config_of(origin);
  config.upstreams[0].endpoints.insert(config.upstreams[0].endpoints.begin(),
                                       "127.0.0.1:" + std::to_string(unused_port()));
  config.routes[0].retry.max_retries = 0;
  config.client.requests_max = 0;  // it asks until the breaker lets it through
  auto& breaker = config.upstreams[0].breaker;
  breaker.consecutive_failures = 1;
  breaker.open_base = milliseconds{10};
  breaker.probes_max = breaker.successes_needed = 1;
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/"));
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 502 "));
  std::string answer;
  while (!answer.starts_with("HTTP/1.1 101 ")) {
    client.send(kWebSocket);
    answer = client.read_request();
    ASSERT_FALSE(answer.empty());
  }
  const auto changes = gateway.events().wait_for<Transition>(3);
  ASSERT_GE(changes.size(), 3U);
  EXPECT_EQ(name_of(changes.back().to_state), "closed");
}

TEST(ProxyTunnel, ADrainLetsItLiveUntilItsTimeIsOver) {
  ScriptedPeer origin(switching([](PeerSocket& peer, int) {
    while (!peer.read_until("ping").empty())
      peer.send("pong");
  }));
  gateway::GatewayConfig config = config_of(origin);
  config.drain_timeout = milliseconds{200};
  RunningGateway gateway(config);
  PeerSocket client = switched(gateway);
  std::promise<void> drained;
  gateway.on_its_thread(
      [&](gateway::GatewayServer& server) { server.drain([&] { drained.set_value(); }); });
  client.send("ping");
  EXPECT_EQ(client.read_until("pong"), "pong");
  EXPECT_EQ(client.read_to_end(), "");
  drained.get_future().wait();
  const RequestDone done = only_request(gateway);
  EXPECT_EQ(done.cause, Cause::draining);
  EXPECT_EQ(done.status, 101);
}

// What a peer takes while the other end reads nothing: the kernel's buffers and ours, and no more.
constexpr std::size_t kMuch = std::size_t{256} * 1024 * 1024;
constexpr std::size_t kBuffers = std::size_t{64} * 1024 * 1024;

TEST(ProxyTunnel, AStalledUpstreamHoldsTheClientBack) {
  std::promise<void> release;
  std::promise<std::size_t> received;
  ScriptedPeer origin(switching([&](PeerSocket& peer, int) {
    release.get_future().wait();
    received.set_value(peer.read_to_end().size());
  }));
  RunningGateway gateway(config_of(origin));
  PeerSocket client = switched(gateway);
  const std::size_t sent = client.send_until_stuck(kMuch);
  EXPECT_LT(sent, kBuffers);
  release.set_value();
  client.finish();
  EXPECT_EQ(received.get_future().get(), sent);
}

TEST(ProxyTunnel, AStalledClientHoldsTheUpstreamBack) {
  std::promise<std::size_t> sent;
  ScriptedPeer origin(
      switching([&](PeerSocket& peer, int) { sent.set_value(peer.send_until_stuck(kMuch)); }));
  RunningGateway gateway(config_of(origin));
  PeerSocket client = switched(gateway);
  const std::size_t size = sent.get_future().get();
  EXPECT_LT(size, kBuffers);
  EXPECT_EQ(client.read_to_end().size(), size);
}

gateway::GatewayConfig connecting_to(const std::vector<std::uint16_t>& ports) {
  gateway::GatewayConfig config = shop_config({unused_port()});
  for (const std::uint16_t port : ports)
    config.connect.allow.push_back("localhost:" + std::to_string(port));
  return config;
}

std::string connect_request(std::uint16_t port) {
  const std::string target = "LocalHost:" + std::to_string(port);
  return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n";
}

TEST(ProxyConnect, IsRefusedUnlessItIsAllowed) {
  ScriptedPeer target([](PeerSocket&, int) {});
  RunningGateway gateway(connecting_to({}));
  PeerSocket client = connect_to(gateway.port());
  client.send(connect_request(target.port()));
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 405 "));
  EXPECT_EQ(only_request(gateway).cause, Cause::malformed_request);
  EXPECT_EQ(target.connections(), 0);
}

TEST(ProxyConnect, AnotherTargetThanThoseAllowedIsForbidden) {
  ScriptedPeer allowed([](PeerSocket&, int) {});
  ScriptedPeer target([](PeerSocket&, int) {});
  RunningGateway gateway(connecting_to({allowed.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(connect_request(target.port()));
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(only_request(gateway).cause, Cause::forbidden);
  EXPECT_EQ(target.connections(), 0);
  EXPECT_EQ(allowed.connections(), 0);
}

TEST(ProxyConnect, AnAllowedTargetIsReachedThroughATunnel) {
  ScriptedPeer target([](PeerSocket& peer, int) {
    EXPECT_EQ(peer.read_until("hello"), "hello");  // and nothing of the request
    peer.send("welcome");
    peer.read_to_end();
  });
  RunningGateway gateway(connecting_to({target.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(connect_request(target.port()) + "hello");
  const std::string answer = client.read_until("\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, AllOf(Not(HasSubstr("content-length")), Not(HasSubstr("transfer-encoding"))));
  EXPECT_EQ(client.read_until("welcome"), "welcome");
  client.finish();
  EXPECT_EQ(client.read_to_end(), "");
  const RequestDone done = only_request(gateway);
  EXPECT_EQ(done.cause, Cause::ok);
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(name_of(done.method), "CONNECT");
  EXPECT_EQ(upstream_connections(gateway), 0U);
}

TEST(ProxyConnect, ATargetThatRefusesIs502) {
  const std::uint16_t port = unused_port();
  RunningGateway gateway(connecting_to({port}));
  PeerSocket client = connect_to(gateway.port());
  client.send(connect_request(port));
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(only_request(gateway).cause, Cause::connect_refused);
}

TEST(ProxyConnect, WithABodyIsMalformed) {
  ScriptedPeer target([](PeerSocket&, int) {});
  RunningGateway gateway(connecting_to({target.port()}));
  PeerSocket client = connect_to(gateway.port());
  std::string request = connect_request(target.port());
  request.insert(request.size() - 2, "Content-Length: 3\r\n");
  client.send(request + "abc");
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(target.connections(), 0);
}

TEST(ProxyConnect, ItsRoutesTakeNoOtherRequests) {
  ScriptedPeer target([](PeerSocket&, int) {});
  gateway::GatewayConfig config = connecting_to({target.port()});
  config.routes[0].match.path_prefix = "/elsewhere";
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/"));
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(target.connections(), 0);
}

}  // namespace
}  // namespace gatedrill::testing
