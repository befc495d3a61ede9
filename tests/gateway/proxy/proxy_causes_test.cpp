// What becomes of a request whose upstream fails: status for the client, cause in the events, and
// whether it is sent again.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ProxyCauses : public ::testing::Test {
 protected:
  static gateway::GatewayConfig config_of(const std::vector<std::uint16_t>& ports) {
    gateway::GatewayConfig config = shop_config(ports);
    config.upstreams[0].breaker.enabled = false;
    return config;
  }

  static gateway::RouteConfig& route(gateway::GatewayConfig& config) { return config.routes[0]; }

  // The only request so far.
  static RequestDone request_of(const RunningGateway& gateway) {
    const auto requests = gateway.events().wait_for<RequestDone>(1);
    EXPECT_EQ(requests.size(), 1U);
    return requests.empty() ? RequestDone{} : requests[0];
  }

  static std::string ask(const RunningGateway& gateway, const std::string& request) {
    PeerSocket client = connect_to(gateway.port());
    EXPECT_TRUE(client.send(request));
    return client.read_to_end();
  }
};

TEST_F(ProxyCauses, ARefusedConnectionIsTriedAtAnotherEndpoint) {
  ScriptedPeer origin(always_answer("here"));
  RunningGateway gateway(config_of({unused_port(), origin.port()}));
  const std::string answer = ask(gateway, post("/", "even a POST", kCloseField));
  EXPECT_THAT(answer, EndsWith("here"));
  const RequestDone request = request_of(gateway);
  EXPECT_EQ(request.cause, Cause::ok);
  EXPECT_EQ(request.attempts, 2);
  const auto attempts = gateway.events().all<AttemptDone>();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].cause, Cause::connect_refused);
  EXPECT_EQ(name_of(attempts[0].why_retried), "conn-failure");
  EXPECT_NE(attempts[0].endpoint, attempts[1].endpoint);
}

TEST_F(ProxyCauses, TheUpstreamIsToldWhichAttemptItIs) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    const std::string request = peer.read_request();
    peer.send(answer_of(200, request));
  });
  RunningGateway gateway(config_of({unused_port(), origin.port()}));
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), HasSubstr("x-attempt-count: 2\r\n"));
}

TEST_F(ProxyCauses, ConnectRefused) {
  gateway::GatewayConfig config = config_of({unused_port()});
  config.cause_header = true;
  RunningGateway gateway(config);
  const std::string answer = ask(gateway, get("/", kCloseField));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 502 Bad Gateway\r\n"));
  EXPECT_THAT(answer, HasSubstr("x-gatedrill-cause: connect_refused\r\n"));
  EXPECT_THAT(answer, EndsWith("{\"status\":502,\"cause\":\"connect_refused\"}\n"));
  const RequestDone request = request_of(gateway);
  EXPECT_EQ(request.cause, Cause::connect_refused);
  EXPECT_EQ(request.status, 502);
  EXPECT_TRUE(request.retries_exhausted);
}

TEST_F(ProxyCauses, ConnectTimeout) {
  // A listener that does not accept: once its queue is full, the kernel leaves connections open
  // half-way.
  LoopbackListener full(0);
  PeerSocket first = connect_to(full.port());
  gateway::GatewayConfig config = config_of({full.port()});
  route(config).timeouts.connect = milliseconds{150};
  route(config).retry.max_retries = 0;
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 504 "));
  EXPECT_EQ(request_of(gateway).cause, Cause::connect_timeout);
}

TEST_F(ProxyCauses, ResponseTimeout) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.read_request();
  });
  gateway::GatewayConfig config = config_of({origin.port()});
  route(config).timeouts.response = milliseconds{100};
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 504 "));
  const RequestDone request = request_of(gateway);
  EXPECT_EQ(request.cause, Cause::response_timeout);
  EXPECT_EQ(request.status, 504);
  EXPECT_GE(request.latency, milliseconds{100});
  EXPECT_EQ(request.attempts, 1);
}

TEST_F(ProxyCauses, AResponseTimeoutLeavesTheClientsConnectionUsable) {
  ScriptedPeer origin([](PeerSocket& peer, int connection) {
    peer.read_request();
    if (connection > 0) peer.send(answer_of(200, "now"));
    peer.read_request();
  });
  gateway::GatewayConfig config = config_of({origin.port()});
  route(config).timeouts.response = milliseconds{100};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/"));
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 504 "));
  client.send(get("/"));
  EXPECT_THAT(client.read_request(), EndsWith("now"));
}

TEST_F(ProxyCauses, TotalTimeout) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.read_request();
  });
  gateway::GatewayConfig config = config_of({origin.port()});
  route(config).timeouts.total = milliseconds{100};
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 504 "));
  EXPECT_EQ(request_of(gateway).cause, Cause::total_timeout);
}

TEST_F(ProxyCauses, UpstreamClosedOnAFreshConnectionIsNotRetried) {
  ScriptedPeer origin([](PeerSocket& peer, int) { peer.read_request(); });
  RunningGateway gateway(config_of({origin.port()}));
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(request_of(gateway).cause, Cause::upstream_closed);
  EXPECT_EQ(origin.connections(), 1);
}

TEST_F(ProxyCauses, AResetCountsAsClosed) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.reset();
  });
  RunningGateway gateway(config_of({origin.port()}));
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(request_of(gateway).cause, Cause::upstream_closed);
}

// Answers one request on its first connection and resets it when the second comes; serves every
// later connection.
ScriptedPeer::Script stale_once() {
  return [](PeerSocket& peer, int connection) {
    peer.read_request();
    peer.send(answer_of(200, "first"));
    if (connection == 0) {
      peer.read_request();
      peer.reset();
      return;
    }
    while (!peer.read_request().empty())
      peer.send(answer_of(200, "again"));
  };
}

TEST_F(ProxyCauses, StaleReuseIsRetriedOnceOnAFreshConnectionForAGet) {
  ScriptedPeer origin(stale_once());
  RunningGateway gateway(config_of({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/1"));
  EXPECT_THAT(client.read_request(), EndsWith("first"));
  client.send(get("/2"));
  EXPECT_THAT(client.read_request(), EndsWith("first"));
  const auto requests = gateway.events().wait_for<RequestDone>(2);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].cause, Cause::ok);
  EXPECT_EQ(requests[1].attempts, 2);
  const auto attempts = gateway.events().all<AttemptDone>();
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_EQ(attempts[1].cause, Cause::stale_reuse);
  EXPECT_TRUE(attempts[1].reused);
  EXPECT_EQ(name_of(attempts[1].why_retried), "empty-response");
  EXPECT_FALSE(attempts[2].reused);
}

TEST_F(ProxyCauses, StaleReuseIsNotRetriedForAPost) {
  ScriptedPeer origin(stale_once());
  RunningGateway gateway(config_of({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/1"));
  client.read_request();
  client.send(post("/2", "pay"));
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 502 "));
  const auto requests = gateway.events().wait_for<RequestDone>(2);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].cause, Cause::stale_reuse);
  EXPECT_EQ(requests[1].status, 502);
  EXPECT_EQ(origin.connections(), 1);
}

TEST_F(ProxyCauses, StaleReuseIsRetriedForAPostWithAnIdempotencyKey) {
  ScriptedPeer origin(stale_once());
  gateway::GatewayConfig config = config_of({origin.port()});
  route(config).retry.idempotency_key_header = "Idempotency-Key";
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/1"));
  client.read_request();
  client.send(post("/2", "pay", "idempotency-key: 7\r\n"));
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ProxyCauses, ABodyBeyondTheReplayBufferIsNotSentTwice) {
  ScriptedPeer origin(stale_once());
  gateway::GatewayConfig config = config_of({origin.port()});
  config.replay_buffer_bytes = 10;
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/1"));
  client.read_request();
  client.send("PUT /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n01234567890");
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(origin.connections(), 1);
}

TEST_F(ProxyCauses, AnIdleConnectionThatClosesIsNotUsedAgain) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send(answer_of(200, "one"));
  });
  RunningGateway gateway(config_of({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 3; ++i) {
    client.send(post("/", "x"));
    ASSERT_THAT(client.read_request(), EndsWith("one"));
    // Until the gateway has seen the end of the connection.
    for (std::size_t open = 1; open > 0;) {
      gateway.on_its_thread(
          [&](gateway::GatewayServer& server) { open = server.counts().upstream_connections; });
    }
  }
  EXPECT_EQ(origin.connections(), 3);
}

TEST_F(ProxyCauses, BytesThatNobodyAskedForEvictAnIdleConnection) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send(answer_of(200, "one"));
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
    peer.read_to_end();
  });
  RunningGateway gateway(config_of({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 3; ++i) {
    client.send(get("/"));
    ASSERT_THAT(client.read_request(), EndsWith("one"));
    for (std::size_t open = 1; open > 0;) {
      gateway.on_its_thread(
          [&](gateway::GatewayServer& server) { open = server.counts().upstream_connections; });
    }
  }
}

TEST_F(ProxyCauses, MalformedResponse) {
  for (const char* bytes :
       {"garbage\r\n\r\n", "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
        "Content-Length: 2\r\n\r\nxx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"}) {
    ScriptedPeer origin([bytes](PeerSocket& peer, int) {
      peer.read_request();
      peer.send(bytes);
      peer.read_request();
    });
    RunningGateway gateway(config_of({origin.port()}));
    EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 502 ")) << bytes;
    EXPECT_EQ(request_of(gateway).cause, Cause::malformed_response) << bytes;
  }
}

TEST_F(ProxyCauses, ResponseHeaderTooLarge) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nX-Big: " + std::string(40'000, 'x') + "\r\n\r\n");
    peer.read_request();
  });
  RunningGateway gateway(config_of({origin.port()}));
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(request_of(gateway).cause, Cause::response_header_too_large);
}

TEST_F(ProxyCauses, ALargeResponseHeadWithinTheLimitPasses) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    std::string fields;
    for (int i = 0; i < 4; ++i)
      fields += "X-Big-" + std::to_string(i) + ": " + std::string(7'000, 'x') + "\r\n";
    peer.send("HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 2\r\n\r\nok");
    peer.read_request();
  });
  RunningGateway gateway(config_of({origin.port()}));
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), EndsWith("\r\n\r\nok"));
}

TEST_F(ProxyCauses, ATruncatedBodyEndsTheClientsConnection) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this");
  });
  RunningGateway gateway(config_of({origin.port()}));
  const std::string answer = ask(gateway, get("/"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, EndsWith("only this"));
  const RequestDone request = request_of(gateway);
  EXPECT_EQ(request.cause, Cause::body_truncated);
  EXPECT_EQ(request.status, 200);
}

TEST_F(ProxyCauses, ATruncatedChunkedBodyHasNoLastChunk) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
    peer.reset();
  });
  RunningGateway gateway(config_of({origin.port()}));
  EXPECT_THAT(ask(gateway, get("/")), ::testing::Not(HasSubstr("0\r\n\r\n")));
  EXPECT_EQ(request_of(gateway).cause, Cause::body_truncated);
}

TEST_F(ProxyCauses, BodyIdleTimeout) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this");
    peer.read_request();
  });
  gateway::GatewayConfig config = config_of({origin.port()});
  route(config).timeouts.idle = milliseconds{100};
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, get("/")), EndsWith("only this"));
  EXPECT_EQ(request_of(gateway).cause, Cause::body_idle_timeout);
}

TEST_F(ProxyCauses, AnErrorOfTheUpstreamIsPassedOnAsItsOwn) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    while (!peer.read_request().empty())
      peer.send(answer_of(503, "mine"));
  });
  RunningGateway gateway(config_of({origin.port()}));
  EXPECT_THAT(ask(gateway, get("/", kCloseField)), EndsWith("mine"));
  EXPECT_EQ(request_of(gateway).cause, Cause::upstream_status);
}

TEST_F(ProxyCauses, AnUpstreamThatAnswersBeforeItResetsIsHeard) {
  // It answers without reading the body, and closing with unread bytes is a reset.
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    peer.finish();
    peer.read_to_end();
  });
  gateway::GatewayConfig config = config_of({origin.port()});
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, post("/", std::string(300'000, 'x'), kCloseField)),
              StartsWith("HTTP/1.1 413 "));
}

}  // namespace
}  // namespace gatedrill::testing
