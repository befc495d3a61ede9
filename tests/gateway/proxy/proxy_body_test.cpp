// What happens between a request's head and its answer: Expect, interim answers, and bodies that
// turn bad when part of them has gone out.
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
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
const std::string kExpecting =
    "POST /up HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";

// Answers with the body that it was sent.
ScriptedPeer::Script echo_body() {
  return [](PeerSocket& peer, int) {
    std::string request;
    while (!(request = peer.read_request()).empty())
      peer.send(answer_of(200, request.substr(request.find("\r\n\r\n") + 4)));
  };
}

std::string ask(const RunningGateway& gateway, const std::string& bytes) {
  PeerSocket client = connect_to(gateway.port());
  client.send(bytes);
  return client.read_to_end();
}

TEST(Expect, IsAnsweredOnceTheRequestIsAdmitted) {
  ScriptedPeer origin(echo_body());
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(kExpecting);
  EXPECT_EQ(client.read_until("\r\n\r\n"), kContinue);
  client.send("body");
  EXPECT_THAT(client.read_request(), EndsWith("body"));
  client.send(get("/next"));  // the connection goes on
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 200 "));
}

TEST(Expect, OfARequestThatIsNotAdmittedGetsTheFinalStatusAndAClose) {
  struct Case {
    const char* why;
    std::function<void(gateway::GatewayConfig&)> change;
    std::string status;
  };

  const Case cases[] = {
      {"no route",
       [](gateway::GatewayConfig& config) { config.routes[0].match.path_prefix = "/else"; }, "404"},
      {"too large", [](gateway::GatewayConfig& config) { config.client.body_bytes_max = 3; },
       "413"},
      {"rate limit",
       [](gateway::GatewayConfig& config) {
         config.routes[0].rate_limit.count = 1;
         config.routes[0].rate_limit.period = std::chrono::hours{1};
         config.routes[0].rate_limit.capacity = 1;
       },
       "429"},
      {"no connection", [](gateway::GatewayConfig&) {}, "502"},
  };
  for (const Case& each : cases) {
    gateway::GatewayConfig config = shop_config({unused_port()});
    config.upstreams[0].breaker.enabled = false;
    each.change(config);
    RunningGateway gateway(config);
    ask(gateway, get("/up", kCloseField));  // uses up the rate
    const std::string answer = ask(gateway, kExpecting);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + each.status)) << each.why;
    EXPECT_THAT(answer, HasSubstr("connection: close\r\n")) << each.why;
  }
}

TEST(Expect, OfARequestThatAnOpenBreakerStopsIsNotAnsweredWith100) {
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.upstreams[0].breaker.consecutive_failures = 1;
  RunningGateway gateway(config);
  ask(gateway, get("/", kCloseField));
  EXPECT_THAT(ask(gateway, kExpecting), StartsWith("HTTP/1.1 503 "));
}

TEST(Expect, IsAnsweredOnceThoughTheRequestIsSentAgain) {
  ScriptedPeer origin(echo_body());
  RunningGateway gateway(shop_config({unused_port(), origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(kExpecting);
  EXPECT_EQ(client.read_until("\r\n\r\n"), kContinue);
  client.send("body");
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(gateway.events().wait_for<AttemptDone>(2).size(), 2U);
}

TEST(Expect, The100OfTheUpstreamGoesNoFurther) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_THAT(head, Not(HasSubstr("xpect")));
    peer.send(kContinue + kContinue);
    EXPECT_EQ(peer.read_until("body"), "body");
    peer.send(answer_of(200, "done"));
    peer.read_to_end();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(kExpecting);
  EXPECT_EQ(client.read_until("\r\n\r\n"), kContinue);
  client.send("body");
  EXPECT_THAT(client.read_request(), StartsWith("HTTP/1.1 200 "));
}

TEST(Expect, IsIgnoredInHttp10AndWithoutABody) {
  ScriptedPeer origin(echo_body());
  RunningGateway gateway(shop_config({origin.port()}));
  EXPECT_THAT(ask(gateway,
                  "POST / HTTP/1.0\r\nHost: h\r\nExpect: 100-continue\r\n"
                  "Content-Length: 4\r\n\r\nbody"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(gateway, get("/", std::string("Expect: 100-continue\r\n") + kCloseField)),
              StartsWith("HTTP/1.1 200 "));
}

ScriptedPeer::Script with_early_hints() {
  return [](PeerSocket& peer, int) {
    while (!peer.read_request().empty()) {
      peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n");
      peer.send(answer_of(200, "page"));
    }
  };
}

TEST(Interim, AnswersPassToAClientOfHttp11) {
  ScriptedPeer origin(with_early_hints());
  RunningGateway gateway(shop_config({origin.port()}));
  const std::string answer = ask(gateway, get("/", kCloseField));
  EXPECT_THAT(answer,
              StartsWith("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 "));
}

TEST(Interim, AnswersDoNotPassToAClientOfHttp10) {
  ScriptedPeer origin(with_early_hints());
  RunningGateway gateway(shop_config({origin.port()}));
  const std::string answer = ask(gateway, "GET / HTTP/1.0\r\nHost: h\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, Not(HasSubstr("103")));
}

TEST(Replies, OfOurOwnCarryTheDate) {
  RunningGateway gateway(shop_config({unused_port()}));
  EXPECT_THAT(ask(gateway, get("/", kCloseField)),
              MatchesRegex("HTTP/1.1 502 Bad Gateway\r\ndate: [A-Z][a-z][a-z], [0-3][0-9] "
                           "[A-Z][a-z][a-z] 20[0-9][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9] "
                           "GMT\r\n(.|\n|\r)*"));
}

TEST(Replies, ToAHeadThatCameSlowlyTellHowLongItTook) {
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.client.header_timeout = milliseconds{150};
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, "GET / HT"), StartsWith("HTTP/1.1 408 "));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_GE(requests[0].latency, milliseconds{150});
}

// A body that is good for more than our buffers hold and then is not.
class BadBody : public ::testing::Test {
 protected:
  // What a client sends that is answered with `status`, and that the upstream's connection ends.
  void expect(gateway::GatewayConfig config,
              const std::string& bytes,
              const std::string& status,
              Cause cause) {
    std::promise<std::string> seen;
    ScriptedPeer origin([&](PeerSocket& peer, int connection) {
      if (connection == 0) {
        seen.set_value(peer.read_to_end());
      } else {
        peer.read_request();
        peer.send(answer_of(200, "second"));
      }
    });
    config.upstreams[0].endpoints = {"127.0.0.1:" + std::to_string(origin.port())};
    config.upstreams[0].breaker.consecutive_failures = 1;
    RunningGateway gateway(config);
    EXPECT_THAT(ask(gateway, bytes), StartsWith("HTTP/1.1 " + status + " "));
    const std::string upstream = seen.get_future().get();
    EXPECT_THAT(upstream, StartsWith("POST /up HTTP/1.1\r\n"));
    EXPECT_GT(upstream.size(), 200U * 1024U);
    EXPECT_THAT(upstream, Not(EndsWith("0\r\n\r\n")));
    const auto requests = gateway.events().wait_for<RequestDone>(1);
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(requests[0].cause, cause);
    EXPECT_TRUE(gateway.events().all<Transition>().empty());
    // The next request has a connection of its own.
    EXPECT_THAT(ask(gateway, get("/", kCloseField)), EndsWith("second"));
  }

  static gateway::GatewayConfig config() { return shop_config({1}); }

  const std::string chunked_head_ =
      "POST /up HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk_ = "40000\r\n" + std::string(0x40000, 'x') + "\r\n";
};

TEST_F(BadBody, MalformedChunkFramingIs400) {
  expect(config(), chunked_head_ + chunk_ + "zz\r\n", "400", Cause::malformed_request);
}

TEST_F(BadBody, TooMuchOfItIs413) {
  gateway::GatewayConfig limited = config();
  limited.client.body_bytes_max = 0x50000;
  expect(limited, chunked_head_ + chunk_ + chunk_, "413", Cause::request_body_too_large);
}

TEST_F(BadBody, ThatStallsIs408) {
  gateway::GatewayConfig impatient = config();
  impatient.client.body_timeout = milliseconds{150};
  expect(impatient, chunked_head_ + chunk_, "408", Cause::client_body_timeout);
}

}  // namespace
}  // namespace gatedrill::testing
