// What gateway/http decides, seen from both sides of a running gateway: refusals that do not wait,
// trailers, and requests that are for the gateway itself.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string ask(const RunningGateway& gateway, const std::string& request) {
  PeerSocket client = connect_to(gateway.port());
  EXPECT_TRUE(client.send(request));
  return client.read_to_end();
}

// Reads a request of chunks up to its end, whatever its trailer.
std::string read_chunked(PeerSocket& peer) {
  std::string request = peer.read_until("\r\n0\r\n");
  for (std::string line = peer.read_until("\r\n"); !line.empty(); line = peer.read_until("\r\n")) {
    request += line;
    if (line == "\r\n") break;
  }
  return request;
}

TEST(ProxyStrict, RefusesWhatIsWrongWithoutWaitingForTheRest) {
  ScriptedPeer origin(always_answer("never"));
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.header_timeout = std::chrono::hours{1};
  RunningGateway gateway(std::move(config));
  for (const char* begun : {"\x16\x03\x01", "GET /\r\n", "GET / HTTP/1.1\r\nX : y\r\nHost: "}) {
    EXPECT_THAT(ask(gateway, begun), StartsWith("HTTP/1.1 400 ")) << begun;
  }
  EXPECT_EQ(origin.connections(), 0);
}

TEST(ProxyStrict, AnUpstreamOfAnotherProtocolIsMalformedAndNotSlow) {
  for (const char* greeting : {"SSH-2.0-x\r\n", "\x15\x03\x01", "<html>"}) {
    ScriptedPeer origin([greeting](PeerSocket& peer, int) {
      peer.read_request();
      peer.send(greeting);
      peer.read_to_end();
    });
    gateway::GatewayConfig config = shop_config({origin.port()});
    config.routes[0].timeouts.response = std::chrono::hours{1};
    config.routes[0].timeouts.total = std::chrono::hours{1};
    RunningGateway gateway(std::move(config));
    EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 502 ")) << greeting;
    const auto done = gateway.events().wait_for<RequestDone>(1);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].cause, Cause::malformed_response) << greeting;
  }
}

TEST(ProxyStrict, ListedTrailersPassBothWaysAndOthersDoNot) {
  std::string seen;
  ScriptedPeer origin([&seen](PeerSocket& peer, int) {
    seen = read_chunked(peer);
    peer.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Other\r\n\r\n"
        "2\r\nok\r\n0\r\nX-Sum: down\r\nX-Other: 2\r\n\r\n");
    peer.read_to_end();
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.routes[0].trailers = {"x-sum"};
  RunningGateway gateway(std::move(config));
  const std::string answer = ask(
      gateway,
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: close, te\r\nTE: trailers\r\nTrailer: X-Sum\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: up\r\nX-Forwarded-For: 1.2.3.4\r\n"
      "\r\n");
  EXPECT_THAT(seen, AllOf(HasSubstr("\r\nte: trailers\r\n"), HasSubstr("\r\ntrailer: x-sum\r\n")));
  EXPECT_THAT(seen, EndsWith("\r\n2\r\nhi\r\n0\r\nX-Sum: up\r\n\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\ntrailer: x-sum\r\n"));
  EXPECT_THAT(answer, EndsWith("2\r\nok\r\n0\r\nX-Sum: down\r\n\r\n"));
}

TEST(ProxyStrict, TrailersAreSentAgainWithTheirRequest) {
  std::string seen;
  ScriptedPeer origin([&seen](PeerSocket& peer, int connection) {
    const std::string request = read_chunked(peer);
    if (connection == 0) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      read_chunked(peer);
      return;  // the kept connection dies under the second request
    }
    seen = request;
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    peer.read_to_end();
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.routes[0].trailers = {"x-sum"};
  RunningGateway gateway(std::move(config));
  PeerSocket client = connect_to(gateway.port());
  const std::string request =
      "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: "
      "up\r\n\r\n";
  for (int i = 0; i < 2; ++i) {
    client.send(request);
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_THAT(seen, EndsWith("\r\n2\r\nhi\r\n0\r\nX-Sum: up\r\n\r\n"));
}

TEST(ProxyStrict, TrailersHaveNoPlaceInAnAnswerThatIsNotChunked) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n");
    peer.read_to_end();
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.routes[0].trailers = {"x-sum"};
  RunningGateway gateway(std::move(config));
  const std::string answer = ask(gateway, "GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, AllOf(EndsWith("\r\n\r\nok"), Not(HasSubstr("railer"))));
}

TEST(ProxyStrict, AMalformedTrailerEndsTheRequest) {
  ScriptedPeer origin([](PeerSocket& peer, int) { peer.read_to_end(); });
  RunningGateway gateway(shop_config({origin.port()}));
  EXPECT_THAT(ask(gateway,
                  "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX : "
                  "y\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
}

TEST(ProxyStrict, MaxForwardsZeroIsAnsweredByTheGateway) {
  ScriptedPeer origin(always_answer("never"));
  RunningGateway gateway(shop_config({origin.port()}));
  const std::string fields = "Host: h\r\nMax-Forwards: 0\r\nCookie: secret\r\n\r\n";
  PeerSocket client = connect_to(gateway.port());
  client.send("OPTIONS * HTTP/1.1\r\n" + fields);
  EXPECT_THAT(client.read_request(), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("allow: GET,")));
  client.send("TRACE / HTTP/1.1\r\n" + fields);
  EXPECT_THAT(client.read_request(), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("allow: GET,"),
                                           Not(HasSubstr("secret"))));
  EXPECT_EQ(origin.connections(), 0);
  const auto done = gateway.events().wait_for<RequestDone>(2);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, 200);
  EXPECT_EQ(done[0].cause, Cause::ok);
  EXPECT_EQ(done[1].status, 405);
}

TEST(ProxyStrict, ALongerWayIsOneHopShorter) {
  std::string seen;
  ScriptedPeer origin([&seen](PeerSocket& peer, int) {
    seen = peer.read_request();
    peer.send("HTTP/1.1 204 No Content\r\n\r\n");
  });
  RunningGateway gateway(shop_config({origin.port()}));
  ask(gateway, "OPTIONS / HTTP/1.1\r\nHost: h\r\nMax-Forwards: 3\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(seen, HasSubstr("\r\nmax-forwards: 2\r\n"));
}

TEST(ProxyStrict, AResetContentHasNone) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello");
    peer.read_to_end();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 2; ++i) {
    client.send(get("/"));
    EXPECT_THAT(client.read_until("\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 205 "), HasSubstr("content-length: 0\r\n")));
  }
  EXPECT_EQ(origin.connections(), 2) << "what it announced may still come";
}

}  // namespace
}  // namespace gatedrill::testing
