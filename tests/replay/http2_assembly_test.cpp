// HTTP/2 from frames of packets to exchanges: what it does on a connection, and what a capture can
// lose of it.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/http2_script.hpp"
#include "tests/support/tls_talk.hpp"

namespace gatedrill::replay::capture {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::Captured;
using tests::Conversation;
using tests::Frame;
using tests::Http2Script;
using tests::run;
using tests::text_of;

std::uint64_t losses_of(const Captured& captured, LossReason reason) {
  return captured.ledger.losses[static_cast<std::size_t>(reason)].count;
}

const Tally& late_of(const Captured& captured, StreamEnd end) {
  return captured.ledger.late_frames[static_cast<std::size_t>(end)];
}

// In the order in which they are written, which is that of a compression's state.
std::string join(std::initializer_list<std::string> frames) {
  std::string bytes;
  for (const std::string& frame : frames)
    bytes += frame;
  return bytes;
}

// A connection with both prefaces.
struct Talk {
  explicit Talk(Conversation::Options options = {}) : packets(std::move(options)) {
    packets.handshake();
    packets.client(Http2Script::preface());
    packets.server(Http2Script::settings());
  }

  Conversation packets;
  Http2Script client;
  Http2Script server;
};

TEST(Http2, PairsTheMessagesOfEachStream) {
  Talk talk;
  talk.packets.client(join({talk.client.get(1, "/a"), talk.client.get(3, "/b")}));
  talk.packets.server(talk.server.ok(3, "B"));
  talk.packets.server(talk.server.ok(1, "A"));
  talk.packets.close();
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /b > 200 B\nGET /a > 200 A\n");
  EXPECT_THAT(all.losses, IsEmpty());
  ASSERT_EQ(all.exchanges.size(), 2U);
  const RecordedExchange& second = all.exchanges[1];
  EXPECT_EQ(second.protocol, "h2");
  EXPECT_EQ(second.host, "shop");
  EXPECT_EQ(second.ordinal, 1U);
  EXPECT_EQ(second.request->version, "HTTP/2");
  EXPECT_THAT(second.request->fields, ElementsAre(RecordedField{"user-agent", "script"}));
  EXPECT_THAT(second.response->fields, ElementsAre(RecordedField{"content-length", "1"}));
  const auto& frames = talk.packets.frames();
  EXPECT_EQ(second.at, frames[7].at);
  EXPECT_EQ(second.request_end, frames[7].at);
  EXPECT_EQ(second.response_begin, frames[11].at);
  EXPECT_EQ(second.latency, Duration{frames[11].at.ns - frames[7].at.ns});
  ASSERT_EQ(all.connections.size(), 1U);
  EXPECT_EQ(all.connections[0].how, "fin");
}

// A few bytes that stand for a table's entry, over and over.
TEST(Http2, AListOfFieldsIsKeptAsFarAsAHeadOfHttp1) {
  Talk talk;
  Http2Script::Fields fields = {{":method", "GET"}, {":path", "/a"}, {":authority", "shop"}};
  const std::string bomb(2900, 'b');
  for (int i = 0; i < 200; ++i)
    fields.emplace_back("x-bomb", bomb);
  const std::string head = talk.client.head({.stream = 1, .fields = fields, .end_stream = true});
  ASSERT_LT(head.size(), 5000U);
  talk.packets.client(head);
  talk.packets.server(talk.server.ok(1, "A"));
  talk.packets.client(talk.client.get(3, "/b"));
  talk.packets.server(talk.server.ok(3, "B"));
  talk.packets.close();
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /a... > 200 A\nGET /b > 200 B\n");
  const std::size_t pseudo = 42 + 39 + 46;  // name, value and 32 each
  const std::size_t kept = (256 * 1024 - pseudo) / (6 + 2900 + 32);
  EXPECT_EQ(all.exchanges[0].request->fields.size(), kept);
  ASSERT_EQ(all.losses.size(), 1U);
  EXPECT_EQ(all.losses[0].reason, "head_too_large");
  EXPECT_EQ(all.losses[0].direction, "request");
  EXPECT_EQ(all.losses[0].bytes, (200 - kept) * (6 + 2900 + 32));
}

// Sixty-four unknown entries are made at first; what refers further back needs more.
TEST(Http2, AFieldFromLongBeforeTheCaptureIsUnknownAndTheOthersAreRight) {
  Http2Script client;
  const auto block = [&](const std::string& name) {
    constexpr std::size_t kFrameHeadBytes = 9;
    return client
        .head({.fields = {{":method", "GET"}, {":path", "/"}, {name, "v"}}, .end_stream = true})
        .substr(kFrameHeadBytes);
  };
  for (int i = 0; i < 80; ++i)
    static_cast<void>(block("x-" + std::to_string(i)));
  Http2Inflater inflater;
  inflater.forget();
  // What was learned since is unknown again once more is needed.
  const std::vector<std::pair<std::string, bool>> told = {
      {"x-new", true},  {"x-30", false}, {"x-new", true},   {"x-0", false},
      {"x-new", false}, {"x-70", false}, {"x-newer", true}, {"x-newer", true}};
  for (const auto& [name, known] : told) {
    const auto fields = inflater.inflate(block(name));
    ASSERT_TRUE(fields) << name;
    EXPECT_EQ(fields->value(":method"), "GET");
    EXPECT_EQ(fields->unknown, !known) << name;
    EXPECT_EQ(fields->value(name), known ? "v" : "");
  }
}

// Trailers end a message; those that come again took memory that was never given back.
TEST(Http2, TrailersThatComeAgainTakeNothingFromOthers) {
  CaptureOptions options;
  options.http.total_bytes = 50'000;
  Talk talk;
  talk.packets.client(talk.client.get(1, "/endless"));
  talk.packets.server(talk.server.head({.stream = 1, .fields = {{":status", "200"}}}));
  for (int i = 0; i < 500; ++i)
    talk.packets.server(talk.server.head({.stream = 1, .fields = {{"x-trailer", "v"}}}));
  talk.packets.client(talk.client.get(3, "/other"));
  talk.packets.server(talk.server.ok(3, std::string(1000, 'b')));
  Captured all;
  run(talk.packets.frames(), all, options);
  EXPECT_THAT(all.text(), HasSubstr("GET /other > 200 " + std::string(1000, 'b') + "\n"));
  EXPECT_EQ(losses_of(all, LossReason::memory_limit), 0U);
}

// The same request, answered, so many times on one connection.
void ask_often(std::uint32_t times, const Http2Script::Fields& more, Captured& all) {
  Talk talk;
  Http2Script::Fields fields = {{":method", "GET"}, {":path", "/a"}, {":authority", "shop"}};
  fields.insert(fields.end(), more.begin(), more.end());
  for (std::uint32_t stream = 1; stream < 2 * times; stream += 2) {
    talk.packets.client(talk.client.head({.stream = stream, .fields = fields, .end_stream = true}));
    talk.packets.server(talk.server.ok(stream, "A"));
  }
  talk.packets.close();
  run(talk.packets.frames(), all);
}

// A list that is made of next to nothing, over and over.
TEST(Http2, ListsThatAreMadeOfNothingAreKeptAsFarAsModestOnes) {
  const Http2Script::Fields fields(80, {"x-bomb", std::string(2900, 'b')});
  constexpr std::uint32_t kHeads = 40;
  Captured all;
  ask_often(kHeads, fields, all);
  ASSERT_EQ(all.exchanges.size(), kHeads);
  EXPECT_EQ(all.exchanges.front().request->fields.size(), 80U);
  EXPECT_EQ(all.exchanges.back().request->fields.size(), 5U);  // in 16 KiB
  EXPECT_EQ(all.exchanges.back().request->target, "/a");
  EXPECT_GT(losses_of(all, LossReason::head_too_large), 0U);
}

// A token of 2 KB that the compression makes one byte of, as a load generator sends it.
TEST(Http2, ModestListsAreKeptHoweverOftenTheyCome) {
  constexpr std::uint32_t kHeads = 4000;
  const std::string token(2000, 't');
  Captured all;
  ask_often(kHeads, {{"authorization", token}}, all);
  ASSERT_EQ(all.exchanges.size(), kHeads);
  EXPECT_EQ(value_of(all.exchanges.back().request->fields, "authorization"), token);
  EXPECT_EQ(losses_of(all, LossReason::head_too_large), 0U);
}

TEST(Http2, FieldsOfUnfinishedMessagesTakeBoundedMemory) {
  CaptureOptions options;
  options.http.total_bytes = 50'000;
  Talk talk;
  for (std::uint32_t stream = 1; stream < 200; stream += 2) {
    talk.packets.client(talk.client.head({.stream = stream,
                                          .fields = {{":method", "GET"},
                                                     {":path", "/a"},
                                                     {":authority", "shop"},
                                                     {"x-long", std::string(2900, 'b')}},
                                          .end_stream = true}));
  }
  talk.packets.close();
  Captured all;
  run(talk.packets.frames(), all, options);
  ASSERT_EQ(all.exchanges.size(), 100U);
  std::size_t kept = 0;
  for (const RecordedExchange& exchange : all.exchanges) {
    EXPECT_EQ(exchange.request->target, "/a");
    EXPECT_EQ(exchange.request->complete, !exchange.request->fields.empty());
    kept += exchange.request->complete ? 2900U : 0U;
  }
  EXPECT_GT(kept, 10'000U);
  EXPECT_LT(kept, 50'000U);
  EXPECT_GT(losses_of(all, LossReason::memory_limit), 50U);
}

TEST(Http2, BodiesOfSeveralStreamsMayBeMixed) {
  Talk talk;
  const Http2Script::Fields post = {{":method", "POST"}, {":path", "/p"}, {":authority", "shop"}};
  talk.packets.client(join({talk.client.head({.stream = 1, .fields = post}),
                            talk.client.head({.stream = 3, .fields = post}),
                            Http2Script::data(1, "on", false), Http2Script::data(3, "th", false),
                            Http2Script::data(1, "e"), Http2Script::data(3, "ree")}));
  talk.packets.server(join({talk.server.head({.stream = 1, .fields = {{":status", "201"}}}),
                            talk.server.head({.stream = 3, .fields = {{":status", "202"}}}),
                            Http2Script::data(3, "y", false), Http2Script::data(1, "x"),
                            Http2Script::data(3, "z")}));
  EXPECT_EQ(text_of(talk.packets.frames()), "POST /p one > 201 x\nPOST /p three > 202 yz\n");
}

TEST(Http2, ContinuationPaddingPriorityAndUnknownFramesChangeNothing) {
  Talk talk;
  const Http2Script::Fields fields = {
      {":method", "GET"}, {":path", "/long"}, {":authority", "shop"}, {"x", std::string(500, 'y')}};
  talk.packets.client(
      join({talk.client.head({.stream = 1,
                              .fields = fields,
                              .end_stream = true,
                              .fragment_bytes = 7,
                              .padding = 9,
                              .priority = true}),
            Http2Script::frame(NGHTTP2_PRIORITY, 0, 3, std::string(5, '\1')),
            Http2Script::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, std::string("\0\0\1\0", 4))}));
  talk.packets.server(join({Http2Script::frame(0xfa, 0xff, 9, "whatever"),
                            talk.server.head({.stream = 1, .fields = {{":status", "200"}}}),
                            Http2Script::data(1, "pad", false, 20),
                            Http2Script::frame(NGHTTP2_PING, 0, 0, "12345678"),
                            Http2Script::data(1, "ded", true, 1), Http2Script::data(1, "", true)}));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /long > 200 padded\n");
  EXPECT_EQ(value_of(all.exchanges.at(0).request->fields, "x"), std::string(500, 'y'));
}

TEST(Http2, InformationalAnswersAndTrailersBelongToTheirMessages) {
  Talk talk;
  talk.packets.client(
      join({talk.client.head(
                {.stream = 1, .fields = {{":method", "PUT"}, {":path", "/f"}, {"te", "trailers"}}}),
            Http2Script::data(1, "body", false),
            talk.client.head({.stream = 1, .fields = {{"x-sum", "1"}}, .end_stream = true})}));
  talk.packets.server(join(
      {talk.server.head({.stream = 1, .fields = {{":status", "103"}}}),
       talk.server.head({.stream = 1, .fields = {{":status", "200"}}}),
       Http2Script::data(1, "done", false),
       talk.server.head({.stream = 1, .fields = {{"grpc-status", "0"}}, .end_stream = true})}));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "PUT /f body > 200 done\n");
  EXPECT_THAT(all.exchanges.at(0).informational, ElementsAre(103));
  EXPECT_THAT(all.exchanges.at(0).request->trailers, ElementsAre(RecordedField{"x-sum", "1"}));
  EXPECT_THAT(all.exchanges.at(0).response->trailers,
              ElementsAre(RecordedField{"grpc-status", "0"}));
}

TEST(Http2, AResetNamesWhoBrokeTheStream) {
  Talk talk;
  talk.packets.client(join({talk.client.get(1, "/by-client"), talk.client.get(3, "/by-server")}));
  talk.packets.server(join({talk.server.head({.stream = 3, .fields = {{":status", "200"}}}),
                            Http2Script::data(3, "half", false), Http2Script::reset(3)}));
  talk.packets.client(Http2Script::reset(1));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /by-server > 200 half...\nGET /by-client > \n");
  EXPECT_EQ(losses_of(all, LossReason::reset_by_client), 1U);
  EXPECT_EQ(losses_of(all, LossReason::reset_by_server), 1U);
}

TEST(Http2, AnAnswerOnItsWayToAClientThatResetTheStreamIsPaired) {
  for (const bool begun : {true, false}) {
    Talk talk;
    const std::string head = talk.server.head({.stream = 1, .fields = {{":status", "200"}}});
    talk.packets.client(talk.client.get(1, "/slow"));
    if (begun) talk.packets.server(head + Http2Script::data(1, "ha", false));
    const std::size_t at_reset = talk.packets.frames().size();
    talk.packets.client(Http2Script::reset(1));
    const std::size_t at_late = talk.packets.frames().size();
    talk.packets.server(begun ? Http2Script::data(1, "lf") : head + Http2Script::data(1, "late"));
    talk.packets.client(talk.client.get(3, "/next"));
    talk.packets.server(talk.server.ok(3, "N"));
    Captured all;
    run(talk.packets.frames(), all);
    EXPECT_EQ(all.text(), begun ? "GET /slow > 200 half\nGET /next > 200 N\n"
                                : "GET /slow > 200 late\nGET /next > 200 N\n");
    EXPECT_THAT(all.losses, IsEmpty());
    const auto& frames = talk.packets.frames();
    const RecordedExchange& late = all.exchanges.at(0);
    EXPECT_EQ(late.reset, (RecordedReset{.at = frames[at_reset].at, .by_client = true}));
    EXPECT_EQ(late.response_end, frames[at_late].at);
    EXPECT_EQ(late.latency, Duration{frames[at_late].at.ns - late.at.ns});
    EXPECT_EQ(all.exchanges.at(1).reset, std::nullopt);
    EXPECT_EQ(late_of(all, StreamEnd::reset_by_client).count, begun ? 1U : 2U);
    EXPECT_EQ(late_of(all, StreamEnd::reset_by_client).bytes, begun ? 2U : 4U);
    EXPECT_THAT(
        all.ledger.lines(),
        Contains(Field(&LedgerLine::what, "HTTP/2 frames of closed streams: reset by the client")));
  }
}

TEST(Http2, AnAnswerThatStopsBecauseOfAResetIsPartialForThatReason) {
  Talk talk;
  talk.packets.client(talk.client.get(1, "/slow"));
  talk.packets.client(Http2Script::reset(1));
  talk.packets.server(talk.server.head({.stream = 1, .fields = {{":status", "200"}}}) +
                      Http2Script::data(1, "ha", false));
  talk.packets.close();
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /slow > 200 ha...\n");
  EXPECT_EQ(losses_of(all, LossReason::reset_by_client), 1U);
}

TEST(Http2, ALateAnswerIsNotWaitedForLongerThanItCanTake) {
  Talk talk;
  const std::string late = talk.server.ok(1, "late");
  talk.packets.client(talk.client.get(1, "/given-up"));
  talk.packets.client(Http2Script::reset(1));
  talk.packets.wait(std::chrono::seconds(11));
  talk.packets.client(talk.client.get(3, "/next"));
  talk.packets.server(late);
  talk.packets.server(talk.server.ok(3, "N"));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /given-up > \nGET /next > 200 N\n");
  EXPECT_EQ(losses_of(all, LossReason::reset_by_client), 1U);
  EXPECT_EQ(late_of(all, StreamEnd::reset_by_client).count, 2U);
  EXPECT_EQ(late_of(all, StreamEnd::reset_by_client).bytes, 4U);
}

TEST(Http2, AClientThatResetsEverythingMakesNothingGrow) {
  Talk talk;
  for (std::uint32_t i = 0; i < 500; ++i)
    talk.packets.client(talk.client.get(2 * i + 1, "/x") + Http2Script::reset(2 * i + 1));
  std::size_t before_the_end = 0;
  Captured all;
  {
    Capture capture({}, all);
    for (const Frame& frame : talk.packets.frames())
      capture.add(tests::packet_of(frame));
    before_the_end = all.exchanges.size();
    capture.finish();
    EXPECT_EQ(capture.ledger().losses[static_cast<std::size_t>(LossReason::reset_by_client)].count,
              500U);
  }
  EXPECT_EQ(before_the_end, 400U);
  EXPECT_EQ(all.exchanges.size(), 500U);
}

TEST(Http2, WhatComesForAStreamThatIsOverIsCountedAndIsNoMessage) {
  const Http2Script::Fields post = {{":method", "POST"}, {":path", "/p"}, {":authority", "shop"}};
  Talk talk;
  talk.packets.client(
      join({talk.client.head({.stream = 1, .fields = post}),
            talk.client.head({.stream = 3, .fields = post}), talk.client.get(5, "/whole")}));
  talk.packets.server(
      join({Http2Script::reset(1), talk.server.ok(5, "5"), Http2Script::goaway(1)}));
  talk.packets.client(
      join({Http2Script::data(1, "on its way", false),
            talk.client.head({.stream = 1, .fields = {{"x-sum", "1"}}, .end_stream = true}),
            Http2Script::data(3, "too", false), Http2Script::reset(5)}));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "POST /p... > \nGET /whole > 200 5\nPOST /p... > \n");
  EXPECT_EQ(all.exchanges.at(0).reset->by(), "server");
  EXPECT_EQ(late_of(all, StreamEnd::reset_by_server).count, 2U);
  EXPECT_EQ(late_of(all, StreamEnd::reset_by_server).bytes, 10U);
  EXPECT_EQ(late_of(all, StreamEnd::goaway).count, 1U);
  EXPECT_EQ(late_of(all, StreamEnd::goaway).bytes, 3U);
  EXPECT_EQ(late_of(all, StreamEnd::ended).count, 1U);
  EXPECT_EQ(losses_of(all, LossReason::head_lost), 0U);
}

TEST(Http2, AnEarlyAnswerLeavesItsRequestPartial) {
  Talk talk;
  talk.packets.client(
      join({talk.client.head({.stream = 1, .fields = {{":method", "POST"}, {":path", "/big"}}}),
            Http2Script::data(1, "some", false)}));
  talk.packets.server(join({talk.server.ok(1, "no"), Http2Script::reset(1)}));
  talk.packets.client(join({Http2Script::data(1, "late", false), talk.client.get(3, "/next")}));
  talk.packets.server(talk.server.ok(3, "yes"));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "POST /big some... > 200 no\nGET /next > 200 yes\n");
  EXPECT_EQ(losses_of(all, LossReason::head_lost), 0U);
}

TEST(Http2, AResetThatIsRepeatedTakesNoOtherStreamsWait) {
  Talk talk;
  talk.packets.client(join({talk.client.get(1, "/first"), Http2Script::reset(1)}));
  talk.packets.client(talk.client.get(3, "/again"));
  for (int i = 0; i < 150; ++i)
    talk.packets.client(Http2Script::reset(3));
  talk.packets.server(talk.server.ok(1, "late"));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_THAT(all.text(), HasSubstr("GET /first > 200 late\n"));
}

TEST(Http2, GoawayEndsTheWaitOfRequestsThatWereNotTaken) {
  Talk talk;
  talk.packets.client(join({talk.client.get(1, "/taken"), talk.client.get(3, "/refused")}));
  talk.packets.server(Http2Script::goaway(1));
  talk.packets.server(talk.server.ok(1, "A"));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /refused > \nGET /taken > 200 A\n");
  EXPECT_EQ(losses_of(all, LossReason::goaway), 1U);
}

TEST(Http2, PushedAnswersAreCountedAndNotRecorded) {
  Talk talk;
  talk.packets.client(talk.client.get(1, "/page"));
  talk.packets.server(join({talk.server.promise(1, 2, {{":method", "GET"}, {":path", "/style"}}),
                            talk.server.ok(1, "page"), talk.server.ok(2, "pushed")}));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /page > 200 page\n");
  EXPECT_EQ(all.ledger.pushes.count, 1U);
  EXPECT_EQ(all.ledger.pushes.bytes, 6U);
}

TEST(Http2, AConnectStreamIsATunnel) {
  Talk talk;
  talk.packets.client(talk.client.head(
      {.stream = 1, .fields = {{":method", "CONNECT"}, {":authority", "far:443"}}}));
  talk.packets.server(talk.server.head({.stream = 1, .fields = {{":status", "200"}}}));
  talk.packets.client(join({Http2Script::data(1, "not a body", false), talk.client.get(3, "/b")}));
  talk.packets.server(talk.server.ok(3, "B"));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "CONNECT far:443 > 200\nGET /b > 200 B\n");
  EXPECT_TRUE(all.exchanges.at(0).tunnel);
  EXPECT_EQ(all.ledger.tunnels.bytes, 10U);
}

TEST(Http2, AnUpgradedRequestHasItsAnswerInStreamOne) {
  Conversation packets;
  Http2Script client;
  Http2Script server;
  packets.handshake();
  packets.client(
      "GET /up HTTP/1.1\r\nHost: shop\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
      "HTTP2-Settings: AAMAAABk\r\n\r\n");
  packets.server(
      join({"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
            Http2Script::settings(), server.ok(1, "upgraded")}));
  packets.client(join({Http2Script::preface(), client.get(3, "/next")}));
  packets.server(server.ok(3, "next"));
  Captured all;
  run(packets.frames(), all);
  EXPECT_EQ(all.text(), "GET /up > 200 upgraded\nGET /next > 200 next\n");
  EXPECT_THAT(all.exchanges.at(0).informational, ElementsAre(101));
  EXPECT_EQ(all.exchanges.at(0).protocol, "h2");
  EXPECT_EQ(all.exchanges.at(0).request->version, "HTTP/1.1");
  EXPECT_EQ(all.exchanges.at(0).response->version, "HTTP/2");
  EXPECT_FALSE(all.exchanges.at(0).tunnel);
}

TEST(Http2, AServerMaySpeakFirst) {
  Conversation packets;
  Http2Script client;
  Http2Script server;
  packets.handshake();
  packets.server(Http2Script::settings());
  packets.client(join({Http2Script::preface(), client.get(1, "/a")}));
  packets.server(server.ok(1, "A"));
  EXPECT_EQ(text_of(packets.frames()), "GET /a > 200 A\n");
}

TEST(Http2, InsideTlsIsReadWithTheKeyLog) {
  Conversation packets;
  packets.handshake();
  tests::TlsTalk tls(packets, {.alpn = "h2"});
  Http2Script client;
  Http2Script server;
  tls.server(Http2Script::settings());
  tls.client(join({Http2Script::preface(), client.get(1, "/sealed")}));
  tls.server(server.ok(1, "A"));
  Captured all;
  Capture capture({}, all);
  capture.key_log().add(tls.key_log());
  for (const Frame& frame : packets.frames())
    capture.add(tests::packet_of(frame));
  capture.finish();
  EXPECT_EQ(all.text(), "GET /sealed > 200 A\n");
  EXPECT_THAT(capture.ledger().open_sums(), IsEmpty());
}

Conversation rich_conversation(std::size_t segment_bytes) {
  Talk talk({.segment_bytes = segment_bytes});
  for (std::uint32_t i = 0; i < 5; ++i) {
    const std::string name = "/" + std::string(1, static_cast<char>('a' + i));
    talk.packets.client(talk.client.get(2 * i + 1, name));
    talk.packets.server(talk.server.ok(2 * i + 1, "body of " + name));
  }
  return talk.packets;
}

constexpr const char* kRichText =
    "GET /a > 200 body of /a\nGET /b > 200 body of /b\nGET /c > 200 body of /c\n"
    "GET /d > 200 body of /d\nGET /e > 200 body of /e\n";

TEST(Http2, EverySizeOfSegmentGivesTheSame) {
  for (std::size_t size = 1; size < 80; ++size)
    EXPECT_EQ(text_of(rich_conversation(size).frames()), kRichText) << size;
}

// How many answers are at their requests; `frames` may lack anything. What is whole is right.
int right_pairs(const std::vector<Frame>& frames) {
  Captured all;
  run(frames, all);
  int pairs = 0;
  for (const RecordedExchange& exchange : all.exchanges) {
    if (!exchange.request || !exchange.response || exchange.response->body.empty()) continue;
    const std::string& target = exchange.request->target;
    if (target == "?") continue;
    // Fields may be unknown, and then the message counts as partial.
    const std::string whole = "body of " + target;
    EXPECT_TRUE(whole.starts_with(exchange.response->body) || !exchange.response->complete)
        << all.text();
    if (exchange.response->body == whole) ++pairs;
  }
  return pairs;
}

TEST(Http2, ALostPacketNeverInventsOrShiftsAnything) {
  for (const std::size_t size : {std::size_t{1460}, std::size_t{17}, std::size_t{40}}) {
    const std::vector<Frame> original = rich_conversation(size).frames();
    for (std::size_t lost = 0; lost < original.size(); ++lost) {
      SCOPED_TRACE("segments of " + std::to_string(size) + ", frame " + std::to_string(lost));
      const int pairs = right_pairs(tests::without(original, lost));
      EXPECT_GE(pairs, size == 1460 ? 4 : 0);
    }
  }
}

TEST(Http2, ACaptureThatBeginsInsideAConnectionFindsTheRestOfIt) {
  const std::vector<Frame> original = rich_conversation(1460).frames();
  // Behind the first exchange: its fields are in the compression's tables.
  const std::vector<Frame> rest(original.begin() + 11, original.end());
  Captured all;
  run(rest, all);
  EXPECT_THAT(all.text(), HasSubstr("200 body of /e\n"));
  ASSERT_EQ(all.exchanges.size(), 4U);
  // The host was told before the capture began.
  EXPECT_EQ(all.exchanges[3].host, "");
  EXPECT_EQ(all.exchanges[3].request->method, "GET");
  EXPECT_FALSE(all.exchanges[3].request->complete);
  EXPECT_EQ(losses_of(all, LossReason::unknown_fields), 4U);
}

TEST(Http2, ARequestWithoutMethodAndPathIsOneWithDefects) {
  Talk talk;
  talk.packets.client(
      talk.client.head({.stream = 1, .fields = {{":authority", "shop"}}, .end_stream = true}));
  Captured all;
  run(talk.packets.frames(), all);
  EXPECT_EQ(all.text(), "? ? > \n");
  EXPECT_EQ(all.exchanges.at(0).request->defects, "missing_pseudo_field");
}

TEST(Http2, AGapInABodyLosesNothingElse) {
  Talk talk({.segment_bytes = 100});
  talk.packets.client(join({talk.client.get(1, "/a"), talk.client.get(3, "/b")}));
  const std::size_t begin = talk.packets.frames().size();
  talk.packets.server(join({talk.server.ok(1, std::string(1000, 'x')), talk.server.ok(3, "B")}));
  std::vector<Frame> frames = talk.packets.frames();
  frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(begin) + 6);
  Captured all;
  run(frames, all);
  ASSERT_EQ(all.exchanges.size(), 2U);
  EXPECT_EQ(all.exchanges.at(0).request->target, "/a");
  EXPECT_FALSE(all.exchanges.at(0).response->complete);
  EXPECT_TRUE(all.exchanges[1].response->complete);
  EXPECT_EQ(all.exchanges[1].response->body, "B");
  EXPECT_EQ(losses_of(all, LossReason::gap), 1U);
}

TEST(Http2, OpenStreamsAndHeadsAreBounded) {
  Talk flood;
  for (std::uint32_t i = 0; i < 3000; ++i)
    flood.packets.client(flood.client.get(2 * i + 1, "/" + std::to_string(i)));
  Captured first;
  run(flood.packets.frames(), first);
  EXPECT_EQ(first.exchanges.size(), 3000U);
  EXPECT_EQ(losses_of(first, LossReason::unanswered), 2000U);

  Talk endless;
  endless.packets.client(Http2Script::frame(NGHTTP2_HEADERS, 0, 1, std::string(16'000, 'x')));
  for (int i = 0; i < 100; ++i)
    endless.packets.client(
        Http2Script::frame(NGHTTP2_CONTINUATION, 0, 1, std::string(16'000, 'x')));
  Captured second;
  run(endless.packets.frames(), second);
  EXPECT_THAT(second.exchanges, IsEmpty());
  EXPECT_GT(losses_of(second, LossReason::head_too_large), 0U);

  std::vector<Frame> many;
  for (std::uint16_t port = 10'000; port < 10'100; ++port) {
    Talk talk({.client_port = port});
    talk.packets.client(
        Http2Script::frame(NGHTTP2_HEADERS, 0, 1, std::string(16'000, 'x')).substr(0, 15'000));
    many.insert(many.end(), talk.packets.frames().begin(), talk.packets.frames().end());
  }
  CaptureOptions options;
  options.http.held_bytes = 500'000;
  Captured third;
  run(many, third, options);
  EXPECT_GT(losses_of(third, LossReason::memory_limit), 0U);
}

TEST(Http2, RandomDamageNeverBreaksTheAccount) {
  Random random(12);
  for (int round = 0; round < 300; ++round) {
    std::vector<Frame> frames = rich_conversation(20 + random.below(100)).frames();
    const std::uint64_t damages = 1 + random.below(6);
    for (std::uint64_t i = 0; i < damages; ++i) {
      const std::size_t at = random.below(frames.size());
      std::string& bytes = frames[at].bytes;
      if (random.chance(0.5)) {
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      } else {
        frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    Captured all;
    run(frames, all);
  }
}

}  // namespace
}  // namespace gatedrill::replay::capture
