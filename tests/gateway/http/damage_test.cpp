// Hostile bytes at random: sound messages with a few bytes changed, cut or doubled. Whatever they
// are, the verdict is the same however they arrive, and what passes the judge reads the same after
// it was written anew.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "gateway/http/head_writer.hpp"
#include "gateway/http/strict.hpp"

namespace gatedrill::http {
namespace {

using namespace std::string_view_literals;

const std::vector<std::string> kRequests = {
    "GET /order/1?x=y HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\nCookie: a=b; c=d\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: shop:80\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
    "PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET http://h/a HTTP/1.1\r\nHost: h\r\nTE: trailers\r\nConnection: te\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
};

std::string damaged(Random& random) {
  constexpr std::string_view kTricks =
      "\r\n\t :,;\0#/?0159afx_-\x7f\x80\"Cc"
      "chunked"sv;
  std::string bytes = kRequests[random.below(kRequests.size())];
  for (std::uint64_t n = random.below(4); n > 0; --n) {
    const std::size_t at = random.below(bytes.size());
    const char trick = kTricks[random.below(kTricks.size())];
    switch (random.below(4)) {
      case 0:
        bytes[at] = trick;
        break;
      case 1:
        bytes.insert(at, 1, trick);
        break;
      case 2:
        bytes.erase(at, 1);
        break;
      default:
        bytes.insert(at, bytes.substr(at, random.below(30)));
        break;
    }
  }
  return bytes;
}

struct Reading {
  h1::HeadState state = h1::HeadState::incomplete;
  std::size_t size = 0;
  std::uint32_t defects = 0;
  bool refused = false;
  int status = 0;
  Framing framing;
  std::string host;

  bool operator==(const Reading&) const = default;
};

Reading read(std::string_view bytes) {
  RequestHead head;
  const h1::HeadResult parsed = h1::parse_request_head(bytes, h1::HeadLimits{}, head);
  Reading reading{parsed.state, parsed.size, parsed.defects.bits(), false, 0, {}, {}};
  if (parsed.state == h1::HeadState::incomplete) return reading;
  const RequestVerdict verdict = judge_request(head, parsed);
  reading.refused = verdict.refusal.has_value();
  reading.status = verdict.refusal ? verdict.refusal->status : 0;
  reading.framing = verdict.framing;
  reading.host = verdict.host;
  return reading;
}

TEST(DamagedHeads, AreReadTheSameHoweverTheyArrive) {
  Random random(7);
  for (int round = 0; round < 4000; ++round) {
    const std::string bytes = damaged(random);
    const Reading whole = read(bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Reading part = read(std::string_view(bytes).substr(0, size));
      if (part.state == h1::HeadState::incomplete) {
        ASSERT_TRUE(whole.state == h1::HeadState::incomplete || size < whole.size) << bytes;
        continue;
      }
      ASSERT_EQ(part, whole) << bytes;
      break;
    }
  }
}

TEST(DamagedHeads, ThatPassTheJudgeMeanTheSameAfterTheyWereWrittenAnew) {
  Random random(8);
  int passed = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string bytes = damaged(random);
    RequestHead head;
    const h1::HeadResult parsed = h1::parse_request_head(bytes, h1::HeadLimits{}, head);
    if (parsed.state != h1::HeadState::complete) continue;
    const RequestVerdict verdict = judge_request(head, parsed);
    const RequestOptions options = request_options(head);
    if (verdict.refusal || head.method == "CONNECT" || !options.protected_option.empty()) continue;
    ++passed;
    RequestRewrite how;
    how.framing = verdict.framing;
    how.host = verdict.host;
    std::string written;
    write_request_head(head, options, how, written);
    RequestHead again;
    const h1::HeadResult reread = h1::parse_request_head(written, h1::HeadLimits{}, again);
    const RequestVerdict second = judge_request(again, reread);
    ASSERT_EQ(reread.size, written.size()) << bytes;
    ASSERT_FALSE(second.refusal) << bytes << '\n' << written;
    ASSERT_EQ(second.framing, verdict.framing) << bytes;
    ASSERT_EQ(second.host, verdict.host) << bytes;
    ASSERT_EQ(again.method, head.method);
    ASSERT_EQ(path_of(again.target), path_of(head.target)) << bytes;
  }
  EXPECT_GT(passed, 2000);
}

TEST(DamagedBodies, AreReadTheSameHoweverTheyArriveAndNeverBeyondTheirEnd) {
  Random random(9);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = "5;e=f\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: a\r\n\r\n";
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      constexpr std::string_view kTricks = "\r\n\t ;0159afgG\0x\x80"sv;
      const std::size_t at = random.below(bytes.size());
      const char trick = kTricks[random.below(kTricks.size())];
      if (random.chance(0.5)) {
        bytes[at] = trick;
      } else {
        bytes.insert(at, 1, trick);
      }
    }
    std::string outcomes[2];
    for (const bool by_byte : {false, true}) {
      BodyReader reader({BodyKind::chunked, 0});
      std::string payload;
      std::size_t consumed = 0;
      bool malformed = false;
      for (std::size_t end = by_byte ? 1 : bytes.size(); end <= bytes.size(); ++end) {
        while (!reader.done() && !malformed) {
          const std::string_view available =
              std::string_view(bytes).substr(consumed, end - consumed);
          const BodyReader::Step step = reader.read(available);
          ASSERT_LE(step.consumed, available.size());
          payload += step.payload;
          consumed += step.consumed;
          malformed = step.malformed;
          if (step.consumed == 0) break;
        }
      }
      outcomes[by_byte ? 1 : 0] = payload + (malformed ? " malformed" : "") +
                                  (reader.done() ? " done " : " ") + std::to_string(consumed);
    }
    ASSERT_EQ(outcomes[0], outcomes[1]) << bytes;
  }
}

}  // namespace
}  // namespace gatedrill::http
