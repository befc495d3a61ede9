// Clients and upstreams that move bytes too slowly or not at all: who is ended, and what they cost
// meanwhile.
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::StartsWith;

constexpr std::size_t kMuch = std::size_t{256} * 1024 * 1024;
// The kernel's buffers on both sides of the gateway.
constexpr std::size_t kBuffers = std::size_t{64} * 1024 * 1024;

RequestDone only_request(const RunningGateway& gateway) {
  const auto requests = gateway.events().wait_for<RequestDone>(1);
  EXPECT_EQ(requests.size(), 1U);
  return requests.empty() ? RequestDone{} : requests[0];
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// A byte at a time until the gateway has enough of it.
void trickle(const RunningGateway& gateway, PeerSocket& peer) {
  while (gateway.events().all<RequestDone>().empty() && peer.send("x"))
    std::this_thread::sleep_for(milliseconds{20});
}

TEST(SlowClient, ThatSendsItsBodyBelowTheLeastRateIs408) {
  ScriptedPeer origin([](PeerSocket& peer, int) { peer.read_to_end(); });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.body_rate = {10'000, milliseconds{300}};
  config.routes[0].timeouts.total = seconds{60};
  config.upstreams[0].breaker.consecutive_failures = 1;
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  trickle(gateway, client);
  client.finish();
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408 "));
  const RequestDone done = only_request(gateway);
  EXPECT_EQ(done.cause, Cause::client_body_timeout);
  EXPECT_GE(done.latency, milliseconds{300});
  EXPECT_TRUE(gateway.events().all<Transition>().empty());
}

TEST(SlowClient, ThatKeepsTheRateIsServed) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send(answer_of(200, "done"));
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.body_rate = {100, milliseconds{200}};
  config.routes[0].timeouts.total = seconds{60};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 400\r\n\r\n");
  for (int i = 0; i < 40; ++i) {
    client.send("0123456789");
    std::this_thread::sleep_for(milliseconds{20});
  }
  EXPECT_THAT(client.read_request(), EndsWith("done"));
}

TEST(SlowClient, IsNotBlamedWhileTheUpstreamHoldsItBack) {
  std::promise<void> release;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    release.get_future().wait();
    peer.read_request();
    peer.send(answer_of(200, "done"));
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.body_rate = {100'000, milliseconds{250}};
  config.client.body_timeout = milliseconds{250};
  config.client.body_bytes_max = 0;
  config.routes[0].timeouts.total = seconds{60};
  config.routes[0].timeouts.response = seconds{60};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(kBuffers) +
              "\r\n\r\n");
  const std::size_t sent = client.send_until_stuck(kBuffers);
  ASSERT_LT(sent, kBuffers);
  const std::string body(kBuffers - sent, 'x');
  std::thread rest([&] { client.send(body); });
  release.set_value();
  EXPECT_THAT(client.read_request(), EndsWith("done"));
  rest.join();
}

TEST(SlowReader, BelowTheLeastRateIsCutOff) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kMuch) + "\r\n\r\n");
    peer.send_until_stuck(kMuch);
    peer.read_to_end();
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.read_rate = {100'000'000, milliseconds{200}};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/"));
  const std::string first = client.read_until("xxx");
  const RequestDone done = only_request(gateway);
  EXPECT_EQ(done.cause, Cause::client_closed);
  EXPECT_EQ(done.status, 200);
  EXPECT_GE(done.latency, milliseconds{200});
}

TEST(SlowReader, ThatTakesNothingIsCutOffAfterTheBodyTimeout) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kMuch) + "\r\n\r\n");
    peer.send_until_stuck(kMuch);
    peer.read_to_end();
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.read_rate.bytes_per_second = 0;
  config.client.body_timeout = milliseconds{200};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/"));
  EXPECT_EQ(only_request(gateway).cause, Cause::client_closed);
}

// What the client takes shows in the kernel's buffer long before there is room to write again.
TEST(SlowReader, ThatTakesALittleAgainAndAgainIsNotIdle) {
  ScriptedPeer origin([](PeerSocket& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBuffers) + "\r\n\r\n");
    peer.send(std::string(kBuffers, 'x'));
    peer.read_to_end();
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.read_rate.bytes_per_second = 0;
  config.client.body_timeout = milliseconds{300};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  client.send(get("/", kCloseField));
  std::size_t taken = 0;
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(milliseconds{30});
    taken += client.read_available();
  }
  EXPECT_TRUE(gateway.events().all<RequestDone>().empty());
  EXPECT_LT(taken, kBuffers / 4);
  taken += client.read_to_end().size();
  EXPECT_GT(taken, kBuffers);
  EXPECT_EQ(only_request(gateway).cause, Cause::ok);
}

TEST(BoundedMemory, AnUploadToAStalledUpstreamHoldsTheClientBack) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not the gateway's";
  std::promise<void> release;
  ScriptedPeer origin([&](PeerSocket&, int) { release.get_future().wait(); });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.client.body_bytes_max = 0;
  config.routes[0].timeouts.total = seconds{60};
  config.routes[0].timeouts.response = seconds{60};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  const std::size_t before = resident_bytes();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(kMuch) +
              "\r\n\r\n");
  EXPECT_LT(client.send_until_stuck(kMuch), kBuffers);
  EXPECT_LT(resident_bytes(), before + 4 * 1024 * 1024);
  release.set_value();
}

TEST(BoundedMemory, ADownloadToAStalledClientHoldsTheUpstreamBack) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not the gateway's";
  for (const std::string& framing :
       {"Content-Length: " + std::to_string(kMuch), std::string("Connection: close")}) {
    std::promise<std::size_t> sent;
    ScriptedPeer origin([&](PeerSocket& peer, int) {
      peer.read_request();
      peer.send("HTTP/1.1 200 OK\r\n" + framing + "\r\n\r\n");
      sent.set_value(peer.send_until_stuck(kMuch));
      peer.read_to_end();
    });
    RunningGateway gateway(shop_config({origin.port()}));
    PeerSocket client = connect_to(gateway.port());
    const std::size_t before = resident_bytes();
    client.send(get("/"));
    EXPECT_LT(sent.get_future().get(), kBuffers) << framing;
    EXPECT_LT(resident_bytes(), before + 4 * 1024 * 1024) << framing;
  }
}

TEST(BoundedMemory, EndlessInterimAnswersToAStalledClientHoldTheUpstreamBack) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not the gateway's";
  std::promise<std::size_t> sent;
  ScriptedPeer origin([&](PeerSocket& peer, int) {
    peer.read_request();
    const std::string hints =
        "HTTP/1.1 103 Early Hints\r\nLink: <" + std::string(4000, 'x') + ">\r\n\r\n";
    std::size_t total = 0;
    while (total < kMuch && peer.send(hints))
      total += hints.size();
    sent.set_value(total);
  });
  gateway::GatewayConfig config = shop_config({origin.port()});
  config.routes[0].timeouts.response = milliseconds{500};
  RunningGateway gateway(config);
  PeerSocket client = connect_to(gateway.port());
  const std::size_t before = resident_bytes();
  client.send(get("/"));
  EXPECT_LT(sent.get_future().get(), kBuffers);
  EXPECT_LT(resident_bytes(), before + 4 * 1024 * 1024);
}

}  // namespace
}  // namespace gatedrill::testing
