// Kinds of HTTP/1 messages that readers of captures are known to lose (replay.md 1.3, rows L1 to
// L26): each is in the recording, as it was sent.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/content_coding.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/pcap_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

using testing::ElementsAre;
using tests::Captured;
using tests::Conversation;
using tests::Frame;
using tests::get;
using tests::ok;
using tests::run;
using tests::text_of;

// One client's and one server's text, each in one send.
std::string text_of(const std::string& request, const std::string& answer, bool fin = false) {
  Conversation talk;
  talk.handshake();
  talk.client(request);
  talk.server(answer);
  if (fin) talk.server_fin();
  return text_of(talk.frames());
}

// A frame of each, over and over; they have as many.
std::vector<Frame> in_turn(const std::vector<Conversation>& talks) {
  std::vector<Frame> mixed;
  for (std::size_t i = 0; i < talks.front().frames().size(); ++i) {
    for (const Conversation& talk : talks)
      mixed.push_back(talk.frames()[i]);
  }
  return mixed;
}

TEST(HttpMessages, PipelinedRequestsInOneAndInSeveralSegmentsAreAllFound) {  // L1, L2
  for (const bool one_segment : {true, false}) {
    Conversation talk({.acknowledge = false});
    talk.handshake();
    if (one_segment) {
      talk.client(get("/1") + get("/2") + get("/3"));
    } else {
      for (const std::string name : {"/1", "/2", "/3"})
        talk.client(get(name));
    }
    talk.server(ok("one") + ok("two"));
    talk.server(ok("three"));
    Captured all;
    run(talk.frames(), all);
    EXPECT_EQ(all.text(), "GET /1 > 200 one\nGET /2 > 200 two\nGET /3 > 200 three\n");
    EXPECT_EQ(all.exchanges[0].ordinal, 1U);
    EXPECT_EQ(all.exchanges[2].ordinal, 3U);
  }
}

TEST(HttpMessages, AnEarlyAnswerKeepsItsRequestInOnePiece) {  // L3
  Conversation talk;
  talk.handshake();
  talk.client("POST /big HTTP/1.1\r\nContent-Length: 6\r\n\r\n123");
  talk.server("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
  talk.client("456");
  EXPECT_EQ(text_of(talk.frames()), "POST /big 123456 > 401\n");
}

// The same ports and numbers; the addresses of the first two, and those of the last two with a
// carry that falls into the port, have equal sums.
TEST(HttpMessages, FlowsWhoseAddressesAndPortsHaveEqualSumsStayApart) {  // L4
  std::vector<Conversation> talks = {
      Conversation({.client_ip = 0x0a000001, .server_ip = 0x0a000004, .server_port = 80}),
      Conversation({.client_ip = 0x0a000002, .server_ip = 0x0a000003, .server_port = 80}),
      Conversation({.client_ip = 0xf0000001, .server_ip = 0xf0000004, .server_port = 80}),
      Conversation({.client_ip = 0x70000001, .server_ip = 0x70000004, .server_port = 81})};
  for (std::size_t i = 0; i < talks.size(); ++i) {
    talks[i].handshake();
    talks[i].client(get("/" + std::to_string(i)));
    talks[i].server(ok("body " + std::to_string(i)));
  }
  Captured all;
  run(in_turn(talks), all);
  EXPECT_EQ(all.text(),
            "GET /0 > 200 body 0\nGET /1 > 200 body 1\nGET /2 > 200 body 2\nGET /3 > 200 body 3\n");
  EXPECT_EQ(all.connections.size(), talks.size());
}

TEST(HttpMessages, ARetransmissionBehindTheEndIsCountedAndMakesNoMessage) {  // L5, L6
  Conversation talk;
  talk.handshake();
  talk.client(get("/a"));
  talk.server(ok("A"));
  std::vector<Frame> frames = talk.frames();
  frames.push_back(frames[3]);
  frames.push_back(frames[5]);
  Captured all;
  run(frames, all);
  EXPECT_EQ(all.text(), "GET /a > 200 A\n");
  EXPECT_EQ(all.ledger.duplicate.bytes, get("/a").size() + ok("A").size());
}

TEST(HttpMessages, ABodyUntilCloseIsWholeInOneOrTwoSegments) {  // L8, L13
  const std::string head = "HTTP/1.0 200 OK\r\n\r\n";
  EXPECT_EQ(text_of(get("/"), head + "until close", true), "GET / > 200 until close\n");
  Conversation talk;
  talk.handshake();
  talk.client(get("/"));
  talk.server(head);
  talk.server("until close");
  talk.server_fin();
  EXPECT_EQ(text_of(talk.frames()), "GET / > 200 until close\n");
}

TEST(HttpMessages, BodiesOfZerosAreBodies) {  // L10
  const std::string zeros(5000, '\0');
  Conversation talk({.segment_bytes = 500});
  talk.handshake();
  talk.client("PUT /z HTTP/1.1\r\nContent-Length: 5000\r\n\r\n" + zeros);
  talk.server(ok(zeros));
  Captured all;
  run(talk.frames(), all);
  ASSERT_EQ(all.exchanges.size(), 1U);
  EXPECT_EQ(all.exchanges[0].request->body, zeros);
  EXPECT_EQ(all.exchanges[0].response->body, zeros);
}

TEST(HttpMessages, AnyInterimAnswerLetsTheBodyThrough) {  // L12
  for (const std::string interim :
       {"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Please do go on\r\nX: y\r\n\r\n",
        "HTTP/1.1 100 \r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"}) {
    for (const std::string expect : {"100-continue", "100-CONTINUE"}) {
      Conversation talk;
      talk.handshake();
      talk.client("PUT /f HTTP/1.1\r\nExpect: " + expect + "\r\nContent-Length: 4\r\n\r\n");
      talk.server(interim);
      talk.client("data");
      talk.server("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
      Captured all;
      run(talk.frames(), all);
      EXPECT_EQ(all.text(), "PUT /f data > 201\n");
      EXPECT_EQ(value_of(all.exchanges[0].request->fields, "Expect"), expect);
      EXPECT_EQ(all.exchanges[0].informational[0], 100);
    }
  }
}

TEST(HttpMessages, ARefusedExpectationHasItsAnswerAndNoBody) {  // L12
  Conversation talk;
  talk.handshake();
  talk.client("PUT /f HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  talk.server("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
  talk.close();
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "PUT /f... > 417\n");
}

TEST(HttpMessages, AnswersWithoutBodyAreWholeWhateverTheirLengthSays) {  // L13
  EXPECT_EQ(text_of("HEAD / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 27036\r\n\r\n"),
            "HEAD / > 200\n");
  EXPECT_EQ(text_of(get("/"), "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
            "GET / > 304\n");
  EXPECT_EQ(text_of(get("/"), "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "GET / > 204\n");
}

TEST(HttpMessages, ChunkDataThatLooksLikeTheEndIsData) {  // L15
  EXPECT_EQ(text_of(get("/"),
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "8\r\na\r\n0\r\n\r\n\r\n5\r\n0\r\n\r\n\r\n0\r\n\r\n"),
            "GET / > 200 a\r\n0\r\n\r\n0\r\n\r\n\n");
}

TEST(HttpMessages, TrailersAreKeptApartWhetherAnnouncedOrNot) {  // L15
  const std::string chunks = "\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\nX-Note: a\r\n b\r\n\r\n";
  for (const std::string announced : {"", "Trailer: X-Sum\r\n"}) {
    Conversation talk;
    talk.handshake();
    talk.client("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + announced + chunks);
    talk.server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + announced + chunks);
    Captured all;
    run(talk.frames(), all);
    EXPECT_EQ(all.text(), "POST / ok > 200 ok\n");
    const RecordedExchange& exchange = all.exchanges.at(0);
    ASSERT_FALSE(exchange.request->trailers.empty());
    EXPECT_EQ(exchange.request->trailers[0], (RecordedField{"X-Sum", "7"}));
    EXPECT_EQ(exchange.response->trailers, exchange.request->trailers);
    EXPECT_EQ(value_of(exchange.response->fields, "X-Sum"), "");
  }
}

TEST(HttpMessages, EveryTokenIsAMethodAndEveryNumberAStatus) {  // L16, L17
  for (const std::string method : {"PROPFIND", "REPORT", "PURGE", "M-SEARCH", "foo"}) {
    for (const std::string status : {"299", "499", "520", "599", "600", "999"}) {
      EXPECT_EQ(text_of(method + " / HTTP/1.1\r\n\r\n",
                        "HTTP/1.1 " + status + " Odd\r\nContent-Length: 0\r\n\r\n"),
                method + " / > " + status + "\n");
    }
  }
}

TEST(HttpMessages, LinesThatEndInLfAloneAreReadAndNamed) {  // L18
  Conversation talk;
  talk.handshake();
  talk.client("GET / HTTP/1.1\nHost: shop\n\n");
  talk.server("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nok\n0\n\n");
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "GET / > 200 ok\n");
  EXPECT_EQ(all.exchanges[0].request->defects, "bare_lf");
  EXPECT_EQ(all.exchanges[0].response->defects, "bare_lf");
}

TEST(HttpMessages, AFoldedFieldIsOneValue) {  // L19
  Conversation talk;
  talk.handshake();
  talk.client(get("/", "X-Long: one\r\n two\r\n\tthree\r\nX-Next:\r\n four\r\n"));
  talk.server(ok("ok"));
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(value_of(all.exchanges.at(0).request->fields, "X-Long"), "one two three");
  EXPECT_EQ(value_of(all.exchanges[0].request->fields, "X-Next"), "four");
  EXPECT_EQ(all.exchanges[0].request->defects, "obs_fold");
}

TEST(HttpMessages, ContentCodingsAreKeptAsSentAndDecodeOnDemand) {
  const std::string plain(3000, 'p');
  for (const std::string coding : {"gzip", "x-gzip", "deflate", "br", "zstd"}) {
    SCOPED_TRACE(coding);
    const auto coded = encode_content(plain, coding);
    ASSERT_TRUE(coded);
    Conversation talk({.segment_bytes = 11});
    talk.handshake();
    talk.client(get("/"));
    talk.server(ok(*coded, "Content-Encoding: " + coding + "\r\n"));
    Captured all;
    run(talk.frames(), all);
    ASSERT_EQ(all.exchanges.size(), 1U);
    EXPECT_EQ(all.exchanges[0].response->body, *coded);
    EXPECT_EQ(decode_content(all.exchanges[0].response->body, coding), plain);
  }
}

TEST(HttpMessages, FramingThatTwoReadersMayReadDifferentlyIsNamed) {
  const auto defects_of = [](const std::string& fields, const std::string& body) {
    Conversation talk;
    talk.handshake();
    talk.client("POST / HTTP/1.1\r\nHost: shop\r\n" + fields + "\r\n" + body);
    talk.server(ok("ok"));
    Captured all;
    run(talk.frames(), all);
    return all.exchanges.at(0).request->defects;
  };
  EXPECT_EQ(defects_of("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            "length_and_coding");
  EXPECT_EQ(defects_of("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"),
            "repeated_content_length");
  EXPECT_EQ(defects_of("Content-Length: +3\r\n", "abc"), "bad_content_length");
}

TEST(HttpMessages, BytesThatAreNoMessageAreCountedAndTheNextMessageIsFound) {
  Conversation talk;
  talk.handshake();
  talk.client(get("/a"));
  talk.server(ok("A") + "\x01\x02 no answer");
  talk.client(get("/b"));
  talk.server(ok("B"));
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "GET /a > 200 A\nGET /b > 200 B\n");
  const auto& lost = all.ledger.losses[static_cast<std::size_t>(LossReason::not_a_message)];
  EXPECT_EQ(lost.bytes, 12U);
}

// The same addresses, ports and numbers in each network; a priority tag names none.
TEST(HttpMessages, TagsOfEveryKindInOneCaptureAreRead) {  // L21, L23
  const std::vector<std::vector<std::uint16_t>> tags = {{}, {10}, {20}, {10, 20}, {20, 10}};
  std::vector<Conversation> talks;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    Conversation& talk = talks.emplace_back(Conversation::Options{.vlans = tags[i]});
    talk.handshake();
    talk.client(get("/" + std::to_string(i)));
    talk.server(ok("body " + std::to_string(i)));
  }
  Conversation priority({.client_port = 40'001, .vlans = {0}});
  priority.handshake();
  priority.client(get("/priority"));
  priority.server(ok("tagged"));
  talks.push_back(priority);
  Captured all;
  run(in_turn(talks), all);
  EXPECT_EQ(all.text(),
            "GET /0 > 200 body 0\nGET /1 > 200 body 1\nGET /2 > 200 body 2\n"
            "GET /3 > 200 body 3\nGET /4 > 200 body 4\nGET /priority > 200 tagged\n");
  EXPECT_EQ(all.connections.size(), talks.size());
}

TEST(HttpMessages, JumboFramesInsideOfVxlanAreWholeAtTheirOwnTime) {  // L22
  const std::string body(50'000, 'j');
  Conversation talk({.segment_bytes = 8'960});
  talk.handshake();
  talk.client(get("/jumbo"));
  talk.server(ok(body));
  std::vector<Frame> frames = talk.frames();
  std::size_t longest = 0;
  for (Frame& frame : frames) {
    const std::string inside = tests::be32(0x08000000) + tests::be32(0x00002a00) + frame.bytes;
    frame.bytes = tests::ethernet_udp(4789, inside);
    longest = std::max(longest, inside.size());
  }
  ASSERT_GT(longest, 9'000U);
  Captured all;
  run(frames, all);
  EXPECT_EQ(all.text(), "GET /jumbo > 200 " + body + "\n");
  EXPECT_EQ(all.exchanges[0].at, frames[3].at);
}

TEST(HttpMessages, AnUploadWithPausesIsWhole) {  // L25
  Conversation talk;
  talk.handshake();
  talk.client("POST /slow HTTP/1.1\r\nContent-Length: 9\r\n\r\n");
  for (const std::string piece : {"one", "two", "six"}) {
    talk.wait(std::chrono::seconds(3));
    talk.client(piece);
  }
  talk.wait(std::chrono::seconds(3));
  talk.server(ok("ok"));
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "POST /slow onetwosix > 200 ok\n");
  EXPECT_GT(*all.exchanges[0].latency, std::chrono::seconds(12));
}

TEST(HttpMessages, BodiesOfManyMebibytesAreWhole) {  // L26
  std::string body(6U * 1024U * 1024U + 1, '\0');
  for (std::size_t i = 0; i < body.size(); ++i)
    body[i] = static_cast<char>(i * i >> 7U);
  for (const bool upload : {true, false}) {
    Conversation talk;
    talk.handshake();
    talk.client(upload ? "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\n\r\n" + body
                       : get("/"));
    talk.server(ok(upload ? "" : body));
    Captured all;
    run(talk.frames(), all);
    ASSERT_EQ(all.exchanges.size(), 1U);
    EXPECT_TRUE(all.exchanges[0].request->complete && all.exchanges[0].response->complete);
    EXPECT_TRUE((upload ? all.exchanges[0].request->body : all.exchanges[0].response->body) ==
                body);
  }
}

TEST(HttpMessages, AConnectThatIsRefusedStaysHttp) {
  Conversation talk;
  talk.handshake();
  talk.client("CONNECT far:443 HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno");
  talk.client("CONNECT far:443 HTTP/1.1\r\nProxy-Authorization: x\r\n\r\n");
  talk.server("HTTP/1.1 200 Connected\r\n\r\n");
  talk.client("\x16\x03\x01 sealed");
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "CONNECT far:443 > 407 no\nCONNECT far:443 > 200\n");
  EXPECT_FALSE(all.exchanges[0].tunnel);
  EXPECT_TRUE(all.exchanges[1].tunnel);
  EXPECT_EQ(all.ledger.tunnel.bytes, 10U);
}

}  // namespace
}  // namespace gatedrill::replay::capture
