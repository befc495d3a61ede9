// Our own lines: everything of a recording comes back, and a wrong line says what is wrong with it.
#include "replay/formats/jsonl.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/imported.hpp"
#include "tests/support/recorded.hpp"

namespace gatedrill::replay::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::Exported;
using tests::Imported;

RecordedExchange rich() {
  RecordedExchange exchange = testing::recorded(5, Duration{123}, 7, "/a?b", "h\xC3\xA9");
  exchange.latency = Duration{7'654'321};
  exchange.informational = {100, 103};
  exchange.tunnel = true;
  exchange.reset = RecordedReset{.at = UnixTime{30}};
  exchange.request_end = UnixTime{11};
  exchange.response_begin = UnixTime{22};
  exchange.response_end = UnixTime{33};
  exchange.ordinal = 3;
  exchange.idle_before = Duration{44};
  exchange.transport = RecordedTransport{.request_begin = 1,
                                         .request_end = 2,
                                         .acknowledged = true,
                                         .after_fin = true,
                                         .retransmissions = 9};
  exchange.request->body = std::string("\0\xFF", 2);
  exchange.request->fields.push_back({"X-Latin", "caf\xE9"});
  exchange.request->fields.push_back({"no colon", ""});
  exchange.request->trailers = {{"X-Sum", "caf\xE9"}};
  exchange.response->trailers = {{"Server-Timing", "db;dur=3"}, {"X-Sum", "1"}};
  exchange.request->complete = false;
  exchange.request->redacted = true;
  exchange.request->defects = "bare_lf";
  return exchange;
}

RecordedConnection closed() {
  RecordedConnection connection;
  connection.connection = 7;
  connection.client = "10.0.0.1:5678";
  connection.server = "10.0.0.2:80";
  connection.opened = UnixTime{1};
  connection.closed = UnixTime{2};
  connection.closed_by = "server";
  connection.how = "rst";
  connection.idle_before_close = Duration{3};
  connection.gap_bytes = 4;
  connection.connect = "established";
  connection.syns = 2;
  connection.answered = UnixTime{5};
  connection.established = UnixTime{6};
  connection.client_side.fin = UnixTime{7};
  connection.client_side.fin_acked = 0;
  connection.client_side.sent = 100;
  connection.server_side.rst = UnixTime{8};
  connection.server_side.rst_acked = 99;
  connection.server_side.acked = 3;
  connection.server_side.retransmissions = 1;
  connection.server_side.zero_windows = 2;
  return connection;
}

struct JsonlTest : ::testing::Test {
  void read(const std::string& bytes) {
    tests::import_bytes(imported, jsonl_format(), {bytes}, "x.jsonl");
  }

  std::string refusal(const std::string& bytes) {
    imported.error.clear();
    read(bytes);
    return imported.error;
  }

  Imported imported;
};

TEST_F(JsonlTest, EverythingOfARecordingComesBack) {
  Exported exported;
  tests::export_exchanges(exported, jsonl_format(), {rich()}, {closed()});
  read(exported.text);
  EXPECT_EQ(imported.error, "");
  EXPECT_THAT(imported.exchanges, ElementsAre(rich()));
  EXPECT_THAT(imported.connections, ElementsAre(closed()));
  EXPECT_THAT(imported.ledger, ::testing::Not(IsEmpty()));
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("requests that are not whole")));
}

TEST_F(JsonlTest, LossesAndLedgerLinesComeBack) {
  read(
      R"({"type":"loss","at_ns":3,"connection":7,"direction":"response","reason":"gap","bytes":12})"
      "\n"
      R"({"type":"ledger","what":"packets","count":10,"bytes":100,"note":"seen"})"
      "\n");
  EXPECT_THAT(imported.recorded_losses,
              ElementsAre(RecordedLoss{UnixTime{3}, 7, "response", "gap", 12}));
  EXPECT_THAT(imported.ledger, ElementsAre(LedgerLine{"packets", 10, 100, "seen"}));
}

TEST_F(JsonlTest, LittleIsEnough) {
  read(
      "\xEF\xBB\xBF"
      R"({"type":"exchange","at_ns":9,"request":{"method":"GET","target":"/"},"mine":{"a":[1]}})"
      "\r\n\n"
      R"({"type":"exchange","at_ns":8,"response":{"status":503}})");
  ASSERT_EQ(imported.exchanges.size(), 2U) << imported.error;
  EXPECT_EQ(imported.exchanges[0].request->target, "/");
  EXPECT_TRUE(imported.exchanges[0].request->complete);
  EXPECT_EQ(imported.exchanges[1].response->status, 503);
  EXPECT_NE(imported.exchanges[0].connection, imported.exchanges[1].connection);
}

// "GET  HTTP/1.1" was sent.
TEST_F(JsonlTest, ARequestMayHaveAnEmptyTarget) {
  read(R"({"type":"exchange","at_ns":9,"request":{"method":"GET","target":""}})");
  ASSERT_EQ(imported.exchanges.size(), 1U) << imported.error;
  EXPECT_EQ(imported.exchanges[0].request->target, "");
}

TEST_F(JsonlTest, AnExchangeThatIsThereTwiceRefusesTheFile) {
  const std::string line = R"({"type":"exchange","id":7,"at_ns":8,"response":{"status":503}})";
  EXPECT_THAT(refusal(line + "\n" + line + "\n"), HasSubstr(":2: exchange 7 is there twice"));
}

TEST_F(JsonlTest, AWrongLineRefusesTheFileWithItsNumber) {
  const std::string good =
      R"({"type":"exchange","at_ns":9,"request":{"method":"GET","target":"/"}})";
  EXPECT_EQ(refusal(good + "\n{\"type\":"),
            "x.jsonl:2: no JSON behind column 8; each line is one object with a \"type\"");
  EXPECT_EQ(refusal(R"({"type":"ledger","count":1e9999})"),
            "x.jsonl:1: a number in it is too large");
  EXPECT_EQ(refusal("7"), "x.jsonl:1: expected an object with a \"type\"");
  EXPECT_EQ(refusal("{}"),
            "x.jsonl:1: \"type\" has to be recording, connection, exchange, loss or ledger");
  EXPECT_EQ(refusal(R"({"type":"exchange","request":{"method":"GET","target":"/"}})"),
            "x.jsonl:1: \"at_ns\" has to be there");
  EXPECT_EQ(refusal(R"({"type":"exchange","at_ns":1.5,"request":{"method":"GET","target":"/"}})"),
            "x.jsonl:1: \"at_ns\" has to be a whole number in its range");
  EXPECT_EQ(refusal(R"({"type":"exchange","at_ns":1,"request":{"method":""}})"),
            "x.jsonl:1: \"target\" has to be there");
  EXPECT_EQ(refusal(R"({"type":"exchange","at_ns":1,"request":{"method":"","target":""}})"),
            "x.jsonl:1: \"method\" has to be there");
  EXPECT_EQ(refusal(R"({"type":"exchange","at_ns":1})"),
            "x.jsonl:1: an exchange has to have a \"request\" or a \"response\"");
  EXPECT_EQ(refusal(R"({"type":"exchange","at_ns":1,"response":{"status":99999999999}})"),
            "x.jsonl:1: \"status\" has to be a whole number in its range");
  EXPECT_EQ(refusal(R"({"type":"exchange","at_ns":1,"request":{"method":"G","target":5}})"),
            "x.jsonl:1: \"target\" has to be a text or {\"base64\": ...}");
  EXPECT_EQ(refusal(R"({"type":"exchange","at_ns":1,"response":{"status":1,"fields":[["a"]]}})"),
            "x.jsonl:1: \"fields\" has to be a text or {\"base64\": ...}");
  EXPECT_EQ(refusal(R"({"type":"recording","version":2})"),
            "x.jsonl:1: this is version 2; known here: 1");
}

TEST_F(JsonlTest, WhatIsNestedDeepIsPassedOver) {
  const std::string deep(200'000, '[');
  EXPECT_THAT(refusal(R"({"type":"ledger","what":)" + deep), HasSubstr("x.jsonl:1: no JSON"));
}

}  // namespace
}  // namespace gatedrill::replay::formats
