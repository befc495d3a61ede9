// `gatedrill gateway` with `record`: the built program, real sockets, and the recording that it
// leaves.
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/recording.hpp"
#include "replay/recording_writer.hpp"
#include "tests/support/gateway_program.hpp"
#include "tests/support/live_capture.hpp"
#include "tests/support/raw_socket.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class RecordedTrafficTest : public ::testing::Test {
 protected:
  RecordedTrafficTest() {
    std::string pattern = ::testing::TempDir() + "recorded-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    traffic_ = folder_ / "traffic.db";
  }

  ~RecordedTrafficTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string config(std::uint16_t origin,
                                   const std::string& more = {},
                                   const std::string& record = {}) const {
    return "record: {traffic: " + traffic_ + record +
           "}\nupstreams:\n  shop:\n    endpoints: ['127.0.0.1:" + std::to_string(origin) +
           "']\n    health: off\nroutes:\n  - upstream: shop\n" + more;
  }

  [[nodiscard]] std::vector<replay::RecordedExchange> exchanges() const {
    return replay::Recording::open(traffic_).value().read_all().value();
  }

  fs::path folder_;
  std::string traffic_;
};

TEST_F(RecordedTrafficTest, BothLegsOfEachRequestAreInTheRecording) {
  ScriptedPeer origin(always_answer("hello"));
  GatewayProgram gateway(config(origin.port()), folder_);
  auto client = RawSocket::connect(gateway.port());
  for (int i = 0; i < 3; ++i) {
    client.send("POST /order/" + std::to_string(i) +
                " HTTP/1.1\r\nHost: shop\r\nContent-Length: 3\r\n\r\nabc");
    ASSERT_THAT(client.read_until("hello").bytes, HasSubstr("200"));
  }
  client.close();
  EXPECT_EQ(gateway.stop(10s), 0) << gateway.log();
  EXPECT_THAT(gateway.log(), HasSubstr("6 exchanges in " + traffic_));

  const std::string front = "127.0.0.1:" + std::to_string(gateway.port());
  const std::string back = "127.0.0.1:" + std::to_string(origin.port());
  int at_front = 0;
  int at_back = 0;
  for (const auto& exchange : exchanges()) {
    (exchange.server == front ? at_front : at_back) += 1;
    if (exchange.server != front) {
      EXPECT_EQ(exchange.server, back);
      EXPECT_NE(replay::value_of(exchange.request->fields, "x-request-id"), "");
    }
    EXPECT_EQ(exchange.request->body, "abc");
    EXPECT_EQ(exchange.response->body, "hello");
  }
  EXPECT_EQ(at_front, 3);
  EXPECT_EQ(at_back, 3);
}

TEST_F(RecordedTrafficTest, ARefusedOriginIsAConnectionAndTheClientSeesTheGatewaysAnswer) {
  const std::uint16_t nobody = RawListener().port();
  GatewayProgram gateway(config(nobody), folder_);
  auto client = RawSocket::connect(gateway.port());
  client.send("GET / HTTP/1.1\r\nHost: shop\r\n\r\n");
  ASSERT_THAT(client.read_until("}\n").bytes, HasSubstr("502"));
  EXPECT_EQ(gateway.stop(10s), 0) << gateway.log();
  ASSERT_EQ(exchanges().size(), 1U);
  EXPECT_EQ(exchanges()[0].response->status, 502);
  int refused = 0;
  for (const auto& connection : replay::Recording::open(traffic_).value().connections().value()) {
    if (connection.server != "127.0.0.1:" + std::to_string(nobody)) continue;
    ++refused;
    EXPECT_EQ(connection.connect, "refused");
    EXPECT_EQ(connection.how, "rst");
    EXPECT_EQ(connection.closed_by, "server");
  }
  EXPECT_GE(refused, 1);
}

TEST_F(RecordedTrafficTest, ManyThreadsAndClientsAreRecordedWithoutLoss) {
  ScriptedPeer origin(always_answer("hello"));
  GatewayProgram gateway(config(origin.port(), "threads: 2\n"), folder_);
  constexpr int kClients = 8;
  constexpr int kRequests = 50;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      auto socket = RawSocket::connect(gateway.port());
      for (int request = 0; request < kRequests; ++request) {
        socket.send("GET /live HTTP/1.1\r\nHost: shop\r\n\r\n");
        static_cast<void>(socket.read_until("hello"));
      }
    });
  }
  for (std::thread& client : clients)
    client.join();
  EXPECT_EQ(gateway.stop(10s), 0) << gateway.log();
  std::size_t whole = 0;
  for (const auto& exchange : exchanges()) {
    if (exchange.request && exchange.response && exchange.response->body == "hello") ++whole;
  }
  EXPECT_EQ(whole, std::size_t{2} * kClients * kRequests);
}

// Two views of one run: what the gateway says it served, and what passed on the wire.
TEST_F(RecordedTrafficTest, TheTapAndACaptureOfTheSameRunAgreeAndAPlantedLossIsFound) {
  fs::permissions(folder_, fs::perms::all);
  const std::string why = LiveCapture::missing_permission(folder_);
  if (!why.empty()) GTEST_SKIP() << why;
  ScriptedPeer origin(always_answer("hello"));
  GatewayProgram gateway(config(origin.port()), folder_);
  const std::string wire = folder_ / "wire.db";
  LiveCapture capture(folder_, {"-i", "lo", "--port", std::to_string(gateway.port()), "--port",
                                std::to_string(origin.port()), "-o", wire});
  constexpr int kClients = 4;
  constexpr int kRequests = 100;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      auto socket = RawSocket::connect(gateway.port());
      for (int request = 0; request < kRequests; ++request) {
        const std::string body = "order " + std::to_string(request % 7);
        socket.send("POST /order/" + std::to_string(i) +
                    " HTTP/1.1\r\nHost: shop\r\nCookie: sid=" + std::to_string(i) +
                    "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        static_cast<void>(socket.read_until("hello"));
      }
    });
  }
  for (std::thread& client : clients)
    client.join();
  ASSERT_EQ(gateway.stop(10s), 0) << gateway.log();
  ASSERT_EQ(capture.interrupt(), 0) << capture.log();

  const std::string reconcile = "traffic reconcile " + traffic_ + " ";
  const ProgramRun both = run_gatedrill(reconcile + wire);
  EXPECT_EQ(both.status, 0) << both.out << both.errors;
  const std::string all = std::to_string(2 * kClients * kRequests);
  EXPECT_THAT(both.out, HasSubstr("A holds 100.0000 % of B: " + all + " of " + all));
  EXPECT_THAT(both.out, HasSubstr("B holds 100.0000 % of A: " + all + " of " + all));

  const std::string holed = folder_ / "holed.db";
  const auto whole = replay::Recording::open(wire).value().read_all().value();
  auto writer = std::move(replay::RecordingWriter::create(holed, {.keep_secrets = true}).value());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (i == whole.size() / 2) continue;
    ASSERT_TRUE(writer.add(whole[i]));
  }
  ASSERT_TRUE(writer.finish({}));
  const ProgramRun lost = run_gatedrill(reconcile + holed);
  EXPECT_EQ(lost.status, 1) << lost.out;
  EXPECT_THAT(lost.out, HasSubstr("only in A: 1\n"));
  EXPECT_THAT(lost.out, HasSubstr("A holds 100.0000 %"));
  EXPECT_THAT(lost.out, HasSubstr(whole[whole.size() / 2].client + " to "));
}

// The order that is sent holds secrets of every kind.
TEST_F(RecordedTrafficTest, ATapAndACaptureUnderOneKeyAreComparedToTheLastSecret) {
  fs::permissions(folder_, fs::perms::all);
  const std::string why = LiveCapture::missing_permission(folder_);
  if (!why.empty()) GTEST_SKIP() << why;
  const std::string key = folder_ / "shared.key";
  constexpr int kRequests = 20;
  for (const bool one_key : {true, false}) {
    ScriptedPeer origin([](PeerSocket& peer, int) {
      const std::string body = R"({"token": "t0ken-of-ann", "iban": "X"})";
      while (!peer.read_request().empty()) {
        peer.send(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: sid=s3ssion\r\n"
            "Content-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body);
      }
    });
    GatewayProgram gateway(
        config(
            origin.port(), {},
            ", keep_numbers: true, redact: {json: ['$.iban'], fields: [x-user], key: " + key + "}"),
        folder_);
    const std::string wire = folder_ / "wire.db";
    LiveCapture capture(
        folder_, {"-i", "lo", "--port", std::to_string(gateway.port()), "--port",
                  std::to_string(origin.port()), "-o", wire, "--keep-numbers", "--redact-json",
                  "$.iban", "--redact-field", "x-user", "--redact-key",
                  one_key ? key : std::string(folder_ / "other.key")});
    auto client = RawSocket::connect(gateway.port());
    for (int i = 0; i < kRequests; ++i) {
      client.send("POST /login?token=t0psecret" + std::to_string(i) +
                  " HTTP/1.1\r\nHost: shop\r\nCookie: sid=c00kie\r\nX-User: ann\r\nContent-Type: "
                  "application/x-www-form-urlencoded\r\nContent-Length: 25\r\n\r\n"
                  "user=ann&password=hunter2");
      ASSERT_THAT(client.read_until("X\"}").bytes, HasSubstr("200"));
    }
    client.close();
    ASSERT_EQ(gateway.stop(10s), 0) << gateway.log();
    ASSERT_EQ(capture.interrupt(), 0) << capture.log();
    for (const std::string& file : {traffic_, wire}) {
      const std::string bytes = run_shell("cat " + file).out;
      for (const auto secret : {"t0psecret", "c00kie", "hunter2", "t0ken-of-ann", "s3ssion"})
        EXPECT_THAT(bytes, ::testing::Not(HasSubstr(secret))) << file;
    }
    const ProgramRun both = run_gatedrill("traffic reconcile " + traffic_ + " " + wire);
    EXPECT_EQ(both.status, 0) << both.out << both.errors;
    const std::string all = std::to_string(2 * kRequests);
    EXPECT_THAT(both.out, HasSubstr("A holds 100.0000 % of B: " + all + " of " + all));
    EXPECT_THAT(both.out, HasSubstr("B holds 100.0000 % of A: " + all + " of " + all));
    const std::string hidden =
        "not compared, since secrets in them were replaced: " + all + " heads, " + all + " bodies";
    EXPECT_EQ(both.out.find("not compared") == std::string::npos, one_key) << both.out;
    if (!one_key) {
      EXPECT_THAT(both.out, HasSubstr(hidden));
    }
  }
}

TEST_F(RecordedTrafficTest, WhatToHideMayBeSaidOnTheCommandLineToo) {
  ScriptedPeer origin(always_answer("hello"));
  const std::string plain =
      "upstreams: {shop: {endpoints: ['127.0.0.1:" + std::to_string(origin.port()) +
      "'], health: off}}\nroutes: [{upstream: shop}]\n";
  GatewayProgram gateway(plain, folder_,
                         {.arguments = {"--record", traffic_, "--redact-field", "x-user",
                                        "--redact-allow", "cookie"}});
  auto client = RawSocket::connect(gateway.port());
  client.send("GET / HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\nCookie: sid=c00kie\r\n\r\n");
  ASSERT_THAT(client.read_until("hello").bytes, HasSubstr("200"));
  EXPECT_EQ(gateway.stop(10s), 0) << gateway.log();
  ASSERT_EQ(exchanges().size(), 2U);
  for (const auto& exchange : exchanges()) {
    EXPECT_THAT(std::string(replay::value_of(exchange.request->fields, "X-User")),
                ::testing::StartsWith("redacted-"));
    EXPECT_EQ(replay::value_of(exchange.request->fields, "Cookie"), "sid=c00kie");
  }

  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& text) {
    try {
      const GatewayProgram started(plain, folder_, {.arguments = arguments});
      ADD_FAILURE() << "it started";
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  refused({"--redact-field", "x-user"}, "say --record traffic.db");
  refused({"--record", traffic_, "--keep-secrets", "--redact-field", "x-user"},
          "--keep-secrets hides nothing");
  refused({"--record", traffic_, "--redact-json", "iban"}, "not understood at character 1");
}

TEST_F(RecordedTrafficTest, APlaceThatCannotBeWrittenKeepsTheGatewayFromStarting) {
  traffic_ = folder_ / "no" / "such.db";
  try {
    GatewayProgram gateway(config(1), folder_);
    FAIL() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot be written here"));
  }
}

}  // namespace
}  // namespace gatedrill::testing
