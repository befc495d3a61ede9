// GoReplay's recordings: every age of the format, every odd place a separator can be in, and what
// is written so that GoReplay's own reader, which knows no escaping, finds the same records.
#include "replay/formats/gor.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "replay/formats/wire_message.hpp"
#include "tests/support/imported.hpp"
#include "tests/support/recorded.hpp"

namespace gatedrill::replay::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using tests::Exported;
using tests::Imported;

const std::string kSeparator(kGorSeparator);
const std::string kGet = "GET / HTTP/1.1\r\nHost: shop\r\n\r\n";
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct GorTest : ::testing::Test {
  void read(const std::vector<std::string>& files) {
    tests::import_bytes(imported, gor_format(), files, "x.gor");
    EXPECT_EQ(imported.error, "");
  }

  void refuse(const std::string& bytes) {
    tests::import_bytes(imported, gor_format(), {bytes}, "x.gor");
  }

  [[nodiscard]] const RecordedExchange& only() const {
    EXPECT_EQ(imported.exchanges.size(), 1U);
    static const RecordedExchange none;
    return imported.exchanges.empty() ? none : imported.exchanges.front();
  }

  // GoReplay's own way: a record ends before a line that is the three code points.
  static std::vector<std::string> as_goreplay_reads(const std::string& file) {
    std::vector<std::string> records;
    std::string record;
    std::size_t at = 0;
    while (at < file.size()) {
      const std::size_t end = std::min(file.find('\n', at), file.size() - 1) + 1;
      const std::string line = file.substr(at, end - at);
      at = end;
      if (line != std::string(kGorMonkeys) + "\n") {
        record += line;
        continue;
      }
      if (!record.empty()) record.pop_back();
      records.push_back(record);
      record.clear();
    }
    return records;
  }

  Imported imported;
};

TEST_F(GorTest, ARequestAndItsAnswerAreOneExchange) {
  read({"1 9c40005000a0000100000001 1700000000000000000 5000\n" + kGet + kSeparator +
        "2 9c40005000a0000100000001 1700000000020000000 1000000\n" + kOk + kSeparator});
  const RecordedExchange& exchange = only();
  EXPECT_EQ(exchange.at.ns, 1700000000000000000);
  EXPECT_EQ(exchange.request->method, "GET");
  EXPECT_EQ(exchange.host, "shop");
  EXPECT_EQ(exchange.protocol, "http/1.1");
  EXPECT_EQ(exchange.response->status, 200);
  EXPECT_EQ(exchange.response->body, "ok");
  EXPECT_EQ(exchange.request_end->ns, 1700000000000005000);
  EXPECT_EQ(exchange.response_begin->ns, 1700000000020000000);
  EXPECT_EQ(exchange.response_end->ns, 1700000000021000000);
  EXPECT_EQ(exchange.latency, Duration(21'000'000));
  EXPECT_THAT(imported.losses, IsEmpty());
}

TEST_F(GorTest, OldFilesHaveThreeFieldsAndLongIds) {
  const std::string id = "b33c9c1a2bae6636d5389a1a47035170c58d367e";
  read({"1 " + id + " 1568139746437296000\n" + kGet + kSeparator + "2 " + id +
        " 1568139746500000000\n" + kOk + kSeparator});
  EXPECT_EQ(only().at.ns, 1568139746437296000);
  EXPECT_EQ(only().response_begin->ns, 1568139746500000000);
  EXPECT_EQ(only().latency, std::nullopt) << "when the answer ended is not in the file";
}

TEST_F(GorTest, VeryOldAnswersHaveALatencyAndNoTime) {
  read({"1 ab 1568139746437296000\n" + kGet + kSeparator + "2 ab 2500000\n" + kOk + kSeparator});
  EXPECT_EQ(only().latency, Duration(2'500'000));
  EXPECT_EQ(only().response->status, 200);
}

TEST_F(GorTest, ALatencyOfMinusOneIsNoLatency) {
  read({"1 ab 1568139746437296000 -1\n" + kGet + kSeparator});
  EXPECT_EQ(only().request_end, std::nullopt);
}

TEST_F(GorTest, TheLastRecordNeedsNoSeparator) {
  for (const std::string& end :
       {std::string(), std::string("\n"), "\n" + std::string(kGorMonkeys)}) {
    imported.exchanges.clear();
    read({"1 ab 1\n" + kGet + kSeparator + "1 cd 2\n" + kGet + end});
    EXPECT_EQ(imported.exchanges.size(), 2U);
    EXPECT_EQ(imported.lost(), "");
  }
}

TEST_F(GorTest, RecordsMayStandInAnyOrder) {
  read({"2 ab 20 0\n" + kOk + kSeparator + "1 cd 30 0\n" + kGet + kSeparator + "1 ab 10 0\n" +
        kGet + kSeparator});
  ASSERT_EQ(imported.exchanges.size(), 2U);
  EXPECT_EQ(imported.exchanges[0].at.ns, 10);
  EXPECT_TRUE(imported.exchanges[0].response);
  EXPECT_EQ(imported.exchanges[1].at.ns, 30);
  EXPECT_FALSE(imported.exchanges[1].response);
}

TEST_F(GorTest, EqualIdsPairInTheirOrder) {
  const std::string one = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string two = "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
  read({"1 ab 1 0\n" + one + kSeparator + "1 ab 2 0\n" + two + kSeparator +
        "2 ab 3 0\nHTTP/1.1 201 A\r\nContent-Length: 0\r\n\r\n" + kSeparator +
        "2 ab 4 0\nHTTP/1.1 202 B\r\nContent-Length: 0\r\n\r\n" + kSeparator});
  ASSERT_EQ(imported.exchanges.size(), 2U);
  EXPECT_EQ(imported.exchanges[0].request->target, "/1");
  EXPECT_EQ(imported.exchanges[0].response->status, 201);
  EXPECT_EQ(imported.exchanges[1].response->status, 202);
}

TEST_F(GorTest, AnswersOfAnotherFileFindTheirRequest) {
  read({"1 ab 1 0\n" + kGet + kSeparator, "2 ab 3 0\n" + kOk + kSeparator});
  EXPECT_TRUE(only().response);
}

TEST_F(GorTest, AnAnswerAloneIsKept) {
  read({"2 ab 3 0\n" + kOk + kSeparator});
  EXPECT_FALSE(only().request);
  EXPECT_EQ(only().at.ns, 3);
}

TEST_F(GorTest, ReplayedAnswersAreCountedAndLeftOut) {
  read({"1 ab 1 0\n" + kGet + kSeparator + "3 ab 5 7\n" + kOk + kSeparator});
  EXPECT_FALSE(only().response);
  EXPECT_EQ(imported.counts["replayed answers left out"], 1);
}

TEST_F(GorTest, APayloadThatEndsInALineEndLosesOnlyTheSeparatorsOwn) {
  read({"1 ab 1 0\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab\n" + kSeparator});
  EXPECT_EQ(only().request->body, "ab\n");
  EXPECT_TRUE(only().request->complete);
}

TEST_F(GorTest, NulBytesAreBytes) {
  read({"1 ab 1 0\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n" + std::string("\0a\0", 3) +
        kSeparator});
  EXPECT_EQ(only().request->body, std::string("\0a\0", 3));
}

TEST_F(GorTest, CodePointsInsideALineAreNoSeparator) {
  const std::string body = "x" + std::string(kGorMonkeys) + "\n" + std::string(kGorMonkeys) + "y";
  read({"1 ab 1 0\nPOST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
        body + kSeparator});
  EXPECT_EQ(only().request->body, body);
}

TEST_F(GorTest, ASeparatorInsideAPayloadIsSaidWithItsPlace) {
  const std::string body = "a" + kSeparator + "b";
  read({"1 ab 1 0\nPOST / HTTP/1.1\r\nContent-Length: 16\r\n\r\n" + body + kSeparator});
  EXPECT_FALSE(only().request->complete);
  EXPECT_EQ(imported.lost(),
            "x.gor: byte 63: a meta line with fewer than three fields\n"
            "x.gor: byte 0: a request that is not whole\n");
}

TEST_F(GorTest, ASeparatorInsideAChunkedBodyIsSaidToo) {
  read({"1 ab 1 0\nPOST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10\r\na" + kSeparator +
        "b\r\n0\r\n\r\n" + kSeparator});
  EXPECT_FALSE(only().request->complete);
  EXPECT_EQ(only().request->body, "a");
  EXPECT_THAT(imported.lost(), HasSubstr("fewer than three fields"));
}

TEST_F(GorTest, ACarriageReturnBeforeTheCodePointsBelongsToThePayload) {
  read({"1 ab 1 0\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab\r" + kSeparator});
  EXPECT_EQ(only().request->body, "ab\r");
}

TEST_F(GorTest, FilesWithWindowsLineEndsAreTheSame) {
  read({"1 ab 1 0\r\nGET /w HTTP/1.1\r\nHost: a\r\n\r\n\r\n" + std::string(kGorMonkeys) +
        "\r\n1 cd 2 0\r\nGET /x HTTP/1.1\r\n\r\n\r\n" + std::string(kGorMonkeys) + "\r\n"});
  ASSERT_EQ(imported.exchanges.size(), 2U) << imported.lost();
  EXPECT_EQ(imported.exchanges[0].request->target, "/w");
  EXPECT_EQ(imported.exchanges[1].at.ns, 2);
  EXPECT_EQ(imported.lost(), "");
}

TEST_F(GorTest, HeadsMayEndInLineFeedsAlone) {
  read({"1 ab 1 0\nGET / HTTP/1.1\nHost: a\n\n" + kSeparator});
  EXPECT_EQ(only().host, "a");
  EXPECT_EQ(only().request->defects, "bare_lf");
}

TEST_F(GorTest, AHeadMayLackItsLastLineEnd) {
  read({"1 ab 1 0\nGET / HTTP/1.1\r\nHost: a\r\n\r" + kSeparator});
  EXPECT_TRUE(only().request->complete);
  EXPECT_EQ(imported.lost(), "");
}

TEST_F(GorTest, AHeadThatBreaksOffIsNotWhole) {
  read({"1 ab 1 0\nGET / HTTP/1.1\r\nHost: a\r\nCook" + kSeparator});
  EXPECT_FALSE(only().request->complete);
  EXPECT_EQ(imported.lost(), "x.gor: byte 0: a request that is not whole\n");
}

TEST_F(GorTest, ChunkedBodiesAreKeptWithoutTheirChunks) {
  read(
      {"1 ab 1 0\nPOST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n"
       "0\r\n\r\n" +
       kSeparator});
  EXPECT_EQ(only().request->body, "abcd");
  EXPECT_TRUE(only().request->complete);
}

TEST_F(GorTest, AnswersToHeadHaveNoBody) {
  read({"1 ab 1 0\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + kSeparator +
        "2 ab 2 0\nHTTP/1.1 200 OK\r\nContent-Length: 27036\r\n\r\n" + kSeparator});
  EXPECT_TRUE(only().response->complete);
  EXPECT_EQ(imported.lost(), "");
}

TEST_F(GorTest, RecordsThatAreNoneAreListedAndTheRestIsRead) {
  read({"1 ab 1 0\n" + kGet + kSeparator + "1 ab\nGET /2" + kSeparator + "7 ab 1 0\n" + kGet +
        kSeparator + "1 xyz 1 0\n" + kGet + kSeparator + "1 ab soon\n" + kGet + kSeparator +
        "1 ab 1 0" + kSeparator + "1 ab 1 0\nnonsense\n\n" + kSeparator + "1 cd 9 0\n" + kGet +
        kSeparator});
  EXPECT_EQ(imported.exchanges.size(), 2U);
  EXPECT_EQ(imported.lost(),
            "x.gor: byte 53: a meta line with fewer than three fields\n"
            "x.gor: byte 78: a record of an unknown type\n"
            "x.gor: byte 131: an id that is not hexadecimal\n"
            "x.gor: byte 185: a time stamp that is not a number\n"
            "x.gor: byte 239: a record without payload\n"
            "x.gor: byte 261: a payload that is no HTTP/1 request\n");
}

TEST_F(GorTest, NothingAndSeparatorsAloneHoldNoExchange) {
  read({"", kSeparator, std::string(kGorMonkeys) + "\n", kSeparator + kSeparator});
  EXPECT_THAT(imported.exchanges, IsEmpty());
  EXPECT_THAT(imported.losses, IsEmpty());
}

TEST_F(GorTest, WhatIsSaidOfALossHoldsNoSecret) {
  read({"1 ab 1 0\nPOST /login?token=hunter2 HTTP/1.1\r\nContent-Length: 9\r\n\r\na" + kSeparator +
        "token=hunter2" + kSeparator + "1 cd 1 0\ntoken=hunter2" + kSeparator +
        "1 ef 1 0\nGET / HTTP/1.1\r\n\r\ntoken=hunter2" + kSeparator + "2 gh token=hunter2" +
        kSeparator});
  ASSERT_THAT(imported.losses, SizeIs(5)) << imported.lost();
  std::string details;
  for (const ImportLoss& loss : imported.losses)
    details += loss.detail;
  EXPECT_EQ(details, "/login");
}

TEST_F(GorTest, AFileThatBeginsOtherwiseIsRefusedWithItsPlace) {
  refuse("{\"log\": {}}");
  EXPECT_EQ(imported.error,
            "x.gor: byte 0: expected a meta line such as \"1 ID TIME LATENCY\", found a meta line "
            "with fewer than three fields");
}

TEST_F(GorTest, SeparatorsAreFoundWhereverReadingStops) {
  // Readings of 256 KiB: the separator's place moves over their border.
  for (std::size_t shift = 0; shift < 2 * kSeparator.size(); ++shift) {
    imported.exchanges.clear();
    const std::string head = "POST / HTTP/1.1\r\nContent-Length: ";
    const std::size_t size = 262'144 - 60 - shift;
    read({"1 ab 1 0\n" + head + std::to_string(size) + "\r\n\r\n" + std::string(size, 'x') +
          kSeparator + "1 cd 2 0\n" + kGet + kSeparator});
    ASSERT_EQ(imported.exchanges.size(), 2U) << shift;
    ASSERT_TRUE(imported.exchanges[0].request->complete) << shift;
  }
}

TEST_F(GorTest, IdsOfACaptureNameConnectionsAndClients) {
  std::string file;
  for (int i = 1; i <= 6; ++i) {
    const std::string port = i % 2 == 0 ? "9c40" : "9c41";
    file += "1 " + port + "00500a000001" + "0000000" + std::to_string(i) + " " + std::to_string(i) +
            " 0\n" + kGet + kSeparator;
  }
  read({file});
  EXPECT_EQ(imported.exchanges[0].connection, imported.exchanges[2].connection);
  EXPECT_NE(imported.exchanges[0].connection, imported.exchanges[1].connection);
  ASSERT_EQ(imported.connections.size(), 2U);
  EXPECT_EQ(imported.connections[0].client, "10.0.0.1:40000");
}

TEST_F(GorTest, IdsThatAreMadeUpNameNobody) {
  read({"1 b5dc8f79639bfb92a371640f 1 0\n" + kGet + kSeparator +
        "1 c715a2424bd24e0cabe526ac 1 0\n" + kGet + kSeparator});
  EXPECT_NE(imported.exchanges[0].connection, imported.exchanges[1].connection);
  EXPECT_THAT(imported.connections, IsEmpty());
}

TEST_F(GorTest, GzipIsUndone) {
  const tests::Folder folder;
  const std::string path = folder / "x.gor.gz";
  const std::string bytes = "1 ab 1 0\n" + kGet + kSeparator;
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::vector<Input> inputs;
  inputs.push_back(Input::open(path).value());
  ASSERT_TRUE(read_gor(inputs, imported));
  EXPECT_EQ(only().request->target, "/");
}

// Writing.

struct GorWriterTest : GorTest {
  std::vector<std::string> write(const std::vector<RecordedExchange>& exchanges) {
    tests::export_exchanges(exported, gor_format(), exchanges);
    return as_goreplay_reads(exported.text);
  }

  Exported exported;
};

TEST_F(GorWriterTest, FourFieldsAndTwentyFourDigits) {
  RecordedExchange exchange = testing::recorded(1, Duration{0});
  exchange.latency = Duration{3000};
  exchange.request_end = UnixTime{exchange.at.ns + 500};
  exchange.response_begin = UnixTime{exchange.at.ns + 2000};
  exchange.response_end = UnixTime{exchange.at.ns + 3000};
  exchange.response->fields = {{"Content-Length", "5"}};
  EXPECT_THAT(write({exchange}), ElementsAre("1 162e00500a00000100000001 1700000000000000000 500\n"
                                             "GET / HTTP/1.1\r\nHost: shop\r\n\r\n",
                                             "2 162e00500a00000100000001 1700000000000002000 1000\n"
                                             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"));
  EXPECT_TRUE(exported.text.ends_with(kGorSeparator));
  EXPECT_THAT(exported.notes, IsEmpty());
}

TEST_F(GorWriterTest, IdsAreUniqueInARecording) {
  const auto records =
      write({testing::recorded(1, Duration{0}), testing::recorded(2, Duration{1})});
  ASSERT_EQ(records.size(), 4U);
  EXPECT_NE(records[0].substr(0, 26), records[2].substr(0, 26));
}

TEST_F(GorWriterTest, APayloadWithTheSeparatorIsChunkedInsideIt) {
  const std::string monkeys(kGorMonkeys);
  for (const std::string& body :
       {"a" + kSeparator + "b", monkeys + "\n", "x\n" + monkeys, kSeparator + kSeparator}) {
    RecordedExchange exchange = testing::recorded(1, Duration{0});
    exchange.request->method = "POST";
    exchange.request->body = body;
    exchange.request->fields.push_back({"Content-Length", std::to_string(body.size())});
    exchange.response.reset();
    const auto records = write({exchange});
    ASSERT_EQ(records.size(), 1U);
    EXPECT_THAT(records[0], HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
    EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("framed anew")));
    imported.exchanges.clear();
    read({exported.text});
    EXPECT_EQ(only().request->body, body);
    EXPECT_TRUE(only().request->complete);
  }
}

TEST_F(GorWriterTest, CodePointsThatNobodyTakesForASeparatorStayAsTheyAre) {
  RecordedExchange exchange = testing::recorded(1, Duration{0}, 1, "/", "x" + kSeparator.substr(1));
  exchange.response->fields = {{"Content-Length", "14"}};
  EXPECT_THAT(write({exchange})[1], HasSubstr("Content-Length: 14"));
  EXPECT_THAT(exported.notes, IsEmpty());
}

TEST_F(GorWriterTest, WhatCannotBeChunkedIsRefusedWithItsId) {
  RecordedExchange exchange = testing::recorded(7, Duration{0}, 1, "/", kSeparator);
  exchange.response->version = "HTTP/1.0";
  EXPECT_THAT(write({exchange}), ElementsAre(HasSubstr("GET /")));
  EXPECT_THAT(exported.notes,
              ElementsAre("1 answers left out: cannot be written as HTTP/1: exchange 7"));
}

TEST_F(GorWriterTest, MessagesThatAreNotWholeAreLeftOutAndSaid) {
  RecordedExchange half = testing::recorded(3, Duration{0});
  half.request->complete = false;
  RecordedExchange cut = testing::recorded(4, Duration{1});
  cut.response->complete = false;
  EXPECT_EQ(write({half, cut}).size(), 1U);
  EXPECT_THAT(exported.notes,
              ElementsAre("1 exchanges left out: the request is not whole: exchange 3",
                          "1 answers left out: not whole: exchange 4"));
}

TEST_F(GorWriterTest, MessagesOfHttp2GetAHost) {
  RecordedExchange exchange = testing::recorded(1, Duration{0});
  exchange.request->version = "HTTP/2";
  exchange.request->fields = {{"accept", "*/*"}};
  exchange.response.reset();
  EXPECT_THAT(write({exchange}),
              ElementsAre(HasSubstr("\nGET / HTTP/1.1\r\nHost: shop\r\naccept: */*\r\n\r\n")));
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("HTTP/2 written as HTTP/1.1")));
}

TEST_F(GorWriterTest, AWrongLengthIsPutRight) {
  RecordedExchange exchange = testing::recorded(1, Duration{0});
  exchange.response->fields = {{"Content-Length", "99"}};
  EXPECT_THAT(write({exchange})[1], HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("framed anew")));
}

}  // namespace
}  // namespace gatedrill::replay::formats
