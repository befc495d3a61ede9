// Every capture of the data folder against what other readers found in it: tshark, and for some
// zeek and pcap2har.
//
// Of tshark are compared the number of requests, the number of answers (with the 1xx ones), the
// pairs with their connections and bodies, the multiset of the SHA-1s of bodies, and when each
// message ended; of the others the exchanges. Where two differ,
// kKnown says by how much and why; a difference that is not in the table fails, and so does one
// that went away. The table of all captures is printed.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "replay/capture/capture.hpp"
#include "replay/capture/packet_source.hpp"
#include "replay/capture/record.hpp"
#include "replay/content_coding.hpp"
#include "replay/digest.hpp"
#include "tests/support/capture_oracles.hpp"
#include "tests/support/pcapng_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(GD_SOURCE_DIR) / ".." / "shared" / "data";

class Collector final : public ExchangeSink {
 public:
  void on_exchange(RecordedExchange exchange) override {
    tests::FoundPair pair;
    if (exchange.request) {
      ++(exchange.request->complete ? requests : partial);
      pair.request_body = hash(*exchange.request);
      if (exchange.request_end) {
        times.push_back({exchange.request->method, exchange.request_end->ns});
      }
    }
    if (exchange.response) {
      ++(exchange.response->complete ? responses : partial);
      pair.response_body = hash(*exchange.response);
      if (exchange.response_end) {
        times.push_back({std::to_string(exchange.response->status), exchange.response_end->ns});
      }
    }
    const std::string request =
        exchange.request ? exchange.request->method + " " + exchange.request->target : "- -";
    const std::string status = exchange.response ? std::to_string(exchange.response->status) : "-";
    exchanges.insert(request + " " + status);
    const bool whole = exchange.request && exchange.request->complete && exchange.response &&
                       exchange.response->complete;
    if (!whole) return;
    const std::string port = exchange.client.substr(exchange.client.rfind(':') + 1);
    pair.text = port + " " + request + " " + status;
    pairs.push_back(std::move(pair));
  }

  void on_connection(const RecordedConnection&) override {}

  void on_loss(const RecordedLoss&) override {}

  int requests = 0;
  int responses = 0;
  int partial = 0;
  std::multiset<std::string> bodies;
  std::vector<tests::FoundPair> pairs;
  std::vector<tests::FoundTime> times;
  tests::FoundExchanges exchanges;  // with "-" for what is missing

 private:
  template <class Message>
  std::string hash(const Message& message) {
    if (!message.complete) return {};
    const std::string_view coding = value_of(message.fields, "Content-Encoding");
    const std::string sha1 = to_hex(decoded_sha1(sha1_, message.body, coding));
    if (!sha1.empty()) bodies.insert(sha1);
    return sha1;
  }

  Digest sha1_ = Digest::sha1();
};

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Found {
  Collector messages;
  Ledger ledger;
};

void read_capture(const fs::path& path, Found& found) {
  auto source = open_file(path, "");
  ASSERT_TRUE(source) << source.error().message;
  Capture capture({}, found.messages);
  const fs::path key_log = path.string() + ".keylog";
  if (fs::exists(key_log)) {
    ASSERT_TRUE(KeyLogFile(key_log).read_into(capture.key_log(), true));
  }
  Packet packet;
  for (;;) {
    const auto next = (*source)->next(packet);
    ASSERT_TRUE(next) << next.error().message;
    if (*next == PacketSource::Next::end) break;
    if (*next == PacketSource::Next::packet) capture.add(packet);
  }
  capture.finish();
  found.ledger = capture.ledger();
}

std::vector<std::string> capture_names() {
  std::vector<std::string> names;
  if (!fs::exists(kData)) return names;
  for (const auto& entry : fs::directory_iterator(kData)) {
    const std::string extension = entry.path().extension();
    if (extension == ".pcap" || extension == ".pcapng") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "" if equal; else as in "requests +1 responses -2 pairs -1 bodies +1 -1". Messages that are not
// whole are in no oracle, so they are counted apart.
std::string difference(const Found& found, const tests::FoundMessages& oracle) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : " ") + name + " " + value;
  };
  const auto number = [](int value) {
    return value == 0 ? "" : (value > 0 ? "+" : "") + std::to_string(value);
  };
  const Collector& seen = found.messages;
  const int informational = static_cast<int>(found.ledger.informational.count);
  add("requests", number(seen.requests - oracle.requests));
  add("responses", number(seen.responses + informational - oracle.responses));
  add("pairs", tests::difference(seen.pairs, oracle.pairs));
  add("bodies", tests::difference(seen.bodies, oracle.bodies));
  add("times", tests::missing(oracle.times, seen.times));
  if (seen.partial != 0) add("partial", std::to_string(seen.partial));
  return text;
}

// Against all that lie next to the capture.
std::string differences(const Found& found, const fs::path& capture) {
  const auto beside = [&](const char* end) { return fs::path(capture.string() + end); };
  std::string text = difference(found, tests::read_tshark(beside(".expected.tsv")));
  if (!text.empty() && fs::exists(beside(".expected-alt.tsv"))) {
    const std::string other = difference(found, tests::read_tshark(beside(".expected-alt.tsv")));
    if (other.empty()) text.clear();
  }
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : "; ") + name + " " + value;
  };
  if (fs::exists(beside(".zeek-http.log"))) {
    const tests::FoundExchanges zeek = tests::read_zeek(beside(".zeek-http.log"));
    add("zeek", tests::difference(tests::as_in_zeek(found.messages.exchanges, zeek), zeek));
  }
  fs::path har = capture;
  har.replace_extension(".oracle.har");
  if (fs::exists(har)) {
    add("har", tests::difference(found.messages.exchanges, tests::read_har(har)));
  }
  return text;
}

struct Known {
  std::string difference;
  std::string why;
};

const std::string kHttp2 = "the oracle has no pairs and no bodies of HTTP/2";

const std::map<std::string, Known> kKnown = {
    {"browse-bro-org-31-requests.pcap", {"partial 1", "an answer has a gap of 7,240 bytes"}},
    {"browse-espn-61-requests.pcapng",
     {"partial 1", "the last 3,038 bytes of an answer are not in the capture"}},
    {"http-entity-gap-2.pcap", {"partial 1", "the answer has a gap"}},
    {"http-gap-in-response.pcap", {"partial 1", "the answer to /2 has a gap"}},
    {"browse-wikipedia.pcap",
     {"zeek +1", "zeek leaves out a connection whose handshake is not in the capture"}},
    {"http-pipeline-two-in-one-segment.pcap",
     {"pairs +1", "tshark pairs only the first of two requests in one frame"}},
    {"http-all-methods.pcap",
     {"requests +22 pairs +22; zeek +8 -8",
      "tshark knows some methods only; zeek takes 'GET /HTTP/1.1' for HTTP/0.9, without a status"}},
    {"http-body-lines-shuffled-2.pcapng",
     {"responses +1 pairs +1 bodies +1", "whole once its two frames are put in order"}},
    {"http-evader-057.pcap",
     {"pairs +1 -1 bodies +1 -1",
      "'chUnked' is chunked (RFC 9112 7: names ignore case); the oracle leaves it"}},
    {"http-evader-058.pcap",
     {"pairs +1 -1 bodies +1 -1 times -1",
      "a folded Transfer-Encoding is one value (RFC 9112 5.2); the oracle ends the head at the "
      "fold"}},
    {"http-evader-450.pcap", {"pairs +1 -1 bodies -1", "a 204 has no body (RFC 9112 6.3)"}},
    {"http2-app-layer-exact.pcap",
     {"pairs +4 bodies +4",
      "the client resets the fourth stream while its answer is on the way; " + kHttp2}},
    {"http2-continuation.pcap",
     {"requests -1 bodies +1 partial 1",
      "the server resets the stream before its request has ended; " + kHttp2}},
    {"http2-h2c-doc-site-9-streams.pcap", {"pairs +6 bodies +6", kHttp2}},
    {"http2-h2c-range-upgrade.pcap",
     {"pairs +3 -3 bodies +3", "the oracle pairs the requests with their 101; " + kHttp2}},
    {"http2-h2c-two-header-blocks.pcap", {"pairs +1 bodies +1", kHttp2}},
    {"http2-prior-knowledge-nghttp2.pcap",
     {"responses -1 pairs +1 bodies +1",
      "the second answer is a pushed one, which is counted only; " + kHttp2}},
    {"http2-upgrade-deflate.pcap",
     {"pairs +1 -1 bodies +1", "the oracle pairs the request with its 101; " + kHttp2}},
};

TEST(CaptureOracle, EveryCaptureIsReadAsTheOraclesReadItOrTheTableSaysWhyNot) {
  const auto names = capture_names();
  if (names.empty()) GTEST_SKIP() << "no data folder";
  for (const auto& [name, known] : kKnown)
    EXPECT_THAT(names, testing::Contains(name));
  EXPECT_GE(names.size(), 126U);
  int equal = 0;
  std::printf("%-56s %4s %4s %4s %4s %4s\n", "capture", "req", "resp", "pair", "body", "part");
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Found found;
    read_capture(kData / name, found);
    if (HasFatalFailure()) return;
    EXPECT_THAT(found.ledger.open_sums(), testing::IsEmpty());
    const std::string seen = differences(found, kData / name);
    const auto known = kKnown.find(name);
    EXPECT_EQ(seen, known == kKnown.end() ? "" : known->second.difference) << name;
    if (seen.empty()) ++equal;
    const Collector& messages = found.messages;
    std::printf("%-56s %4d %4d %4zu %4zu %4d  %s%s%s\n", name.c_str(), messages.requests,
                messages.responses + static_cast<int>(found.ledger.informational.count),
                messages.pairs.size(), messages.bodies.size(), messages.partial,
                seen.empty() ? "equal" : seen.c_str(), known == kKnown.end() ? "" : ": ",
                known == kKnown.end() ? "" : known->second.why.c_str());
  }
  std::printf("%d of %zu equal\n", equal, names.size());
}

// A capture with the secrets in it needs no key log beside it.
TEST(CaptureOracle, APcapngFileBringsItsOwnSecrets) {
  const fs::path path = kData / "tls12-http-keepalive-with-keylog.pcap";
  if (!fs::exists(path)) GTEST_SKIP() << "no data folder";
  tests::PcapngBuilder file;
  file.section();
  file.interface(1);
  file.secrets(0x544c534b, bytes_of(path.string() + ".keylog"));
  auto source = open_file(path, "");
  ASSERT_TRUE(source);
  Packet packet;
  while (*(*source)->next(packet) == PacketSource::Next::packet) {
    file.packet(0, static_cast<std::uint64_t>(packet.at.ns / 1000), packet.bytes);
  }
  const fs::path folder = fs::path(testing::TempDir()) / "secrets-inside";
  fs::create_directories(folder);
  std::ofstream(folder / "tls.pcapng", std::ios::binary) << file.bytes();
  auto files = RecordingFiles::create(folder / "traffic.db", {}, {}, UnixTime{});
  ASSERT_TRUE(files);
  auto with_secrets = open_file(folder / "tls.pcapng", "");
  ASSERT_TRUE(with_secrets);
  const SteadyClock clock;
  const std::atomic<bool> stop{false};
  const auto report = record(**with_secrets, std::move(*files), {}, clock, stop, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->exchanges, 16U);
  fs::remove_all(folder);
}

// The drills' own traffic, which is always there.
TEST(CaptureOracle, TheCommittedCaptureIsReadAsItsOracleReadsIt) {
  const fs::path drills = fs::path(GD_SOURCE_DIR) / "scenarios" / "drills";
  Found found;
  read_capture(drills / "shop.pcap", found);
  EXPECT_THAT(found.ledger.open_sums(), testing::IsEmpty());
  EXPECT_EQ(difference(found, tests::read_tshark(drills / "shop.expected.tsv")), "");
  EXPECT_EQ(found.ledger.frames.count, 1760U);
}

// Damaged captures: no crash, no hang, and the account still closes.
TEST(CaptureOracle, FlippedBytesNeverBreakTheAccount) {
  const auto names = capture_names();
  if (names.empty()) GTEST_SKIP() << "no data folder";
  constexpr std::size_t kFileBytesMax = 100'000;
  constexpr int kRounds = 4;
  constexpr std::size_t kPcapHeaderBytes = 24;
  Random random(20);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string original = bytes_of(kData / name);
    if (original.size() > kFileBytesMax) continue;
    for (int round = 0; round < kRounds; ++round) {
      std::string bytes = original;
      const std::uint64_t flips = 1 + random.below(bytes.size() / 100 + 1);
      for (std::uint64_t i = 0; i < flips; ++i) {
        const std::size_t at = kPcapHeaderBytes + random.below(bytes.size() - kPcapHeaderBytes);
        bytes[at] =
            static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ 1U << random.below(8));
      }
      const fs::path path = fs::path(testing::TempDir()) / ("flipped-" + name);
      std::ofstream(path, std::ios::binary) << bytes;
      auto source = open_file(path, "");
      if (source) {
        Found found;
        read_capture(path, found);
        EXPECT_THAT(found.ledger.open_sums(), testing::IsEmpty());
      }
      fs::remove(path);
    }
  }
}

}  // namespace
}  // namespace gatedrill::replay::capture
