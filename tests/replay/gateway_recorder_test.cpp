// The tap from its hot end to the recording, without a gateway: a test says what its connections
// read and wrote.
#include "replay/tap/gateway_recorder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/recording.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class GatewayRecorderTest : public ::testing::Test {
 protected:
  GatewayRecorderTest() {
    std::string pattern = ::testing::TempDir() + "tap-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    config_.traffic = folder_ / "t.db";
    config_.buffer_bytes = std::uint64_t{1024} * 1024;
  }

  ~GatewayRecorderTest() override { fs::remove_all(folder_); }

  void start(std::size_t shards = 1) {
    recorder_ = std::move(record_gateway(config_, shards, clock_).value());
  }

  TrafficRecorder::Report finish() { return recorder_->finish().value(); }

  TrafficTap& tap(std::size_t shard = 0) { return recorder_->tap(shard); }

  TappedConnection accepted(std::string_view client = "10.0.0.1:5000") {
    TappedConnection connection;
    tap().on_opened(connection, true, "10.0.0.2:80", client);
    return connection;
  }

  TappedConnection connected(std::string_view own = "10.0.0.2:6000") {
    TappedConnection connection;
    tap().on_opened(connection, false, own, "[fd00::3]:9001");
    tap().on_connected(connection);
    return connection;
  }

  [[nodiscard]] Recording recording() const {
    return std::move(Recording::open(config_.traffic).value());
  }

  [[nodiscard]] std::vector<RecordedExchange> exchanges() const {
    return recording().read_all().value();
  }

  [[nodiscard]] RecordedConnection connection_of(const std::string& client) const {
    for (const RecordedConnection& connection : recording().connections().value()) {
      if (connection.client == client) return connection;
    }
    ADD_FAILURE() << "no connection of " << client;
    return {};
  }

  [[nodiscard]] LedgerLine ledger(const std::string& what) const {
    for (const LedgerLine& line : recording().ledger().value()) {
      if (line.what == what) return line;
    }
    ADD_FAILURE() << "no line " << what;
    return {};
  }

  SteadyClock clock_;
  gateway::RecordConfig config_;
  fs::path folder_;
  std::unique_ptr<TrafficRecorder> recorder_;
};

TEST_F(GatewayRecorderTest, BothLegsOfARequestAreExchangesOnTheirConnections) {
  start();
  TappedConnection client = accepted();
  tap().on_received(client, "GET /cart HTTP/1.1\r\nHost: shop\r\n\r\n");
  TappedConnection upstream = connected();
  tap().on_sent(upstream, "GET /cart HTTP/1.1\r\nHost: shop\r\nX-Request-Id: 7\r\n\r\n");
  tap().on_received(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  tap().on_sent(client, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
  tap().on_sent(client, "llo");
  tap().on_ended(client, ConnectionEnding::peer_fin, false);
  tap().on_ended(client, ConnectionEnding::own_fin, true);
  EXPECT_EQ(finish().exchanges, 2U);

  const auto found = exchanges();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].client, "10.0.0.1:5000");
  EXPECT_EQ(found[0].server, "10.0.0.2:80");
  EXPECT_EQ(found[1].client, "10.0.0.2:6000");
  EXPECT_EQ(found[1].server, "[fd00::3]:9001");
  for (const RecordedExchange& exchange : found) {
    EXPECT_EQ(exchange.request->target, "/cart");
    EXPECT_EQ(exchange.response->status, 200);
    EXPECT_EQ(exchange.response->body, "hello");
    EXPECT_TRUE(exchange.response->complete);
    EXPECT_EQ(exchange.ordinal, 1U);
    EXPECT_TRUE(exchange.latency.has_value());
    EXPECT_FALSE(exchange.transport.has_value());  // nobody looked at TCP
  }
  EXPECT_EQ(value_of(found[1].request->fields, "x-request-id"), "7");
}

TEST_F(GatewayRecorderTest, AConnectionSaysHowItWasOpenedAndClosed) {
  start();
  TappedConnection left = accepted("10.0.0.1:1");
  tap().on_ended(left, ConnectionEnding::peer_fin, false);
  tap().on_ended(left, ConnectionEnding::own_fin, true);
  TappedConnection sent_away = accepted("10.0.0.1:2");
  tap().on_ended(sent_away, ConnectionEnding::own_fin, true);
  TappedConnection reset = accepted("10.0.0.1:3");
  tap().on_ended(reset, ConnectionEnding::peer_reset, false);
  tap().on_ended(reset, ConnectionEnding::own_fin, true);
  accepted("10.0.0.1:4");
  TappedConnection refused;
  tap().on_opened(refused, false, "10.0.0.2:5", "10.0.0.3:80");
  tap().on_ended(refused, ConnectionEnding::peer_reset, true);
  TappedConnection unanswered;
  tap().on_opened(unanswered, false, "10.0.0.2:6", "10.0.0.3:80");
  tap().on_ended(unanswered, ConnectionEnding::not_connected, true);
  TappedConnection aborted = connected("10.0.0.2:7");
  tap().on_ended(aborted, ConnectionEnding::own_reset, true);
  finish();

  const auto told = [&](const std::string& client) {
    const RecordedConnection connection = connection_of(client);
    return connection.connect + ", " + connection.how + " by " + connection.closed_by;
  };
  EXPECT_EQ(told("10.0.0.1:1"), "established, fin by client");
  EXPECT_EQ(told("10.0.0.1:2"), "established, fin by server");
  EXPECT_EQ(told("10.0.0.1:3"), "established, rst by client");
  EXPECT_EQ(told("10.0.0.1:4"), "established, open by ");
  EXPECT_EQ(told("10.0.0.2:5"), "refused, rst by server");
  EXPECT_EQ(told("10.0.0.2:6"), "unanswered, timeout by ");
  EXPECT_EQ(told("10.0.0.2:7"), "established, rst by client");
  EXPECT_TRUE(connection_of("10.0.0.1:1").server_side.fin.has_value());
  EXPECT_TRUE(connection_of("10.0.0.1:1").opened.has_value());
}

TEST_F(GatewayRecorderTest, SecretsReachTheFileOnlyOnRequest) {
  for (const bool keep : {false, true}) {
    config_.redaction.keep_secrets = keep;
    start();
    TappedConnection client = accepted();
    tap().on_received(client, "GET /?token=t0psecret HTTP/1.1\r\nCookie: sid=c00kie\r\n\r\n");
    tap().on_sent(client, "HTTP/1.1 204 No Content\r\n\r\n");
    finish();
    std::ifstream file(config_.traffic, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(bytes.find("t0psecret") != std::string::npos, keep);
    EXPECT_EQ(bytes.find("c00kie") != std::string::npos, keep);
  }
}

TEST_F(GatewayRecorderTest, WhatFindsNoRoomIsCountedAndTheMessageIsPartial) {
  start();
  const std::size_t too_much = 2 * config_.buffer_bytes;
  TappedConnection client = accepted();
  tap().on_received(client, "GET /a HTTP/1.1\r\n\r\n");
  tap().on_sent(
      client, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(too_much + 4) + "\r\n\r\nab");
  tap().on_sent(client, std::string(too_much, 'x'));
  tap().on_sent(client, "cd");
  tap().on_received(client, "GET /b HTTP/1.1\r\n\r\n");
  tap().on_sent(client, "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(finish().lost_bytes, too_much);

  const auto found = exchanges();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].response->complete);
  EXPECT_EQ(found[1].request->target, "/b");
  EXPECT_EQ(found[1].response->status, 204);
  EXPECT_EQ(ledger("tap overflow").bytes, too_much);
  EXPECT_EQ(ledger("gaps").bytes, too_much);
  const auto losses = recording().losses().value();
  ASSERT_FALSE(losses.empty());
  EXPECT_EQ(losses[0].bytes, too_much);
  EXPECT_EQ(losses[0].direction, "response");
}

TEST_F(GatewayRecorderTest, ALossAtTheEndOfAConnectionIsSeenToo) {
  start();
  TappedConnection client = accepted();
  tap().on_received(client, "GET /a HTTP/1.1\r\n\r\n");
  tap().on_sent(client, std::string(2 * config_.buffer_bytes, 'x'));
  tap().on_ended(client, ConnectionEnding::own_fin, true);
  EXPECT_EQ(finish().lost_bytes, 2 * config_.buffer_bytes);
  EXPECT_EQ(connection_of("10.0.0.1:5000").gap_bytes, 2 * config_.buffer_bytes);
  ASSERT_EQ(exchanges().size(), 1U);
  EXPECT_FALSE(exchanges()[0].response.has_value());
}

TEST_F(GatewayRecorderTest, EveryShardHasItsOwnEndAndNoConnectionMeetsAnother) {
  start(2);
  for (const std::size_t shard : {0U, 1U}) {
    TappedConnection client;
    tap(shard).on_opened(client, true, "10.0.0.2:80", "10.0.0.1:" + std::to_string(shard + 1));
    tap(shard).on_received(client, "GET /" + std::to_string(shard) + " HTTP/1.1\r\n\r\n");
    tap(shard).on_sent(client, "HTTP/1.1 204 No Content\r\n\r\n");
  }
  EXPECT_EQ(finish().exchanges, 2U);
  EXPECT_EQ(connection_of("10.0.0.1:1").how, "open");
  EXPECT_EQ(connection_of("10.0.0.1:2").how, "open");
}

TEST_F(GatewayRecorderTest, ATunnelIsMarkedAndItsBytesAreNoMessages) {
  start();
  TappedConnection client = accepted();
  tap().on_received(client,
                    "GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  tap().on_sent(client,
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
                "websocket\r\n\r\n");
  tap().on_received(client, "GET /not-http HTTP/1.1\r\n\r\n");
  finish();
  ASSERT_EQ(exchanges().size(), 1U);
  EXPECT_TRUE(exchanges()[0].tunnel);
  EXPECT_EQ(ledger("delivered: tunnels").bytes, 26U);
}

TEST_F(GatewayRecorderTest, AFileThatCannotBeWrittenIsSaidBeforeTheGatewayStarts) {
  config_.traffic = folder_ / "no" / "such" / "t.db";
  const auto recorder = record_gateway(config_, 1, clock_);
  ASSERT_FALSE(recorder);
  EXPECT_EQ(recorder.error().code, ErrorCode::outside);
  EXPECT_THAT(recorder.error().message, HasSubstr("cannot be written here"));
}

TEST_F(GatewayRecorderTest, WithoutAnEndThereIsNoFileThatLooksWhole) {
  start();
  TappedConnection client = accepted();
  tap().on_received(client, "GET / HTTP/1.1\r\n\r\n");
  recorder_.reset();
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace gatedrill::replay
