// Exchanges go from one format to another and come back: those of the committed capture, and many
// that are made at random, with odd bytes in every place (the seed is in the failure's text).
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/capture/capture.hpp"
#include "replay/capture/packet_source.hpp"
#include "replay/formats/formats.hpp"
#include "tests/support/imported.hpp"
#include "tests/support/odd_exchanges.hpp"

namespace gatedrill::replay::formats {
namespace {

using tests::Exported;
using tests::Imported;

const std::string kShop = std::string(GD_SOURCE_DIR) + "/scenarios/drills/shop.pcap";

struct Captured {
  std::vector<RecordedExchange> exchanges;
  std::vector<RecordedConnection> connections;
};

class CapturedSink final : public capture::ExchangeSink {
 public:
  explicit CapturedSink(Captured& captured) : captured_(captured) {}

  void on_exchange(RecordedExchange exchange) override {
    captured_.exchanges.push_back(std::move(exchange));
  }

  void on_connection(const RecordedConnection& connection) override {
    captured_.connections.push_back(connection);
  }

  void on_loss(const RecordedLoss&) override {}

 private:
  Captured& captured_;
};

// As a recording numbers them, in the order of their time.
void number(std::vector<RecordedExchange>& exchanges) {
  std::stable_sort(exchanges.begin(), exchanges.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  std::int64_t id = 0;
  for (RecordedExchange& exchange : exchanges)
    exchange.id = ++id;
}

Captured captured(const std::string& path) {
  Captured captured;
  CapturedSink sink(captured);
  auto source = capture::open_file(path, "");
  EXPECT_TRUE(source) << source.error().message;
  if (!source) return captured;
  capture::Capture capture({}, sink);
  capture::Packet packet;
  while ((*source)->next(packet).value() == capture::PacketSource::Next::packet)
    capture.add(packet);
  capture.finish();
  number(captured.exchanges);
  return captured;
}

std::vector<RecordedExchange> shop() {
  return captured(kShop).exchanges;
}

std::vector<RecordedExchange> through(const std::string& name,
                                      const std::vector<RecordedExchange>& exchanges) {
  const Format* format = find_format(name, Direction::read).value();
  Exported exported;
  tests::export_exchanges(exported, *format, exchanges);
  Imported imported;
  tests::import_bytes(imported, *format, {exported.text});
  EXPECT_EQ(imported.error, "");
  EXPECT_EQ(imported.lost(), "");
  number(imported.exchanges);
  return imported.exchanges;
}

// What every format carries.
RecordedExchange essence(RecordedExchange exchange) {
  exchange.connection = 0;
  exchange.client.clear();
  exchange.server.clear();
  exchange.ordinal = 0;
  exchange.idle_before.reset();
  exchange.transport.reset();
  exchange.tls.reset();
  return exchange;
}

void expect_same(const std::vector<RecordedExchange>& before,
                 const std::vector<RecordedExchange>& after) {
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const RecordedExchange a = essence(before[i]);
    const RecordedExchange b = essence(after[i]);
    ASSERT_EQ(a.at.ns, b.at.ns) << i;
    ASSERT_EQ(a.request, b.request) << i;
    ASSERT_EQ(a.response, b.response) << i;
    ASSERT_EQ(a.latency, b.latency) << i;
    ASSERT_EQ(a.request_end, b.request_end) << i;
    ASSERT_EQ(a.response_begin, b.response_begin) << i;
    ASSERT_EQ(a.response_end, b.response_end) << i;
    ASSERT_EQ(a, b) << i;
  }
}

TEST(RoundTrip, TheCommittedCaptureThroughGorAndBack) {
  const auto exchanges = shop();
  ASSERT_GT(exchanges.size(), 10U);
  expect_same(exchanges, through("gor", exchanges));
}

TEST(RoundTrip, GorToHarToGor) {
  const auto gor = through("gor", shop());
  expect_same(gor, through("gor", through("har", gor)));
}

TEST(RoundTrip, HarToGorToHar) {
  const auto har = through("har", shop());
  expect_same(har, through("har", through("gor", har)));
}

TEST(RoundTrip, ConnectionsStayTogetherThroughGor) {
  const auto before = shop();
  const auto after = through("gor", before);
  ASSERT_EQ(before.size(), after.size());
  std::map<std::int64_t, std::int64_t> same;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto [at, fresh] = same.try_emplace(before[i].connection, after[i].connection);
    EXPECT_EQ(at->second, after[i].connection) << i;
  }
  std::set<std::int64_t> apart;
  for (const auto& [one, other] : same)
    apart.insert(other);
  EXPECT_GT(apart.size(), 1U);
  EXPECT_EQ(apart.size(), same.size());
}

// Written to a capture file, and captured from it.
Captured through_pcap(const std::vector<RecordedExchange>& exchanges,
                      const std::vector<RecordedConnection>& connections = {}) {
  Exported exported;
  tests::export_exchanges(exported, *find_format("pcap", Direction::write).value(), exchanges,
                          connections);
  const tests::Folder folder;
  std::ofstream(folder / "t.pcap", std::ios::binary) << exported.text;
  return captured(folder / "t.pcap");
}

TEST(RoundTrip, TheCommittedCaptureThroughPcapAndBack) {
  const Captured before = captured(kShop);
  const Captured after = through_pcap(before.exchanges, before.connections);
  expect_same(before.exchanges, after.exchanges);
  ASSERT_EQ(before.connections.size(), after.connections.size());
  const auto facts = [](const std::vector<RecordedConnection>& connections) {
    std::multiset<std::string> texts;
    for (const RecordedConnection& connection : connections) {
      texts.insert(connection.client + " " + connection.server + " " +
                   std::to_string(connection.opened ? connection.opened->ns : 0) + " " +
                   connection.how + " " + connection.closed_by + " " +
                   std::to_string(connection.closed ? connection.closed->ns : 0));
    }
    return texts;
  };
  EXPECT_EQ(facts(before.connections), facts(after.connections));
}

TEST(RoundTrip, OddExchangesThroughPcap) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tests::OddExchanges odd(seed, 5);
    std::vector<RecordedExchange> exchanges;
    for (std::int64_t id = 1; id <= 20; ++id)
      exchanges.push_back(odd.next(id));
    expect_same(exchanges, through_pcap(exchanges).exchanges);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RoundTrip, OddExchangesThroughEveryFormat) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tests::OddExchanges odd(seed);
    std::vector<RecordedExchange> exchanges;
    for (std::int64_t id = 1; id <= 20; ++id)
      exchanges.push_back(odd.next(id));
    for (const char* format : {"gor", "har", "jsonl"}) {
      SCOPED_TRACE(format);
      expect_same(exchanges, through(format, exchanges));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace gatedrill::replay::formats
