// What a capture records of how a connection was opened, used and closed.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured.hpp"

namespace gatedrill::replay::capture {
namespace {

using testing::SizeIs;
using tests::Captured;
using tests::Conversation;
using tests::Frame;
using tests::SegmentSpec;

const std::string kRequest = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// A wire on which each segment is written by hand. Places count from 0 on both sides.
class Wire {
 public:
  static constexpr std::uint32_t kClientIsn = 99;
  static constexpr std::uint32_t kServerIsn = 499;

  struct Segment {
    bool client = true;
    std::uint32_t place = 0;
    std::uint32_t acked = 0;
    std::string payload{};
    bool fin = false;
    bool rst = false;
    bool has_ack = true;
    unsigned window = 0xffff;
  };

  Wire& at(std::int64_t ms) {
    now_ = UnixTime{ms * 1'000'000};
    return *this;
  }

  Wire& syn() {
    push({.seq = kClientIsn, .syn = true, .has_ack = false}, true);
    return *this;
  }

  Wire& syn_ack() {
    push({.seq = kServerIsn, .ack = kClientIsn + 1, .syn = true}, false);
    return *this;
  }

  Wire& refuse() {
    push({.seq = 0, .ack = kClientIsn + 1, .rst = true}, false);
    return *this;
  }

  Wire& open() { return syn().syn_ack().send({}); }

  Wire& send(const Segment& segment) {
    const std::uint32_t own = segment.client ? kClientIsn : kServerIsn;
    const std::uint32_t peer = segment.client ? kServerIsn : kClientIsn;
    push({.seq = own + 1 + segment.place,
          .ack = peer + 1 + segment.acked,
          .fin = segment.fin,
          .rst = segment.rst,
          .has_ack = segment.has_ack,
          .window = segment.window,
          .payload = segment.payload},
         segment.client);
    return *this;
  }

  void capture(Captured& captured) const { tests::capture_into(captured, frames_); }

 private:
  void push(SegmentSpec spec, bool client) {
    if (!client) {
      std::swap(spec.source_ip, spec.destination_ip);
      std::swap(spec.source_port, spec.destination_port);
    }
    frames_.push_back({now_, tests::ethernet(tests::ipv4_packet(spec))});
  }

  UnixTime now_{};
  std::vector<Frame> frames_;
};

constexpr std::uint32_t kRequestBytes = 27;
constexpr std::uint32_t kAnswerBytes = 40;

std::int64_t ms(UnixTime at) {
  return at.ns / 1'000'000;
}

class TcpFactsTest : public testing::Test {
 protected:
  const RecordedExchange& exchange(const Wire& made) {
    EXPECT_EQ(kRequest.size(), kRequestBytes);
    EXPECT_EQ(kAnswer.size(), kAnswerBytes);
    made.capture(captured);
    EXPECT_FALSE(captured.exchanges.empty());
    return captured.exchanges.back();
  }

  const RecordedConnection& connection(const Wire& made) {
    made.capture(captured);
    EXPECT_THAT(captured.connections, SizeIs(1));
    return captured.connections.back();
  }

  Wire wire;
  Captured captured;
};

TEST_F(TcpFactsTest, AnExchangeHasTheTimesOfItsFirstAndLastBytes) {
  wire.at(0).open();
  wire.at(10).send({.payload = kRequest.substr(0, 10)});
  wire.at(20).send({.place = 10, .payload = kRequest.substr(10)});
  wire.at(50).send({.client = false, .acked = kRequestBytes, .payload = kAnswer.substr(0, 39)});
  wire.at(70).send(
      {.client = false, .place = 39, .acked = kRequestBytes, .payload = kAnswer.substr(39)});
  const RecordedExchange& one = exchange(wire);
  EXPECT_EQ(ms(one.at), 10);
  EXPECT_EQ(ms(*one.request_end), 20);
  EXPECT_EQ(ms(*one.response_begin), 50);
  EXPECT_EQ(ms(*one.response_end), 70);
}

TEST_F(TcpFactsTest, TheSecondRequestOfAConnectionKnowsItsPlaceAndTheSilenceBeforeIt) {
  wire.at(0).open();
  wire.at(7).send({.payload = kRequest});
  wire.at(20).send({.client = false, .acked = kRequestBytes, .payload = kAnswer});
  wire.at(5020).send({.place = kRequestBytes, .acked = kAnswerBytes, .payload = kRequest});
  exchange(wire);
  ASSERT_THAT(captured.exchanges, SizeIs(2));
  EXPECT_EQ(captured.exchanges[0].ordinal, 1U);
  EXPECT_EQ(captured.exchanges[0].idle_before, std::chrono::milliseconds(7));
  EXPECT_EQ(captured.exchanges[1].ordinal, 2U);
  EXPECT_EQ(captured.exchanges[1].idle_before, std::chrono::milliseconds(5000));
  EXPECT_EQ(captured.exchanges[1].transport->request_begin, kRequestBytes);
  EXPECT_EQ(captured.exchanges[1].transport->request_end, 2 * kRequestBytes);
}

TEST_F(TcpFactsTest, ARequestPipelinedInTheSameSegmentWasPrecededByNoSilence) {
  wire.at(0).open();
  wire.at(7).send({.payload = kRequest + kRequest});
  exchange(wire);
  ASSERT_THAT(captured.exchanges, SizeIs(2));
  EXPECT_EQ(captured.exchanges[1].ordinal, 2U);
  EXPECT_EQ(captured.exchanges[1].idle_before, Duration{0});
}

TEST_F(TcpFactsTest, TheSilenceBeforeACaptureIsNotKnown) {
  wire.at(7).send({.payload = kRequest});
  EXPECT_EQ(exchange(wire).idle_before, std::nullopt);
}

TEST_F(TcpFactsTest, AnEndThatCrossedTheRequestHasNotAcknowledgedIt) {
  wire.at(0).open();
  wire.at(10).send({.payload = kRequest});
  wire.at(10).send({.client = false, .fin = true});
  wire.at(11).send({.client = false, .place = 1, .rst = true, .has_ack = false});
  const RecordedExchange& one = exchange(wire);
  EXPECT_FALSE(one.transport->acknowledged);
  EXPECT_FALSE(one.transport->after_fin);
  const RecordedSide& server = captured.connections.at(0).server_side;
  EXPECT_EQ(server.fin_acked, 0);
  EXPECT_EQ(ms(*server.fin), 10);
  EXPECT_EQ(ms(*server.rst), 11);
  EXPECT_EQ(server.rst_acked, std::nullopt);
  EXPECT_EQ(captured.connections.at(0).how, "fin") << "what came first";
}

TEST_F(TcpFactsTest, ARequestOnAConnectionWhoseEndHadArrivedIsMarked) {
  wire.at(0).open();
  wire.at(10).send({.client = false, .fin = true});
  wire.at(11).send({.acked = 1});
  wire.at(500).send({.acked = 1, .payload = kRequest});
  const RecordedExchange& one = exchange(wire);
  EXPECT_TRUE(one.transport->after_fin);
  EXPECT_FALSE(one.transport->acknowledged);
}

TEST_F(TcpFactsTest, AnEndAfterTheRequestWasReceivedAcknowledgesIt) {
  wire.at(0).open();
  wire.at(10).send({.payload = kRequest});
  wire.at(20).send({.client = false, .acked = kRequestBytes, .rst = true});
  const RecordedExchange& one = exchange(wire);
  EXPECT_TRUE(one.transport->acknowledged);
  const RecordedConnection& connection = captured.connections.at(0);
  EXPECT_EQ(connection.server_side.rst_acked, kRequestBytes);
  EXPECT_EQ(connection.closed_by, "server");
}

TEST_F(TcpFactsTest, AConnectionThatWasRefusedIsRecorded) {
  const RecordedConnection& one = connection(wire.at(0).syn().at(1).refuse());
  EXPECT_EQ(one.connect, "refused");
  EXPECT_EQ(one.how, "rst");
  EXPECT_EQ(one.closed_by, "server");
  EXPECT_THAT(captured.exchanges, SizeIs(0));
}

TEST_F(TcpFactsTest, AConnectionThatNobodyAnsweredIsRecordedWithItsAttempts) {
  const RecordedConnection& one = connection(wire.at(0).syn().at(1000).syn().at(3000).syn());
  EXPECT_EQ(one.connect, "unanswered");
  EXPECT_EQ(one.syns, 3U);
  EXPECT_EQ(one.how, "open");
}

TEST_F(TcpFactsTest, AnEstablishedConnectionHasTheTimesOfItsHandshake) {
  wire.at(0).syn().at(3).syn_ack().at(4).send({});
  const RecordedConnection& one = connection(wire);
  EXPECT_EQ(one.connect, "established");
  EXPECT_EQ(ms(*one.opened), 0);
  EXPECT_EQ(ms(*one.answered), 3);
  EXPECT_EQ(ms(*one.established), 4);
}

TEST_F(TcpFactsTest, HowAConnectionWasOpenedBeforeTheCaptureIsNotKnown) {
  EXPECT_EQ(connection(wire.at(7).send({.payload = kRequest})).connect, "");
}

TEST_F(TcpFactsTest, DataThatWasSentAgainCountsAsRetransmission) {
  wire.at(0).open();
  wire.at(10).send({.payload = kRequest});
  wire.at(210).send({.payload = kRequest});
  wire.at(610).send({.payload = kRequest});
  wire.at(620).send({.client = false, .acked = kRequestBytes, .payload = kAnswer});
  EXPECT_EQ(exchange(wire).transport->retransmissions, 2U);
  EXPECT_EQ(captured.connections.at(0).client_side.retransmissions, 2U);
  EXPECT_EQ(captured.connections.at(0).server_side.retransmissions, 0U);
}

TEST_F(TcpFactsTest, APacketCapturedTwiceIsNoRetransmission) {
  wire.at(0).open();
  wire.at(10).send({.payload = kRequest}).send({.payload = kRequest});
  exchange(wire);
  EXPECT_EQ(captured.connections.at(0).client_side.retransmissions, 0U);
}

TEST_F(TcpFactsTest, SegmentsOutOfOrderAreNoRetransmission) {
  wire.at(0).open();
  wire.at(10).send({.place = 10, .payload = kRequest.substr(10)});
  wire.at(20).send({.payload = kRequest.substr(0, 10)});
  exchange(wire);
  EXPECT_EQ(captured.connections.at(0).client_side.retransmissions, 0U);
  EXPECT_EQ(captured.connections.at(0).client_side.sent, kRequestBytes);
}

TEST_F(TcpFactsTest, AReceiverThatLetsNothingMoreInIsCountedOnceForEachTime) {
  wire.at(0).open();
  wire.at(10).send({.payload = kRequest});
  wire.at(11).send({.client = false, .acked = kRequestBytes, .window = 0});
  wire.at(12).send({.client = false, .acked = kRequestBytes, .window = 0});
  wire.at(13).send({.client = false, .acked = kRequestBytes});
  wire.at(14).send({.client = false, .acked = kRequestBytes, .window = 0});
  exchange(wire);
  EXPECT_EQ(captured.connections.at(0).server_side.zero_windows, 2U);
  EXPECT_EQ(captured.connections.at(0).client_side.zero_windows, 0U);
}

TEST_F(TcpFactsTest, ARequestCutByItsClientEndsWhereItsBytesEnd) {
  wire.at(0).open();
  wire.at(10).send({.payload = kRequest.substr(0, 20)});
  wire.at(11).send({.client = false, .acked = 20});
  wire.at(12).send({.place = 20, .rst = true});
  wire.capture(captured);
  EXPECT_EQ(captured.connections.at(0).client_side.sent, 20);
  EXPECT_EQ(captured.connections.at(0).server_side.rst, std::nullopt);
  EXPECT_EQ(ms(*captured.connections.at(0).client_side.rst), 12);
}

TEST_F(TcpFactsTest, AnAnswerThatWasCutEndsWithItsLastByte) {
  wire.at(0).open();
  wire.at(10).send({.payload = kRequest});
  wire.at(30).send({.client = false, .acked = kRequestBytes, .payload = kAnswer.substr(0, 39)});
  wire.at(90).send({.client = false, .place = 39, .acked = kRequestBytes, .rst = true});
  const RecordedExchange& one = exchange(wire);
  EXPECT_FALSE(one.response->complete);
  EXPECT_EQ(ms(*one.response_end), 30);
}

}  // namespace
}  // namespace gatedrill::replay::capture
