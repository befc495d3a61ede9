// What a machine runs out of: descriptors, disk, and room for clients that say nothing. The gateway
// goes on with what it has, and is whole again when there is more.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "tests/support/gateway_program.hpp"
#include "tests/support/http_text.hpp"
#include "tests/support/raw_socket.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::GatewayProgram;
using testing::kSanitized;
using testing::RawSocket;
using testing::ScriptedPeer;

bool is_answered(RawSocket& client) {
  client.send(testing::get("/"));
  return client.read_until("small").bytes.starts_with("HTTP/1.1 200 ");
}

class Exhaustion : public ::testing::Test {
 protected:
  Exhaustion() : origin_(testing::always_answer("small")) {
    folder_ = ::testing::TempDir() + "exhaustion-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  ~Exhaustion() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string config(const std::string& more = "") const {
    return more + "upstreams: {shop: {endpoints: [127.0.0.1:" + std::to_string(origin_.port()) +
           "], health: off}}\nroutes: [{upstream: shop}]\n";
  }

  static std::vector<RawSocket> connect(std::uint16_t port, int count) {
    std::vector<RawSocket> clients;
    for (int i = 0; i < count; ++i)
      clients.push_back(RawSocket::connect(port));
    return clients;
  }

  std::string folder_;
  ScriptedPeer origin_;
};

TEST_F(Exhaustion, WithoutDescriptorsItPausesToAcceptAndGoesOnLater) {
  GatewayProgram gateway(config(), folder_, {.record = {}, .descriptors = 64});
  std::vector<RawSocket> clients = connect(gateway.port(), 100);
  std::this_thread::sleep_for(milliseconds{300});
  const milliseconds before = gateway.processor_time();
  std::this_thread::sleep_for(seconds{2});
  const milliseconds spent = gateway.processor_time() - before;
  EXPECT_LT(spent, milliseconds{400}) << "it spins";
  EXPECT_LE(gateway.open_descriptors(), 64);
  EXPECT_TRUE(is_answered(clients.front()));
  // The last one waits until others go.
  clients.back().send(testing::get("/"));
  clients.back().set_read_limit(milliseconds{300});
  EXPECT_EQ(clients.back().read().bytes, "");
  clients.erase(clients.begin(), clients.end() - 1);
  clients.back().set_read_limit(seconds{5});
  EXPECT_THAT(clients.back().read_until("small").bytes, ::testing::StartsWith("HTTP/1.1 200 "));
  RawSocket another = RawSocket::connect(gateway.port());
  EXPECT_TRUE(is_answered(another));
  EXPECT_EQ(gateway.stop(seconds{12}), 0) << gateway.log();
}

TEST_F(Exhaustion, FiveThousandIdleClientsCostLittleAndLeaveNothing) {
  constexpr int kClients = 5000;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < 2 * kClients + 500) {
    GTEST_SKIP() << "needs " << 2 * kClients + 500 << " descriptors, has " << limit.rlim_max;
  }
  GatewayProgram gateway(config(), folder_);
  RawSocket client = RawSocket::connect(gateway.port());
  EXPECT_TRUE(is_answered(client));
  const long alone = gateway.resident_kib();
  const int descriptors = gateway.open_descriptors();
  {
    std::vector<RawSocket> clients = connect(gateway.port(), kClients);
    EXPECT_TRUE(is_answered(clients.back()));
    for (int i = 0; i < kClients; i += 500)
      EXPECT_TRUE(is_answered(clients[static_cast<std::size_t>(i)]));
    const long each = (gateway.resident_kib() - alone) * 1024 / kClients;
    std::cout << kClients << " idle clients, " << each << " bytes each\n";
    EXPECT_LT(each, kSanitized ? 1024 * 1024 : 32 * 1024);
    EXPECT_TRUE(is_answered(client));
  }
  for (int tenths = 0; tenths < 100 && gateway.open_descriptors() > descriptors + 1; ++tenths)
    std::this_thread::sleep_for(milliseconds{100});
  EXPECT_LE(gateway.open_descriptors(), descriptors + 1);
  EXPECT_TRUE(is_answered(client));
}

// A small tmpfs, mounted for the test.
class FullDiskWhileServing : public Exhaustion {
 protected:
  void SetUp() override {
    disk_ = folder_ + "/disk";
    fs::create_directories(disk_);
    if (::mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=256k") != 0) {
      GTEST_SKIP() << "cannot mount a small disk here";
    }
    mounted_ = true;
  }

  void TearDown() override {
    if (mounted_) ::umount2(disk_.c_str(), MNT_DETACH);
  }

  std::string disk_;
  bool mounted_ = false;
};

TEST_F(FullDiskWhileServing, ItGoesOnServingAndSaysThatTheRecordIsNotWhole) {
  GatewayProgram gateway(config("sample_ok: 1\nclient: {max_requests: 0}\n"), folder_,
                         {.record = disk_ + "/run.db", .descriptors = 0});
  RawSocket client = RawSocket::connect(gateway.port());
  for (int request = 0; request < 3000; ++request)
    ASSERT_TRUE(is_answered(client)) << "request " << request;
  EXPECT_EQ(gateway.stop(seconds{12}), 3);
  EXPECT_THAT(gateway.log(), ::testing::HasSubstr("the disk is full"));
}

}  // namespace
}  // namespace gatedrill
