// Every cause that an HTTP/1 gateway can come to (gateway reference 2.7): provoked on real sockets
// at the built program, then read back as an operator would: from the answer, from run.db and from
// the access log, which must agree.
#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/core/cause.hpp"
#include "tests/e2e/recorded_gateway.hpp"
#include "tests/support/http_text.hpp"
#include "tests/support/run_db.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// An upstream with this endpoint; `settings` are lines of it, `top` of the whole file.
std::string config_of(const std::string& endpoint,
                      const std::string& settings = "breaker: off",
                      const std::string& top = "") {
  return top + "\nupstreams:\n  shop:\n    endpoints: ['" + endpoint + "']\n    " + settings +
         "\nroutes:\n  - {match: {path_prefix: /}, upstream: shop}\n";
}

std::string local(std::uint16_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

const std::string kNoRetry = "retry: off";

// Sends the request and returns everything up to the end of the connection.
std::string ask(std::uint16_t port, const std::string& request) {
  PeerSocket client = connect_to(port);
  EXPECT_TRUE(client.send(request));
  return client.read_to_end();
}

// Answers nothing, until the gateway gives up.
class SilentOrigin {
 public:
  [[nodiscard]] std::uint16_t port() const { return peer_.port(); }

  // The gateway has sent it the head of a request.
  void wait_until_asked() const {
    while (asked_ == 0)
      std::this_thread::yield();
  }

 private:
  std::atomic<int> asked_ = 0;
  ScriptedPeer peer_{[this](PeerSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    ++asked_;
    peer.read_to_end();
  }};
};

// What must be found of the last request that has this cause.
struct Expected {
  Cause cause;
  int status;
  std::size_t attempts = 1;
  std::string phases = {};  // of the last attempt: those that were begun, such as "connect send"
  bool retries_exhausted = false;
  std::string reason = {};
};

constexpr const char* kPhases[] = {"connect", "send", "wait", "receive"};

std::string column_list() {
  return "a.cause, a.status, a.endpoint, a.connect_ms, a.send_ms, a.wait_ms, a.receive_ms";
}

// The phases that have a time, in run.db and in the log's line, which must be the same time.
void expect_phases(const std::string& expected,
                   const std::vector<std::string>& row,
                   const nlohmann::json& attempt) {
  std::string begun;
  for (std::size_t i = 0; i < std::size(kPhases); ++i) {
    const nlohmann::json& logged = attempt[std::string(kPhases[i]) + "_ms"];
    const std::string& recorded = row[3 + i];
    ASSERT_EQ(logged.is_null(), recorded == "NULL") << kPhases[i];
    if (logged.is_null()) continue;
    EXPECT_NEAR(logged.get<double>(), std::stod(recorded), 0.0011) << kPhases[i];
    begun += (begun.empty() ? "" : " ") + std::string(kPhases[i]);
  }
  EXPECT_EQ(begun, expected);
}

void expect_recorded(RecordedGateway& gateway, const Expected& expected) {
  gateway.finish();
  const std::string cause(to_string(expected.cause));
  const auto requests = query(
      gateway.run_db(),
      "SELECT request_id, status, attempts, retries_exhausted, latency_ms FROM requests WHERE "
      "cause = '" +
          cause + "' ORDER BY at_ms DESC LIMIT 1");
  ASSERT_EQ(requests.size(), 1U) << cause << " is not in run.db:\n" << dump_views(gateway.run_db());
  const std::vector<std::string>& request = requests[0];
  EXPECT_EQ(request[1], std::to_string(expected.status));
  EXPECT_EQ(request[2], std::to_string(expected.attempts));
  EXPECT_EQ(request[3], expected.retries_exhausted ? "1" : "0");
  const auto counted =
      query(gateway.run_db(), "SELECT sum(requests) FROM per_second WHERE cause = '" + cause + "'");
  EXPECT_NE(counted[0][0], "NULL");

  nlohmann::json line;
  for (const nlohmann::json& each : gateway.access_lines()) {
    if (each["request_id"] == request[0]) line = each;
  }
  ASSERT_FALSE(line.is_null()) << "no line in the access log";
  EXPECT_EQ(line["cause"], cause);
  EXPECT_EQ(line["status"], expected.status);
  EXPECT_EQ(line["retries_exhausted"], expected.retries_exhausted);
  EXPECT_NEAR(line["latency_ms"].get<double>(), std::stod(request[4]), 0.0011);
  if (!expected.reason.empty()) {
    EXPECT_EQ(line["reason"], expected.reason);
  }
  const std::string token(proxy_status_token(expected.cause));
  EXPECT_EQ(line["proxy_status"], token.empty() ? nlohmann::json() : nlohmann::json(token));
  ASSERT_EQ(line["attempts"].size(), expected.attempts);
  if (expected.attempts == 0) return;

  const auto attempts =
      query(gateway.run_db(), "SELECT " + column_list() + " FROM attempts a WHERE request_id = '" +
                                  request[0] + "' ORDER BY attempt");
  ASSERT_EQ(attempts.size(), expected.attempts);
  const nlohmann::json& last = line["attempts"].back();
  EXPECT_EQ(last["cause"], attempts.back()[0]);
  EXPECT_EQ(last["endpoint"], attempts.back()[2]);
  expect_phases(expected.phases, attempts.back(), last);
}

// The same for one whose answer is our own: it names the cause in both of its fields.
void expect_told(const std::string& answer, const Expected& expected) {
  const std::string cause(to_string(expected.cause));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::to_string(expected.status) + " "));
  EXPECT_THAT(answer, HasSubstr("x-gatedrill-cause: " + cause + "\r\n"));
  const std::string token(proxy_status_token(expected.cause));
  EXPECT_THAT(answer,
              HasSubstr("proxy-status: \"edge\"" + (token.empty() ? "" : "; error=" + token)));
  EXPECT_THAT(answer, HasSubstr("details=\"" + cause + "\""));
}

void expect_all(RecordedGateway& gateway, const std::string& answer, const Expected& expected) {
  expect_told(answer, expected);
  expect_recorded(gateway, expected);
}

const std::string kGet = get("/order/1", kCloseField);

TEST(Causes, Ok) {
  ScriptedPeer origin(always_answer("here"));
  RecordedGateway gateway(config_of(local(origin.port())));
  EXPECT_THAT(ask(gateway.port(), kGet), StartsWith("HTTP/1.1 200 "));
  expect_recorded(gateway, {Cause::ok, 200, 1, "connect send wait receive"});
}

TEST(Causes, ARefusedRequestIsNotLoggedWithTheBodyOfTheOneBefore) {
  ScriptedPeer origin(always_answer("here"));
  RecordedGateway gateway(config_of(local(origin.port())));
  const std::string refused = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
  EXPECT_THAT(ask(gateway.port(), post("/", "hello") + refused), HasSubstr("HTTP/1.1 400 "));
  gateway.finish();
  const auto lines = gateway.access_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["body_in"], 5);
  EXPECT_EQ(lines[1]["reason"], "repeated_host");
  EXPECT_EQ(lines[1]["body_in"], 0);
}

TEST(Causes, UpstreamStatus) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send(answer_of(503, "busy"));
    peer.read_request();
  });
  RecordedGateway gateway(config_of(local(origin.port())));
  EXPECT_THAT(ask(gateway.port(), kGet), StartsWith("HTTP/1.1 503 "));
  expect_recorded(gateway, {Cause::upstream_status, 503, 1, "connect send wait receive"});
}

TEST(Causes, ConnectRefused) {
  RecordedGateway gateway(config_of(local(unused_port()), "breaker: off", kNoRetry));
  expect_all(gateway, ask(gateway.port(), kGet), {Cause::connect_refused, 502, 1, "connect"});
}

TEST(Causes, DnsFailure) {
  // RFC 6761: never a name of anything.
  RecordedGateway gateway(config_of("no-such-host.invalid:80", "breaker: off", kNoRetry));
  expect_all(gateway, ask(gateway.port(), kGet), {Cause::dns_failure, 502, 1, "connect"});
}

TEST(Causes, ConnectTimeout) {
  LoopbackListener full(0);
  PeerSocket first = connect_to(full.port());
  RecordedGateway gateway(
      config_of(local(full.port()), "breaker: off", kNoRetry + "\ntimeouts: {connect: 80ms}"));
  expect_all(gateway, ask(gateway.port(), kGet), {Cause::connect_timeout, 504, 1, "connect"});
}

TEST(Causes, Unroutable) {
  // TCP has no way to a broadcast address.
  RecordedGateway gateway(config_of("127.255.255.255:9", "breaker: off", kNoRetry));
  expect_all(gateway, ask(gateway.port(), kGet), {Cause::unroutable, 502, 1, "connect"});
}

// A client that does not need one of the system's ports.
PeerSocket connect_from(std::uint16_t own, std::uint16_t to) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(own);
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  address.sin_port = ::htons(to);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return PeerSocket(socket);
}

// A network of this thread's own.
bool enter_own_network() {
  if (::unshare(CLONE_NEWNET) != 0) return false;
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq loopback{};
  std::snprintf(loopback.ifr_name, sizeof loopback.ifr_name, "lo");
  bool up = ::ioctl(socket, SIOCGIFFLAGS, &loopback) == 0;
  loopback.ifr_flags = static_cast<short>(loopback.ifr_flags | IFF_UP);
  up = up && ::ioctl(socket, SIOCSIFFLAGS, &loopback) == 0;
  ::close(socket);
  return up;
}

// From now on connections in this thread's network have this one to come from.
bool leave_one_port() {
  std::FILE* range = std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
  if (range == nullptr) return false;
  std::fputs("40001 40001", range);
  return std::fclose(range) == 0;
}

TEST(Causes, LocalPortsExhausted) {
  bool possible = true;
  std::thread([&possible] {
    possible = enter_own_network();
    if (!possible) return;
    SilentOrigin origin;
    RecordedGateway gateway(config_of(local(origin.port()), "breaker: off", kNoRetry));
    possible = leave_one_port();
    if (!possible) return;
    PeerSocket holder = connect_from(50001, gateway.port());
    holder.send(kGet);
    origin.wait_until_asked();
    PeerSocket client = connect_from(50002, gateway.port());
    client.send(kGet);
    const std::string answer = client.read_to_end();
    holder.close();
    expect_all(gateway, answer, {Cause::local_ports_exhausted, 502, 1, "connect"});
  }).join();
  if (!possible) GTEST_SKIP() << "this user may not make a network of its own";
}

TEST(Causes, NoHealthyUpstream) {
  RecordedGateway gateway(
      config_of(local(unused_port()),
                "health: {interval: 50ms, fast_interval: 50ms, timeout: 40ms, fall: 1}\n"
                "    load_balancer: {panic: 0%}\n    breaker: off",
                kNoRetry));
  std::string answer;
  for (int i = 0; i < 500 && answer.find(" 503 ") == std::string::npos; ++i) {
    answer = ask(gateway.port(), kGet);
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  expect_all(gateway, answer, {Cause::no_healthy_upstream, 503, 0, ""});
}

TEST(Causes, Panic) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    for (;;) {
      const std::string request = peer.read_request();
      if (request.empty()) return;
      peer.send(answer_of(request.find("/ready") != std::string::npos ? 500 : 200, "here"));
    }
  });
  RecordedGateway gateway(config_of(
      local(origin.port()),
      "health: {path: /ready, interval: 50ms, fast_interval: 50ms, timeout: 40ms, fall: 1}"
      "\n    load_balancer: {panic: 50%}\n    breaker: off"));
  // The endpoint is down after its first probe; until then the cause is ok.
  std::this_thread::sleep_for(std::chrono::milliseconds{300});
  EXPECT_THAT(ask(gateway.port(), kGet), StartsWith("HTTP/1.1 200 "));
  expect_recorded(gateway, {Cause::panic, 200, 1, "connect send wait receive"});
}

TEST(Causes, UpstreamOverflow) {
  SilentOrigin origin;
  RecordedGateway gateway(config_of(local(origin.port()), "max_requests: 1"));
  PeerSocket first = connect_to(gateway.port());
  first.send(kGet);
  origin.wait_until_asked();
  const std::string answer = ask(gateway.port(), kGet);
  first.close();
  expect_all(gateway, answer, {Cause::upstream_overflow, 503, 0, ""});
}

TEST(Causes, BreakerOpen) {
  RecordedGateway gateway(
      config_of(local(unused_port()), "breaker: {consecutive_failures: 1, open: 10s}", kNoRetry));
  ask(gateway.port(), kGet);
  const std::string answer = ask(gateway.port(), kGet);
  EXPECT_THAT(answer, HasSubstr("\r\nretry-after: 10\r\n"));
  expect_all(gateway, answer, {Cause::breaker_open, 503, 0, ""});
}

TEST(Causes, UpstreamClosed) {
  ScriptedPeer origin([](PeerSocket& peer, int) { peer.read_request(); });
  RecordedGateway gateway(config_of(local(origin.port())));
  expect_all(gateway, ask(gateway.port(), kGet),
             {Cause::upstream_closed, 502, 1, "connect send wait"});
}

TEST(Causes, StaleReuse) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send(answer_of(200, "first"));
    peer.read_request();
    peer.reset();
  });
  RecordedGateway gateway(config_of(local(origin.port())));
  EXPECT_THAT(ask(gateway.port(), kGet), StartsWith("HTTP/1.1 200 "));
  const std::string answer = ask(gateway.port(), post("/pay", "amount=1", kCloseField));
  expect_all(gateway, answer, {Cause::stale_reuse, 502, 1, "send wait"});
}

TEST(Causes, SendFailed) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.reset();
  });
  RecordedGateway gateway(
      config_of(local(origin.port()), "breaker: off", "client: {max_body: 64MiB}"));
  PeerSocket client = connect_to(gateway.port());
  client.send("POST /upload HTTP/1.1\r\nHost: shop\r\nContent-Length: 50000000\r\n\r\n");
  client.send_until_stuck(50'000'000);
  const std::string answer = client.read_until("\r\n\r\n");
  client.close();
  expect_all(gateway, answer, {Cause::send_failed, 502, 1, "connect send"});
}

TEST(Causes, MalformedResponse) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send(
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    peer.read_to_end();
  });
  RecordedGateway gateway(config_of(local(origin.port())));
  expect_all(gateway, ask(gateway.port(), kGet),
             {Cause::malformed_response, 502, 1, "connect send wait"});
}

TEST(Causes, ResponseHeaderTooLarge) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nX-Big: " + std::string(20'000, 'x') + "\r\n\r\n");
    peer.read_to_end();
  });
  RecordedGateway gateway(config_of(local(origin.port())));
  expect_all(gateway, ask(gateway.port(), kGet),
             {Cause::response_header_too_large, 502, 1, "connect send wait"});
}

TEST(Causes, ResponseTimeout) {
  SilentOrigin origin;
  RecordedGateway gateway(
      config_of(local(origin.port()), "breaker: off", "timeouts: {response: 80ms}"));
  expect_all(gateway, ask(gateway.port(), kGet),
             {Cause::response_timeout, 504, 1, "connect send wait"});
}

TEST(Causes, TotalTimeout) {
  SilentOrigin origin;
  RecordedGateway gateway(
      config_of(local(origin.port()), "breaker: off", "timeouts: {total: 80ms}"));
  expect_all(gateway, ask(gateway.port(), kGet),
             {Cause::total_timeout, 504, 1, "connect send wait"});
}

TEST(Causes, BodyTruncated) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  });
  RecordedGateway gateway(config_of(local(origin.port())));
  const std::string answer = ask(gateway.port(), kGet);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("half"));
  expect_recorded(gateway, {Cause::body_truncated, 200, 1, "connect send wait receive"});
}

TEST(Causes, BodyIdleTimeout) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    peer.read_to_end();
  });
  RecordedGateway gateway(
      config_of(local(origin.port()), "breaker: off", "timeouts: {idle: 80ms}"));
  EXPECT_THAT(ask(gateway.port(), kGet), StartsWith("HTTP/1.1 200 "));
  expect_recorded(gateway, {Cause::body_idle_timeout, 200, 1, "connect send wait receive"});
}

TEST(Causes, ClientClosed) {
  SilentOrigin origin;
  RecordedGateway gateway(config_of(local(origin.port())));
  PeerSocket client = connect_to(gateway.port());
  client.send(kGet);
  origin.wait_until_asked();
  client.reset();
  expect_recorded(gateway, {Cause::client_closed, 499, 1, "connect send wait"});
}

TEST(Causes, ClientHeaderTimeout) {
  RecordedGateway gateway(
      config_of(local(unused_port()), "breaker: off", "client: {header_timeout: 80ms}"));
  expect_all(gateway, ask(gateway.port(), "GET / HTTP/1.1\r\nHo"),
             {Cause::client_header_timeout, 408, 0, "", false, "slow_head"});
}

TEST(Causes, ClientBodyTimeout) {
  SilentOrigin origin;
  RecordedGateway gateway(
      config_of(local(origin.port()), "breaker: off", "client: {body_timeout: 80ms}"));
  expect_all(gateway,
             ask(gateway.port(), "POST / HTTP/1.1\r\nHost: shop\r\nContent-Length: 9\r\n\r\nhalf"),
             {Cause::client_body_timeout, 408, 1, "connect send"});
}

TEST(Causes, RequestHeaderTooLarge) {
  RecordedGateway gateway(config_of(local(unused_port())));
  expect_all(gateway,
             ask(gateway.port(),
                 "GET / HTTP/1.1\r\nHost: shop\r\nX-Big: " + std::string(9000, 'x') + "\r\n\r\n"),
             {Cause::request_header_too_large, 431, 0, "", false, "head_too_large"});
}

TEST(Causes, UriTooLong) {
  RecordedGateway gateway(config_of(local(unused_port())));
  expect_all(
      gateway,
      ask(gateway.port(), "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: shop\r\n\r\n"),
      {Cause::uri_too_long, 414, 0, "", false, "target_too_long"});
}

TEST(Causes, RequestBodyTooLarge) {
  RecordedGateway gateway(
      config_of(local(unused_port()), "breaker: off", "client: {max_body: 10B}"));
  expect_all(gateway, ask(gateway.port(), post("/", "eleven bytes", kCloseField)),
             {Cause::request_body_too_large, 413, 0, "", false, "content_length"});
}

TEST(Causes, RequestBodyTooLargeWithoutALength) {
  SilentOrigin origin;
  RecordedGateway gateway(
      config_of(local(origin.port()), "breaker: off", "client: {max_body: 10B}"));
  PeerSocket client = connect_to(gateway.port());
  client.send("POST / HTTP/1.1\r\nHost: shop\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  origin.wait_until_asked();
  client.send("6\r\nhello!\r\n");
  expect_all(gateway, client.read_to_end(),
             {Cause::request_body_too_large, 413, 1, "connect send"});
}

TEST(Causes, MalformedRequest) {
  RecordedGateway gateway(config_of(local(unused_port())));
  expect_all(gateway,
             ask(gateway.port(),
                 "POST / HTTP/1.1\r\nHost: shop\r\nContent-Length: 3\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
             {Cause::malformed_request, 400, 0, "", false, "length_and_coding"});
}

TEST(Causes, NoRoute) {
  RecordedGateway gateway("upstreams: {shop: {endpoints: ['" + local(unused_port()) +
                          "']}}\nroutes: [{match: {path_prefix: /shop}, upstream: shop}]\n");
  expect_all(gateway, ask(gateway.port(), get("/bank", kCloseField)),
             {Cause::no_route, 404, 0, ""});
}

TEST(Causes, Forbidden) {
  RecordedGateway gateway(
      config_of(local(unused_port()), "breaker: off", "connect: {allow: ['git.example:443']}"));
  expect_all(gateway,
             ask(gateway.port(), "CONNECT bank.example:443 HTTP/1.1\r\nHost: bank.example\r\n\r\n"),
             {Cause::forbidden, 403, 0, "", false, "connect_target"});
}

TEST(Causes, Overloaded) {
  SilentOrigin origin;
  RecordedGateway gateway(
      config_of(local(origin.port()), "breaker: off", "client: {max_connections_per_ip: 1}"));
  PeerSocket first = connect_to(gateway.port());
  first.send(kGet);
  origin.wait_until_asked();
  const std::string answer = ask(gateway.port(), kGet);
  first.close();
  expect_all(gateway, answer, {Cause::overloaded, 503, 0, "", false, "connections_per_ip"});
}

TEST(Causes, RateLimited) {
  ScriptedPeer origin(always_answer("here"));
  RecordedGateway gateway("upstreams: {shop: {endpoints: ['" + local(origin.port()) +
                          "']}}\nroutes: [{match: {path_prefix: /}, upstream: shop, "
                          "limits: {rate: 1/m, burst: 1}}]\n");
  ask(gateway.port(), kGet);
  const std::string answer = ask(gateway.port(), kGet);
  EXPECT_THAT(answer, HasSubstr("\r\nretry-after: "));
  expect_all(gateway, answer, {Cause::rate_limited, 429, 0, ""});
}

TEST(Causes, Draining) {
  SilentOrigin origin;
  RecordedGateway gateway(config_of(local(origin.port()), "breaker: off", "drain_timeout: 100ms"));
  PeerSocket client = connect_to(gateway.port());
  client.send(kGet);
  origin.wait_until_asked();
  gateway.drain();
  expect_all(gateway, client.read_to_end(), {Cause::draining, 503, 1, "connect send wait"});
}

TEST(Causes, RetriesExhaustedStandsBesideTheLastCause) {
  RecordedGateway gateway(
      config_of(local(unused_port()), "breaker: off", "retry: {max_retries: 2}"));
  expect_all(gateway, ask(gateway.port(), kGet), {Cause::connect_refused, 502, 3, "connect", true});
}

TEST(Causes, Internal) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs a descriptor";
  // No descriptor is left for the upstream's connection.
  ScriptedPeer origin(always_answer("here"));
  RecordedGateway gateway(
      config_of(local(origin.port()), "breaker: off", "client: {max_connections: 1000}"), 48);
  std::vector<PeerSocket> clients;
  for (int i = 0; i < 60; ++i)
    clients.push_back(connect_to(gateway.port()));
  std::this_thread::sleep_for(std::chrono::milliseconds{200});
  clients[0].send(kGet);
  const std::string answer = clients[0].read_to_end();
  clients.clear();
  expect_all(gateway, answer, {Cause::internal, 500, 1, "connect"});
}

}  // namespace
}  // namespace gatedrill::testing
