// What the tests of `gatedrill capture -i` share: the built program on loopback, or in a network
// and a file system of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/recording.hpp"
#include "tests/support/live_capture.hpp"
#include "tests/support/raw_socket.hpp"
#include "tests/support/run_program.hpp"

namespace gatedrill::testing {

class LiveCaptureTest : public ::testing::Test {
 protected:
  LiveCaptureTest() {
    std::string pattern = ::testing::TempDir() + "live-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::permissions(folder_, std::filesystem::perms::all);  // for whom it becomes
  }

  ~LiveCaptureTest() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    const std::string why = LiveCapture::missing_permission(folder_);
    if (!why.empty()) GTEST_SKIP() << why;
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::vector<std::string> on_loopback(std::uint16_t port,
                                                     std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"-i", "lo", "--port", std::to_string(port), "-o", path("t.db")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // One connection with so many requests, each answered.
  static void talk(std::uint16_t port, int requests, const std::string& fields = {}) {
    auto socket = RawSocket::connect(port);
    for (int i = 0; i < requests; ++i) {
      socket.send("GET /live/" + std::to_string(i) + " HTTP/1.1\r\nHost: shop\r\n" + fields +
                  "\r\n");
      ASSERT_THAT(socket.read_until("hello").bytes, ::testing::HasSubstr("200"));
    }
  }

  static std::vector<replay::RecordedExchange> exchanges(const std::string& file) {
    return replay::Recording::open(file).value().read_all().value();
  }

  static std::uint64_t ledger(const std::string& file, const std::string& what) {
    for (const auto& line : replay::Recording::open(file).value().ledger().value()) {
      if (line.what == what) return line.count;
    }
    ADD_FAILURE() << "no line " << what;
    return 0;
  }

  std::filesystem::path folder_;
};

// In a network and a file system of its own, which the kernel must allow.
class IsolatedCaptureTest : public LiveCaptureTest {
 protected:
  void SetUp() override {
    LiveCaptureTest::SetUp();
    if (IsSkipped()) return;
    if (run_shell("unshare -n -m ip link add v0 type veth peer name v1").status != 0) {
      GTEST_SKIP() << "no network of its own here";
    }
  }

  // Starts a capture there, runs `then`, waits for it and runs `after`; what the capture printed,
  // its status last.
  ProgramRun isolated(const std::string& before,
                      const std::string& options,
                      const std::string& then,
                      const std::string& after = {}) {
    std::ofstream(path("isolated.sh"))
        << "ip link set lo up\n"
        << before << "\n\"$GATEDRILL\" capture " << options << " >" << path("log")
        << " 2>&1 &\ncapture=$!\nfor i in $(seq 200); do grep -q 'Ctrl-C ends it' " << path("log")
        << " && break; sleep 0.05; done\n"
        << then << "\nwait $capture\nstatus=$?\n"
        << after << "\ncat " << path("log") << "\nexit $status\n";
    return run_shell("export GATEDRILL; unshare -n -m sh " + path("isolated.sh"));
  }
};

inline constexpr const char* kOneExchange =
    "python3 -c \"import socket\n"
    "s = socket.create_server(('127.0.0.1', 8123))\n"
    "c = socket.create_connection(('127.0.0.1', 8123))\n"
    "p, _ = s.accept()\n"
    "c.sendall(b'GET /last HTTP/1.1\\r\\n\\r\\n')\n"
    "p.recv(100)\n"
    "p.sendall(b'HTTP/1.1 204 No Content\\r\\n\\r\\n')\n"
    "c.recv(100)\"\n";

}  // namespace gatedrill::testing
