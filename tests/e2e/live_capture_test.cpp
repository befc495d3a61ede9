// `gatedrill capture -i` on loopback: the built program, as its users start and end it.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/recording.hpp"
#include "tests/e2e/live_capture_fixture.hpp"
#include "tests/support/raw_socket.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

namespace fs = std::filesystem;
using replay::RecordedExchange;
using replay::Recording;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

TEST_F(LiveCaptureTest, WhatPassesIsRecordedWholeAndCtrlCEndsIt) {
  ScriptedPeer server(always_answer("hello"));
  LiveCapture capture(folder_, on_loopback(server.port()));
  talk(server.port(), 20);
  EXPECT_EQ(capture.interrupt(), 0) << capture.log();
  const auto found = exchanges(path("t.db"));
  ASSERT_EQ(found.size(), 20U);
  for (const RecordedExchange& exchange : found) {
    EXPECT_EQ(exchange.response->body, "hello");
    EXPECT_EQ(exchange.server, "127.0.0.1:" + std::to_string(server.port()));
  }
  EXPECT_EQ(ledger(path("t.db"), "kernel drops"), 0U);
  EXPECT_EQ(ledger(path("t.db"), "queue drops"), 0U);
  EXPECT_THAT(capture.log(), AllOf(HasSubstr("capturing on lo as "), HasSubstr("the kernel lets")));
}

TEST_F(LiveCaptureTest, TheFramesOfLoopbackAreNotCut) {
  const std::string body(3'000'000, 'x');
  ScriptedPeer server(always_answer(body));
  LiveCapture capture(folder_, on_loopback(server.port()));
  auto socket = RawSocket::connect(server.port());
  socket.send("GET /large HTTP/1.1\r\nHost: shop\r\n\r\n");
  static_cast<void>(socket.read_exactly(body.size()));
  static_cast<void>(socket.read_until("xx"));
  EXPECT_EQ(capture.interrupt(), 0) << capture.log();
  const auto found = exchanges(path("t.db"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].response->body.size(), body.size());
  EXPECT_EQ(ledger(path("t.db"), "packets cut short"), 0U);
}

// Nothing waits only so long for the rest of a message.
TEST_F(LiveCaptureTest, AnUploadWithAPauseIsWhole) {
  ScriptedPeer server([](PeerSocket& peer, int) {
    static_cast<void>(peer.read_until("end"));
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  });
  LiveCapture capture(folder_, on_loopback(server.port()));
  auto socket = RawSocket::connect(server.port());
  socket.send("POST /slow HTTP/1.1\r\nHost: shop\r\nContent-Length: 6\r\n\r\none");
  std::this_thread::sleep_for(2500ms);
  socket.send("end");
  static_cast<void>(socket.read_until("hello"));
  EXPECT_EQ(capture.interrupt(), 0) << capture.log();
  const auto found = exchanges(path("t.db"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].request->complete);
  EXPECT_EQ(found[0].request->body, "oneend");
  EXPECT_EQ(found[0].response->body, "hello");
}

TEST_F(LiveCaptureTest, AnyIsAllInterfacesAndSeveralMayBeNamed) {
  ScriptedPeer server(always_answer("hello"));
  const std::string port = std::to_string(server.port());
  LiveCapture any(folder_, {"-i", "any", "--port", port, "-o", path("any.db")});
  talk(server.port(), 3);
  EXPECT_EQ(any.interrupt(), 0) << any.log();
  EXPECT_EQ(exchanges(path("any.db")).size(), 3U);
  // The same packets twice are each message once.
  LiveCapture both(folder_, {"-i", "any", "-i", "lo", "--port", port, "-o", path("both.db")});
  talk(server.port(), 3);
  EXPECT_EQ(both.interrupt(), 0) << both.log();
  EXPECT_EQ(exchanges(path("both.db")).size(), 3U);
}

TEST_F(LiveCaptureTest, ADurationALimitAndAnOpenExchangeEndItCleanly) {
  ScriptedPeer silent([](PeerSocket& peer, int) { peer.read_until("never"); });
  LiveCapture capture(folder_, on_loopback(silent.port(), {"--duration", "500ms"}));
  auto socket = RawSocket::connect(silent.port());
  socket.send("GET /pending HTTP/1.1\r\nHost: shop\r\n\r\n");
  EXPECT_EQ(capture.wait(), 0) << capture.log();
  const auto found = exchanges(path("t.db"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].request->target, "/pending");
  EXPECT_FALSE(found[0].response);
  EXPECT_EQ(Recording::open(path("t.db")).value().connections().value()[0].how, "open");

  ScriptedPeer server(always_answer("hello"));
  LiveCapture limited(folder_, on_loopback(server.port(), {"--limit", "2", "--duration", "20s"}));
  talk(server.port(), 30);
  EXPECT_EQ(limited.wait(), 0) << limited.log();
  EXPECT_GE(exchanges(path("t.db")).size(), 2U);
}

TEST_F(LiveCaptureTest, ALimitEndsItOnASilentWire) {
  ScriptedPeer server(always_answer("hello"));
  LiveCapture capture(folder_, on_loopback(server.port(), {"--limit", "3"}));
  auto socket = RawSocket::connect(server.port());
  for (int i = 0; i < 3; ++i) {
    socket.send("GET / HTTP/1.1\r\nHost: shop\r\n\r\n");
    ASSERT_THAT(socket.read_until("hello").bytes, HasSubstr("200"));
  }
  // The connection stays open, and nothing more is said on it.
  EXPECT_EQ(capture.wait(), 0) << capture.log();
  EXPECT_EQ(exchanges(path("t.db")).size(), 3U);
}

TEST_F(LiveCaptureTest, PrivilegesAreGoneOnceTheInterfaceIsOpen) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has any to give up";
  const passwd* nobody = getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  const std::string uid = std::to_string(nobody->pw_uid);
  ScriptedPeer server(always_answer("hello"));

  struct Case {
    std::vector<std::string> before;
    std::vector<std::string> more;
  };

  const std::vector<Case> cases = {
      {{}, {}},
      {{}, {"--user", "nobody"}},
      {{"env", "SUDO_UID=" + uid}, {}},
  };
  for (const Case& one : cases) {
    fs::remove(path("t.db"));
    LiveCapture capture(folder_, on_loopback(server.port(), one.more), one.before);
    for (const auto set : {"CapEff", "CapPrm", "CapInh", "CapAmb"})
      EXPECT_EQ(capture.status_line(set), "0000000000000000") << set;
    EXPECT_EQ(capture.status_line("Uid"), uid + "\t" + uid + "\t" + uid + "\t" + uid);
    EXPECT_EQ(capture.status_line("NoNewPrivs"), "1");
    talk(server.port(), 2);
    EXPECT_EQ(capture.interrupt(), 0) << capture.log();
    EXPECT_EQ(exchanges(path("t.db")).size(), 2U);

    struct stat status {};

    ASSERT_EQ(stat(path("t.db").c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, nobody->pw_uid);
  }
}

TEST_F(LiveCaptureTest, WhereOnlyRootMayWriteItStaysRootWithoutCapabilitiesAndSaysSo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has any to give up";
  fs::permissions(folder_, fs::perms::owner_all);
  ScriptedPeer server(always_answer("hello"));
  LiveCapture capture(folder_, on_loopback(server.port()));
  EXPECT_EQ(capture.status_line("CapEff"), "0000000000000000");
  EXPECT_THAT(capture.log(), HasSubstr("it stays root"));
  talk(server.port(), 1);
  EXPECT_EQ(capture.interrupt(), 0) << capture.log();
  EXPECT_EQ(exchanges(path("t.db")).size(), 1U);
  // Who was named is not silently replaced by root.
  LiveCapture named(folder_, on_loopback(server.port(), {"--user", "nobody"}));
  EXPECT_EQ(named.wait(), 3);
  EXPECT_THAT(named.log(), HasSubstr("nobody, as whom the recording is written, may not write"));
  LiveCapture unknown(folder_, on_loopback(server.port(), {"--user", "no-such-user"}));
  EXPECT_EQ(unknown.wait(), 2);
}

TEST_F(LiveCaptureTest, WithoutPermissionItSaysWhatToDo) {
  if (geteuid() != 0 || find_program("setpriv").empty()) GTEST_SKIP() << "needs setpriv as root";
  LiveCapture capture(folder_, on_loopback(80),
                      {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
  EXPECT_EQ(capture.wait(), 3);
  EXPECT_THAT(capture.log(),
              AllOf(HasSubstr("no permission to capture"), HasSubstr("setcap"), HasSubstr("sudo")));
  EXPECT_FALSE(fs::exists(path("t.db")));
}

TEST_F(LiveCaptureTest, FilesRotateAndEachIsAWholeRecording) {
  ScriptedPeer server(always_answer("hello"));
  LiveCapture capture(folder_, on_loopback(server.port(), {"--rotate", "300ms", "--keep", "2"}));
  // A request that outlasts several files.
  auto slow = RawSocket::connect(server.port());
  slow.send("GET /slow HTTP/1.1\r\n");
  for (int i = 0; i < 12; ++i) {
    talk(server.port(), 5);
    std::this_thread::sleep_for(100ms);
  }
  slow.send("Host: shop\r\n\r\n");
  static_cast<void>(slow.read_until("hello"));
  EXPECT_EQ(capture.interrupt(), 0) << capture.log();
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().starts_with("t-")) files.push_back(entry.path());
  }
  ASSERT_EQ(files.size(), 2U) << capture.log();
  int slow_ones = 0;
  for (const std::string& file : files) {
    EXPECT_FALSE(Recording::open(file).value().ledger().value().empty());
    for (const RecordedExchange& exchange : exchanges(file)) {
      if (exchange.request->target != "/slow") continue;
      ++slow_ones;
      EXPECT_EQ(exchange.response->body, "hello");
    }
  }
  EXPECT_EQ(slow_ones, 1);
  EXPECT_THAT(capture.log(), HasSubstr("in 2 files"));
}

TEST_F(LiveCaptureTest, AReplayOnTheCapturingHostLeavesTheCountUnchanged) {
  ScriptedPeer server(always_answer("hello"));
  {
    LiveCapture first(folder_, on_loopback(server.port()));
    talk(server.port(), 5);
    ASSERT_EQ(first.interrupt(), 0) << first.log();
    fs::rename(path("t.db"), path("first.db"));
  }
  const std::string replay =
      "replay " + path("first.db") + " --to http://127.0.0.1:" + std::to_string(server.port());
  for (const bool include : {false, true}) {
    std::vector<std::string> more;
    if (include) more = {"--include-replays"};
    LiveCapture second(folder_, on_loopback(server.port(), more));
    talk(server.port(), 3);
    const ProgramRun replayed = run_gatedrill(replay);
    ASSERT_EQ(replayed.status, 0) << replayed.errors;
    ASSERT_EQ(second.interrupt(), 0) << second.log();
    EXPECT_EQ(exchanges(path("t.db")).size(), include ? 8U : 3U) << second.log();
    EXPECT_EQ(ledger(path("t.db"), "own replays left out"), include ? 0U : 5U);
    // Of those that stay, none is without exchanges, and each other one is accounted for.
    const auto connections = Recording::open(path("t.db")).value().connections().value();
    std::set<std::int64_t> used;
    for (const RecordedExchange& exchange : exchanges(path("t.db")))
      used.insert(exchange.connection);
    EXPECT_EQ(connections.size(), used.size()) << second.log();
    EXPECT_EQ(used.size() == 1, !include);
    EXPECT_EQ(connections.size() + ledger(path("t.db"), "own replays left out: connections"),
              ledger(path("t.db"), "connections"));
  }
}

TEST_F(IsolatedCaptureTest, AnInterfaceThatGoesAwayIsSaidAndTheOthersAreStillRecorded) {
  const ProgramRun run =
      isolated("ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up",
               "-i v0 -i lo --duration 4s -o " + path("t.db"),
               std::string("ip link del v0\nsleep 0.5\n") + kOneExchange);
  EXPECT_EQ(run.status, 3) << run.out;
  EXPECT_THAT(run.out, HasSubstr("v0: the capture broke off"));
  const auto found = exchanges(path("t.db"));
  ASSERT_EQ(found.size(), 1U) << run.out;
  EXPECT_EQ(found[0].request->target, "/last");
  EXPECT_EQ(found[0].response->status, 204);
}

TEST_F(IsolatedCaptureTest, TheLastInterfaceThatGoesAwayEndsItWithAWholeRecording) {
  const ProgramRun run =
      isolated("ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up",
               "-i v0 --duration 20s -o " + path("t.db"),
               "ip addr add 10.9.9.1/24 dev v0\nping -c 1 -W 1 10.9.9.2 >/dev/null 2>&1\n"
               "python3 -c \"import socket\n"
               "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('10.9.9.2', 9))\"\n"
               "sleep 0.5\nip link del v0");
  EXPECT_EQ(run.status, 3) << run.out;
  EXPECT_THAT(run.out, HasSubstr("v0: the capture broke off"));
  EXPECT_TRUE(Recording::open(path("t.db"))) << run.out;
}

TEST_F(IsolatedCaptureTest, ADiskThatIsNearlyFullEndsItWhileTheRecordingCanStillBeCompleted) {
  fs::create_directory(path("disk"));
  const ProgramRun run =
      isolated("mount -t tmpfs -o size=200m none " + path("disk") + " && chmod 777 " + path("disk"),
               "-i lo --duration 60s -o " + path("disk") + "/t.db",
               kOneExchange + ("head -c 160M /dev/zero >" + path("disk") + "/filled\n"),
               "cp " + path("disk") + "/t.db " + path("t.db"));
  EXPECT_THAT(run.out, AllOf(HasSubstr("ended early"), HasSubstr("MiB are left there")));
  EXPECT_EQ(run.status, 3) << run.out;
  EXPECT_EQ(exchanges(path("t.db")).size(), 1U) << run.out;
}

}  // namespace
}  // namespace gatedrill::testing
