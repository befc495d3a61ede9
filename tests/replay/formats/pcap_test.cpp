// Captures that are written: their packets fit together, Wireshark finds nothing wrong with them
// (where tshark is installed), and a capture reads the same exchanges from them.
#include "replay/formats/pcap.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/capture/capture.hpp"
#include "replay/capture/packet_source.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/imported.hpp"
#include "tests/support/odd_exchanges.hpp"

namespace gatedrill::replay::formats {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::Captured;
using tests::Exported;
using tests::Folder;

struct PcapTest : ::testing::Test {
  void write(const std::vector<RecordedExchange>& exchanges,
             const std::vector<RecordedConnection>& connections = {}) {
    tests::export_exchanges(exported, pcap_format(), exchanges, connections);
    std::ofstream(folder / "t.pcap", std::ios::binary) << exported.text;
    auto source = capture::open_bytes(exported.text, "");
    ASSERT_TRUE(source) << source.error().message;
    capture::Capture capture({}, captured);
    capture::Packet packet;
    std::int64_t last = 0;
    while ((*source)->next(packet).value() == capture::PacketSource::Next::packet) {
      EXPECT_GE(packet.at.ns, last) << "packets are in the order of time";
      last = packet.at.ns;
      capture.add(packet);
    }
    capture.finish();
    captured.ledger = capture.ledger();
    EXPECT_THAT(captured.ledger.open_sums(), IsEmpty());
    EXPECT_EQ(captured.ledger.gaps.count, 0U);
    EXPECT_EQ(captured.ledger.duplicate.count, 0U);
  }

  // The lines that tshark prints; skips the test where there is no tshark.
  std::string tshark(const std::string& options) {
    if (std::system("command -v tshark > /dev/null 2>&1") != 0) return "no tshark";
    const std::string command = "tshark -n -r " + (folder / "t.pcap") +
                                " -o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE " + options +
                                " 2> /dev/null";
    std::FILE* pipe = popen(command.c_str(), "r");
    std::string output;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
      output.push_back(static_cast<char>(c));
    EXPECT_EQ(pclose(pipe), 0);
    return output;
  }

  Folder folder;
  Exported exported;
  Captured captured;
};

std::vector<RecordedExchange> shopping() {
  std::vector<RecordedExchange> exchanges;
  for (std::int64_t i = 1; i <= 6; ++i) {
    RecordedExchange one = testing::recorded(i, std::chrono::milliseconds(100 * i), 1 + i % 2,
                                             "/" + std::to_string(i));
    one.client = i % 2 == 0 ? "10.0.0.1:5678" : "[2001:db8::7]:999";
    one.server = i % 2 == 0 ? "10.0.0.2:80" : "[2001:db8::8]:8080";
    one.response->body = std::string(static_cast<std::size_t>(i * i) * 3000, 'x');
    one.response->fields = {{"Content-Length", std::to_string(one.response->body.size())}};
    one.request_end = UnixTime{one.at.ns + 1000};
    one.response_begin = UnixTime{one.at.ns + 5'000'000};
    one.response_end = UnixTime{one.at.ns + 9'000'000};
    one.latency = Duration{9'000'000};
    exchanges.push_back(one);
  }
  return exchanges;
}

TEST_F(PcapTest, AddressesTimesAndConnectionsAreTheRecordedOnes) {
  write(shopping());
  ASSERT_EQ(captured.exchanges.size(), 6U);
  EXPECT_EQ(captured.connections.size(), 2U);
  EXPECT_EQ(captured.exchanges[0].client, "[2001:db8::7]:999");
  EXPECT_EQ(captured.exchanges[1].server, "10.0.0.2:80");
  EXPECT_EQ(captured.exchanges[5].latency, Duration(9'000'000));
  EXPECT_EQ(captured.exchanges[5].response->body.size(), 108'000U);
  EXPECT_THAT(exported.notes, IsEmpty());
}

// Whatever of it is left for the last segment: a last byte alone, Wireshark does not take.
TEST_F(PcapTest, TheLastChunkIsInOneSegment) {
  for (std::size_t size = 2700; size < 2960; ++size) {
    RecordedExchange one = shopping()[1];
    one.response->fields = {{"Transfer-Encoding", "chunked"}};
    one.response->body.assign(size, 'x');
    Exported of_one;
    tests::export_exchanges(of_one, pcap_format(), {one});
    auto source = capture::open_bytes(of_one.text, "");
    capture::Packet packet;
    bool found = false;
    while ((*source)->next(packet).value() == capture::PacketSource::Next::packet)
      found = found || packet.bytes.ends_with("0\r\n\r\n");
    EXPECT_TRUE(found) << size;
  }
}

TEST_F(PcapTest, WiresharkFindsNothingWrong) {
  std::vector<RecordedConnection> connections(1);
  connections[0].connection = 2;
  connections[0].client = "10.0.0.1:5678";
  connections[0].server = "10.0.0.2:80";
  std::vector<RecordedExchange> exchanges = shopping();
  for (RecordedExchange& one : exchanges) {
    one.client = one.connection == 1 ? "10.0.0.1:5678" : "[2001:db8::7]:999";
    one.server = one.connection == 1 ? "10.0.0.2:80" : "[2001:db8::8]:8080";
  }
  // One that is sent in chunks, so that its end is a chunk of its own.
  exchanges[3].response->fields = {{"Transfer-Encoding", "chunked"}};
  exchanges[3].response->body = "small";
  write(exchanges);
  constexpr const char* kWarnings = "-Y '_ws.expert.severity >= 6291456'";
  if (tshark("") == "no tshark") GTEST_SKIP() << "tshark is not installed";
  EXPECT_EQ(tshark(kWarnings), "");
  EXPECT_EQ(tshark("-Y http.request -T fields -e http.request.uri"), "/1\n/2\n/3\n/4\n/5\n/6\n");
  const std::string lengths =
      tshark("-Y http.response -T fields -e http.file_data -e http.content_length");
  EXPECT_THAT(lengths, HasSubstr("\t108000\n"));
  EXPECT_EQ(tshark("-Y http.response -T fields -e http.response.code"),
            "200\n200\n200\n200\n200\n200\n");
  EXPECT_EQ(tshark("-Y 'tcp.analysis.flags'"), "");
}

TEST_F(PcapTest, AConnectionEndsAsItDid) {
  RecordedExchange one = testing::recorded(1, Duration{0}, 7);
  one.response->fields = {{"Content-Length", "5"}};
  one.latency = Duration{1000};
  RecordedConnection connection;
  connection.connection = 7;
  connection.client = one.client;
  connection.server = one.server;
  connection.opened = UnixTime{one.at.ns - 3'000'000};
  connection.answered = UnixTime{one.at.ns - 2'000'000};
  connection.established = UnixTime{one.at.ns - 1'000'000};
  connection.closed = UnixTime{one.at.ns + 60'000'000'000};
  connection.closed_by = "server";
  for (const char* how : {"fin", "rst"}) {
    captured.connections.clear();
    connection.how = how;
    write({one}, {connection});
    ASSERT_EQ(captured.connections.size(), 1U);
    EXPECT_EQ(captured.connections[0].opened, connection.opened);
    EXPECT_EQ(captured.connections[0].established, connection.established);
    EXPECT_EQ(captured.connections[0].closed, connection.closed);
    EXPECT_EQ(captured.connections[0].closed_by, "server");
    EXPECT_EQ(captured.connections[0].how, how);
  }
}

TEST_F(PcapTest, AnEndWaitsForWhatItsSideStillSends) {
  RecordedExchange one = testing::recorded(1, Duration{0}, 7);
  one.response->fields = {{"Content-Length", "5"}};
  one.latency = Duration{1'000'000};
  RecordedConnection connection;
  connection.connection = 7;
  connection.client = one.client;
  connection.server = one.server;
  connection.how = "fin";
  connection.closed_by = "server";
  connection.closed = UnixTime{one.at.ns + 10};  // cannot be
  write({one}, {connection});
  ASSERT_EQ(captured.exchanges.size(), 1U);
  EXPECT_TRUE(captured.exchanges[0].response->complete);
  EXPECT_EQ(captured.connections[0].how, "fin");
}

TEST_F(PcapTest, ABodyWithoutFramingEndsWithItsConnection) {
  RecordedExchange one = testing::recorded(1, Duration{0}, 7);
  RecordedExchange next = testing::recorded(2, Duration{1'000'000}, 7, "/2");
  write({one, next});
  ASSERT_EQ(captured.exchanges.size(), 2U);
  EXPECT_EQ(captured.exchanges[0].response->body, "hello");
  EXPECT_TRUE(captured.exchanges[0].response->complete);
  EXPECT_EQ(captured.connections.size(), 2U);
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("connection of their own")));
}

TEST_F(PcapTest, WhatIsNotWholeStaysSo) {
  RecordedExchange half = testing::recorded(1, Duration{0}, 7);
  half.request->method = "POST";
  half.request->body = "ab";
  half.request->fields.push_back({"Content-Length", "10"});
  half.request->complete = false;
  half.response.reset();
  RecordedExchange cut = testing::recorded(2, Duration{1'000'000}, 7, "/2");
  cut.response->fields = {{"Content-Length", "99"}};
  cut.response->complete = false;
  RecordedExchange whole = testing::recorded(3, Duration{2'000'000}, 7, "/3");
  whole.response->fields = {{"Content-Length", "5"}};
  write({half, cut, whole});
  EXPECT_THAT(captured.text(), HasSubstr("POST / ab... > \n"));
  EXPECT_THAT(captured.text(), HasSubstr("GET /2 > 200 hello...\n"));
  EXPECT_THAT(captured.text(), HasSubstr("GET /3 > 200 hello\n"));
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("requests that are not whole: exchange 1"),
                                          HasSubstr("answers that are not whole: exchange 2"),
                                          HasSubstr("connection of their own")));
}

TEST_F(PcapTest, NothingFollowsABodyThatIsNotThere) {
  RecordedExchange dropped = testing::recorded(1, Duration{0}, 7);
  dropped.request->method = "POST";
  dropped.request->fields.push_back({"Content-Length", "10"});
  dropped.request->body_dropped = true;
  dropped.response->fields = {{"Content-Length", "5"}};
  RecordedExchange next = testing::recorded(2, Duration{1'000'000}, 7, "/2");
  next.response->fields = {{"Content-Length", "5"}};
  write({dropped, next});
  EXPECT_THAT(captured.text(), HasSubstr("GET /2 > 200 hello\n"));
  EXPECT_THAT(exported.notes, Contains(HasSubstr("requests that are not whole: exchange 1")));
}

TEST_F(PcapTest, AnswersThatOverlapGetConnectionsOfTheirOwn) {
  std::vector<RecordedExchange> all;
  for (std::int64_t i = 1; i <= 4; ++i) {
    RecordedExchange one = testing::recorded(i, Duration{i}, 7, "/" + std::to_string(i));
    one.protocol = "h2";
    one.request->version = one.response->version = "HTTP/2";
    one.response->fields = {{"content-length", "5"}};
    one.latency = Duration{10'000'000 - i * 1000};  // the last is the first to be answered
    all.push_back(one);
  }
  write(all);
  EXPECT_EQ(captured.exchanges.size(), 4U);
  for (const RecordedExchange& one : captured.exchanges)
    EXPECT_TRUE(one.response && one.request);
  EXPECT_EQ(captured.connections.size(), 4U);
}

TEST_F(PcapTest, PipelinedRequestsStayOnTheirConnection) {
  std::vector<RecordedExchange> all;
  for (std::int64_t i = 1; i <= 3; ++i) {
    RecordedExchange one = testing::recorded(i, Duration{i}, 7, "/" + std::to_string(i));
    one.response->fields = {{"Content-Length", "5"}};
    one.latency = Duration{1'000'000 * i};
    all.push_back(one);
  }
  write(all);
  EXPECT_EQ(captured.text(), "GET /1 > 200 hello\nGET /2 > 200 hello\nGET /3 > 200 hello\n");
  EXPECT_EQ(captured.connections.size(), 1U);
}

TEST_F(PcapTest, ConnectionsWithoutExchangesAreThereToo) {
  RecordedConnection refused;
  refused.connection = 9;
  refused.client = "10.0.0.1:5000";
  refused.server = "10.0.0.2:80";
  refused.opened = UnixTime{1'700'000'000'000'000'000};
  refused.closed = UnixTime{1'700'000'000'000'000'500};
  refused.connect = "refused";
  refused.how = "rst";
  refused.closed_by = "server";
  write({testing::recorded(1, Duration{0})}, {refused});
  ASSERT_EQ(captured.connections.size(), 2U);
  const auto& one = captured.connections[0].client == "10.0.0.1:5000" ? captured.connections[0]
                                                                      : captured.connections[1];
  EXPECT_EQ(one.connect, "refused");
}

TEST_F(PcapTest, ConnectionsWithEqualAddressesAtATimeStayApart) {
  RecordedExchange one = testing::recorded(1, Duration{0}, 1);
  RecordedExchange two = testing::recorded(2, Duration{1}, 2);
  one.response->fields = two.response->fields = {{"Content-Length", "5"}};
  one.latency = two.latency = Duration{1000};
  write({one, two});
  EXPECT_EQ(captured.text(), "GET / > 200 hello\nGET / > 200 hello\n");
  EXPECT_EQ(captured.exchanges[1].client, "10.0.0.1:1024");
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("another client port")));
}

TEST_F(PcapTest, WhatIsUnderWayAtOneTimeHasABound) {
  std::vector<RecordedExchange> all;
  for (std::int64_t i = 1; i <= 6; ++i) {
    RecordedExchange one = testing::recorded(i, Duration{0}, i);
    one.response->body = std::string(12U * 1024 * 1024, 'x');
    one.response->fields = {{"Content-Length", std::to_string(one.response->body.size())}};
    one.latency = Duration{1000};
    all.push_back(one);
  }
  tests::export_exchanges(exported, pcap_format(), all);
  EXPECT_THAT(exported.notes, ::testing::Contains(HasSubstr("too much is under way: what")));
}

TEST_F(PcapTest, UnknownAddressesAreOfTheRangesForDocumentation) {
  RecordedExchange one = testing::recorded(1, Duration{0});
  one.client.clear();
  one.server = "shop.example:443";
  RecordedExchange two = testing::recorded(2, Duration{0}, 2);
  two.client = "9.8.7.6";
  two.server = "";
  write({one, two});
  EXPECT_EQ(captured.exchanges[0].client, "192.0.2.1:1024");
  EXPECT_EQ(captured.exchanges[0].server, "198.51.100.1:80");
  EXPECT_EQ(captured.exchanges[1].client, "9.8.7.6:1025");
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("port 443"), HasSubstr("documentation")));
}

}  // namespace
}  // namespace gatedrill::replay::formats
