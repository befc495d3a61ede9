// Every capture of the data folder against what another reader found in it (its .expected.tsv).
//
// Compared are the number of requests, the number of answers (with the 1xx ones, which the oracle
// counts too) and the multiset of the SHA-1s of bodies. Where the two differ, kKnown says by how
// much and why; a difference that is not in the table fails, and so does one that went away.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "replay/capture/capture.hpp"
#include "replay/capture/packet_source.hpp"
#include "replay/content_coding.hpp"
#include "replay/digest.hpp"

namespace gatedrill::replay::capture {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(GD_SOURCE_DIR) / ".." / "shared" / "data";

struct Messages {
  int requests = 0;
  int responses = 0;
  std::multiset<std::string> bodies;
};

class Collector final : public ExchangeSink {
 public:
  void on_exchange(RecordedExchange exchange) override {
    if (exchange.request) {
      requests += 1;
      partial += exchange.request->complete ? 0 : 1;
      hash(*exchange.request);
    }
    if (exchange.response) {
      responses += 1;
      partial += exchange.response->complete ? 0 : 1;
      hash(*exchange.response);
    }
  }

  void on_connection(const RecordedConnection&) override {}

  void on_loss(const RecordedLoss&) override {}

  int requests = 0;
  int responses = 0;
  int partial = 0;
  std::multiset<std::string> bodies;

 private:
  template <class Message>
  void hash(const Message& message) {
    if (!message.complete) return;
    const std::string_view coding = value_of(message.fields, "Content-Encoding");
    const std::string sha1 = decoded_sha1(sha1_, message.body, coding);
    if (!sha1.empty()) bodies.insert(to_hex(sha1));
  }

  Digest sha1_ = Digest::sha1();
};

struct Found {
  Collector messages;
  Ledger ledger;
};

void read_capture(const fs::path& path, Found& found) {
  auto source = PacketSource::open_file(path, "");
  ASSERT_TRUE(source) << source.error().message;
  CaptureOptions options;
  options.link_type = source->link_type();
  Capture capture(options, found.messages);
  Packet packet;
  for (;;) {
    const auto next = source->next(packet);
    ASSERT_TRUE(next) << next.error().message;
    if (*next == PacketSource::Next::end) break;
    capture.add(packet.bytes, packet.wire_bytes, packet.at);
  }
  capture.finish();
  found.ledger = capture.ledger();
}

std::vector<std::vector<std::string>> read_table(const fs::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string>& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');)
      row.push_back(cell);
    row.resize(32);
  }
  return rows;
}

Messages read_oracle(const fs::path& path) {
  Messages messages;
  const auto rows = read_table(path);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) -
                                    rows[0].begin());
  };
  const std::size_t kind = column("kind");
  const std::size_t sha1 = column("body_sha1");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    ++(rows[i][kind] == "req" ? messages.requests : messages.responses);
    if (!rows[i][sha1].empty()) messages.bodies.insert(rows[i][sha1]);
  }
  return messages;
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

std::string difference(const Found& found, const Messages& oracle) {
  std::ostringstream text;
  const int requests = found.messages.requests - oracle.requests;
  const int responses = found.messages.responses +
                        static_cast<int>(found.ledger.informational.count) - oracle.responses;
  std::vector<std::string> missing;
  std::vector<std::string> surplus;
  std::set_difference(oracle.bodies.begin(), oracle.bodies.end(), found.messages.bodies.begin(),
                      found.messages.bodies.end(), std::back_inserter(missing));
  std::set_difference(found.messages.bodies.begin(), found.messages.bodies.end(),
                      oracle.bodies.begin(), oracle.bodies.end(), std::back_inserter(surplus));
  if (requests == 0 && responses == 0 && missing.empty() && surplus.empty()) return "";
  text << "requests " << std::showpos << requests << " responses " << responses << " bodies +"
       << std::noshowpos << surplus.size() << " -" << missing.size();
  return text.str();
}

struct Known {
  std::string difference;
  std::string why;
};

const std::map<std::string, Known> kKnown = {};

TEST(CaptureOracle, EveryCaptureIsReadAsTheOracleReadsItOrTheTableSaysWhyNot) {
  const auto names = capture_names();
  if (names.empty()) GTEST_SKIP() << "no data folder";
  int equal = 0;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Found found;
    read_capture(kData / name, found);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(found.ledger.open_sums().empty()) << found.ledger.open_sums()[0];
    const std::string seen = difference(found, read_oracle(kData / (name + ".expected.tsv")));
    const auto known = kKnown.find(name);
    EXPECT_EQ(seen, known == kKnown.end() ? "" : known->second.difference) << name;
    if (seen.empty()) ++equal;
  }
  RecordProperty("equal", equal);
  std::cout << equal << " of " << names.size() << " captures equal\n";
}

}  // namespace
}  // namespace gatedrill::replay::capture
