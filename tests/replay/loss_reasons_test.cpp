// Each reason for which a message is not whole, or bytes belong to none: it is said in `losses`, it
// is counted in the ledger, and the sums close. (Those of TLS are tested beside its reader.)
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured.hpp"
#include "tests/support/pcap_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

using testing::IsEmpty;
using tests::Captured;
using tests::Conversation;
using tests::Frame;

const std::string kGet = "GET /a HTTP/1.1\r\nHost: shop\r\n\r\n";

std::string ok(std::size_t promised, const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(promised) + "\r\n\r\n" + body;
}

struct Case {
  LossReason reason;
  // Whether it leaves a message in the recording that is not whole.
  bool partial = false;
  std::function<std::vector<Frame>()> frames;
  CaptureOptions options{};
};

Conversation begun() {
  Conversation talk;
  talk.handshake();
  return talk;
}

// The frame that carries these bytes.
std::vector<Frame>::iterator frame_with(std::vector<Frame>& frames, const std::string& bytes) {
  return std::find_if(frames.begin(), frames.end(), [&](const Frame& frame) {
    return frame.bytes.find(bytes) != std::string::npos;
  });
}

std::vector<Frame> with_a_lost_segment() {
  Conversation talk = begun();
  talk.client(kGet);
  talk.server(ok(30, "0123456789"));
  talk.server("lost-bytes");
  talk.server("9876543210");
  talk.client(kGet);
  talk.server(ok(1, "x"));
  talk.close();
  std::vector<Frame> frames = talk.frames();
  frames.erase(frame_with(frames, "lost-bytes"));
  return frames;
}

std::vector<Frame> with_a_cut_frame() {
  Conversation talk = begun();
  talk.client(kGet);
  talk.server(ok(30, "0123456789cut-off-here-0123456"));
  talk.close();
  std::vector<Frame> frames = talk.frames();
  Frame& cut = *frame_with(frames, "cut-off-here");
  cut.wire_bytes = cut.bytes.size();
  cut.bytes.resize(cut.bytes.size() - 10);
  return frames;
}

std::vector<Frame> begun_inside_an_answer() {
  Conversation talk = begun();
  talk.client(kGet);
  talk.server(ok(30, "0123456789"));
  talk.server(R"({"first-seen": 1}..)");
  talk.client(kGet);
  talk.server(ok(1, "x"));
  talk.close();
  std::vector<Frame> frames = talk.frames();
  frames.erase(frames.begin(), frame_with(frames, "first-seen"));
  return frames;
}

std::vector<Frame> broken_off(const std::function<void(Conversation&)>& end) {
  Conversation talk = begun();
  talk.client(kGet);
  talk.server(ok(30, "0123456789"));
  end(talk);
  return talk.frames();
}

std::vector<Frame> silent_for_long() {
  Conversation talk = begun();
  talk.client(kGet);
  talk.server(ok(30, "0123456789"));
  std::vector<Frame> frames = talk.frames();
  // One stamp may be wrong: the silence is believed when other traffic confirms it.
  Conversation later({.client_port = 40001});
  later.wait(std::chrono::hours(1));
  later.handshake();
  for (int i = 0; i < 100; ++i)
    later.client("GET / HTTP/1.1\r\nHost: later\r\n\r\n");
  frames.insert(frames.end(), later.frames().begin(), later.frames().end());
  return frames;
}

// Two more connections.
std::vector<Frame> others() {
  std::vector<Frame> frames;
  for (int i = 1; i <= 2; ++i) {
    Conversation talk({.client_port = static_cast<std::uint16_t>(40000 + i)});
    talk.handshake();
    talk.client("GET /other HTTP/1.1\r\nHost: shop\r\n\r\n");
    frames.insert(frames.end(), talk.frames().begin(), talk.frames().end());
  }
  return frames;
}

std::vector<Frame> given_up_for_others() {
  std::vector<Frame> frames = broken_off([](Conversation&) {});
  const std::vector<Frame> more = others();
  frames.insert(frames.end(), more.begin(), more.end());
  return frames;
}

std::vector<Frame> answered(const std::string& answer) {
  Conversation talk = begun();
  talk.client(kGet);
  talk.server(answer);
  talk.close();
  return talk.frames();
}

std::vector<Frame> many_requests_without_answers() {
  Conversation talk = begun();
  for (int i = 0; i < 5; ++i)
    talk.client(kGet);
  talk.close();
  return talk.frames();
}

std::vector<Frame> answers_lost_in_a_pipeline() {
  Conversation talk = begun();
  talk.client(kGet + kGet + kGet + kGet);
  for (int i = 0; i < 2; ++i)
    talk.server("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nlost-body");
  talk.server(ok(1, "b"));
  talk.server(ok(1, "c"));
  talk.close();
  std::vector<Frame> frames = talk.frames();
  frames.erase(frame_with(frames, "lost-body"));
  frames.erase(frame_with(frames, "lost-body"));
  return frames;
}

std::vector<Case> cases() {
  CaptureOptions small_bodies;
  small_bodies.http.body_bytes = 10;
  CaptureOptions small_memory;
  small_memory.http.total_bytes = 5000;
  CaptureOptions few_outstanding;
  few_outstanding.http.outstanding = 2;
  CaptureOptions two_connections;
  two_connections.reassembly.connections = 2;
  return {
      {LossReason::gap, true, with_a_lost_segment},
      {LossReason::cut_frame, true, with_a_cut_frame},
      {LossReason::began_mid_message, false, begun_inside_an_answer},
      {LossReason::capture_ended, true, [] { return broken_off([](Conversation&) {}); }},
      {LossReason::closed_early, true,
       [] { return broken_off([](Conversation& talk) { talk.close(); }); }},
      {LossReason::reset, true,
       [] { return broken_off([](Conversation& talk) { talk.server_reset(); }); }},
      {LossReason::forgotten, true, silent_for_long},
      {LossReason::malformed_framing, true,
       [] {
         return answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n");
       }},
      {LossReason::not_a_message, false, [] { return answered(ok(1, "x") + "what is this?\r\n"); }},
      {LossReason::head_too_large, false,
       [] {
         return answered("HTTP/1.1 200 OK\r\nX: " + std::string(2'000'000, 'x') + "\r\n\r\n");
       }},
      {LossReason::body_limit, true, [] { return answered(ok(30, std::string(30, 'x'))); },
       small_bodies},
      {LossReason::memory_limit, true, [] { return answered(ok(9000, std::string(9000, 'x'))); },
       small_memory},
      {LossReason::unanswered, false, many_requests_without_answers, few_outstanding},
      {LossReason::answer_unknown, false, answers_lost_in_a_pipeline},
      {LossReason::evicted, true, given_up_for_others, two_connections},
  };
}

void PrintTo(const Case& one, std::ostream* out) {
  *out << to_string(one.reason);
}

class LossReasons : public testing::TestWithParam<Case> {};

TEST_P(LossReasons, IsSaidAndCountedAndTheSumsClose) {
  const Case& one = GetParam();
  Captured all;
  tests::capture_into(all, one.frames(), one.options);
  EXPECT_THAT(all.ledger.open_sums(), IsEmpty());
  const Tally& tally = all.ledger.losses[static_cast<std::size_t>(one.reason)];
  EXPECT_GE(tally.count, 1U);
  const auto said =
      std::find_if(all.losses.begin(), all.losses.end(),
                   [&](const RecordedLoss& loss) { return loss.reason == to_string(one.reason); });
  ASSERT_NE(said, all.losses.end());
  EXPECT_NE(said->connection, 0);
  const auto is_partial = [](const RecordedExchange& exchange) {
    return (exchange.request && !exchange.request->complete) ||
           (exchange.response && !exchange.response->complete);
  };
  const auto partial = std::find_if(all.exchanges.begin(), all.exchanges.end(), is_partial);
  EXPECT_EQ(partial != all.exchanges.end(), one.partial);
  if (partial != all.exchanges.end()) {
    EXPECT_EQ(said->connection, partial->connection);
    EXPECT_EQ(said->direction, "response");
  }
  const auto lines = all.ledger.lines();
  EXPECT_THAT(lines, testing::Contains(testing::Field(
                         &LedgerLine::what, "lost: " + std::string(to_string(one.reason)))));
}

INSTANTIATE_TEST_SUITE_P(EveryOne,
                         LossReasons,
                         testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& one) {
                           return std::string(to_string(one.param.reason));
                         });

TEST(LossReasons, EveryReasonThatIsNotOfTlsIsInTheTable) {
  const auto all = cases();
  for (int i = 0; i <= static_cast<int>(LossReason::answer_unknown); ++i) {
    const auto reason = static_cast<LossReason>(i);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Case& one) {
      return one.reason == reason;
    })) << to_string(reason);
  }
}

TEST(LossReasons, AnAnswerToComeOnAConnectionThatIsGivenUpIsLost) {
  CaptureOptions two_connections;
  two_connections.reassembly.connections = 2;
  Conversation talk = begun();
  talk.client(kGet);
  const std::size_t before = talk.frames().size();
  talk.wait(std::chrono::seconds(1));
  talk.server(ok(1, "x"));
  talk.client("GET /b HTTP/1.1\r\nHost: shop\r\n\r\n");
  talk.server(ok(1, "y"));
  talk.close();
  std::vector<Frame> frames = talk.frames();
  const std::vector<Frame> between = others();
  frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(before), between.begin(),
                between.end());
  Captured all;
  tests::run(frames, all, two_connections);
  EXPECT_THAT(all.text(), testing::StartsWith("GET /a > \n"));
  EXPECT_THAT(all.text(), testing::HasSubstr("\n > 200 x\nGET /b > 200 y\n"));
  ASSERT_EQ(all.losses.size(), 2U);  // one of the others goes, too
  EXPECT_EQ(all.losses[0].connection, all.exchanges[0].connection);
  EXPECT_EQ(all.losses[0].reason, "evicted");
  EXPECT_EQ(all.losses[0].direction, "response");
  EXPECT_EQ(all.ledger.connections_evicted, 2U);
  EXPECT_EQ(all.ledger.after_close.count, 0U);
}

// No sum of them is more than SQL can tell.
TEST(LossReasons, AMessageThatClaimsAnyLengthMissesATebibyteAtMost) {
  Captured all;
  tests::run(answered("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc"), all);
  ASSERT_EQ(all.losses.size(), 1U);
  EXPECT_EQ(all.losses[0].bytes, std::uint64_t{1} << 40U);
  EXPECT_EQ(all.ledger.lost(LossReason::closed_early).bytes, std::uint64_t{1} << 40U);
}

TEST(LossReasons, SumsStayAtTheLargestNumber) {
  Tally tally;
  tally.add(9'223'372'036'854'775'800U);
  tally.add(7);
  EXPECT_EQ(tally.bytes, 9'223'372'036'854'775'807U);
  tally.add(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(tally.bytes, 9'223'372'036'854'775'807U);
  EXPECT_EQ(tally.count, 3U);
}

TEST(LossReasons, ASumThatDoesNotCloseIsNamed) {
  Captured all;
  tests::capture_into(all, with_a_lost_segment());
  const auto broken = [&](const std::function<void(Ledger&)>& harm) {
    Ledger ledger = all.ledger;
    harm(ledger);
    return ledger.open_sums().size();
  };
  EXPECT_EQ(broken([](Ledger&) {}), 0U);
  EXPECT_GE(broken([](Ledger& ledger) { ++ledger.frames.count; }), 1U);
  EXPECT_GE(broken([](Ledger& ledger) { ++ledger.stream.bytes; }), 1U);
  EXPECT_GE(broken([](Ledger& ledger) { ++ledger.http.bytes; }), 1U);
  EXPECT_GE(broken([](Ledger& ledger) { ++ledger.requests.paired; }), 1U);
  EXPECT_GE(broken([](Ledger& ledger) { ++ledger.responses.partial.count; }), 1U);
  EXPECT_GE(broken([](Ledger& ledger) { ++ledger.partial_without_reason; }), 1U);
}

TEST(LossReasons, APartialMessageWithoutOneIsNoticed) {
  Captured all;
  Ledger ledger;
  ReasonedSink sink(all, ledger);
  RecordedExchange partial;
  partial.connection = 7;
  partial.response = RecordedResponse{.status = 200, .complete = false};
  sink.on_loss({.connection = 8, .direction = "response", .reason = "gap"});
  sink.on_loss({.connection = 7, .direction = "request", .reason = "gap"});
  sink.on_exchange(partial);
  EXPECT_EQ(ledger.partial_without_reason, 1U);
  sink.on_loss({.connection = 7, .direction = "response", .reason = "gap"});
  sink.on_exchange(partial);
  EXPECT_EQ(ledger.partial_without_reason, 1U);
  EXPECT_EQ(all.exchanges.size(), 2U);
  EXPECT_EQ(all.losses.size(), 3U);
}

}  // namespace
}  // namespace gatedrill::replay::capture
