// Clients that ask for what they cannot have, send too slowly, or leave; and how a gateway ends.
#include <string>
#include <thread>

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
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ask(const RunningGateway& gateway, const std::string& request) {
  PeerSocket client = connect_to(gateway.port());
  EXPECT_TRUE(client.send(request));
  return client.read_to_end();
}

TEST(ProxyClient, IsRefusedWithTheStatusAndCauseOfWhatIsWrong) {
  struct Case {
    std::string request;
    int status;
    Cause cause;
    const char* why;
  };

  const std::string host = "Host: h\r\n";
  const Case cases[] = {
      {"GET / HTTP/1.1\r\n\r\n", 400, Cause::malformed_request, "no Host"},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, Cause::malformed_request, "two Hosts"},
      {"GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400, Cause::malformed_request, "bare LF"},
      {"GET /a#b HTTP/1.1\r\n" + host + "\r\n", 400, Cause::malformed_request, "fragment"},
      {"GET / HTTP/2.0\r\n" + host + "\r\n", 400, Cause::malformed_request, "version"},
      {"GET / HTTP/1.1\r\n" + host + "X : y\r\n\r\n", 400, Cause::malformed_request,
       "space before the colon"},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       400, Cause::malformed_request, "length and coding"},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n", 501,
       Cause::malformed_request, "unknown coding"},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: +5\r\n\r\nhello", 400,
       Cause::malformed_request, "signed length"},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400,
       Cause::malformed_request, "chunk size"},
      {"CONNECT h:80 HTTP/1.1\r\n" + host + "\r\n", 405, Cause::malformed_request, "CONNECT"},
      {"GET / HTTP/1.1\r\n" + host + "Connection: host\r\n\r\n", 400, Cause::malformed_request,
       "Connection names Host"},
      {"GET / HTTP/1.1\r\n" + host + "Expect: y 100-continue\r\n\r\n", 417,
       Cause::malformed_request, "unknown expectation"},
      {"GET /" + std::string(9'000, 'x') + " HTTP/1.1\r\n" + host + "\r\n", 414,
       Cause::uri_too_long, "long target"},
      {"GET /" + std::string(9'000, 'x'), 414, Cause::uri_too_long, "long target without end"},
      {"GET / HTTP/1.1\r\n" + host + "X: " + std::string(9'000, 'x') + "\r\n\r\n", 431,
       Cause::request_header_too_large, "long line"},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999\r\n\r\n", 413,
       Cause::request_body_too_large, "announced body"},
  };
  ScriptedPeer origin([](PeerSocket& peer, int) {
    while (!peer.read_until("\r\n\r\n").empty()) {
    }
  });
  for (const Case& each : cases) {
    RunningGateway gateway(shop_config({origin.port()}));
    const std::string answer = ask(gateway, each.request);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::to_string(each.status) + " ")) << each.why;
    EXPECT_THAT(answer, HasSubstr("connection: close\r\n")) << each.why;
    const auto requests = gateway.events().wait_for<RequestDone>(1);
    ASSERT_EQ(requests.size(), 1U) << each.why;
    EXPECT_EQ(requests[0].cause, each.cause) << each.why;
    // 405, 417 and 501 are the answer; the cause's own status is 400.
    EXPECT_EQ(requests[0].status, each.status) << each.why;
    EXPECT_FALSE(requests[0].request_id.empty()) << each.why;
  }
}

TEST(ProxyClient, ARefusalQuotesWhatIsLegible) {
  RunningGateway gateway(shop_config({unused_port()}));
  ask(gateway, post("/up", "", "X-Request-Id: r-1\r\nExpect: else\r\n"));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].request_id.view(), "r-1");
  EXPECT_EQ(name_of(requests[0].method), "POST");
  EXPECT_EQ(name_of(requests[0].path), "/up");
}

TEST(ProxyClient, TooManyFieldsAre431) {
  RunningGateway gateway(shop_config({unused_port()}));
  std::string fields;
  for (int i = 0; i < 101; ++i)
    fields += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_THAT(ask(gateway, get("/", fields)), StartsWith("HTTP/1.1 431 "));
}

TEST(ProxyClient, AChunkedBodyThatGrowsTooLongIs413) {
  ScriptedPeer origin([](PeerSocket& peer, int) { peer.read_to_end(); });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.body_bytes_max = 1000;
  RunningGateway gateway(config);
  const std::string answer =
      ask(gateway, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3ff\r\n" +
                       std::string(0x3ff, 'x') + "\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  EXPECT_EQ(requests[0].cause, Cause::request_body_too_large);
}

TEST(ProxyClient, NoRouteIs404AndKeepsTheConnection) {
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.routes[0].match.path_prefix = "/only";
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 2; ++i) {
    client.send(post("/other", "body"));
    EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 404 "));
  }
  const auto requests = gateway.events().wait_for<RequestDone>(2);
  EXPECT_EQ(requests[1].cause, Cause::no_route);
  EXPECT_EQ(name_of(requests[1].path), "/other");
}

TEST(ProxyClient, ASlowHeadIs408) {
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.client.header_timeout = milliseconds{100};
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, "GET / HTT"), StartsWith("HTTP/1.1 408 "));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::client_header_timeout);
}

TEST(ProxyClient, ASlowBodyIs408AndNotTheUpstreamsFault) {
  ScriptedPeer origin([](PeerSocket& peer, int) { peer.read_to_end(); });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.body_timeout = milliseconds{100};
  config.upstreams[0].breaker.consecutive_failures = 1;
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"),
              StartsWith("HTTP/1.1 408 "));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::client_body_timeout);
  EXPECT_TRUE(gateway.events().all<Transition>().empty());
}

TEST(ProxyClient, AnIdleConnectionIsClosedWithoutAWord) {
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.client.header_timeout = milliseconds{50};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(gateway.events().all<RequestDone>().empty());
}

TEST(ProxyClient, ThatLeavesWhileItWaitsIsNoticedAndTheUpstreamLetGo) {
  std::promise<void> let_go;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    peer.read_request();
    peer.read_to_end();
    let_go.set_value();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  {
    PeerSocket client = connect_to(gateway.port());
    client.send(get("/"));
    while (origin.connections() == 0)
      std::this_thread::yield();
  }
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::client_closed);
  EXPECT_EQ(requests[0].status, 499);
  EXPECT_LT(requests[0].latency, std::chrono::seconds{3});
  let_go.get_future().wait();
}

TEST(ProxyClient, ThatLeavesInTheMiddleOfAnAnswerIsNoticed) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
    const std::string piece(100'000, 'x');
    while (peer.send(piece)) {
    }
  });
  RunningGateway gateway(shop_config({origin.port()}));
  {
    PeerSocket client = connect_to(gateway.port());
    client.send(get("/"));
    client.read_until("xxx");
  }
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::client_closed);
}

TEST(ProxyClient, ItsLastPipelinedRequestIsAnsweredThoughItSendsNoMore) {
  ScriptedPeer origin(always_answer("x"));
  gateway::GatewayConfig config = shop_config({origin.port()});
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/1") + get("/2"));
  EXPECT_THAT(client.read_request(), EndsWith("x"));
  EXPECT_THAT(client.read_request(), EndsWith("x"));
  client.finish();
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(ProxyClient, ForwardedFieldsOfATrustedProxyAreKept) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    const std::string request = peer.read_request();
    peer.send(answer_of(200, request));
  });
  const std::string fields = std::string("X-Forwarded-For: 203.0.113.9\r\n") + kCloseField;
  gateway::GatewayConfig config = shop_config({origin.port()});
  {
    RunningGateway gateway(config);
    EXPECT_THAT(ask(gateway, get("/", fields)), HasSubstr("x-forwarded-for: 127.0.0.1\r\n"));
  }
  config.client.trusted_proxies = {"127.0.0.0/8"};
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, get("/", fields)),
              HasSubstr("x-forwarded-for: 203.0.113.9, 127.0.0.1\r\n"));
}

TEST(ProxyServer, ConnectionsBeyondTheLimitWaitToBeAccepted) {
  ScriptedPeer origin(always_answer("x"));
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.connections_max = 1;
  RunningGateway gateway(config);
  PeerSocket first = connect_to(gateway.port());
  first.send(get("/"));
  EXPECT_THAT(first.read_request(), EndsWith("x"));
  PeerSocket second = connect_to(gateway.port());
  second.send(get("/"));
  first.send(get("/"));
  EXPECT_THAT(first.read_request(), EndsWith("x"));
  gateway.on_its_thread(
      [](gateway::GatewayServer& server) { EXPECT_EQ(server.counts().client_connections, 1U); });
  EXPECT_EQ(gateway.events().all<RequestDone>().size(), 2U);
  first.close();
  EXPECT_THAT(second.read_request(), EndsWith("x"));
}

TEST(ProxyServer, StopAnswersWhatIsUnansweredAndEndsEverything) {
  ScriptedPeer origin([](PeerSocket& peer, int) { peer.read_to_end(); });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/"));
  while (origin.connections() == 0)
    std::this_thread::yield();
  gateway.on_its_thread([](gateway::GatewayServer& server) { server.stop(); });
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 503 "));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::draining);
}

TEST(ProxyServer, DrainLetsRunningRequestsEndAndClosesIdleConnections) {
  std::promise<void> asked;
  std::promise<void> answer;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    peer.read_request();
    asked.set_value();
    answer.get_future().wait();
    peer.send(answer_of(200, "last"));
    peer.read_request();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket idle = connect_to(gateway.port());
  PeerSocket busy = connect_to(gateway.port());
  busy.send(get("/"));
  asked.get_future().wait();
  std::promise<void> drained;
  gateway.on_its_thread(
      [&](gateway::GatewayServer& server) { server.drain([&] { drained.set_value(); }); });
  EXPECT_EQ(idle.read_to_end(), "");
  answer.set_value();
  const std::string last = busy.read_to_end();
  EXPECT_THAT(last, EndsWith("last"));
  EXPECT_THAT(last, HasSubstr("connection: close\r\n"));
  drained.get_future().wait();
}

TEST(ProxyServer, SaysWhichPortIsInUse) {
  RunningGateway first(shop_config({unused_port()}));
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.listen = {"127.0.0.1:" + std::to_string(first.port())};
  SteadyClock clock;
  NullSink sink;
  boost::asio::io_context context;
  gateway::GatewayServer second(config, clock, sink, context);
  const auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::outside);
  EXPECT_THAT(started.error().message, HasSubstr("cannot listen on " + config.listen[0]));
  EXPECT_THAT(started.error().message, HasSubstr("listen on another one"));
}

TEST(ProxyServer, ExplainsARoutingDecision) {
  gateway::GatewayConfig config = shop_config({1});
  config.routes[0].match.path_prefix = "/shop";
  config.routes[0].name = "pages";
  EXPECT_THAT(*gateway::which_route(config, "GET /shop/1?x"),
              StartsWith("route pages to upstream shop"));
  EXPECT_THAT(*gateway::which_route(config, "GET /"), StartsWith("no route"));
  EXPECT_FALSE(gateway::which_route(config, "GET shop"));
}

}  // namespace
}  // namespace gatedrill::testing
