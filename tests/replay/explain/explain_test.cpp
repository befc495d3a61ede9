// From frames to the page: captures made by hand, recorded, and explained.
#include "replay/explain/explain.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/core/random.hpp"
#include "replay/capture/capture.hpp"
#include "replay/explain/clock_shift.hpp"
#include "replay/recording_writer.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/http2_script.hpp"

namespace gatedrill::replay::explain {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using tests::Conversation;
using tests::Frame;

constexpr std::uint16_t kGatewayPort = 8080;
constexpr std::uint16_t kShopPort = 9001;
constexpr Duration kNoShift{0};

// 32 hex digits, as gateways make them: redaction must leave them alone.
std::string hex_id(const std::string& name) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx",
                static_cast<unsigned long long>(stable_hash(name)),
                static_cast<unsigned long long>(stable_hash(name, 1)));
  return text.data();
}

std::string request(const std::string& name) {
  return "GET /item HTTP/1.1\r\nHost: shop\r\nX-Request-Id: " + hex_id(name) + "\r\n\r\n";
}

std::string answer(int status) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: 2\r\n\r\nok";
}

// What a sniffer sees of a gateway and its upstream; the legs are kept apart.
class Legs {
 public:
  // A request at that time that the gateway passes on 1 ms later on a connection of its own.
  void good(int ms, const std::string& id) {
    talk(client_, next_port(), kGatewayPort, ms, [&](Conversation& one) {
      one.client(request(id));
      one.wait(std::chrono::milliseconds(20));
      one.server(answer(200));
      one.close();
    });
    talk(upstream_, next_port(), kShopPort, ms + 1, [&](Conversation& one) {
      one.client(request(id));
      one.wait(std::chrono::milliseconds(18));
      one.server(answer(200));
      one.close();
    });
  }

  void timed_out(int ms, const std::string& id) {
    talk(client_, next_port(), kGatewayPort, ms, [&](Conversation& one) {
      one.client(request(id));
      one.wait(std::chrono::milliseconds(1002));
      one.server(answer(504));
      one.close();
    });
    talk(upstream_, next_port(), kShopPort, ms + 1, [&](Conversation& one) {
      one.client(request(id));
      one.wait(std::chrono::milliseconds(1000));
      one.client_fin();
    });
  }

  // The upstream closes its kept connection as the request comes.
  void stale(int ms, const std::string& id) {
    talk(client_, next_port(), kGatewayPort, ms, [&](Conversation& one) {
      one.client(request(id));
      one.wait(std::chrono::milliseconds(3));
      one.server(answer(502));
      one.close();
    });
    const auto before = std::chrono::milliseconds(5000);
    talk(upstream_, next_port(), kShopPort, ms + 1 - 5000, [&](Conversation& one) {
      one.client(request("earlier-" + id));
      one.server(answer(200));
      one.wait(before);
      one.server_fin();
      one.client(request(id));
      one.server_reset();
    });
  }

  [[nodiscard]] std::vector<Frame> both() const {
    std::vector<Frame> all = client_;
    all.insert(all.end(), upstream_.begin(), upstream_.end());
    return all;
  }

  [[nodiscard]] const std::vector<Frame>& client() const { return client_; }

  [[nodiscard]] std::vector<Frame> upstream(Duration shift = kNoShift) const {
    std::vector<Frame> all = upstream_;
    for (Frame& frame : all)
      frame.at.ns += shift.count();
    return all;
  }

 private:
  std::uint16_t next_port() { return port_++; }

  template <class Speak>
  static void talk(std::vector<Frame>& leg,
                   std::uint16_t client_port,
                   std::uint16_t server_port,
                   int ms,
                   Speak speak) {
    Conversation::Options options;
    options.client_port = client_port;
    options.server_port = server_port;
    options.begin.ns += from_ms(ms).count();
    Conversation one(options);
    one.handshake();
    speak(one);
    leg.insert(leg.end(), one.frames().begin(), one.frames().end());
  }

  std::uint16_t port_ = 20'000;
  std::vector<Frame> client_;
  std::vector<Frame> upstream_;
};

class ExplainTest : public testing::Test {
 protected:
  ExplainTest() {
    std::string pattern = testing::TempDir() + "explain-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  ~ExplainTest() override { fs::remove_all(folder_); }

  std::string record(const std::string& name, std::vector<Frame> frames) {
    std::stable_sort(frames.begin(), frames.end(),
                     [](const Frame& a, const Frame& b) { return a.at < b.at; });
    tests::Captured captured;
    tests::capture_into(captured, frames);
    const std::string path = folder_ / name;
    auto writer = RecordingWriter::create(path, {});
    for (const auto& exchange : captured.exchanges)
      EXPECT_TRUE(writer->add(exchange));
    for (const auto& connection : captured.connections)
      EXPECT_TRUE(writer->add(connection));
    for (const auto& loss : captured.losses)
      EXPECT_TRUE(writer->add(loss));
    EXPECT_TRUE(writer->finish(captured.ledger.lines()));
    return path;
  }

  static Report explained(const std::string& path, const Options& options = {}) {
    auto report = explain(path, options);
    EXPECT_TRUE(report) << report.error().message;
    return std::move(*report);
  }

  static const Listener& gateway(const Report& report) {
    return report.findings.listeners().at("10.0.0.2:8080");
  }

  // 504 for a minute and a half, 502 in the first half of it.
  static Legs incident() {
    Legs legs;
    for (int i = 0; i < 40; ++i)
      legs.good(i * 200, "good-" + std::to_string(i));
    for (int i = 0; i < 90; ++i)
      legs.timed_out(10'000 + i * 1000, "slow-" + std::to_string(i));
    for (int i = 0; i < 6; ++i)
      legs.stale(10'500 + i * 5000, "stale-" + std::to_string(i));
    return legs;
  }

  static void expect_incident(const Report& report) {
    const Listener& listener = gateway(report);
    EXPECT_EQ(listener.requests, 136U);
    EXPECT_EQ(listener.count("504", Cause::response_timeout), 90U);
    EXPECT_EQ(listener.count("502", Cause::stale_reuse), 6U);
    EXPECT_EQ(listener.failed(), 96U);
    ASSERT_FALSE(report.incidents.empty());
    EXPECT_EQ(report.incidents[0].incident, "INC-1");
    EXPECT_EQ(report.incidents[0].degree, Degree::strong);
  }

  fs::path folder_;
};

TEST_F(ExplainTest, AnAnswerWhoseBodyRedactionDroppedIsNotCut) {
  Conversation one({.server_port = kGatewayPort});
  one.handshake();
  one.client(request("dropped"));
  one.server("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\nno gzip");
  one.client_fin();
  const std::string path = record("t.db", one.frames());
  EXPECT_TRUE(Recording::open(path)->read_all().value().at(0).response->body_dropped);
  const Report report = explained(path);
  EXPECT_EQ(gateway(report).requests, 1U);
  EXPECT_EQ(gateway(report).failed(), 0U);
}

// Whoever closes then, and whether the connection was kept.
TEST_F(ExplainTest, AnUpstreamThatDoesNotSpeakHttpIsMalformedNotStale) {
  Conversation client({.client_port = 20'000, .server_port = kGatewayPort});
  client.handshake();
  client.client(request("banner"));
  client.wait(std::chrono::milliseconds(3));
  client.server(answer(502));
  Conversation upstream({.client_port = 20'001, .server_port = kShopPort});
  upstream.handshake();
  upstream.client(request("earlier"));
  upstream.server(answer(200));
  upstream.client(request("banner"));
  upstream.server("SSH-2.0-OpenSSH_9.2\r\n");
  upstream.server_fin();
  std::vector<Frame> both = client.frames();
  both.insert(both.end(), upstream.frames().begin(), upstream.frames().end());
  const Report report = explained(record("t.db", both));
  EXPECT_EQ(gateway(report).count("502", Cause::malformed_response), 1U);
}

// Of a message that is longer than is kept, a part is recorded.
TEST_F(ExplainTest, AMessageThatIsTooLongToKeepIsNotCut) {
  const std::string large(17U << 20U, 'x');
  Conversation one({.client_port = 20'000, .server_port = kGatewayPort, .segment_bytes = 60'000});
  one.handshake();
  one.client("POST /large HTTP/1.1\r\nHost: shop\r\nContent-Length: " +
             std::to_string(large.size()) + "\r\n\r\n" + large);
  one.server("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(large.size()) + "\r\n\r\n" +
             large);
  one.close();
  const std::string path = record("t.db", one.frames());
  EXPECT_FALSE(Recording::open(path)->read_all().value().at(0).response->complete);
  const Report report = explained(path);
  EXPECT_EQ(gateway(report).requests, 1U);
  EXPECT_EQ(gateway(report).failed(), 0U);
  EXPECT_TRUE(gateway(report).signs.empty());
}

TEST_F(ExplainTest, AStreamsEndIsNotItsConnections) {
  tests::Http2Script client;
  tests::Http2Script server;
  Conversation one({.client_port = 20'000, .server_port = kGatewayPort});
  one.handshake();
  one.client(tests::Http2Script::preface() + client.get(1, "/reset"));
  one.wait(std::chrono::milliseconds(5));
  one.server(tests::Http2Script::settings() + tests::Http2Script::reset(1));
  one.client(client.get(3, "/left"));
  one.wait(std::chrono::milliseconds(250));
  one.client(tests::Http2Script::reset(3));
  one.client(client.get(5, "/good"));
  one.server(server.ok(5, "good"));
  one.wait(std::chrono::seconds(3));
  one.close();
  const Report report = explained(record("t.db", one.frames()));
  EXPECT_EQ(gateway(report).requests, 3U);
  EXPECT_EQ(gateway(report).failed(), 2U);
  EXPECT_EQ(gateway(report).count("none", Cause::stream_reset), 1U);
  EXPECT_EQ(gateway(report).count("gave up", Cause::client_closed), 1U);
  const std::string page = render(report, 5);
  EXPECT_THAT(page, HasSubstr("gave up after 250 ms"));
  EXPECT_THAT(page, HasSubstr("client RST_STREAM 250 ms after it began"));
}

TEST_F(ExplainTest, BothLegsInOneRecordingAreJoinedAndExplained) {
  const Report report = explained(record("t.db", incident().both()));
  expect_incident(report);
  EXPECT_EQ(gateway(report).passed_on, 136U);
  const auto& wait = report.hints.waits.at("10.0.0.2:8080");
  EXPECT_EQ(wait.count, 90U);
  EXPECT_EQ(wait.low / std::chrono::milliseconds(1), 1002);
}

TEST_F(ExplainTest, TheLegsInTwoRecordingsGiveTheSame) {
  const Legs legs = incident();
  const Report report = explained(record("client.db", legs.client()),
                                  {.upstream_leg = record("upstream.db", legs.upstream())});
  expect_incident(report);
  EXPECT_EQ(report.clock->added, kNoShift);
}

TEST_F(ExplainTest, AClockThatIsWrongIsFoundOutAndSaid) {
  const Legs legs = incident();
  const auto ahead = std::chrono::seconds(7);
  const Report report = explained(record("client.db", legs.client()),
                                  {.upstream_leg = record("upstream.db", legs.upstream(ahead))});
  expect_incident(report);
  EXPECT_NEAR(to_ms(report.clock->added), -7000, 1);
  EXPECT_EQ(report.clock->pairs, 40U) << "those whose answer was passed on";
  EXPECT_THAT(render(report, 5), HasSubstr("added to the upstream leg"));
}

TEST_F(ExplainTest, WhatBothRecordingsHoldCountsOnce) {
  const Legs legs = incident();
  const std::string both = record("both.db", legs.both());
  const Report report = explained(both, {.upstream_leg = record("upstream.db", legs.upstream())});
  expect_incident(report);
  EXPECT_EQ(gateway(report).upstream_exchanges, 136U);
  EXPECT_EQ(report.coverage[1].twice, 142U) << "the exchange before each stale one as well";
}

TEST_F(ExplainTest, OneLegCountsTheSameAndSaysWhatItCannotKnow) {
  const Report report = explained(record("client.db", incident().client()));
  const Listener& listener = gateway(report);
  EXPECT_EQ(listener.count("504"), 90U);
  EXPECT_EQ(listener.count("502"), 6U);
  EXPECT_EQ(listener.count("502", Cause::stale_reuse), 0U) << "that cannot be seen here";
  const std::string page = render(report, 5);
  EXPECT_THAT(page, HasSubstr("the upstream leg of this listener is not in the recording"));
  EXPECT_THAT(page, HasSubstr("cause open"));
  for (const Likeness& like : report.incidents)
    EXPECT_EQ(like.degree, Degree::partial) << like.incident;
}

TEST_F(ExplainTest, ThePageSplits502From504AndNamesTheIncident) {
  const std::string page = render(explained(record("t.db", incident().both())), 5);
  EXPECT_THAT(page, HasSubstr("10.0.0.2:8080: 136 requests, 96 failed (70.6 %)"));
  EXPECT_THAT(page, HasSubstr("502               6  stale_reuse"));
  EXPECT_THAT(page, HasSubstr("504              90  response_timeout"));
  EXPECT_THAT(page, HasSubstr("INC-1, rolling upgrade"));
  EXPECT_THAT(page, HasSubstr("at 10.0.0.2:8080: strong likeness"));
  EXPECT_THAT(page, HasSubstr("request 2 on it"));
  EXPECT_THAT(page, Not(HasSubstr("HOLES")));
}

TEST_F(ExplainTest, ACaptureWithHolesSaysSo) {
  std::vector<Frame> frames = incident().both();
  // The answer to one request, which its receiver acknowledged.
  const auto lost = std::find_if(frames.begin(), frames.end(), [](const Frame& frame) {
    return frame.bytes.find("HTTP/1.1 200") != std::string::npos;
  });
  frames.erase(lost);
  const Report report = explained(record("t.db", frames));
  EXPECT_GT(report.coverage[0].gap_bytes, 0U);
  EXPECT_THAT(render(report, 5), HasSubstr("HOLES: "));
  EXPECT_EQ(gateway(report).open, 1U);
  EXPECT_EQ(gateway(report).failed(), 96U) << "a hole is no failure";
}

TEST_F(ExplainTest, TheJsonHoldsTheSameFigures) {
  const auto json = nlohmann::json::parse(to_json(explained(record("t.db", incident().both()))));
  EXPECT_EQ(json["incidents"][0]["incident"], "INC-1");
  const auto& listeners = json["listeners"];
  const auto gateway = std::find_if(listeners.begin(), listeners.end(), [](const auto& one) {
    return one["listener"] == "10.0.0.2:8080";
  });
  ASSERT_NE(gateway, listeners.end());
  EXPECT_EQ((*gateway)["failed"], 96);
  for (const auto& failure : (*gateway)["failures"]) {
    EXPECT_EQ(failure["count"], failure["answer"] == "504" ? 90 : 6);
    EXPECT_EQ(failure["examples"].size(), 3U);
    EXPECT_EQ(failure["examples"][0]["chain"]["upstream"].size(), 1U);
  }
}

TEST_F(ExplainTest, AChainHasTheTimesAndEndsOfEachLeg) {
  Legs legs;
  for (int i = 0; i < 3; ++i)
    legs.good(i * 200, "good-" + std::to_string(i));
  legs.stale(10'000, "stale");
  const Report report = explained(record("t.db", legs.both()));
  const auto json = nlohmann::json::parse(to_json(report));
  nlohmann::json chain;
  for (const auto& listener : json["listeners"]) {
    if (listener["listener"] != "10.0.0.2:8080") continue;
    ASSERT_EQ(listener["failures"].size(), 1U);
    chain = listener["failures"][0]["examples"][0]["chain"];
  }
  // Frames are 0.1 ms apart: three of the handshake, request, acknowledgement, answer, 5 s, FIN.
  EXPECT_EQ(chain["ordinal"], 1);
  EXPECT_DOUBLE_EQ(chain["connection_age_ms"], 0.3);
  EXPECT_DOUBLE_EQ(chain["waited_ms"], 3.2);
  ASSERT_EQ(chain["upstream"].size(), 1U);
  const nlohmann::json& leg = chain["upstream"][0];
  EXPECT_EQ(leg["ordinal"], 2);
  EXPECT_EQ(leg["reused"], true);
  EXPECT_DOUBLE_EQ(leg["connection_age_ms"], 5000.8);
  EXPECT_DOUBLE_EQ(leg["idle_before_ms"], 5000.3);
  EXPECT_EQ(leg["fate"], "closed_before_request");
  EXPECT_DOUBLE_EQ(leg["end_before_request_ms"], 0.1);
  const auto after_request = [&](const nlohmann::json& at) {
    return at.get<std::int64_t>() - leg["at_ns"].get<std::int64_t>();
  };
  EXPECT_EQ(after_request(leg["server_side"]["fin_ns"]), -100'000);
  EXPECT_EQ(after_request(leg["server_side"]["rst_ns"]), 200'000);
  EXPECT_EQ(leg["client_side"]["fin_ns"], nullptr);
  const std::string page = render(report, 5);
  EXPECT_THAT(page, HasSubstr("connection 7, request 2 on it, 5.001 s old, idle 5.000 s before"));
  EXPECT_THAT(page, HasSubstr("closed by the server before it had the request; server FIN 0.10 ms "
                              "before it began, server RST 0.20 ms after it began"));
}

TEST_F(ExplainTest, WithoutIdsTheLegsAreJoinedByContentAndItIsSaid) {
  Conversation client({.client_port = 20'000, .server_port = kGatewayPort});
  client.handshake();
  client.client("GET /item HTTP/1.1\r\nHost: shop\r\n\r\n");
  client.wait(std::chrono::milliseconds(20));
  client.server(answer(502));
  client.close();
  Conversation::Options options{.client_port = 20'001, .server_port = kShopPort};
  options.begin.ns += from_ms(2).count();
  Conversation upstream(options);
  upstream.handshake();
  upstream.client("GET /item HTTP/1.1\r\nHost: shop\r\n\r\n");
  upstream.server_reset();
  std::vector<Frame> frames = client.frames();
  frames.insert(frames.end(), upstream.frames().begin(), upstream.frames().end());
  const Report report = explained(record("t.db", frames));
  EXPECT_EQ(gateway(report).count("502", Cause::upstream_closed), 1U);
  EXPECT_EQ(gateway(report).joined.at(KeyKind::content), 1U);
  EXPECT_THAT(render(report, 5), HasSubstr("by content and time"));
}

TEST_F(ExplainTest, AFileThatIsNoRecordingIsRefused) {
  EXPECT_THAT(explain(folder_ / "none.db", {}).error().message, HasSubstr("there is no such file"));
}

TEST(ClockShift, IsTheMiddleOfWhatEveryRequestAllows) {
  const auto bound = [](double least, double most) {
    return ShiftBound{from_ms(least), from_ms(most)};
  };
  EXPECT_EQ(shift_from({bound(-5, 3), bound(-2, 9), bound(-8, 1)}).added, Duration{0});
  EXPECT_EQ(shift_from({bound(10, 30), bound(14, 28), bound(12, 20)}).added, from_ms(17));
  EXPECT_TRUE(shift_from({bound(10, 30), bound(14, 28), bound(12, 20)}).consistent);
  EXPECT_FALSE(shift_from({bound(10, 12), bound(14, 16), bound(20, 22)}).consistent);
  EXPECT_EQ(shift_from({bound(10, 30)}).added, Duration{0}) << "one request proves nothing";
}

}  // namespace
}  // namespace gatedrill::replay::explain
