// What a live capture loses and keeps when its machine does its worst: too many packets, a kill, a
// full disk, a change of files. Of the built program.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/core/random.hpp"
#include "tests/e2e/live_capture_fixture.hpp"
#include "tests/support/pcap_builder.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

namespace fs = std::filesystem;
using replay::Recording;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// UDP, since nobody sends it again: as many packets pass as are sent. A server of TCP may have the
// port.
void send_datagrams(std::uint16_t port, int count) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(fd, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr generic{};
  std::memcpy(&generic, &where, sizeof where);
  const std::string datagram(1000, 'd');
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(::sendto(fd, datagram.data(), datagram.size(), 0, &generic, sizeof where),
              static_cast<ssize_t>(datagram.size()));
  }
  ::close(fd);
}

std::string random_text(std::size_t size, Random& random) {
  std::string text(size, ' ');
  for (char& c : text)
    c = static_cast<char>('!' + random.below(94));
  return text;
}

// Answers with the body that was sent.
void echo(PeerSocket& peer, int /*connection*/) {
  for (;;) {
    const std::string request = peer.read_request();
    if (request.empty()) return;
    peer.send(answer_of(200, request.substr(request.find("\r\n\r\n") + 4)));
  }
}

std::vector<std::string> files_beginning(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && !name.ends_with("-journal")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A capture that is stopped takes nothing out of the kernel's buffer, however small the burst.
TEST_F(LiveCaptureTest, PacketsSentAreThoseCapturedAndThoseDroppedAndTooManyDropsAreNoEvidence) {
  constexpr int kSent = 6000;
  for (const bool allowed : {false, true}) {
    ScriptedPeer server(always_answer("hello"));
    const std::string port = std::to_string(server.port());
    std::vector<std::string> options = {"-i",       "lo",   "--filter", "port " + port,
                                        "--buffer", "1MiB", "-o",       path("t.db")};
    if (allowed) options.insert(options.end(), {"--allow-loss", "100"});
    LiveCapture capture(folder_, options);
    talk(server.port(), 3);
    ASSERT_EQ(kill(capture.pid(), SIGSTOP), 0);
    send_datagrams(server.port(), kSent);
    ASSERT_EQ(kill(capture.pid(), SIGCONT), 0);
    EXPECT_EQ(capture.interrupt(), allowed ? 0 : 4) << capture.log();
    EXPECT_EQ(exchanges(path("t.db")).size(), 3U);
    const std::uint64_t kernel = ledger(path("t.db"), "kernel drops");
    const std::uint64_t queue = ledger(path("t.db"), "queue drops");
    EXPECT_GT(kernel, 0U);
    EXPECT_EQ(ledger(path("t.db"), "packets: not TCP") + kernel + queue, kSent) << capture.log();
    EXPECT_THAT(capture.log(),
                AllOf(HasSubstr(std::to_string(kernel + queue) + " packets were lost"),
                      HasSubstr(std::to_string(kernel) + " dropped by the kernel")));
    EXPECT_EQ(capture.log().find("that is more than 1 %") != std::string::npos, !allowed);
  }
}

TEST_F(LiveCaptureTest, FilesRotateBySizeAndTogetherHoldAllThatWasSent) {
  constexpr std::size_t kBody = 50'000;
  ScriptedPeer server(echo);
  LiveCapture capture(folder_,
                      on_loopback(server.port(), {"--rotate-size", "1MiB", "--keep-secrets"}));
  Random random(7);
  std::map<std::string, std::string> sent;
  auto socket = RawSocket::connect(server.port());
  for (int i = 0; i < 2000 && files_beginning(folder_, "t-").size() < 4; ++i) {
    const std::string target = "/" + std::to_string(i);
    const std::string body = random_text(kBody, random);
    socket.send("POST " + target + " HTTP/1.1\r\nHost: shop\r\nContent-Length: " +
                std::to_string(kBody) + "\r\n\r\n" + body);
    ASSERT_THAT(socket.read_until(body).bytes, HasSubstr("200"));
    sent[target] = body;
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(capture.interrupt(), 0) << capture.log();
  const auto files = files_beginning(folder_, "t-");
  EXPECT_GE(files.size(), 4U) << capture.log();
  std::size_t found = 0;
  for (const std::string& file : files) {
    const auto recording = Recording::open(file);
    ASSERT_TRUE(recording) << file;
    EXPECT_TRUE(recording->finished()) << file;
    EXPECT_FALSE(recording->ledger()->empty()) << file;
    for (const auto& exchange : exchanges(file)) {
      ++found;
      const std::string& body = sent[exchange.request->target];
      EXPECT_TRUE(exchange.request->body == body) << exchange.request->target;
      EXPECT_TRUE(exchange.response->body == body) << exchange.request->target;
    }
  }
  EXPECT_EQ(found, sent.size());
}

TEST_F(LiveCaptureTest, WhatWasSavedIsReadableAfterAKillAndIsSaidToBeUnfinished) {
  ScriptedPeer server(always_answer("hello"));
  LiveCapture capture(folder_, on_loopback(server.port()));
  const std::string partial = path("t.db.partial-" + std::to_string(capture.pid()));
  talk(server.port(), 20);
  // The second save from here on has all of them, whenever the kill comes.
  for (int saves = 0; saves < 2; ++saves) {
    const auto before = fs::last_write_time(partial);
    for (int i = 0; i < 500 && fs::last_write_time(partial) == before; ++i) {
      talk(server.port(), 1);
      std::this_thread::sleep_for(20ms);
    }
    ASSERT_NE(fs::last_write_time(partial), before) << "it is never saved";
    std::this_thread::sleep_for(300ms);  // until it is done
  }
  ASSERT_EQ(kill(capture.pid(), SIGKILL), 0);
  EXPECT_EQ(capture.wait(), 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(path("t.db")));
  const ProgramRun shown = run_gatedrill("traffic " + partial);
  EXPECT_EQ(shown.status, 4) << shown.errors;
  EXPECT_THAT(shown.out, HasSubstr("unfinished"));
  EXPECT_THAT(shown.errors, HasSubstr("is unfinished"));
  const auto found = exchanges(partial);
  EXPECT_GE(found.size(), 21U);
  for (const auto& exchange : found)
    EXPECT_EQ(exchange.response->body, "hello");
  // The next one is not in its way.
  LiveCapture next(folder_, on_loopback(server.port()));
  talk(server.port(), 2);
  EXPECT_EQ(next.interrupt(), 0) << next.log();
  EXPECT_EQ(exchanges(path("t.db")).size(), 2U);
}

// What lies behind a segment that was never captured is not done before one stops waiting for it.
TEST_F(IsolatedCaptureTest, ALimitThatOnlyASilenceReachesEndsIt) {
  tests::Conversation talk;
  talk.handshake();
  talk.client("GET /holed HTTP/1.1\r\nHost: shop\r\n\r\n");
  talk.server("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nhello");
  talk.server("lost-bytes");
  talk.server("behind");
  std::string frames;
  for (const tests::Frame& frame : talk.frames()) {
    if (frame.bytes.find("lost-bytes") != std::string::npos) continue;
    for (const char byte : frame.bytes) {
      const auto value = static_cast<unsigned char>(byte);
      frames.append({"0123456789abcdef"[value >> 4U], "0123456789abcdef"[value & 15U]});
    }
    frames += "\n";
  }
  std::ofstream(path("frames")) << frames;
  const ProgramRun run =
      isolated("ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up",
               "-i v1 --limit 1 --allow-loss 100 -o " + path("t.db"),
               "python3 -c \"import socket\n"
               "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
               "s.bind(('v0', 0))\n"
               "for line in open('" +
                   path("frames") +
                   "'): s.send(bytes.fromhex(line))\"\n"
                   "(sleep 30; kill -KILL $capture) >/dev/null 2>&1 &\nkiller=$!\n",
               "kill $killer");
  EXPECT_EQ(run.status, 0) << run.out;
  const auto found = exchanges(path("t.db"));
  ASSERT_EQ(found.size(), 1U) << run.out;
  EXPECT_EQ(found[0].response->body, "hello");
  EXPECT_EQ(ledger(path("t.db"), "lost: gap"), 1U);
}

// The capture is stopped while others fill the disk: it cannot end before it is full.
TEST_F(IsolatedCaptureTest, AFullDiskEndsItAndWhatWasStoredIsReadable) {
  fs::create_directory(path("disk"));
  const std::string disk = path("disk");
  const std::string large =
      "python3 -c \"import os, socket\n"
      "s = socket.create_server(('127.0.0.1', 8124))\n"
      "c = socket.create_connection(('127.0.0.1', 8124))\n"
      "p, _ = s.accept()\n"
      "for i in range(20):\n"
      "  c.sendall(b'GET /large HTTP/1.1\\r\\n\\r\\n')\n"
      "  p.recv(100)\n"
      "  p.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 100000\\r\\n\\r\\n' + "
      "os.urandom(100000))\n"
      "  left = 100000\n"
      "  while left > 0: left -= len(c.recv(100000))\"\n";
  const ProgramRun run =
      isolated("mount -t tmpfs -o size=200m none " + disk + " && chmod 777 " + disk,
               "-i lo --keep-secrets -o " + disk + "/t.db",
               std::string(kOneExchange) +
                   // Until it has saved that.
                   "was=$(stat -c %y " + disk + "/t.db.partial-$capture)\n" +
                   "for i in $(seq 200); do [ \"$(stat -c %y " + disk +
                   "/t.db.partial-$capture)\" != \"$was\" ] && break; sleep 0.05; done\n"
                   "sleep 0.3\n"  // until that is done
                   "kill -STOP $capture\n"
                   "cat /dev/zero >" +
                   disk + "/filled 2>/dev/null\n" + large + "kill -CONT $capture\n",
               "cp " + disk + "/t.db* " + folder_.string());
  EXPECT_EQ(run.status, 3) << run.out;
  EXPECT_THAT(run.out, AllOf(HasSubstr("no space left on the disk; free some or write elsewhere"),
                             HasSubstr("the first 1 exchanges are in " + disk)));
  const auto left = files_beginning(folder_, "t.db.partial-");
  ASSERT_EQ(left.size(), 1U) << run.out;
  const ProgramRun shown = run_gatedrill("traffic " + left[0]);
  EXPECT_EQ(shown.status, 4);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("1 exchanges"), HasSubstr("unfinished")));
  EXPECT_EQ(exchanges(left[0])[0].request->target, "/last");
}

}  // namespace
}  // namespace gatedrill::testing
