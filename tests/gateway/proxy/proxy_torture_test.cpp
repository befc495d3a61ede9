// Clients and origins that misbehave at random, from fixed seeds: nobody gets another one's answer,
// every request ends once, nothing is left behind.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "tests/support/http_text.hpp"
#include "tests/support/running_gateway.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

std::string target_of(const std::string& request) {
  const std::size_t begin = request.find(' ') + 1;
  return request.substr(begin, request.find(' ', begin) - begin);
}

// Answers with the request's own target, in one of many ways, or fails in one of many ways.
void misbehave(PeerSocket& peer, int connection) {
  Random random(static_cast<std::uint64_t>(connection) + 7);
  for (std::string request = peer.read_request(); !request.empty(); request = peer.read_request()) {
    const std::string body = "<" + target_of(request) + ">";
    switch (random.below(14)) {
      case 0:
        return;  // closes without a word
      case 1:
        peer.reset();
        return;
      case 2:
        peer.send("HTTP/1.1 200 OK\r\nContent-Le");
        return;
      case 3:
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + body);
        return;
      case 4:
        peer.send("nonsense\r\n\r\n");
        return;
      case 5:
        peer.send(answer_of(200, body) + "unasked");
        break;
      case 6:
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n<\r\n");
        peer.send(std::string("0") + "5\r\n");  // and then nothing like a chunk of five bytes
        return;
      case 7: {
        peer.send("HTTP/1.1 103 Early Hints\r\n\r\n");
        peer.send("HTTP/1.0 200 OK\r\n\r\n" + body);
        return;
      }
      case 8:
        peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);
        return;
      case 9:
        std::this_thread::sleep_for(std::chrono::milliseconds{random.below(60)});
        [[fallthrough]];
      default:
        peer.send(answer_of(200, body));
        if (random.chance(0.1)) return;  // closes an idle connection
        break;
    }
  }
}

struct Tally {
  std::atomic<int> whole = 0;
  std::atomic<int> wrong = 0;
};

void torment(const RunningGateway& gateway, int client_number, Tally& tally) {
  Random random(static_cast<std::uint64_t>(client_number) + 1000);
  for (int connection = 0; connection < 12; ++connection) {
    PeerSocket client = connect_to(gateway.port());
    for (int i = 0; i < 8; ++i) {
      const std::string target = "/" + std::to_string(client_number) + "/" +
                                 std::to_string(connection) + "/" + std::to_string(i);
      std::string request = random.chance(0.5) ? get(target) : post(target, std::string(200, 'p'));
      if (random.chance(0.05)) request = request.substr(0, random.below(request.size()));
      if (!client.send(request)) break;
      if (random.chance(0.05)) {
        if (random.chance(0.5)) client.reset();
        break;
      }
      const std::string answer = client.read_until("\r\n\r\n");
      if (answer.starts_with("HTTP/1.1 103")) break;
      if (!answer.starts_with("HTTP/1.1 200 ")) {
        if (answer.empty() || answer.find("connection: close") != std::string::npos) break;
        client.read_until("}\n");
        continue;
      }
      const std::string body = client.read_until(">");
      if (body.ends_with(">")) {
        ++tally.whole;
        if (body.find("<" + target + ">") == std::string::npos) ++tally.wrong;
      }
      if (answer.find("chunked") != std::string::npos) break;
    }
  }
}

class ProxyTorture : public ::testing::TestWithParam<int> {};

TEST_P(ProxyTorture, MixesNothingUpAndLeavesNothingBehind) {
  ScriptedPeer first(misbehave);
  ScriptedPeer second(misbehave);
  gateway::GatewayConfig config = shop_config({first.port(), second.port(), unused_port()});
  config.upstreams[0].breaker.enabled = false;
  config.routes[0].retry.max_retries = 2;
  config.routes[0].retry.on_reset = true;
  config.routes[0].timeouts.response = std::chrono::milliseconds{40};
  config.client.header_timeout = std::chrono::milliseconds{100};
  config.client.keep_alive = std::chrono::milliseconds{300};
  config.client.body_timeout = std::chrono::milliseconds{100};
  RunningGateway gateway(config);
  Tally tally;
  std::vector<std::thread> clients;
  for (int i = 0; i < 12; ++i)
    clients.emplace_back([&, i] { torment(gateway, GetParam() * 100 + i, tally); });
  for (std::thread& client : clients)
    client.join();
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_GT(tally.whole, 100);
  for (std::size_t open = 1; open > 0;) {
    gateway.on_its_thread(
        [&](gateway::GatewayServer& server) { open = server.counts().client_connections; });
  }
  const auto requests = gateway.events().all<RequestDone>();
  std::size_t attempts = 0;
  for (const RequestDone& request : requests)
    attempts += request.attempts;
  EXPECT_EQ(gateway.events().all<AttemptDone>().size(), attempts);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ProxyTorture, ::testing::Range(0, 4));

}  // namespace
}  // namespace gatedrill::testing
