// Whose connection it is (PROXY protocol), and how many of them there may be.
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kHeader = "PROXY TCP4 203.0.113.9 192.0.2.1 51234 443\r\n";

// Answers with the request that it was sent.
ScriptedPeer::Script echo() {
  return [](PeerSocket& peer, int) {
    std::string request;
    while (!(request = peer.read_request()).empty())
      peer.send(answer_of(200, request));
  };
}

gateway::GatewayConfig proxied(const ScriptedPeer& origin) {
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.proxy_protocol_from = {"127.0.0.0/8"};
  return config;
}

std::string ask(const RunningGateway& gateway, const std::string& bytes) {
  PeerSocket client = connect_to(gateway.port());
  client.send(bytes);
  return client.read_to_end();
}

TEST(ProxyHeader, TheClientThatItNamesIsTheOneOfTheRequest) {
  ScriptedPeer origin(echo());
  RunningGateway gateway(proxied(origin));
  EXPECT_THAT(ask(gateway, kHeader + get("/", kCloseField)),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("x-forwarded-for: 203.0.113.9\r\n")));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(name_of(requests[0].client), "203.0.113.9");
}

TEST(ProxyHeader, ItComesOnceForAConnection) {
  ScriptedPeer origin(echo());
  RunningGateway gateway(proxied(origin));
  PeerSocket client = connect_to(gateway.port());
  client.send(kHeader);
  for (int i = 0; i < 2; ++i) {
    client.send(get("/"));
    EXPECT_THAT(client.read_request(), HasSubstr("x-forwarded-for: 203.0.113.9\r\n"));
  }
  client.send(kHeader + get("/"));
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 400 "));
}

TEST(ProxyHeader, ItMayComeInPieces) {
  ScriptedPeer origin(echo());
  RunningGateway gateway(proxied(origin));
  PeerSocket client = connect_to(gateway.port());
  for (const char byte : kHeader + get("/", kCloseField)) {
    client.send({&byte, 1});
    gateway.on_its_thread([](gateway::GatewayServer&) {});  // so that it may read each
  }
  EXPECT_THAT(client.read_to_end(), HasSubstr("x-forwarded-for: 203.0.113.9\r\n"));
}

TEST(ProxyHeader, ALocalOneKeepsTheConnectionsOwnAddress) {
  ScriptedPeer origin(echo());
  RunningGateway gateway(proxied(origin));
  EXPECT_THAT(ask(gateway, "PROXY UNKNOWN\r\n" + get("/", kCloseField)),
              HasSubstr("x-forwarded-for: 127.0.0.1\r\n"));
}

TEST(ProxyHeader, IsRequiredFromWhoeverSendsIt) {
  ScriptedPeer origin(echo());
  RunningGateway gateway(proxied(origin));
  EXPECT_THAT(ask(gateway, get("/")), StartsWith("HTTP/1.1 400 "));
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::malformed_request);
  EXPECT_EQ(origin.connections(), 0);
}

TEST(ProxyHeader, IsRefusedFromAnybodyElse) {
  ScriptedPeer origin(echo());
  gateway::GatewayConfig config = proxied(origin);
  config.client.proxy_protocol_from = {"10.0.0.0/8", "::1"};
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, kHeader + get("/")), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(origin.connections(), 0);
}

TEST(ProxyHeader, HasAnAbsoluteDeadline) {
  ScriptedPeer origin(echo());
  gateway::GatewayConfig config = proxied(origin);
  config.client.header_timeout = milliseconds{100};
  RunningGateway gateway(config);
  EXPECT_THAT(ask(gateway, "PROXY TCP4"), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(ask(gateway, ""), "");  // nobody is there
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].cause, Cause::client_header_timeout);
  EXPECT_GE(requests[0].latency, milliseconds{100});
}

TEST(ProxyHeader, TrustInForwardedFieldsGoesByTheClientThatItNames) {
  ScriptedPeer origin(echo());
  gateway::GatewayConfig config = proxied(origin);
  config.client.trusted_proxies = {"203.0.113.0/24"};
  RunningGateway gateway(config);
  const std::string fields = std::string("X-Forwarded-For: 198.51.100.1\r\n") + kCloseField;
  EXPECT_THAT(ask(gateway, kHeader + get("/", fields)),
              HasSubstr("x-forwarded-for: 198.51.100.1, 203.0.113.9\r\n"));
  EXPECT_THAT(ask(gateway, "PROXY UNKNOWN\r\n" + get("/", fields)),
              HasSubstr("x-forwarded-for: 127.0.0.1\r\n"));
}

TEST(ConnectionsPerIp, OneTooManyIs503AndTheOthersStay) {
  ScriptedPeer origin(echo());
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.connections_per_ip_max = 2;
  RunningGateway gateway(config);
  PeerSocket first = connect_to(gateway.port());
  PeerSocket second = connect_to(gateway.port());
  for (PeerSocket* client : {&first, &second}) {
    client->send(get("/"));
    EXPECT_THAT(client->read_request(), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_THAT(ask(gateway, get("/")),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("connection: close\r\n")));
  const auto requests = gateway.events().wait_for<RequestDone>(3);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2].cause, Cause::overloaded);
  EXPECT_EQ(requests[2].status, 503);
  first.send(get("/"));
  EXPECT_THAT(first.read_request(), StartsWith("HTTP/1.1 200 "));
}

TEST(ConnectionsPerIp, APlaceIsFreeAgainOnceItsConnectionHasEnded) {
  ScriptedPeer origin(echo());
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.connections_per_ip_max = 1;
  RunningGateway gateway(config);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(ask(gateway, get("/", kCloseField)), StartsWith("HTTP/1.1 200 "));
    for (std::size_t open = 1; open > 0;) {
      gateway.on_its_thread(
          [&](gateway::GatewayServer& server) { open = server.counts().client_connections; });
    }
  }
}

TEST(ConnectionsPerIp, AreCountedByTheClientThatAProxyHeaderNames) {
  ScriptedPeer origin(echo());
  gateway::GatewayConfig config = proxied(origin);
  config.client.connections_per_ip_max = 1;
  RunningGateway gateway(config);
  PeerSocket first = connect_to(gateway.port());
  first.send(kHeader + get("/"));
  EXPECT_THAT(first.read_request(), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(gateway, kHeader + get("/", kCloseField)), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(ask(gateway, "PROXY TCP4 203.0.113.10 192.0.2.1 1 2\r\n" + get("/", kCloseField)),
              StartsWith("HTTP/1.1 200 "));
}

// The processor time of this process.
Duration processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return Duration{std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec}};
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// As many descriptors as are open, so that not one more can be; put back at the end.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = ::dup(0);
    ::close(lowest_free);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(lowest_free);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }

  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

  ~NoDescriptorsLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Accepting, PausesWhenDescriptorsRunOutInsteadOfSpinning) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs a descriptor";
  // Answered by the gateway itself: an origin in this process would run out of descriptors too.
  gateway::GatewayConfig config = shop_config({unused_port()});
  config.routes[0].match.path_prefix = "/elsewhere";
  config.client.connections_max = 1000;
  RunningGateway gateway(config);
  PeerSocket client;
  {
    std::optional<NoDescriptorsLeft> none;
    // The client has its descriptor; the gateway gets to accept it when there is none.
    gateway.on_its_thread([&](gateway::GatewayServer&) {
      client = connect_to(gateway.port());
      client.send(get("/", kCloseField));
      none.emplace();
    });
    const Duration before = processor_time();
    std::this_thread::sleep_for(milliseconds{400});
    EXPECT_LT(processor_time() - before, milliseconds{200});
    EXPECT_EQ(client.read_available(), 0U);
    gateway.on_its_thread(
        [](gateway::GatewayServer& server) { EXPECT_EQ(server.counts().client_connections, 0U); });
  }
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 404 "));
}

}  // namespace
}  // namespace gatedrill::testing
