#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "gateway/http/framing.hpp"

namespace gatedrill::http {
namespace {

using namespace std::string_literals;

struct Read {
  std::string payload;
  std::size_t consumed = 0;
  bool malformed = false;
  bool done = false;

  bool operator==(const Read&) const = default;
};

// Feeds the bytes in pieces that end at the given places, as a driver does: what is not consumed
// is offered again with what follows.
Read read_in_pieces(Framing framing, const std::string& bytes, std::vector<std::size_t> ends) {
  ends.push_back(bytes.size());
  BodyReader reader(framing);
  Read read;
  for (const std::size_t end : ends) {
    while (!reader.done() && !read.malformed) {
      const std::string_view available = std::string_view(bytes).substr(0, end);
      const BodyReader::Step step = reader.read(available.substr(read.consumed));
      read.payload += step.payload;
      read.consumed += step.consumed;
      read.malformed = step.malformed;
      if (step.consumed == 0) break;
    }
  }
  read.done = reader.done();
  EXPECT_EQ(reader.payload_bytes(), read.payload.size());
  return read;
}

Read read_chunked(const std::string& bytes) {
  return read_in_pieces({BodyKind::chunked, 0}, bytes, {});
}

TEST(BodyReader, NoBodyIsDoneAtOnce) {
  BodyReader reader(Framing{});
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(reader.read("GET").consumed, 0U);
  EXPECT_TRUE(BodyReader({BodyKind::length, 0}).done());
}

TEST(BodyReader, ALengthLeavesWhatFollowsAlone) {
  const Read read = read_in_pieces({BodyKind::length, 5}, "helloGET / HTTP/1.1", {});
  EXPECT_EQ(read.payload, "hello");
  EXPECT_EQ(read.consumed, 5U);
  EXPECT_TRUE(read.done);
}

TEST(BodyReader, ACloseBeforeTheLengthIsReachedIsNotTheEnd) {
  BodyReader reader({BodyKind::length, 5});
  EXPECT_EQ(reader.read("hel").payload, "hel");
  EXPECT_EQ(reader.remaining(), 2U);
  EXPECT_FALSE(reader.finish_at_close());
}

TEST(BodyReader, UntilCloseTheCloseIsTheEnd) {
  BodyReader reader({BodyKind::until_close, 0});
  EXPECT_EQ(reader.read("abc").payload, "abc");
  EXPECT_FALSE(reader.done());
  EXPECT_TRUE(reader.finish_at_close());
  EXPECT_TRUE(reader.done());
}

TEST(BodyReader, ACloseBeforeTheLastChunkIsNotTheEnd) {
  BodyReader reader({BodyKind::chunked, 0});
  EXPECT_EQ(reader.read("5\r\nhello").consumed, 3U);
  EXPECT_FALSE(reader.finish_at_close());
  EXPECT_EQ(reader.read("hello\r\n").payload, "hello");
  EXPECT_FALSE(reader.finish_at_close());
}

TEST(BodyReader, ChunksComeOutAsPayload) {
  const std::string body = "5\r\nhello\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\nX-Trailer: a\r\n\r\n";
  const Read read = read_chunked(body + "GET");
  EXPECT_EQ(read.payload, "hello0123456789");
  EXPECT_TRUE(read.done);
  EXPECT_FALSE(read.malformed);
  EXPECT_EQ(read.consumed, body.size());
}

TEST(BodyReader, ChunksAreTheSameSplitAtEveryTwoBytes) {
  const std::string bytes = "5;e=f\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: a\r\nB: c\r\n\r\nrest";
  const Read whole = read_chunked(bytes);
  EXPECT_EQ(whole.payload, "hello!");
  EXPECT_TRUE(whole.done);
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      ASSERT_EQ(read_in_pieces({BodyKind::chunked, 0}, bytes, {first, second}), whole)
          << "split at " << first << " and " << second;
    }
  }
}

// All of llhttp's leniency switches for chunks are off here, and more.
std::vector<std::string> hostile_chunks() {
  return {
      " 5\r\nhello\r\n0\r\n\r\n",                 // white space before the size
      "5 \r\nhello\r\n0\r\n\r\n",                 // after it
      "5\t\r\nhello\r\n0\r\n\r\n",                //
      "5 ;x\r\nhello\r\n0\r\n\r\n",               //
      "0x5\r\nhello\r\n0\r\n\r\n",                //
      "+5\r\nhello\r\n0\r\n\r\n",                 //
      "-1\r\nhello\r\n0\r\n\r\n",                 //
      "\r\nhello\r\n0\r\n\r\n",                   // no size
      ";x\r\nhello\r\n0\r\n\r\n",                 //
      "g\r\nhello\r\n0\r\n\r\n",                  //
      "5\nhello\r\n0\r\n\r\n",                    // LF alone
      "5\r\r\nhello\r\n0\r\n\r\n",                // two CR
      "5;a\nb\r\nhello\r\n0\r\n\r\n",             // LF in an extension
      "5;a\rb\r\nhello\r\n0\r\n\r\n",             // CR in an extension
      "5;a\0b\r\nhello\r\n0\r\n\r\n"s,            // NUL in an extension
      "5\r\nhello\n0\r\n\r\n",                    // LF alone after the data
      "5\r\nhello0\r\n\r\n",                      // nothing after the data
      "5\r\nhello\r0\r\n\r\n",                    // CR alone after the data
      "5\r\nhelloworld\r\n0\r\n\r\n",             // more data than the size
      "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",   // sizes that overflow
      "10000000000000005\r\nhello\r\n0\r\n\r\n",  //
      "0\r\nX: y\n\r\n",                          // LF alone in the trailer
      "0\r\n\n",                                  //
  };
}

TEST(BodyReader, HostileChunksAreRefused) {
  for (const std::string& bytes : hostile_chunks()) {
    const Read read = read_chunked(bytes);
    EXPECT_TRUE(read.malformed) << bytes;
    EXPECT_FALSE(read.done) << bytes;
  }
}

TEST(BodyReader, HostileChunksAreRefusedHoweverTheyAreSplit) {
  for (const std::string& bytes : hostile_chunks()) {
    const Read whole = read_chunked(bytes);
    for (std::size_t split = 0; split <= bytes.size(); ++split) {
      const Read read = read_in_pieces({BodyKind::chunked, 0}, bytes, {split});
      ASSERT_EQ(read, whole) << bytes << " split at " << split;
    }
  }
}

TEST(BodyReader, RandomBodiesInRandomChunksAndPiecesComeOutWhole) {
  Random random(2026);
  for (int round = 0; round < 500; ++round) {
    std::string body;
    std::string wire;
    const std::uint64_t chunks = random.below(6);
    for (std::uint64_t i = 0; i < chunks; ++i) {
      std::string chunk;
      for (std::uint64_t n = 1 + random.below(40); n > 0; --n)
        chunk += static_cast<char>(random.below(256));
      char size[32];
      std::snprintf(size, sizeof size, random.chance(0.5) ? "%zx" : "%zX", chunk.size());
      wire += size;
      if (random.chance(0.3)) wire += ";ext=1";
      wire += "\r\n" + chunk + "\r\n";
      body += chunk;
    }
    wire += random.chance(0.5) ? "0\r\n\r\n" : "000\r\nX: y\r\n\r\n";
    std::vector<std::size_t> ends;
    for (std::uint64_t n = random.below(8); n > 0; --n)
      ends.push_back(random.below(wire.size() + 1));
    std::sort(ends.begin(), ends.end());
    const Read read = read_in_pieces({BodyKind::chunked, 0}, wire + "next", ends);
    ASSERT_TRUE(read.done);
    ASSERT_EQ(read.payload, body);
    ASSERT_EQ(read.consumed, wire.size());
  }
}

}  // namespace
}  // namespace gatedrill::http
