// What passes through a running gateway, and in which form.
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

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// An origin that hands every request it read to the test.
class RecordingOrigin {
 public:
  explicit RecordingOrigin(std::string answer)
      : answer_(std::move(answer)), peer_([this](PeerSocket& socket, int) { serve(socket); }) {}

  [[nodiscard]] std::uint16_t port() const { return peer_.port(); }

  [[nodiscard]] std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve(PeerSocket& socket) {
    for (std::string request = socket.read_request(); !request.empty();
         request = socket.read_request()) {
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      socket.send(answer_);
    }
  }

  std::string answer_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  ScriptedPeer peer_;
};

// Sends the request on a connection of its own and returns all that comes until it is closed.
std::string ask(const RunningGateway& gateway, const std::string& request) {
  PeerSocket client = connect_to(gateway.port());
  EXPECT_TRUE(client.send(request));
  return client.read_to_end();
}

TEST(ProxyForward, AnswersSeveralGetsOverOneConnectionOnEachSide) {
  ScriptedPeer origin(always_answer("hello"));
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(get("/a?x=1")));
    const std::string answer = client.read_request();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nhello"));
  }
  EXPECT_EQ(origin.connections(), 1);
  const auto requests = gateway.events().wait_for<RequestDone>(3);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2].cause, Cause::ok);
  EXPECT_EQ(requests[2].status, 200);
  EXPECT_EQ(name_of(requests[2].path), "/a");
  EXPECT_EQ(name_of(requests[2].method), "GET");
  EXPECT_EQ(name_of(requests[2].route), "all");
  EXPECT_EQ(name_of(requests[2].upstream), "shop");
  EXPECT_EQ(name_of(requests[2].client), "127.0.0.1");
  const auto attempts = gateway.events().all<AttemptDone>();
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_FALSE(attempts[0].reused);
  EXPECT_TRUE(attempts[2].reused);
  EXPECT_EQ(attempts[2].connection_ordinal, 3U);
}

TEST(ProxyForward, SendsABodyOnWithItsLength) {
  RecordingOrigin origin(answer_of(201, "made"));
  RunningGateway gateway(shop_config({origin.port()}));
  const std::string answer = ask(gateway, post("/orders", "a body", kCloseField));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 201 "));
  ASSERT_EQ(origin.requests().size(), 1U);
  EXPECT_THAT(origin.requests()[0], StartsWith("POST /orders HTTP/1.1\r\n"));
  EXPECT_THAT(origin.requests()[0], HasSubstr("content-length: 6\r\n"));
  EXPECT_THAT(origin.requests()[0], EndsWith("\r\n\r\na body"));
}

TEST(ProxyForward, KeepsARequestIdAndMakesOneWhereThereIsNone) {
  RecordingOrigin origin(answer_of(200, ""));
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/", "X-Request-Id: mine-7\r\n"));
  client.read_request();
  client.send(get("/"));
  client.read_request();
  client.send(get("/"));
  client.read_request();
  const auto requests = gateway.events().wait_for<RequestDone>(3);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].request_id.view(), "mine-7");
  EXPECT_FALSE(requests[1].request_id.empty());
  EXPECT_NE(requests[1].request_id.view(), requests[2].request_id.view());
  EXPECT_THAT(origin.requests()[0], HasSubstr("x-request-id: mine-7\r\n"));
  const std::string made(requests[1].request_id.view());
  EXPECT_THAT(origin.requests()[1], HasSubstr("x-request-id: " + made + "\r\n"));
}

TEST(ProxyForward, ServesARequestThatIsSplitAnywhere) {
  RecordingOrigin origin(answer_of(200, "whole"));
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  const std::string request = post("/split", "0123456789", "Accept: text/plain\r\n");
  for (std::size_t at = 1; at < request.size(); ++at) {
    ASSERT_TRUE(client.send(request.substr(0, at)));
    std::this_thread::sleep_for(std::chrono::microseconds{200});
    ASSERT_TRUE(client.send(request.substr(at)));
    ASSERT_THAT(client.read_request(), EndsWith("whole")) << "split at " << at;
  }
  const auto seen = origin.requests();
  ASSERT_EQ(seen.size(), request.size() - 1);
  for (const std::string& each : seen) {
    ASSERT_THAT(each, StartsWith("POST /split HTTP/1.1\r\n"));
    ASSERT_THAT(each, EndsWith("0123456789"));
  }
}

TEST(ProxyForward, ServesARequestThatComesByteByByte) {
  RecordingOrigin origin(answer_of(200, "whole"));
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (const char byte : post("/bytes", "xyz", kCloseField)) {
    ASSERT_TRUE(client.send(std::string(1, byte)));
  }
  EXPECT_THAT(client.read_to_end(), EndsWith("whole"));
}

TEST(ProxyForward, AnswersPipelinedRequestsInOrder) {
  RecordingOrigin origin(answer_of(200, "x"));
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  std::string burst;
  for (int i = 0; i < 50; ++i) {
    burst += i % 2 == 0 ? get("/" + std::to_string(i)) : post("/" + std::to_string(i), "body");
  }
  ASSERT_TRUE(client.send(burst));
  for (int i = 0; i < 50; ++i) {
    ASSERT_THAT(client.read_request(), StartsWith("HTTP/1.1 200 ")) << i;
  }
  const auto seen = origin.requests();
  ASSERT_EQ(seen.size(), 50U);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_THAT(seen[i], HasSubstr(" /" + std::to_string(i) + " HTTP/1.1"));
  }
}

TEST(ProxyForward, FramesAChunkedRequestAnew) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    const std::string request = peer.read_until("0\r\n\r\n");
    peer.send(answer_of(200, request));
  });
  RunningGateway gateway(shop_config({origin.port()}));
  const std::string answer =
      ask(gateway,
          "POST /c HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
          "3;ext=1\r\nabc\r\n4\r\ndefg\r\n0\r\nX-Trailer: dropped\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("transfer-encoding: chunked\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("ext=1")));
  EXPECT_THAT(answer, Not(HasSubstr("X-Trailer")));
}

TEST(ProxyForward, FramesAChunkedAnswerAnew) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    while (!peer.read_request().empty()) {
      peer.send(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    }
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 2; ++i) {
    client.send(get("/"));
    const std::string answer = client.read_until("0\r\n\r\n");
    EXPECT_THAT(answer, HasSubstr("transfer-encoding: chunked\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"));
  }
  EXPECT_EQ(origin.connections(), 1);
}

TEST(ProxyForward, GivesAnHttp10ClientAChunkedAnswerUntilClose) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    peer.read_request();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  const std::string answer =
      ask(gateway, "GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, HasSubstr("connection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nabc"));
}

TEST(ProxyForward, KeepsTheConnectionOfAnHttp10ClientThatAsks) {
  ScriptedPeer origin(always_answer("old"));
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 2; ++i) {
    client.send("GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_THAT(client.read_request(), HasSubstr("connection: keep-alive\r\n"));
  }
  EXPECT_THAT(ask(gateway, "GET / HTTP/1.0\r\n\r\n"), EndsWith("old"));
}

TEST(ProxyForward, ChunksAnAnswerThatEndsWithItsConnection) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.0 200 OK\r\n\r\nuntil the end");
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 2; ++i) {
    client.send(get("/"));
    const std::string answer = client.read_until("0\r\n\r\n");
    EXPECT_THAT(answer, HasSubstr("transfer-encoding: chunked\r\n"));
    EXPECT_THAT(answer, HasSubstr("until the end"));
  }
  EXPECT_EQ(origin.connections(), 2);
}

TEST(ProxyForward, AnswersWithoutBodyLeaveBothConnectionsUsable) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      if (request.starts_with("HEAD")) {
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
      } else if (request.find("/204") != std::string::npos) {
        peer.send("HTTP/1.1 204 No Content\r\nDate: then\r\n\r\n");
      } else {
        peer.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: \"x\"\r\n\r\n");
      }
    }
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 2; ++i) {
    client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("content-length: 1000\r\n"));
    client.send(get("/204"));
    EXPECT_EQ(client.read_until("\r\n\r\n"),
              "HTTP/1.1 204 No Content\r\nDate: then\r\nvia: 1.1 gateway\r\n\r\n");
    client.send(get("/304"));
    const std::string unchanged = client.read_until("\r\n\r\n");
    EXPECT_THAT(unchanged, HasSubstr("ETag: \"x\"\r\n"));
    EXPECT_THAT(unchanged, HasSubstr("\r\ndate: ")) << "the upstream told none";
  }
  EXPECT_EQ(origin.connections(), 1);
}

TEST(ProxyForward, ForwardsEarlyHintsAndKeepsThe100) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    peer.send(answer_of(200, "late"));
    peer.read_request();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  const std::string answer = ask(gateway, get("/", kCloseField));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 "));
  EXPECT_THAT(answer, EndsWith("late"));
}

TEST(ProxyForward, Answers100ContinueItself) {
  RecordingOrigin origin(answer_of(200, "thanks"));
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send("POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_THAT(client.read_request(), EndsWith("thanks"));
  ASSERT_EQ(origin.requests().size(), 1U);
  EXPECT_THAT(origin.requests()[0], EndsWith("\r\n\r\nbody"));
  EXPECT_THAT(origin.requests()[0], Not(HasSubstr("xpect")));
}

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>('a' + i % 23);
  return text;
}

class ProxyBodies : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ProxyBodies, PassUnchangedBothWaysWithLength) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      peer.send(answer_of(200, request.substr(request.find("\r\n\r\n") + 4)));
    }
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.body_bytes_max = 0;
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  const std::string body = pattern(GetParam());
  std::thread sender([&] { client.send(post("/echo", body)); });
  const std::string answer = client.read_request();
  sender.join();
  ASSERT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(answer.substr(answer.find("\r\n\r\n") + 4) == body);
}

TEST_P(ProxyBodies, PassUnchangedBothWaysInChunks) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    const std::string head = peer.read_until("\r\n\r\n");
    const std::string body = peer.read_until("0\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
    peer.read_request();
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.body_bytes_max = 0;
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  const std::string body = pattern(GetParam());
  std::string chunks;
  for (std::size_t at = 0; at < body.size(); at += 7000) {
    const std::string piece = body.substr(at, 7000);
    char size[16];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    chunks += size + piece + "\r\n";
  }
  chunks += "0\r\n\r\n";
  std::thread sender([&] {
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks);
  });
  const std::string head = client.read_until("\r\n\r\n");
  std::string answer;
  while (true) {
    const std::size_t size = std::stoul(client.read_until("\r\n"), nullptr, 16);
    if (size == 0) break;
    std::string piece = client.read_until("\r\n");
    // The pattern holds no line ends, so a piece ends at the first one.
    ASSERT_EQ(piece.size(), size + 2);
    answer += piece.substr(0, size);
  }
  sender.join();
  EXPECT_TRUE(answer == body);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes,
    ProxyBodies,
    ::testing::Values(0, 1, 1000, 16'384, 65'536, 65'537, 1'000'000, 10'000'000));

TEST(ProxyForward, HoldsBackAFastOriginForASlowClient) {
  const std::string body = pattern(20'000'000);
  std::atomic<std::size_t> sent = 0;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
    for (std::size_t at = 0; at < body.size(); at += 100'000) {
      if (!peer.send(std::string_view(body).substr(at, 100'000))) return;
      sent = at + 100'000;
    }
    peer.read_request();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/big"));
  // What the kernel's buffers hold has been sent, and no more than that.
  std::size_t before = 1;
  while (before != sent) {
    before = sent;
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  EXPECT_LT(before, body.size());
  const std::string answer = client.read_request();
  EXPECT_TRUE(answer.substr(answer.find("\r\n\r\n") + 4) == body);
}

TEST(ProxyForward, ForwardsAnAnswerThatComesBeforeTheRequestHasEnded) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(answer_of(413, "too much"));
    peer.read_request();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send("POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nfirst bytes");
  const std::string answer = client.read_request();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer, HasSubstr("connection: close\r\n"));
  EXPECT_EQ(client.read_to_end(), "");
  const auto attempts = gateway.events().wait_for<AttemptDone>(1);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].cause, Cause::upstream_status);
}

TEST(ProxyForward, StreamsAnAnswerWhileTheRequestStillComes) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; ++i) {
      const std::string line = peer.read_until("\n");
      peer.send("2\r\n" + line + "\r\n");
    }
    peer.send("0\r\n\r\n");
    peer.read_request();
  });
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  client.send("POST /talk HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n");
  client.read_until("\r\n\r\n");
  for (const char* line : {"a\n", "b\n", "c\n"}) {
    client.send(line);
    EXPECT_EQ(client.read_until("\n\r\n"), std::string("2\r\n") + line + "\r\n");
  }
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
}

TEST(ProxyForward, ServesManyConnectionsAtOnce) {
  ScriptedPeer origin(always_answer("many"));
  RunningGateway gateway(shop_config({origin.port()}));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 32; ++t) {
    threads.emplace_back([&] {
      PeerSocket client = connect_to(gateway.port());
      for (int i = 0; i < 50; ++i) {
        client.send(i % 3 == 0 ? post("/p", "data") : get("/g"));
        if (client.read_request().ends_with("many")) ++right;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(right, 32 * 50);
  EXPECT_EQ(gateway.events().wait_for<RequestDone>(32 * 50).size(), 32U * 50U);
}

TEST(ProxyForward, RoutesByHostAndLongestPrefixAndStripsIt) {
  RecordingOrigin shop(answer_of(200, "shop"));
  RecordingOrigin api(answer_of(200, "api"));
  gateway::GatewayConfig config = shop_config({shop.port()});
  gateway::UpstreamConfig upstream;
  upstream.name = "api";
  upstream.endpoints = {"127.0.0.1:" + std::to_string(api.port())};
  config.upstreams.push_back(upstream);
  gateway::RouteConfig route;
  route.match.path_prefix = "/api/";
  route.upstream = "api";
  route.strip_prefix = "/api";
  config.routes.push_back(route);
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, get("/x", kCloseField)), EndsWith("shop"));
  EXPECT_THAT(ask(gateway, get("/api/x", kCloseField)), EndsWith("api"));
  ASSERT_EQ(api.requests().size(), 1U);
  EXPECT_THAT(api.requests()[0], StartsWith("GET /x HTTP/1.1\r\n"));
}

TEST(ProxyForward, ClosesAConnectionAfterItsLastAllowedRequest) {
  ScriptedPeer origin(always_answer("x"));
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.requests_max = 2;
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/"));
  EXPECT_THAT(client.read_request(), Not(HasSubstr("connection: close")));
  client.send(get("/"));
  EXPECT_THAT(client.read_request(), HasSubstr("connection: close\r\n"));
  EXPECT_EQ(client.read_to_end(), "");
}

}  // namespace
}  // namespace gatedrill::testing
