// From frames to exchanges: what HTTP/1 does on a connection, and what a capture can lose of it.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/pcap_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::Captured;
using tests::Conversation;
using tests::Frame;
using tests::get;
using tests::ok;
using tests::run;
using tests::text_of;

std::string text_of(const Conversation& talk) {
  return text_of(talk.frames());
}

TEST(HttpAssembly, PairsRequestsWithAnswersOnOneConnection) {
  Conversation talk;
  talk.handshake();
  talk.client(get("/a"));
  talk.server(ok("A"));
  talk.client("POST /b HTTP/1.1\r\nHost: shop\r\nContent-Length: 3\r\n\r\nxyz");
  talk.server(ok("B"));
  talk.close();
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "GET /a > 200 A\nPOST /b xyz > 200 B\n");
  ASSERT_EQ(all.exchanges.size(), 2U);
  const RecordedExchange& first = all.exchanges[0];
  EXPECT_EQ(first.client, "10.0.0.1:40000");
  EXPECT_EQ(first.server, "10.0.0.2:80");
  EXPECT_EQ(first.protocol, "http/1.1");
  EXPECT_EQ(first.host, "shop");
  EXPECT_EQ(first.at, talk.frames()[3].at);
  EXPECT_EQ(first.latency, Duration{talk.frames()[5].at.ns - talk.frames()[3].at.ns});
  EXPECT_THAT(first.request->fields, ElementsAre(RecordedField{"Host", "shop"}));
  ASSERT_EQ(all.connections.size(), 1U);
  EXPECT_EQ(all.connections[0].how, "fin");
  EXPECT_EQ(all.connections[0].closed_by, "client");
  EXPECT_EQ(all.connections[0].opened, talk.frames()[0].at);
}

TEST(HttpAssembly, PairsPipelinedRequestsInOrder) {
  Conversation talk;
  talk.handshake();
  talk.client(get("/1") + get("/2") + get("/3"));
  talk.server(ok("one") + ok("two"));
  talk.server(ok("three"));
  EXPECT_EQ(text_of(talk), "GET /1 > 200 one\nGET /2 > 200 two\nGET /3 > 200 three\n");
}

TEST(HttpAssembly, ATargetMayBeAsLongAsAHead) {
  for (const std::size_t length : {66'000U, 250'000U}) {
    Conversation talk;
    talk.handshake();
    const std::string target = "/" + std::string(length, 'a');
    talk.client(get(target));
    talk.server(ok("A"));
    talk.close();
    Captured all;
    run(talk.frames(), all);
    EXPECT_EQ(all.text(), "GET " + target + " > 200 A\n");
    EXPECT_THAT(all.losses, IsEmpty());
    EXPECT_EQ(all.ledger.other_protocols.count, 0U);
  }
}

TEST(HttpAssembly, ALongerTargetIsAHeadThatIsTooLarge) {
  for (const bool from_start : {true, false}) {
    Conversation talk;
    talk.handshake();
    if (!from_start) {
      talk.client(get("/a"));
      talk.server(ok("A"));
    }
    talk.client(get("/" + std::string(300'000, 'a')));
    talk.server(ok("B"));
    talk.client(get("/c"));
    talk.server(ok("C"));
    talk.close();
    Captured all;
    run(talk.frames(), all);
    EXPECT_EQ(all.text(),
              std::string(from_start ? "" : "GET /a > 200 A\n") + " > 200 B\nGET /c > 200 C\n");
    EXPECT_EQ(all.ledger.lost(LossReason::head_too_large).bytes,
              get("/" + std::string(300'000, 'a')).size());
    EXPECT_EQ(all.ledger.other_protocols.count, 0U);
  }
}

TEST(HttpAssembly, TextWithoutLinesIsNoRequest) {
  Conversation talk;
  talk.handshake();
  talk.client("hello there" + std::string(300'000, 'a'));
  talk.close();
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "");
  EXPECT_EQ(all.ledger.other_protocols.bytes, 300'011U);
}

TEST(HttpAssembly, HeadsOfUnfinishedMessagesTakeBoundedMemory) {
  CaptureOptions options;
  options.http.total_bytes = 50'000;
  Conversation talk;
  talk.handshake();
  for (int i = 0; i < 100; ++i)
    talk.client(get("/" + std::to_string(i), "X-Long: " + std::string(2000, 'x') + "\r\n"));
  talk.close();
  Captured all;
  run(talk.frames(), all, options);
  ASSERT_EQ(all.exchanges.size(), 100U);
  std::size_t kept = 0;
  for (const RecordedExchange& exchange : all.exchanges)
    kept += exchange.request->complete ? 2000U : 0U;
  EXPECT_GT(kept, 10'000U);
  EXPECT_LT(kept, 50'000U);
  EXPECT_GT(all.ledger.lost(LossReason::memory_limit).count, 50U);
}

TEST(HttpAssembly, InformationalAnswersComeBeforeTheAnswer) {
  Conversation talk;
  talk.handshake();
  talk.client("PUT /f HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\n");
  talk.server("HTTP/1.1 100 Go on then\r\nX: y\r\n\r\n");
  talk.client("data");
  talk.server("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "PUT /f data > 201\n");
  EXPECT_THAT(all.exchanges[0].informational, ElementsAre(100, 103));
  EXPECT_EQ(value_of(all.exchanges[0].request->fields, "expect"), "100-Continue");
}

TEST(HttpAssembly, SomeAnswersHaveNoBodyWhateverTheirFieldsSay) {
  Conversation talk;
  talk.handshake();
  talk.client("HEAD /h HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 200 OK\r\nContent-Length: 27036\r\n\r\n");
  talk.client(get("/n"));
  talk.server("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n");
  talk.client(get("/m"));
  talk.server("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
  talk.client(get("/last"));
  talk.server(ok("end"));
  EXPECT_EQ(text_of(talk), "HEAD /h > 200\nGET /n > 204\nGET /m > 304\nGET /last > 200 end\n");
}

TEST(HttpAssembly, ABodyUntilCloseEndsWithFinAndNotWithReset) {
  for (const bool reset : {false, true}) {
    Conversation talk;
    talk.handshake();
    talk.client(get("/"));
    talk.server("HTTP/1.0 200 OK\r\n\r\nhello ");
    talk.server("world");
    if (reset) {
      talk.server_reset();
    } else {
      talk.server_fin();
    }
    EXPECT_EQ(text_of(talk), reset ? "GET / > 200 hello world...\n" : "GET / > 200 hello world\n");
  }
}

TEST(HttpAssembly, ChunkedBodiesMayHaveExtensionsAndTrailers) {
  Conversation talk;
  talk.handshake();
  talk.client(get("/"));
  talk.server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  talk.server("5;a=b\r\nhello\r\n6  \r\n world\r\n0\r\nX-Sum: 1\r\n\r\n");
  talk.client(get("/2"));
  talk.server(ok("next"));
  EXPECT_EQ(text_of(talk), "GET / > 200 hello world\nGET /2 > 200 next\n");
}

TEST(HttpAssembly, ATunnelHoldsNoMessages) {
  Conversation talk;
  talk.handshake();
  talk.client("CONNECT far:443 HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 200 Connected\r\n\r\n");
  talk.client(get("/not-a-request"));
  talk.server(ok("not an answer"));
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "CONNECT far:443 > 200\n");
  EXPECT_TRUE(all.exchanges[0].tunnel);
  EXPECT_EQ(all.exchanges[0].host, "far:443");
  EXPECT_EQ(all.ledger.tunnel.bytes, get("/not-a-request").size() + ok("not an answer").size());
}

TEST(HttpAssembly, AnUpgradeWithItsFirstFrameInTheSameSegmentIsATunnel) {
  Conversation talk;
  talk.handshake();
  talk.client(get("/ws", "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"));
  talk.server("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nGET frame");
  talk.client("more frames");
  Captured all;
  run(talk.frames(), all);
  EXPECT_EQ(all.text(), "GET /ws > 101\n");
  EXPECT_EQ(all.ledger.tunnel.bytes, 9U + 11U);
}

TEST(HttpAssembly, ARefusedUpgradeStaysHttp) {
  Conversation talk;
  talk.handshake();
  talk.client(get("/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n") + get("/after"));
  talk.server("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n");
  talk.server(ok("after"));
  EXPECT_EQ(text_of(talk), "GET /ws > 426\nGET /after > 200 after\n");
}

TEST(HttpAssembly, AnAnswerBeforeTheEndOfTheRequestIsItsAnswer) {
  Conversation talk;
  talk.handshake();
  talk.client("POST /big HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345");
  talk.server("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
  talk.client("67890" + get("/next"));
  talk.server(ok("yes"));
  EXPECT_EQ(text_of(talk), "POST /big 1234567890 > 413 no\nGET /next > 200 yes\n");
}

TEST(HttpAssembly, UnknownMethodsAndStatusesAreKept) {
  Conversation talk;
  talk.handshake();
  talk.client("PROPFIND /dav HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n");
  talk.client("MADE_UP * HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(text_of(talk), "PROPFIND /dav > 299\nMADE_UP * > 600\n");
}

TEST(HttpAssembly, DefectsAreKeptAndNamed) {
  Conversation talk;
  talk.handshake();
  talk.client("GET / HTTP/1.1\nHost : shop\nX-Folded: a\n  b\n\n");
  talk.server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok");
  talk.client("GET  /two HTTP/1.1\r\nHost: shop\r\n\r\n");
  talk.server(ok("two"));
  Captured all;
  run(talk.frames(), all);
  ASSERT_EQ(all.exchanges.size(), 2U);
  EXPECT_EQ(all.exchanges[0].request->defects, "bare_lf,obs_fold,space_before_colon");
  EXPECT_EQ(value_of(all.exchanges[0].request->fields, "X-Folded"), "a b");
  EXPECT_EQ(all.exchanges[0].response->defects, "repeated_content_length");
  EXPECT_EQ(all.ledger.defective.count, 3U);
}

TEST(HttpAssembly, ARequestWithABrokenLineIsARequestIfItNamesAHost) {
  Conversation talk;
  talk.handshake();
  talk.client("GET/ HTTP/1.1\r\nHost: shop\r\n\r\n");
  talk.server("HTTP/1.0 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(text_of(talk), HasSubstr(" > 400\n"));
}

TEST(HttpAssembly, BadChunkFramingEndsTheMessageAndNotTheCapture) {
  Conversation talk;
  talk.handshake();
  talk.client(get("/"));
  talk.server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n");
  talk.client(get("/2"));
  talk.server(ok("two"));
  EXPECT_EQ(text_of(talk), "GET / > 200 abc...\nGET /2 > 200 two\n");
}

TEST(HttpAssembly, OtherProtocolsAreCountedAsWhatTheyAre) {
  const auto ledger_of = [](const std::string& client, const std::string& server) {
    Conversation talk;
    talk.handshake();
    talk.client(client);
    talk.server(server);
    talk.close();
    Captured all;
    run(talk.frames(), all);
    EXPECT_THAT(all.exchanges, IsEmpty());
    EXPECT_THAT(all.connections, IsEmpty());
    EXPECT_THAT(all.losses, IsEmpty());
    return all.ledger;
  };
  EXPECT_GT(ledger_of("EHLO me\r\n", "250 hello\r\n").other_protocols.bytes, 0U);
  EXPECT_GT(ledger_of("INVITE sip:a SIP/2.0\r\nVia: x\r\n\r\n", "SIP/2.0 200 OK\r\n\r\n")
                .other_protocols.bytes,
            0U);
}

TEST(HttpAssembly, ACaptureMayBeginInsideAConnection) {
  Conversation talk;
  talk.server("tail of a body");
  talk.client(get("/a"));
  talk.server(ok("A"));
  EXPECT_EQ(text_of(talk), "GET /a > 200 A\n");
}

TEST(HttpAssembly, AnAnswerToARequestBeforeTheCaptureStandsAlone) {
  Conversation talk;
  talk.server(ok("first"));
  talk.client(get("/a"));
  talk.server(ok("A"));
  EXPECT_EQ(text_of(talk), " > 200 first\nGET /a > 200 A\n");
}

TEST(HttpAssembly, OneSideOfTheTrafficIsRecordedAsItIs) {
  Conversation talk({.acknowledge = false});
  talk.handshake();
  talk.client(get("/a"));
  talk.server(ok("A"));
  talk.client(get("/b"));
  talk.server(ok("B"));
  std::vector<Frame> requests;
  std::vector<Frame> answers;
  for (std::size_t i = 3; i < talk.frames().size(); ++i) {
    (i % 2 == 1 ? requests : answers).push_back(talk.frames()[i]);
  }
  EXPECT_EQ(text_of(requests), "GET /a > \nGET /b > \n");
  EXPECT_EQ(text_of(answers), " > 200 A\n > 200 B\n");
}

TEST(HttpAssembly, AGapInABodyOfKnownLengthLosesNothingElse) {
  Conversation talk({.segment_bytes = 100});
  talk.handshake();
  talk.client(get("/a"));
  talk.server(ok(std::string(1000, 'x')));
  talk.client(get("/b"));
  talk.server(ok("B"));
  std::vector<Frame> frames = talk.frames();
  frames.erase(frames.begin() + 9);  // a segment inside the body
  Captured all;
  run(frames, all);
  ASSERT_EQ(all.exchanges.size(), 2U);
  EXPECT_FALSE(all.exchanges[0].response->complete);
  EXPECT_EQ(all.exchanges[1].response->body, "B");
  EXPECT_EQ(all.connections[0].gap_bytes, 100U);
  ASSERT_EQ(all.losses.size(), 1U);
  EXPECT_EQ(all.losses[0].reason, "gap");
  EXPECT_EQ(all.losses[0].direction, "response");
}

TEST(HttpAssembly, WhatIsKeptOfOneMessageIsBounded) {
  Conversation talk;
  talk.handshake();
  talk.client(get("/a"));
  talk.server(ok(std::string(100'000, 'x')));
  talk.client(get("/b"));
  talk.server(ok("B"));
  CaptureOptions options;
  options.http.body_bytes = 10'000;
  Captured all;
  run(talk.frames(), all, options);
  ASSERT_EQ(all.exchanges.size(), 2U);
  EXPECT_FALSE(all.exchanges[0].response->complete);
  EXPECT_LE(all.exchanges[0].response->body.size(), 10'000U);
  EXPECT_EQ(all.exchanges[1].response->body, "B");
}

TEST(HttpAssembly, EndlessHeadsAndUnansweredRequestsAreBounded) {
  Conversation endless;
  endless.handshake();
  endless.client("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 40'000; ++i)
    endless.client("X-Filler: 0123456789\r\n");
  Captured first;
  run(endless.frames(), first);
  EXPECT_THAT(first.exchanges, IsEmpty());
  EXPECT_GT(first.ledger.losses[static_cast<std::size_t>(LossReason::head_too_large)].bytes, 0U);

  Conversation flood;
  flood.handshake();
  for (int i = 0; i < 5000; ++i)
    flood.client(get("/" + std::to_string(i)));
  Captured second;
  run(flood.frames(), second);
  EXPECT_EQ(second.exchanges.size(), 5000U);
}

TEST(HttpAssembly, UnfinishedHeadsAreBoundedInTotal) {
  std::vector<Frame> frames;
  for (std::uint16_t port = 10'000; port < 10'500; ++port) {
    Conversation talk({.client_port = port});
    talk.handshake();
    talk.client("GET / HTTP/1.1\r\nX: " + std::string(5000, 'x'));
    frames.insert(frames.end(), talk.frames().begin(), talk.frames().end());
  }
  CaptureOptions options;
  options.http.held_bytes = 1'000'000;
  Captured all;
  run(frames, all, options);
  const auto& lost = all.ledger.losses[static_cast<std::size_t>(LossReason::memory_limit)];
  EXPECT_GE(lost.bytes, 500U * 5000U - 1'010'000U);
}

TEST(HttpAssembly, APortFilterLeavesTheRestOut) {
  Conversation one({.server_port = 8080});
  one.handshake();
  one.client(get("/a"));
  one.server(ok("A"));
  CaptureOptions options;
  options.ports = {80};
  Captured none;
  run(one.frames(), none, options);
  EXPECT_THAT(none.exchanges, IsEmpty());
  EXPECT_EQ(none.ledger.other_ports.count, one.frames().size());
}

TEST(HttpAssembly, EqualConnectionsInTwoNetworksStayTwo) {
  Conversation one({.vlans = {1}});
  Conversation two({.vlans = {2}});
  for (Conversation* talk : {&one, &two}) {
    talk->handshake();
    talk->client(get(talk == &one ? "/1" : "/2"));
    talk->server(ok(talk == &one ? "one" : "two"));
  }
  std::vector<Frame> mixed;
  for (std::size_t i = 0; i < one.frames().size(); ++i) {
    mixed.push_back(one.frames()[i]);
    mixed.push_back(two.frames()[i]);
  }
  EXPECT_EQ(text_of(mixed), "GET /1 > 200 one\nGET /2 > 200 two\n");
}

// A conversation with most of what HTTP/1 has, in short segments.
Conversation rich_conversation(std::size_t segment_bytes) {
  Conversation talk({.segment_bytes = segment_bytes});
  talk.handshake();
  talk.client(get("/a"));
  talk.server(ok("alpha"));
  talk.client("POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n");
  talk.server(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbra\r\n2\r\nvo\r\n0\r\n\r\n");
  talk.client("HEAD /c HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n");
  talk.client(get("/d"));
  talk.server(ok("delta"));
  talk.client(get("/e"));
  talk.server("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\necho");
  talk.server_fin();
  talk.client_fin();
  return talk;
}

constexpr const char* kRichText =
    "GET /a > 200 alpha\nPOST /b body > 200 bravo\nHEAD /c > 200\nGET /d > 200 delta\n"
    "GET /e > 200 echo\n";

TEST(HttpAssembly, EverySizeOfSegmentGivesTheSame) {
  for (std::size_t size = 1; size < 60; ++size) {
    EXPECT_EQ(text_of(rich_conversation(size)), kRichText) << size;
  }
}

TEST(HttpAssembly, EverySplitOfARequestAndAnAnswerGivesTheSame) {
  const std::string request = get("/a", "X: y\r\n");
  const std::string answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
  for (std::size_t cut = 1; cut < std::max(request.size(), answer.size()); ++cut) {
    Conversation talk;
    talk.handshake();
    talk.client(request.substr(0, cut));
    if (cut < request.size()) talk.client(request.substr(cut));
    talk.server(answer.substr(0, cut));
    if (cut < answer.size()) talk.server(answer.substr(cut));
    EXPECT_EQ(text_of(talk), "GET /a > 200 ok\n") << cut;
  }
}

TEST(HttpAssembly, AnyShuffleAndRepetitionOfThePacketsGivesTheSame) {
  Random random(5);
  const std::vector<Frame> original = rich_conversation(17).frames();
  for (int round = 0; round < 100; ++round) {
    // Each frame moves by a few places, as packets do; some come twice.
    std::vector<std::pair<double, Frame>> moved;
    for (std::size_t i = 0; i < original.size(); ++i) {
      const int copies = random.chance(0.1) ? 2 : 1;
      for (int k = 0; k < copies; ++k) {
        moved.emplace_back(static_cast<double>(i) + random.uniform() * 6, original[i]);
      }
    }
    std::stable_sort(moved.begin(), moved.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Frame> frames;
    for (auto& [place, frame] : moved)
      frames.push_back(frame);
    EXPECT_EQ(text_of(frames), kRichText) << "round " << round;
  }
}

// Segments with random numbers, flags and pieces of HTTP: whatever comes, the account closes (run
// checks it) and what is kept is bounded.
TEST(HttpAssembly, RandomSegmentsNeverBreakTheAccount) {
  const std::vector<std::string> pieces = {
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
      "0\r\n\r\n",
      "POST /x HTTP/1.1\r\nContent-Length: 100\r\n\r\n",
      "CONNECT a:1 HTTP/1.1\r\n\r\n",
      "HTTP/1.1 101 Switching\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.0 200 OK\r\n\r\nuntil close",
      "hello",
      std::string("\0\xff\r\n", 4),
      ""};
  Random random(77);
  for (int round = 0; round < 60; ++round) {
    std::vector<Frame> frames;
    const std::uint32_t base = random.chance(0.3) ? 0xffffff80U : 1000U;
    for (int i = 0; i < 300; ++i) {
      tests::SegmentSpec spec;
      spec.source_port = static_cast<std::uint16_t>(1000 + random.below(3));
      spec.seq = base + static_cast<std::uint32_t>(random.below(400));
      spec.ack = base + static_cast<std::uint32_t>(random.below(400));
      if (random.chance(0.02)) spec.seq = static_cast<std::uint32_t>(random.next());
      if (random.chance(0.02)) spec.ack = static_cast<std::uint32_t>(random.next());
      spec.syn = random.chance(0.03);
      spec.fin = random.chance(0.03);
      spec.rst = random.chance(0.01);
      spec.has_ack = random.chance(0.9);
      spec.payload = pieces[random.below(pieces.size())];
      if (random.chance(0.5)) {
        std::swap(spec.source_ip, spec.destination_ip);
        std::swap(spec.source_port, spec.destination_port);
      }
      Frame frame{UnixTime{static_cast<std::int64_t>(random.below(2'000'000'000))},
                  tests::ethernet(tests::ipv4_packet(spec))};
      if (random.chance(0.05)) {
        frame.wire_bytes = frame.bytes.size();
        frame.bytes.resize(frame.bytes.size() - random.below(frame.bytes.size()));
      }
      frames.push_back(std::move(frame));
    }
    Captured all;
    CaptureOptions options;
    options.reassembly.gap_segments = static_cast<int>(1 + random.below(64));
    run(frames, all, options);
  }
}

// With any one packet lost: no message that was not sent, no answer at the wrong request, and only
// what the packet touches is not whole.
TEST(HttpAssembly, ALostPacketNeverInventsOrShiftsAnything) {
  for (const std::size_t size : {std::size_t{1460}, std::size_t{17}, std::size_t{40}}) {
    const std::vector<Frame> original = rich_conversation(size).frames();
    for (std::size_t lost = 0; lost < original.size(); ++lost) {
      SCOPED_TRACE("segments of " + std::to_string(size) + ", frame " + std::to_string(lost));
      Captured all;
      run(tests::without(original, lost), all);
      int whole = 0;
      for (const RecordedExchange& exchange : all.exchanges) {
        if (!exchange.request || !exchange.response) continue;
        if (!exchange.request->complete || !exchange.response->complete) continue;
        Captured one;
        one.exchanges.push_back(exchange);
        EXPECT_THAT(std::string(kRichText), HasSubstr(one.text()));
        ++whole;
      }
      EXPECT_GE(whole, 4) << all.text();
      EXPECT_LE(all.ledger.requests.complete.count, 5U);
      EXPECT_LE(all.ledger.responses.complete.count, 5U);
    }
  }
}

}  // namespace
}  // namespace gatedrill::replay::capture
