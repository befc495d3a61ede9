// Clients that send requests without waiting for answers, where packets are missing: what can be
// known is paired, and nothing else.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/pcap_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

using ::testing::IsEmpty;
using tests::Captured;
using tests::Conversation;
using tests::Frame;
using tests::ok;
using tests::run;

std::string request(const std::string& target, const std::string& method = "GET") {
  return method + " " + target + " HTTP/1.1\r\nHost: shop\r\n\r\n";
}

// Without the packets that hold any of these texts.
std::vector<Frame> without(std::vector<Frame> frames, const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    std::erase_if(frames,
                  [&](const Frame& frame) { return frame.bytes.find(text) != std::string::npos; });
  return frames;
}

std::uint64_t unknown_in(const Captured& captured) {
  return captured.ledger.lost(LossReason::answer_unknown).count;
}

// Five requests before the first answer, and one more behind the last.
std::vector<Frame> five(const std::string& version = "HTTP/1.1") {
  Conversation talk;
  talk.handshake();
  for (int i = 0; i < 5; ++i) {
    talk.client("GET /" + std::to_string(i) + " " + version +
                "\r\nHost: shop\r\nConnection: keep-alive\r\n\r\n");
  }
  for (int i = 0; i < 5; ++i)
    talk.server(ok("answer " + std::to_string(i)));
  talk.client(request("/next"));
  talk.server(ok("the next"));
  talk.close();
  return talk.frames();
}

// To a client of HTTP/1.0 nothing else but an answer can be lost.
TEST(Pipelining, ALostAnswerIsKnownOnceAllOthersHaveCome) {
  for (int lost = 0; lost < 5; ++lost) {
    Captured all;
    run(without(five("HTTP/1.0"), {"answer " + std::to_string(lost)}), all);
    std::string expected;
    for (int i = 0; i < 5; ++i) {
      const std::string number = std::to_string(i);
      if (i != lost) expected += "GET /" + number + " > 200 answer " + number + "\n";
    }
    std::string text = all.text();
    const std::string alone = "GET /" + std::to_string(lost) + " > \n";
    const std::size_t at = text.find(alone);
    ASSERT_NE(at, std::string::npos) << text;
    text.erase(at, alone.size());
    EXPECT_EQ(text, expected + "GET /next > 200 the next\n");
    EXPECT_EQ(unknown_in(all), 0U);
  }
}

TEST(Pipelining, WhatMayBeLostInMoreThanOneWayStaysUnpaired) {
  const std::vector<std::vector<Frame>> captures = {
      without(five("HTTP/1.0"), {"answer 1", "answer 2"}),
      // Not to be told from a lost informational answer and a request that waits.
      without(five(), {"answer 1"})};
  for (const std::vector<Frame>& frames : captures) {
    Captured all;
    run(frames, all);
    EXPECT_EQ(all.ledger.requests.paired, 1U) << all.text();
    EXPECT_EQ(all.exchanges.at(0).response->body, "answer 0");
    EXPECT_EQ(all.ledger.requests.alone, 5U);
    EXPECT_EQ(unknown_in(all), 1U);
  }
}

TEST(Pipelining, AnAnswerThatRepeatsItsRequestsIdSaysWhoseTheOthersAre) {
  Conversation talk;
  talk.handshake();
  for (const char* one : {"1", "2", "3", "4"}) {
    talk.client("GET /" + std::string(one) + " HTTP/1.1\r\nHost: shop\r\nX-Request-Id: id-" + one +
                "\r\n\r\n");
  }
  talk.client(request("/5"));
  for (const char* one : {"1", "2", "3"}) {
    talk.server("HTTP/1.1 200 OK\r\nX-Request-Id: id-" + std::string(one) +
                "\r\nContent-Length: 8\r\n\r\nanswer " + one);
  }
  talk.server("HTTP/1.1 200 OK\r\nX-Request-Id: its own\r\nContent-Length: 1\r\n\r\n4");
  talk.server(ok("5"));
  talk.close();
  Captured all;
  run(without(talk.frames(), {"answer 1", "answer 2"}), all);
  EXPECT_EQ(all.text(),
            "GET /1 > \nGET /2 > \nGET /3 > 200 answer 3\nGET /4 > 200 4\nGET /5 > 200 5\n");
  EXPECT_EQ(unknown_in(all), 0U);
}

TEST(Pipelining, AnAnswerToHeadSaysWhoseTheOthersAre) {
  Conversation talk;
  talk.handshake();
  for (const char* one : {"/0", "/1", "/2"})
    talk.client(request(one));
  talk.client(request("/head", "HEAD"));
  talk.client(request("/4"));
  for (const char* one : {"answer 0", "answer 1", "answer 2"})
    talk.server(ok(one));
  talk.server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  talk.server(ok("answer 4"));
  talk.close();
  Captured all;
  run(without(talk.frames(), {"answer 1", "answer 2"}), all);
  EXPECT_EQ(
      all.text(),
      "GET /0 > 200 answer 0\nGET /1 > \nGET /2 > \nHEAD /head > 200\nGET /4 > 200 answer 4\n");
  EXPECT_EQ(unknown_in(all), 0U);
}

TEST(Pipelining, ALostInformationalAnswerIsKnownOnceAllAnswersHaveCome) {
  Conversation talk;
  talk.handshake();
  talk.client(request("/a"));
  talk.client(request("/b"));
  talk.server("HTTP/1.1 103 Early Hints\r\n\r\n");
  talk.server(ok("A"));
  talk.server(ok("B"));
  talk.close();
  Captured all;
  run(without(talk.frames(), {"103 Early Hints"}), all);
  EXPECT_EQ(all.text(), "GET /a > 200 A\nGET /b > 200 B\n");
  EXPECT_EQ(unknown_in(all), 0U);
}

TEST(Pipelining, RequestsBeforeALostOneHaveTheirAnswers) {
  for (int lost = 1; lost < 5; ++lost) {
    Captured all;
    run(without(five(), {"/" + std::to_string(lost) + " HTTP"}), all);
    EXPECT_EQ(all.ledger.requests.paired, static_cast<std::uint64_t>(lost)) << all.text();
    for (int i = 0; i < lost; ++i) {
      const std::string number = std::to_string(i);
      EXPECT_THAT(all.text(), ::testing::HasSubstr("GET /" + number + " > 200 answer " + number));
    }
    EXPECT_EQ(all.exchanges.size(), static_cast<std::size_t>(5 + 6 - lost)) << all.text();
    EXPECT_EQ(unknown_in(all), 1U);
  }
}

// What has a head that is not kept counts like what is not there.
TEST(Pipelining, AMessageWithTooLargeAHeadShiftsNoPair) {
  const std::string large = "X: " + std::string(2'000'000, 'x') + "\r\n";
  for (const bool of_request : {true, false}) {
    Conversation talk;
    talk.handshake();
    std::string first = request("/a");
    std::string answer = ok("A");
    std::string& grown = of_request ? first : answer;
    grown.insert(grown.find("\r\n") + 2, large);
    talk.client(first);
    talk.client(request("/b"));
    talk.client(request("/c"));
    talk.server(answer);
    talk.server(ok("B"));
    talk.server(ok("C"));
    talk.close();
    Captured all;
    run(talk.frames(), all);
    for (const RecordedExchange& exchange : all.exchanges)
      EXPECT_FALSE(exchange.request && exchange.response) << all.text();
  }
}

TEST(Pipelining, AfterADoubtThatEndedThePairingGoesOnAndMayBeDoubtedAgain) {
  Conversation talk;
  talk.handshake();
  std::vector<std::string> lost;
  for (int round = 0; round < 4; ++round) {
    const std::string name = "/" + std::to_string(round);
    for (const char* part : {"a", "b", "c"})
      talk.client("GET " + name + part + " HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    for (const char* part : {"a", "b", "c"})
      talk.server(ok("answer " + name + part));
    lost.push_back("answer " + name + "b");
  }
  talk.close();
  Captured all;
  run(without(talk.frames(), lost), all);
  EXPECT_EQ(all.ledger.requests.paired, 8U) << all.text();
  EXPECT_EQ(all.ledger.requests.alone, 4U);
  EXPECT_EQ(unknown_in(all), 0U);
}

// Whatever is lost of a client that now waits and now does not, no answer is at another request.
TEST(Pipelining, NoLossEverPairsWhatDoesNotBelongTogether) {
  Random random(31);
  std::uint64_t pairs = 0;
  for (int round = 0; round < 600; ++round) {
    Conversation talk({.segment_bytes = random.chance(0.5) ? std::size_t{1460} : 60});
    talk.handshake();
    int sent = 0;
    int answered = 0;
    while (answered < 20) {
      const std::uint64_t burst = 1 + random.below(4);
      for (std::uint64_t i = 0; i < burst && sent < 20; ++i, ++sent)
        talk.client(request("/" + std::to_string(sent), random.chance(0.2) ? "HEAD" : "GET"));
      const bool all = random.chance(0.6);
      while (answered < sent && (all || random.chance(0.5))) {
        const bool head =
            std::any_of(talk.frames().begin(), talk.frames().end(), [&](const Frame& frame) {
              return frame.bytes.find("HEAD /" + std::to_string(answered) + " ") !=
                     std::string::npos;
            });
        const std::string body = "the answer to /" + std::to_string(answered) + ".";
        if (random.chance(0.05)) talk.server("HTTP/1.1 103 Early Hints\r\n\r\n");
        std::string answer = ok(body);
        answer.insert(answer.find("\r\n") + 2, "X: " + body + "\r\n");
        if (head) answer.erase(answer.size() - body.size());
        talk.server(answer);
        ++answered;
      }
    }
    talk.close();
    std::vector<Frame> frames = talk.frames();
    for (std::uint64_t lost = 1 + random.below(3); lost > 0; --lost)
      frames.erase(frames.begin() +
                   static_cast<std::ptrdiff_t>(3 + random.below(frames.size() - 3)));
    Captured all;
    run(frames, all);
    for (const RecordedExchange& exchange : all.exchanges) {
      if (!exchange.request || !exchange.response) continue;
      ++pairs;
      EXPECT_EQ(value_of(exchange.response->fields, "X"),
                "the answer to " + exchange.request->target + ".")
          << round << "\n"
          << all.text();
    }
  }
  EXPECT_GT(pairs, 600U * 10U);
}

}  // namespace
}  // namespace gatedrill::replay::capture
