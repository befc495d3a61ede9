#include "replay/capture/tcp_reassembly.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "replay/capture/delivered_bytes.hpp"

namespace gatedrill::replay::capture {
namespace {

using testing::ElementsAre;

// Writes down what it is told: "c" and "s" are the sides' bytes, "-5" a gap, "." an end.
class Log final : public StreamReader {
 public:
  Log(std::vector<std::string>& out, std::string name) : out_(out), name_(std::move(name)) {}

  void on_data(Side from, std::string_view bytes, UnixTime) override {
    const std::string start = who(from) + ":";
    if (!line_.starts_with(start)) flush();
    if (line_.empty()) line_ = start;
    line_ += bytes;
  }

  void on_gap(Side from, std::uint64_t bytes, LossReason, UnixTime) override {
    flush();
    out_.push_back(name_ + who(from) + "-" + std::to_string(bytes));
  }

  void on_end(Side from, UnixTime) override {
    flush();
    out_.push_back(name_ + who(from) + ".");
  }

  void on_closed(const ConnectionEnd& end, UnixTime) override {
    flush();
    constexpr const char* kHow[] = {"fin", "rst", "timeout", "replaced", "open"};
    out_.push_back(name_ + kHow[static_cast<int>(end.how)]);
  }

 private:
  static std::string who(Side side) { return side == Side::first ? "a" : "b"; }

  void flush() {
    if (!line_.empty()) out_.push_back(name_ + line_);
    line_.clear();
  }

  std::vector<std::string>& out_;
  std::string name_;
  std::string line_;
};

// One wire on which a client (port 1000) and a server (port 80) talk.
class TcpReassemblyTest : public testing::Test {
 protected:
  void make(ReassemblyLimits limits = {}) {
    reassembly = std::make_unique<TcpReassembly>(
        limits,
        [this](const ConnectionStart& start) {
          return std::make_unique<Log>(
              out, start.connection == 1 ? "" : std::to_string(start.connection) + " ");
        },
        ledger);
  }

  TcpSegment segment(bool client, std::uint32_t seq, std::uint32_t ack, std::string_view bytes) {
    TcpSegment out_segment;
    out_segment.source.port = client ? client_port : 80;
    out_segment.destination.port = client ? 80 : client_port;
    out_segment.seq = seq;
    out_segment.ack = ack;
    out_segment.has_ack = true;
    out_segment.payload = bytes;
    out_segment.payload_bytes = static_cast<std::uint32_t>(bytes.size());
    return out_segment;
  }

  void add(const TcpSegment& one) {
    if (!reassembly) make();
    now.ns += 1000;
    reassembly->add(one, now);
  }

  void client(std::uint32_t seq, std::uint32_t ack, std::string_view bytes = {}) {
    add(segment(true, seq, ack, bytes));
  }

  void server(std::uint32_t seq, std::uint32_t ack, std::string_view bytes = {}) {
    add(segment(false, seq, ack, bytes));
  }

  void fin(bool from_client, std::uint32_t seq, std::uint32_t ack) {
    TcpSegment one = segment(from_client, seq, ack, {});
    one.fin = true;
    add(one);
  }

  void rst(bool from_client, std::uint32_t seq) {
    TcpSegment one = segment(from_client, seq, 0, {});
    one.rst = true;
    one.has_ack = false;
    add(one);
  }

  // Data starts at 100 (client) and 500 (server).
  void handshake(std::uint32_t client_isn = 99, std::uint32_t server_isn = 499) {
    TcpSegment syn = segment(true, client_isn, 0, {});
    syn.syn = true;
    syn.has_ack = false;
    add(syn);
    TcpSegment answer = segment(false, server_isn, client_isn + 1, {});
    answer.syn = true;
    add(answer);
  }

  const std::vector<std::string>& finish() {
    reassembly->finish();
    EXPECT_THAT(reassembly->held_bytes(), 0U);
    EXPECT_EQ(ledger.stream.bytes, ledger.delivered.bytes + ledger.duplicate.bytes +
                                       ledger.after_close.bytes + ledger.out_of_window.bytes);
    return out;
  }

  std::uint16_t client_port = 1000;
  UnixTime now{};
  Ledger ledger;
  std::vector<std::string> out;
  std::unique_ptr<TcpReassembly> reassembly;
};

TEST_F(TcpReassemblyTest, DeliversBothDirectionsAndTheClose) {
  handshake();
  client(100, 500, "hello");
  server(500, 105, "world");
  fin(true, 105, 505);
  fin(false, 505, 106);
  EXPECT_THAT(finish(), ElementsAre("a:hello", "b:world", "a.", "b.", "fin"));
}

TEST_F(TcpReassemblyTest, PutsSegmentsInOrder) {
  handshake();
  client(104, 500, "o w");
  client(107, 500, "orld");
  client(100, 500, "hell");
  EXPECT_THAT(finish(), ElementsAre("a:hello world", "open"));
}

TEST_F(TcpReassemblyTest, RetransmissionsWithOtherBoundariesChangeNothing) {
  handshake();
  client(100, 500, "hel");
  client(100, 500, "hello");
  client(102, 500, "llo wo");
  client(104, 500, "o");
  client(100, 500, "hello world");
  EXPECT_THAT(finish(), ElementsAre("a:hello world", "open"));
  EXPECT_EQ(ledger.duplicate.bytes, 3U + 3U + 1U + 8U);
}

TEST_F(TcpReassemblyTest, WhereSegmentsOverlapTheFirstToArriveWins) {
  handshake();
  client(103, 500, "DEF");
  client(101, 500, "bcdefgh");
  client(100, 500, "axxxx");
  EXPECT_THAT(finish(), ElementsAre("a:abcDEFgh", "open"));
}

TEST_F(TcpReassemblyTest, OtherBytesInThePlaceOfTheFirstAreCounted) {
  handshake();
  client(103, 500, "DEF");
  client(101, 500, "bcdeFgh");  // d and e where D and E wait
  client(100, 500, "a");
  EXPECT_EQ(ledger.conflicting.count, 1U);
  EXPECT_EQ(ledger.conflicting.bytes, 2U);
  client(102, 500, "cDExx");  // x where F and g were delivered
  EXPECT_EQ(ledger.conflicting.count, 2U);
  EXPECT_EQ(ledger.conflicting.bytes, 4U);
  client(107, 500, "?");  // asks whether the peer is there
  client(100, 500, "abcDEFgh");
  EXPECT_EQ(ledger.conflicting.count, 2U);
  EXPECT_THAT(finish(), ElementsAre("a:abcDEFgh", "open"));
  EXPECT_THAT(ledger.first_conflict, testing::HasSubstr(":1000 and "));
}

TEST(DeliveredBytes, RememberTheLastOnesOfAllStreams) {
  DeliveredBytes bytes(16);
  DeliveredBytes::Marks one;
  DeliveredBytes::Marks two;
  bytes.remember(one, 0, "abcd");
  bytes.remember(two, 100, "efgh");
  bytes.remember(one, 4, "ijkl");
  EXPECT_EQ(bytes.differing(one, 0, "abcdijkl"), 0U);
  EXPECT_EQ(bytes.differing(one, 2, "cDiJ"), 2U);
  EXPECT_EQ(bytes.differing(two, 99, "xeFgh"), 1U);
  EXPECT_EQ(bytes.differing(two, 0, "other"), 0U) << "never delivered";
  bytes.remember(one, 8, "mnopqr");  // takes the place of a and b
  EXPECT_EQ(bytes.differing(one, 0, "xxxxxjklmnopqr"), 3U);
  EXPECT_EQ(bytes.differing(two, 100, "xxxx"), 4U);
  bytes.remember(one, 14, std::string(17, 'z'));
  EXPECT_EQ(bytes.differing(one, 14, "a"), 0U) << "more than is remembered at all";
}

TEST_F(TcpReassemblyTest, NumbersThatJumpFartherThanAnyGapAreFollowedOnceTheyGoOn) {
  for (const std::uint32_t jump : {0x80000000U, 0x50000000U, 0xc0000000U, 0xf0000000U}) {
    SCOPED_TRACE(jump);
    out.clear();
    ledger = {};
    make();
    handshake();
    client(100, 500, "one");
    std::uint32_t seq = 103 + jump;
    for (const char* text : {"a", "b", "c", "d", "e"})
      client(seq++, 500, text);
    EXPECT_THAT(finish(), ElementsAre("a:one", "a-" + std::to_string(jump + 3U), "a:de", "open"));
    EXPECT_EQ(ledger.out_of_window.bytes, 3U);
  }
}

TEST_F(TcpReassemblyTest, StraysThatDoNotFollowOneAnotherAreNotBelieved) {
  handshake();
  client(100, 500, "one");
  for (std::uint32_t i = 0; i < 50; ++i)
    client(0x80000000U + i * 100, 500, "stray");
  client(103, 500, "two");
  EXPECT_THAT(finish(), ElementsAre("a:onetwo", "open"));
  EXPECT_EQ(ledger.out_of_window.bytes, 250U);
}

TEST_F(TcpReassemblyTest, AFinBeforeWhatWasSentIsNotBelieved) {
  handshake();
  client(100, 500, "hello");
  fin(true, 102, 500);
  client(105, 500, " world");
  EXPECT_THAT(finish(), ElementsAre("a:hello world", "open"));
}

TEST_F(TcpReassemblyTest, NothingIsDeliveredBehindTheFin) {
  handshake();
  client(100, 500, "hello");
  fin(true, 105, 500);
  client(103, 500, "lo and more");
  EXPECT_THAT(finish(), ElementsAre("a:hello", "a.", "fin"));
  EXPECT_EQ(ledger.after_close.bytes, 9U);
}

TEST_F(TcpReassemblyTest, DataCapturedBehindItsFinComesBeforeTheEnd) {
  server(500, 104);
  fin(true, 104, 500);
  client(100, 500, "abcd");
  server(500, 105, "x");
  reassembly->finish();
  EXPECT_THAT(out, ElementsAre("b:abcd", "b.", "a:x", "fin"));
}

TEST_F(TcpReassemblyTest, WhatAResetCarriesIsNoData) {
  handshake();
  client(100, 500, "hello");
  TcpSegment reset = segment(false, 500, 105, "go away");
  reset.rst = true;
  add(reset);
  EXPECT_THAT(finish(), ElementsAre("a:hello", "rst"));
  EXPECT_EQ(ledger.after_close.bytes, 7U);
}

TEST_F(TcpReassemblyTest, SequenceNumbersMayWrap) {
  handshake(0xfffffffc, 0xffffffff);
  client(0xffffffff, 0, "lo");
  client(0xfffffffd, 0, "he");
  client(1, 0, "!");
  server(0, 2, "ok");
  EXPECT_THAT(finish(), ElementsAre("a:helo!", "b:ok", "open"));
}

TEST_F(TcpReassemblyTest, AHandshakeCapturedInTheWrongOrderIsStillTheBeginning) {
  TcpSegment answer = segment(false, 499, 100, {});
  answer.syn = true;
  add(answer);
  client(100, 500, "hello");
  TcpSegment syn = segment(true, 99, 0, {});
  syn.syn = true;
  syn.has_ack = false;
  add(syn);
  server(500, 105, "world");
  EXPECT_THAT(finish(), ElementsAre("b:hello", "a:world", "open"));
}

TEST_F(TcpReassemblyTest, DataInTheSynIsTheFirstData) {
  TcpSegment syn = segment(true, 99, 0, "early");
  syn.syn = true;
  syn.has_ack = false;
  add(syn);
  server(500, 105, "ok");
  EXPECT_THAT(finish(), ElementsAre("a:early", "b:ok", "open"));
}

TEST_F(TcpReassemblyTest, AnAnswerWaitsForTheRequestItAcknowledges) {
  handshake();
  server(500, 105, "world");
  client(100, 500, "hello");
  EXPECT_THAT(finish(), ElementsAre("a:hello", "b:world", "open"));
}

TEST_F(TcpReassemblyTest, ALostRequestIsAGapBeforeItsAnswer) {
  handshake();
  client(100, 500, "one");
  server(500, 103, "ONE");
  server(503, 106, "TWO");  // its request was not captured
  client(106, 506, "three");
  server(506, 111, "THREE");
  EXPECT_THAT(finish(),
              ElementsAre("a:one", "b:ONE", "a-3", "b:TWO", "a:three", "b:THREE", "open"));
  EXPECT_EQ(ledger.gaps.bytes, 3U);
}

TEST_F(TcpReassemblyTest, ALostAnswerIsAGapBeforeTheNextRequest) {
  handshake();
  client(100, 500, "one");
  client(103, 503, "two");  // has seen an answer that was not captured
  server(503, 106, "TWO");
  EXPECT_THAT(finish(), ElementsAre("a:one", "b-3", "a:two", "b:TWO", "open"));
}

TEST_F(TcpReassemblyTest, AGapIsDeclaredOnceItCannotFillAnyMore) {
  make({.gap_segments = 10});
  handshake();
  server(500, 100, "begin");
  client(100, 505);
  server(510, 100, "end");
  client(100, 513);  // the receiver has all of it
  for (int i = 0; i < 5; ++i)
    client(100, 513);
  EXPECT_TRUE(out.empty()) << "it may still come, out of order";
  for (int i = 0; i < 10; ++i)
    client(100, 513);
  EXPECT_THAT(out, ElementsAre("b:begin", "b-5"));
}

TEST_F(TcpReassemblyTest, WhatTheReceiverHasNotGotMayBeSentAgainMuchLater) {
  make({.gap_segments = 10});
  handshake();
  server(500, 100, "begin");
  server(510, 100, "end");
  for (int i = 0; i < 50; ++i)
    client(100, 505);  // it asks for the rest
  server(505, 100, "12345");
  EXPECT_THAT(finish(), ElementsAre("b:begin12345end", "open"));
}

TEST_F(TcpReassemblyTest, ACaptureThatBeginsInsideAConnectionStartsThere) {
  server(7000, 300, "tail");
  client(300, 7004, "next");
  server(7004, 304, "answer");
  EXPECT_THAT(finish(), ElementsAre("a:tail", "b:next", "a:answer", "open"));
}

TEST_F(TcpReassemblyTest, ABeginningThatIsShuffledIsPutInOrder) {
  server(7010, 300, "second");
  server(7000, 300, "first.....");
  client(300, 7016);
  EXPECT_THAT(finish(), ElementsAre("a:first.....second", "open"));
}

TEST_F(TcpReassemblyTest, OneSideAloneIsEnough) {
  make({.gap_segments = 10});
  for (std::uint32_t i = 0; i < 5; ++i)
    client(100 + i * 2, 500 + i * 100, "xy");
  EXPECT_THAT(finish(), ElementsAre("a:xyxyxyxyxy", "open"));
}

TEST_F(TcpReassemblyTest, APortUsedAgainAfterFinIsANewConnection) {
  handshake();
  client(100, 500, "one");
  fin(true, 103, 500);
  fin(false, 500, 104);
  client(104, 501);
  handshake(9000, 20000);
  client(9001, 20001, "two");
  EXPECT_THAT(finish(), ElementsAre("a:one", "a.", "b.", "fin", "2 a:two", "2 open"));
}

TEST_F(TcpReassemblyTest, APortUsedAgainAfterResetIsANewConnection) {
  handshake();
  client(100, 500, "one");
  rst(false, 500);
  client(103, 500, "late");
  handshake(9000, 20000);
  client(9001, 20001, "two");
  EXPECT_THAT(finish(), ElementsAre("a:one", "rst", "2 a:two", "2 open"));
  EXPECT_EQ(ledger.after_close.bytes, 4U);
}

TEST_F(TcpReassemblyTest, APortUsedAgainWithoutACloseIsANewConnection) {
  handshake();
  client(100, 500, "one");
  handshake(900'000, 20000);
  client(900'001, 20001, "two");
  EXPECT_THAT(finish(), ElementsAre("a:one", "replaced", "2 a:two", "2 open"));
}

TEST_F(TcpReassemblyTest, ASynSentAgainIsTheSameConnection) {
  handshake();
  handshake();
  client(100, 500, "one");
  handshake();
  EXPECT_THAT(finish(), ElementsAre("a:one", "open"));
}

TEST_F(TcpReassemblyTest, ARefusedConnectionIsSeen) {
  TcpSegment syn = segment(true, 99, 0, {});
  syn.syn = true;
  syn.has_ack = false;
  add(syn);
  TcpSegment refusal = segment(false, 0, 100, {});
  refusal.rst = true;
  add(refusal);
  EXPECT_THAT(finish(), ElementsAre("rst"));
}

TEST_F(TcpReassemblyTest, AResetOrDataFarOutsideTheWindowIsNotBelieved) {
  handshake();
  client(100, 500, "one");
  rst(false, 500 + 0x30000000);
  client(100 + 0x50000000, 500, "stray");
  client(103, 500, "two");
  EXPECT_THAT(finish(), ElementsAre("a:onetwo", "open"));
  EXPECT_EQ(ledger.out_of_window.bytes, 5U);
}

TEST_F(TcpReassemblyTest, ABogusAcknowledgementHoldsNothingUp) {
  handshake();
  server(500, 100 + 0x20000000, "hello");
  client(100, 505, "world");
  EXPECT_THAT(finish(), ElementsAre("b:hello", "a:world", "open"));
}

TEST_F(TcpReassemblyTest, SegmentsOfZerosAndKeepAliveProbesAreHandledByTheirNumbers) {
  handshake();
  client(100, 500, std::string_view("\0\0\0", 3));
  client(102, 500, std::string_view("\0", 1));
  client(103, 500, "end");
  EXPECT_THAT(finish(), ElementsAre(std::string("a:\0\0\0end", 8), "open"));
}

TEST_F(TcpReassemblyTest, ACutFrameIsAGapOfItsOwn) {
  handshake();
  TcpSegment cut = segment(true, 100, 500, "head");
  cut.payload_bytes = 10;
  add(cut);
  client(110, 500, "next");
  EXPECT_THAT(finish(), ElementsAre("a:head", "a-6", "a:next", "open"));
}

TEST_F(TcpReassemblyTest, WhatWaitsIsBoundedForOneConnection) {
  make({.held_bytes_per_connection = 10'000});
  handshake();
  const std::string piece(100, 'x');
  for (std::uint32_t i = 0; i < 1000; ++i) {
    client(200 + i * 100, 500, piece);
    EXPECT_LE(reassembly->held_bytes(), 10'000U);
  }
  EXPECT_EQ(ledger.given_up_waiting.count, 1U) << "from then on nothing was missing";
}

TEST_F(TcpReassemblyTest, WhatWaitsCostsMoreThanItsBytes) {
  make({.held_bytes_per_connection = 100'000});
  handshake();
  for (std::uint32_t i = 0; i < 1000; ++i)
    client(200 + i * 2, 500, "x");
  EXPECT_GE(ledger.given_up_waiting.count, 1U);
}

TEST_F(TcpReassemblyTest, WhatWaitsIsBoundedInTotal) {
  make({.held_bytes = 50'000});
  const std::string piece(1000, 'x');
  for (std::uint16_t i = 0; i < 500; ++i) {
    client_port = static_cast<std::uint16_t>(2000 + i);
    handshake();
    client(200, 500, piece);
    EXPECT_LE(reassembly->held_bytes(), 50'000U);
  }
  EXPECT_GT(ledger.given_up_waiting.count, 400U);
}

TEST_F(TcpReassemblyTest, WhatWaitedLongestIsGivenUpFirst) {
  make({.held_bytes = 50'000});
  const std::string piece(1000, 'x');
  handshake();
  client(200, 500, piece);  // a hundred bytes before it are missing, and never come
  for (std::uint16_t i = 0; i < 100; ++i) {
    client_port = static_cast<std::uint16_t>(2000 + i);
    handshake();
    client(101, 500, piece);
    client(100, 500, "y");
  }
  EXPECT_EQ(ledger.given_up_waiting.count, 0U);
  for (std::uint16_t i = 0; i < 43; ++i) {
    client_port = static_cast<std::uint16_t>(3000 + i);
    handshake();
    client(200, 500, piece);
  }
  EXPECT_THAT(out, testing::Contains(testing::EndsWith("a-100")));
  EXPECT_EQ(ledger.given_up_waiting.count, 1U);
}

TEST_F(TcpReassemblyTest, TheNumberOfConnectionsIsBounded) {
  make({.connections = 1000});
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    TcpSegment syn = segment(true, i, 0, {});
    syn.syn = true;
    syn.has_ack = false;
    syn.source.port = static_cast<std::uint16_t>(i);
    syn.source.address[0] = static_cast<std::uint8_t>(i >> 16U);
    add(syn);
    ASSERT_LE(reassembly->connections(), 1000U);
  }
  EXPECT_EQ(ledger.connections_evicted, 99'000U);
}

TEST_F(TcpReassemblyTest, ConnectionsThatCarriedNothingAreEvictedFirst) {
  make({.connections = 100});
  handshake();
  client(100, 500, "one");
  for (std::uint16_t i = 0; i < 1000; ++i) {
    client_port = static_cast<std::uint16_t>(2000 + i);
    handshake();
  }
  client_port = 1000;
  client(103, 500, "two");
  EXPECT_THAT(out, testing::Each(testing::HasSubstr("timeout")));
  reassembly->finish();
  EXPECT_THAT(out, testing::Contains(testing::EndsWith("a:onetwo")));
}

TEST_F(TcpReassemblyTest, WhatWasSilentLongestMakesRoom) {
  make({.connections = 100});
  for (std::uint16_t i = 0; i < 100; ++i) {
    client_port = static_cast<std::uint16_t>(2000 + i);
    handshake();
    client(100, 500, "old");
  }
  client_port = 2000;
  client(103, 500, "er");
  for (std::uint16_t i = 0; i < 50; ++i) {
    client_port = static_cast<std::uint16_t>(3000 + i);
    handshake();
    client(100, 500, "new");
  }
  EXPECT_EQ(ledger.connections_evicted, 50U);
  EXPECT_THAT(out, testing::Each(
                       testing::AnyOf(testing::EndsWith(" a:old"), testing::EndsWith(" timeout"))));
  finish();
  EXPECT_THAT(out, testing::Contains("a:older"));
  EXPECT_EQ(std::count_if(out.begin(), out.end(),
                          [](const std::string& line) { return line.ends_with(" a:new"); }),
            50);
  EXPECT_EQ(ledger.after_close.count, 0U);
}

TEST_F(TcpReassemblyTest, AConnectionThatWasGivenUpIsTakenUpWhereItGoesOn) {
  make({.connections = 2});
  for (client_port = 1000; client_port < 1002; ++client_port) {
    handshake();
    client(100, 500, "one");
  }
  handshake();
  EXPECT_THAT(out, ElementsAre("a:one", "timeout"));
  client_port = 1000;
  client(103, 500, "two");
  server(500, 106, "three");
  finish();
  EXPECT_THAT(out, testing::Contains("3 a:two"));
  EXPECT_THAT(out, testing::Contains("3 b:three"));
  EXPECT_EQ(ledger.after_close.count, 0U);
}

TEST_F(TcpReassemblyTest, AFloodOfSynsLeavesRoomForWhoTalks) {
  make({.connections = 100});
  auto flood = [&, number = std::uint32_t{0}](int count) mutable {
    for (int i = 0; i < count; ++i) {
      TcpSegment syn = segment(true, ++number, 0, {});
      syn.syn = true;
      syn.has_ack = false;
      syn.source.address[0] = 9;
      syn.source.port = static_cast<std::uint16_t>(number);
      add(syn);
    }
  };
  for (std::uint16_t i = 0; i < 1000; ++i) {
    client_port = static_cast<std::uint16_t>(2000 + i);
    flood(20);
    handshake();
    flood(3);
    client(100, 500, "real");
    server(500, 104, "talk");
  }
  finish();
  EXPECT_EQ(std::count_if(out.begin(), out.end(),
                          [](const std::string& line) { return line.ends_with("b:talk"); }),
            1000);
}

TEST_F(TcpReassemblyTest, ASilentConnectionIsForgotten) {
  handshake();
  client(100, 500, "one");
  now.ns += std::chrono::nanoseconds(std::chrono::hours(1)).count();
  client_port = 1001;
  for (int i = 0; i < 10; ++i)
    handshake();
  EXPECT_THAT(out, ElementsAre("a:one", "timeout"));
}

TEST_F(TcpReassemblyTest, AForgottenConnectionIsTakenUpWhereItGoesOn) {
  handshake();
  client(100, 500, "one");
  now.ns += std::chrono::nanoseconds(std::chrono::hours(1)).count();
  client_port = 1001;
  for (int i = 0; i < 10; ++i)
    handshake();
  client_port = 1000;
  client(103, 500, "two");
  finish();
  EXPECT_THAT(out, testing::Contains(testing::EndsWith(" a:two")));
  EXPECT_EQ(ledger.after_close.count, 0U);
}

TEST_F(TcpReassemblyTest, OneWrongTimeStampForgetsNothing) {
  handshake();
  client(100, 500, "one");
  const UnixTime before = now;
  now.ns += std::chrono::nanoseconds(std::chrono::hours(100'000)).count();
  client_port = 1001;
  handshake();
  now = before;
  client_port = 1000;
  client(103, 500, "two");
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(ledger.connections_forgotten, 0U);
}

TEST_F(TcpReassemblyTest, TimeThatJumpsBackForgetsNothing) {
  now.ns = std::chrono::nanoseconds(std::chrono::hours(100'000)).count();
  handshake();
  now.ns = 0;
  client_port = 1001;
  handshake();
  client(100, 500, "one");
  server(500, 103, "two");
  EXPECT_THAT(finish(), ElementsAre("a:one", "b:two", "open", "2 open"));
}

// Any order and any repetition of a conversation's segments gives the same two streams.
TEST_F(TcpReassemblyTest, AnyShuffleGivesTheSameStreams) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> parts;
    for (int i = 0; i < 12; ++i)
      parts.push_back(std::string(1 + random.below(9), static_cast<char>('a' + i)));
    std::vector<TcpSegment> segments;
    std::string expected[2];
    std::uint32_t next[2] = {100, 500};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool from_client = random.chance(0.5);
      const std::size_t own = from_client ? 0 : 1;
      segments.push_back(segment(from_client, next[own], next[1 - own], parts[i]));
      next[own] += static_cast<std::uint32_t>(parts[i].size());
      expected[own] += parts[i];
    }
    for (std::size_t i = segments.size(); i > 1; --i)
      std::swap(segments[i - 1], segments[random.below(i)]);
    for (int i = 0; i < 4; ++i)
      segments.push_back(segments[random.below(segments.size())]);
    out.clear();
    ledger = {};
    make();
    handshake();
    for (const TcpSegment& one : segments)
      add(one);
    std::string seen[2];
    for (const std::string& line : finish()) {
      if (line.starts_with("a:")) seen[0] += line.substr(2);
      if (line.starts_with("b:")) seen[1] += line.substr(2);
      EXPECT_EQ(line.find('-'), std::string::npos) << "round " << round << ": " << line;
    }
    EXPECT_EQ(seen[0], expected[0]) << "round " << round;
    EXPECT_EQ(seen[1], expected[1]) << "round " << round;
  }
}

}  // namespace
}  // namespace gatedrill::replay::capture
