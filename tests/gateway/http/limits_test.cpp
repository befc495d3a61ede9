// Every limit of http: what is as large as it allows passes, one byte or one field more does not,
// and it makes no difference whether the bytes come at once or one by one.
#include <string>

#include <gtest/gtest.h>

#include "gateway/http/strict.hpp"
#include "tests/gateway/http/wire.hpp"

namespace gatedrill::http {
namespace {

// Both ways; a difference fails the test.
std::string story_of(const std::string& bytes, const h1::HeadLimits& limits = {}) {
  const std::string whole = wire::read_requests(bytes, {}, limits).story;
  EXPECT_EQ(wire::read_requests(bytes, wire::every_split(bytes.size()).back(), limits).story,
            whole);
  return whole;
}

std::string answer_of(const std::string& bytes, const h1::HeadLimits& limits = {}) {
  const std::string whole = wire::read_response(bytes, "GET", {}, limits);
  EXPECT_EQ(wire::read_response(bytes, "GET", wire::every_split(bytes.size()).back(), limits),
            whole);
  return whole;
}

std::string times(std::size_t count, const std::string& text) {
  std::string result;
  while (count-- > 0)
    result += text;
  return result;
}

const std::string kGet = "GET / HTTP/1.1\r\nHost: a\r\n";
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";

TEST(RequestLimits, TheHeadInAllIs431BeyondIt) {
  h1::HeadLimits limits;
  limits.head_bytes = 1000;
  const std::size_t room = limits.head_bytes - kGet.size() - std::string("X: \r\n\r\n").size();
  const auto with = [](std::size_t size) { return kGet + "X: " + times(size, "x") + "\r\n\r\n"; };
  EXPECT_EQ(story_of(with(room), limits), "GET / ''");
  EXPECT_EQ(story_of(with(room + 1), limits), "431 head_too_large");
  EXPECT_EQ(story_of(kGet + times(1000, "X: y\r\n"), limits), "431 head_too_large");
}

TEST(RequestLimits, EmptyLinesBeforeItCountIntoTheHead) {
  h1::HeadLimits limits;
  limits.head_bytes = 100;
  const std::size_t room = limits.head_bytes - kGet.size() - 2;
  ASSERT_EQ(room % 2, 1U);
  EXPECT_EQ(story_of(times(room / 2, "\r\n") + kGet + "\r\n", limits), "GET / ''");
  EXPECT_EQ(story_of(times(room / 2 + 1, "\r\n") + kGet + "\r\n", limits), "431 head_too_large");
  EXPECT_EQ(story_of(times(60, "\r\n"), limits), "431 head_too_large");
}

TEST(RequestLimits, ALineIs431BeyondIt) {
  h1::HeadLimits limits;
  const auto with = [](std::size_t size) { return kGet + times(size - 3, "x") + ": y\r\n\r\n"; };
  EXPECT_EQ(story_of(with(limits.line_bytes), limits), "GET / ''");
  EXPECT_EQ(story_of(with(limits.line_bytes + 1), limits), "431 head_too_large");
  EXPECT_EQ(story_of(kGet + times(limits.line_bytes + 2, "x"), limits), "431 head_too_large")
      << "before its end has come";
}

TEST(RequestLimits, TheFieldsAre431BeyondTheirNumber) {
  h1::HeadLimits limits;
  EXPECT_EQ(story_of(kGet + times(limits.fields - 1, "X: y\r\n") + "\r\n"), "GET / ''");
  EXPECT_EQ(story_of(kGet + times(limits.fields, "X: y\r\n") + "\r\n"), "431 head_too_large");
}

TEST(RequestLimits, TheTargetIs414BeyondItsLength) {
  h1::HeadLimits limits;
  limits.target_bytes = 500;
  const auto with = [](std::size_t size) {
    return "GET /" + times(size - 1, "x") + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(wire::read_requests(with(500), {}, limits).story.substr(0, 5), "GET /");
  EXPECT_EQ(story_of(with(500), limits), wire::read_requests(with(500), {}, limits).story);
  EXPECT_EQ(story_of(with(501), limits), "414 target_too_long");
  EXPECT_EQ(story_of("GET /" + times(600, "x"), limits), "414 target_too_long")
      << "before its end has come";
}

TEST(RequestLimits, ALimitOfTheHeadBelowTheTargetsIsTheFirst) {
  h1::HeadLimits limits;
  limits.head_bytes = 100;
  EXPECT_EQ(story_of("GET /" + times(200, "x") + " HTTP/1.1\r\nHost: a\r\n\r\n", limits),
            "431 head_too_large");
}

TEST(RequestLimits, OfTwoTheOneThatIsMetFirstHoweverManyBytesCome) {
  h1::HeadLimits limits;
  limits.target_bytes = 100;
  const std::string bytes = "GET /" + times(500, "x") + " HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const std::size_t head_bytes : {20U, 100U, 160U, 163U, 164U, 165U, 166U, 200U, 600U}) {
    limits.head_bytes = head_bytes;
    story_of(bytes, limits);
    story_of("\r\n" + bytes, limits);
  }
}

TEST(RequestLimits, WhatComesFirstIsTheVerdict) {
  h1::HeadLimits limits;
  limits.fields = 3;
  EXPECT_EQ(story_of(kGet + "X : y\r\n" + times(5, "X: y\r\n") + "\r\n", limits),
            "400 space_before_colon");
  EXPECT_EQ(story_of(kGet + times(5, "X: y\r\n") + "X : y\r\n\r\n", limits), "431 head_too_large");
}

TEST(ResponseLimits, AreMalformedAnswersBeyondThem) {
  h1::HeadLimits limits;
  limits.head_bytes = 1000;
  limits.line_bytes = 300;
  limits.fields = 4;
  const std::size_t room = limits.head_bytes - kOk.size() - std::string("\r\n").size();
  const std::string three = times(3, "X: " + times(297, "x") + "\r\n");
  EXPECT_EQ(answer_of(kOk + three + "\r\n", limits), "200 '' keep")
      << three.size() << " of " << room;
  EXPECT_EQ(answer_of(kOk + "X: " + times(297, "x") + "\r\n\r\n", limits), "200 '' keep");
  EXPECT_EQ(answer_of(kOk + "X: " + times(298, "x") + "\r\n\r\n", limits),
            "502 head_too_large close");
  EXPECT_EQ(answer_of(kOk + times(3, "X: y\r\n") + "\r\n", limits), "200 '' keep");
  EXPECT_EQ(answer_of(kOk + times(4, "X: y\r\n") + "\r\n", limits), "502 head_too_large close");
  EXPECT_EQ(answer_of("HTTP/1.1 200 " + times(287, "x") + "\r\n\r\n", limits), "200 '' close");
  EXPECT_EQ(answer_of("HTTP/1.1 200 " + times(289, "x") + "\r\n\r\n", limits),
            "502 head_too_large close");
  limits.line_bytes = 2000;
  const auto with = [](std::size_t size) { return kOk + "X: " + times(size, "x") + "\r\n\r\n"; };
  EXPECT_EQ(answer_of(with(room - 5), limits), "200 '' keep");
  EXPECT_EQ(answer_of(with(room - 4), limits), "502 head_too_large close");
}

// Bodies, whichever way they go.

std::string chunks(const std::string& rest) {
  return story_of(kGet + "Transfer-Encoding: chunked\r\n\r\n" + rest);
}

constexpr const char* kRefused = "GET / '' | 400 malformed_body";

TEST(BodyLimits, AChunksLine) {
  const std::size_t room = BodyReader::kLineBytesMax - std::string("0;\r").size();
  EXPECT_EQ(chunks("0;" + times(room, "x") + "\r\n\r\n"), "GET / ''");
  EXPECT_EQ(chunks("0;" + times(room + 1, "x") + "\r\n\r\n"), kRefused);
  EXPECT_EQ(chunks("0;" + times(room + 10, "x")), kRefused) << "before its end has come";
  EXPECT_EQ(chunks(times(BodyReader::kLineBytesMax + 1, "0")), kRefused);
}

TEST(BodyLimits, TheExtensionsOfAWholeBody) {
  const std::string one = "1;" + times(1023, "x") + "\r\n.\r\n";
  EXPECT_EQ(chunks(times(8, one) + "0\r\n\r\n"), "GET / '........'");
  EXPECT_EQ(chunks(times(8, one) + "0;a\r\n\r\n"), "GET / '........' | 400 malformed_body");
}

TEST(BodyLimits, ATrailersLine) {
  const auto with = [](std::size_t size) { return "0\r\nX:" + times(size - 2, "x") + "\r\n\r\n"; };
  EXPECT_EQ(chunks(with(BodyReader::kLineBytesMax - 1)), "GET / +X ''");
  EXPECT_EQ(chunks(with(BodyReader::kLineBytesMax)), kRefused);
  EXPECT_EQ(chunks("0\r\n" + times(BodyReader::kLineBytesMax + 1, "x")), kRefused);
}

TEST(BodyLimits, TheTrailerSectionInAllAndItsFields) {
  const std::string field = "X: " + times(1019, "x") + "\r\n";
  ASSERT_EQ(field.size() * 16, BodyReader::kTrailerBytesMax);
  const std::string fifteen = times(15, field);
  const std::string rest = "X: " + times(1017, "x") + "\r\n";
  EXPECT_EQ(chunks("0\r\n" + fifteen + rest + "\r\n").find("400"), std::string::npos);
  EXPECT_NE(chunks("0\r\n" + fifteen + field + "\r\n").find("400 malformed_body"),
            std::string::npos);
  const std::size_t most = BodyReader::kTrailerFieldsMax;
  EXPECT_EQ(chunks("0\r\n" + times(most, "X: y\r\n") + "\r\n").find("400"), std::string::npos);
  EXPECT_NE(chunks("0\r\n" + times(most + 1, "X: y\r\n") + "\r\n").find("400 malformed_body"),
            std::string::npos);
}

}  // namespace
}  // namespace gatedrill::http
