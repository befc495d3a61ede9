// slowhttptest against the running gateway: heads, bodies and readers that dribble by the hundred.
// What must hold is that others do not notice: each of their requests is answered 200 in good time,
// and the attackers' connections are given up. The others' latencies, before and during, are
// printed.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/time.hpp"
#include "tests/support/child_program.hpp"
#include "tests/support/gateway_program.hpp"
#include "tests/support/raw_socket.hpp"
#include "tests/support/run_db.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ChildProgram;
using testing::GatewayProgram;
using testing::PeerSocket;
using testing::RawSocket;
using testing::ScriptedPeer;

constexpr const char* kRequest = "GET /small HTTP/1.1\r\nHost: shop.example\r\n\r\n";

// `/large` has an answer that a slow reader can be slow with.
void answer(PeerSocket& peer, int /*connection*/) {
  const std::string large = testing::answer_of(200, std::string(std::size_t{2} << 20U, 'a'));
  const std::string small = testing::answer_of(200, "small");
  while (true) {
    const std::string request = peer.read_request();
    if (request.empty()) return;
    peer.send(request.find(" /large ") != std::string::npos ? large : small);
  }
}

// A client that goes on asking on one connection, as ordinary ones do.
class OtherClient {
 public:
  explicit OtherClient(std::uint16_t port) : thread_([this, port] { run(port); }) {}

  ~OtherClient() { end(); }

  void end() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] const std::vector<double>& latencies_ms() const { return latencies_ms_; }

  [[nodiscard]] const std::vector<std::string>& unanswered() const { return unanswered_; }

 private:
  // Up to the end of the origin's answer or of one of the gateway's own.
  static std::string read_answer(RawSocket& socket) {
    std::string bytes;
    int patience = 6;  // times five seconds, for a busy machine
    while (!bytes.ends_with("small") && !bytes.ends_with("}\n")) {
      const RawSocket::Read read = socket.read();
      bytes += read.bytes;
      const bool late = read.error == EAGAIN && --patience > 0;
      if (read.fin || (read.error != 0 && !late)) break;
    }
    return bytes;
  }

  void run(std::uint16_t port) {
    RawSocket socket = RawSocket::connect(port);
    while (!ended_) {
      const TimePoint sent = clock_.now();
      socket.send(kRequest);
      const std::string bytes = read_answer(socket);
      latencies_ms_.push_back(to_ms(clock_.now() - sent));
      const bool answered = bytes.starts_with("HTTP/1.1 200 ") && bytes.ends_with("small");
      if (!answered) unanswered_.push_back(bytes);
      // The gateway closes after client.max_requests, and says so.
      if (!answered || bytes.find("connection: close") != std::string::npos) {
        socket = RawSocket::connect(port);
      }
      std::this_thread::sleep_for(milliseconds{5});
    }
  }

  SteadyClock clock_;
  std::atomic<bool> ended_ = false;
  std::vector<double> latencies_ms_;
  std::vector<std::string> unanswered_;
  std::thread thread_;
};

struct Latencies {
  std::size_t requests = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

std::ostream& operator<<(std::ostream& out, const Latencies& latencies) {
  return out << latencies.requests << " requests, p50 " << latencies.p50_ms << " ms, p99 "
             << latencies.p99_ms << " ms, longest " << latencies.max_ms << " ms";
}

// Of two clients that run as long as `meanwhile` does.
template <class Meanwhile>
Latencies others(std::uint16_t port, Meanwhile meanwhile) {
  OtherClient first(port);
  OtherClient second(port);
  meanwhile();
  std::vector<double> all;
  for (OtherClient* client : {&first, &second}) {
    client->end();
    all.insert(all.end(), client->latencies_ms().begin(), client->latencies_ms().end());
    EXPECT_THAT(client->unanswered(), ::testing::IsEmpty());
  }
  std::sort(all.begin(), all.end());
  const auto at = [&all](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  return {.requests = all.size(), .p50_ms = at(0.5), .p99_ms = at(0.99), .max_ms = all.back()};
}

class SlowClients : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::find_program("slowhttptest").empty()) {
      GTEST_SKIP() << "slowhttptest is not installed (packages/install test)";
    }
    folder_ = ::testing::TempDir() + "slow-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    origin_.emplace(answer);
    // The origin answers from this very process, slowly where the machine is busy: that is not what
    // these tests ask.
    gateway_.emplace(
        "client: {header_timeout: 2s, body_timeout: 2s, min_rate_grace: 3s}\n"
        "timeouts: {connect: 30s, response: 30s, total: 60s}\n"
        "upstreams: {shop: {endpoints: [127.0.0.1:" +
            std::to_string(origin_->port()) +
            "], health: off, breaker: {slow_rate: 0%}}}\n"
            "routes: [{upstream: shop}]\n",
        folder_, testing::GatewayProgramOptions{.record = folder_ + "/run.db"});
  }

  void TearDown() override {
    gateway_.reset();
    origin_.reset();
    fs::remove_all(folder_);
  }

  void attack(const std::string& mode, const std::vector<std::string>& more) {
    const int idle = gateway_->open_descriptors();
    const Latencies before =
        others(gateway_->port(), [] { std::this_thread::sleep_for(seconds{2}); });
    int most = 0;
    const Latencies during = others(gateway_->port(), [&] {
      std::vector<std::string> arguments = {"slowhttptest", mode, "-c", "300", "-r", "150",
                                            "-i",           "1",  "-l", "6",   "-p", "3"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      ChildProgram attacker(arguments, folder_ + "/attacker.log");
      for (int tenths = 0; tenths < 120 && attacker.running(); ++tenths) {
        most = std::max(most, gateway_->open_descriptors() - idle);
        std::this_thread::sleep_for(milliseconds{100});
      }
      attacker.signal(SIGTERM);
      EXPECT_TRUE(attacker.wait(seconds{5}));
    });
    std::cout << "without: " << before << "\nunder attack (" << most
              << " connections at once): " << during << "\n";
    // All were answered (within the five seconds that they wait), and most did not notice: nobody
    // waits for an attacker, but the machine may be busy.
    EXPECT_GT(during.requests, 20U);
    EXPECT_LT(during.p50_ms, 20 * before.p50_ms + 20);
    expect_given_up(idle);
  }

  // All connections of the attackers have gone, and the gateway is as it was.
  void expect_given_up(int idle) {
    int now = gateway_->open_descriptors();
    // The origin's kept connections may stay.
    for (int tenths = 0; tenths < 80 && now > idle + 20; ++tenths) {
      std::this_thread::sleep_for(milliseconds{100});
      now = gateway_->open_descriptors();
    }
    EXPECT_LE(now, idle + 20);
    EXPECT_EQ(gateway_->stop(seconds{15}), 0) << gateway_->log();
  }

  [[nodiscard]] std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(gateway_->port()) + path;
  }

  // The ledger's causes, such as "client_header_timeout".
  [[nodiscard]] std::vector<std::string> causes() const {
    std::vector<std::string> found;
    for (const auto& row :
         testing::query(folder_ + "/run.db", "SELECT DISTINCT cause FROM per_second")) {
      found.push_back(row.front());
    }
    return found;
  }

  // Both were seen, and beside them at most clients that left in the end.
  void expect_causes(const std::string& one, const std::string& other) const {
    EXPECT_THAT(causes(), ::testing::IsSupersetOf({one, other}));
    EXPECT_THAT(causes(), ::testing::IsSubsetOf({one, other, std::string("client_closed")}));
  }

  std::string folder_;
  std::optional<ScriptedPeer> origin_;
  std::optional<GatewayProgram> gateway_;
};

TEST_F(SlowClients, SlowHeadsDoNotHarmOthers) {
  attack("-H", {"-u", url("/small")});
  expect_causes("ok", "client_header_timeout");
}

TEST_F(SlowClients, SlowBodiesDoNotHarmOthers) {
  attack("-B", {"-u", url("/small")});
  expect_causes("ok", "client_body_timeout");
}

TEST_F(SlowClients, EndlessRangesDoNotHarmOthers) {
  attack("-R", {"-u", url("/small"), "-b", "500"});
  EXPECT_THAT(causes(), ::testing::Contains("ok"));
}

TEST_F(SlowClients, SlowReadersDoNotHarmOthers) {
  attack("-X", {"-u", url("/large"), "-c", "80", "-r", "20", "-w", "256", "-y", "512", "-n", "1",
                "-z", "32"});
  expect_causes("ok", "client_closed");
}

}  // namespace
}  // namespace gatedrill
