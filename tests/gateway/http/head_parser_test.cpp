#include "gateway/http/h1/head_parser.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gatedrill::http::h1 {
namespace {

using namespace std::string_literals;

constexpr HeadLimits kLimits;

Defects request_defects(const std::string& bytes) {
  RequestHead head;
  const HeadResult result = parse_request_head(bytes, kLimits, head);
  EXPECT_EQ(result.state, HeadState::complete) << bytes;
  return result.defects;
}

Defects response_defects(const std::string& bytes) {
  ResponseHead head;
  const HeadResult result = parse_response_head(bytes, kLimits, head);
  EXPECT_EQ(result.state, HeadState::complete) << bytes;
  return result.defects;
}

TEST(RequestHeadParser, SplitsAHeadIntoItsParts) {
  const std::string bytes =
      "POST /order?x=1 HTTP/1.1\r\nHost: shop\r\nX-Empty:\r\nCookie: \t a=b; c=d \t\r\n\r\nbody";
  RequestHead head;
  const HeadResult result = parse_request_head(bytes, kLimits, head);
  EXPECT_EQ(result.state, HeadState::complete);
  EXPECT_EQ(result.size, bytes.size() - 4);
  EXPECT_TRUE(result.defects.none());
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/order?x=1");
  EXPECT_EQ(head.version, 11);
  ASSERT_EQ(head.fields.size(), 3U);
  EXPECT_EQ(head.fields[0].name, "Host");
  EXPECT_EQ(head.fields[0].value, "shop");
  EXPECT_EQ(head.fields[1].value, "");
  EXPECT_EQ(head.fields[2].value, "a=b; c=d");
}

TEST(RequestHeadParser, NeedsMoreBytesAtEverySplitAndIsTheSameInTheEnd) {
  const std::string bytes = "\r\nGET / HTTP/1.0\r\nHost: a\r\nAccept: */*\r\n\r\n";
  RequestHead head;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const HeadResult result = parse_request_head(bytes.substr(0, size), kLimits, head);
    ASSERT_EQ(result.state, HeadState::incomplete) << "after " << size << " bytes";
  }
  const HeadResult result = parse_request_head(bytes, kLimits, head);
  EXPECT_EQ(result.state, HeadState::complete);
  EXPECT_EQ(result.size, bytes.size());
  EXPECT_EQ(head.version, 10);
  EXPECT_EQ(head.fields.size(), 2U);
}

TEST(RequestHeadParser, NoBytesAreAnIncompleteHead) {
  RequestHead head;
  EXPECT_EQ(parse_request_head({}, kLimits, head).state, HeadState::incomplete);
  ResponseHead response;
  EXPECT_EQ(parse_response_head({}, kLimits, response).state, HeadState::incomplete);
  std::vector<Field> fields;
  EXPECT_EQ(parse_field_lines({}, kLimits, fields).state, HeadState::incomplete);
}

TEST(RequestHeadParser, SkipsEmptyLinesBeforeTheRequestLine) {
  const std::string bytes = "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
  RequestHead head;
  const HeadResult result = parse_request_head(bytes, kLimits, head);
  EXPECT_EQ(result.state, HeadState::complete);
  EXPECT_EQ(result.size, bytes.size());
  EXPECT_TRUE(result.defects.none());
}

TEST(RequestHeadParser, EmptyLinesCountAsPartOfTheHead) {
  std::string bytes;
  while (bytes.size() < kLimits.head_bytes)
    bytes += "\r\n";
  RequestHead head;
  EXPECT_EQ(parse_request_head(bytes, kLimits, head).state, HeadState::head_too_large);
}

// What RFC 9112 forbids in a request head, one defect each (gateway reference 2.8).
TEST(RequestHeadParser, NamesWhatIsWrong) {
  struct Row {
    std::string bytes;
    Defect defect;
  };

  const std::vector<Row> rows = {
      {"GET / HTTP/1.1\nHost: a\r\n\r\n", Defect::bare_lf},
      {"GET / HTTP/1.1\r\nHost: a\n\r\n", Defect::bare_lf},
      {"GET / HTTP/1.1\r\nHost: a\r\n\n", Defect::bare_lf},
      {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", Defect::bare_cr},
      {"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", Defect::bare_cr},
      {"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"s, Defect::nul_byte},
      {"GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n", Defect::control_byte},
      {"GET / HTTP/1.1\r\nHost: a\x7f\r\n\r\n", Defect::control_byte},
      {"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", Defect::obs_fold},
      {"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", Defect::obs_fold},
      {"GET / HTTP/1.1\r\nHost: a\r\n\t\r\n\r\n", Defect::obs_fold},
      {"GET / HTTP/1.1\r\nContent-Length : 5\r\n\r\n", Defect::space_before_colon},
      {"GET / HTTP/1.1\r\nContent-Length\t: 5\r\n\r\n", Defect::space_before_colon},
      {"GET / HTTP/1.1\r\n: a\r\n\r\n", Defect::bad_field_name},
      {"GET / HTTP/1.1\r\nX Y: a\r\n\r\n", Defect::bad_field_name},
      {"GET / HTTP/1.1\r\nX(Y): a\r\n\r\n", Defect::bad_field_name},
      {"GET / HTTP/1.1\r\nX\x80: a\r\n\r\n", Defect::bad_field_name},
      {"GET / HTTP/1.1\r\nX\0Y: a\r\n\r\n"s, Defect::bad_field_name},
      {"GET / HTTP/1.1\r\nno colon here\r\n\r\n", Defect::missing_colon},
      {"GET /\r\n\r\n", Defect::bad_start_line},
      {"GET\r\n\r\n", Defect::bad_start_line},
      {" GET / HTTP/1.1\r\n\r\n", Defect::bad_method},
      {"G@T / HTTP/1.1\r\n\r\n", Defect::bad_method},
      {"GET  / HTTP/1.1\r\n\r\n", Defect::bad_target},
      {"GET /a b HTTP/1.1\r\n\r\n", Defect::bad_target},
      {"GET /a#b HTTP/1.1\r\n\r\n", Defect::bad_target},
      {"GET /\xff HTTP/1.1\r\n\r\n", Defect::bad_target},
      {"GET /\t HTTP/1.1\r\n\r\n", Defect::bad_target},
      {"GET /\r HTTP/1.1\r\n\r\n", Defect::bad_target},
      {"GET / HTTP/1.1 \r\n\r\n", Defect::bad_version},
      {"GET / HTTP/1.2\r\n\r\n", Defect::bad_version},
      {"GET / HTTP/2.0\r\n\r\n", Defect::bad_version},
      {"GET / HTTP/0.9\r\n\r\n", Defect::bad_version},
      {"GET / HTTP/1.10\r\n\r\n", Defect::bad_version},
      {"GET / http/1.1\r\n\r\n", Defect::bad_version},
      {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", Defect::first_line_space},
  };
  for (const Row& row : rows) {
    EXPECT_TRUE(request_defects(row.bytes).has(row.defect)) << row.bytes;
  }
}

TEST(RequestHeadParser, FindsTheSameDefectsWhateverFollows) {
  RequestHead head;
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\nX : b\r\n\r\n";
  const HeadResult alone = parse_request_head(bytes, kLimits, head);
  const HeadResult followed = parse_request_head(bytes + "GET / HTTP/1.1\r\n", kLimits, head);
  EXPECT_EQ(alone.defects.bits(), followed.defects.bits());
  EXPECT_EQ(alone.size, followed.size);
}

TEST(RequestHeadParser, TheFirstDefectInTheOrderOfTheLinesHasAName) {
  Defects defects;
  EXPECT_EQ(first_defect(defects), "");
  defects.add(Defect::obs_fold);
  defects.add(Defect::bare_lf);
  EXPECT_EQ(first_defect(defects), "obs_fold");
  EXPECT_EQ(first_defect(request_defects("GET / HTTP/1.1\r\nX\r\nA : b\n\r\n")), "missing_colon");
}

// Whoever wants no defect need not wait for the end of the head.
TEST(RequestHeadParser, WhatIsWrongIsKnownBeforeTheHeadIsWhole) {
  RequestHead head;
  for (const std::string& bytes : {"\x16\x03\x01"s, "GET /\r\n"s, "GET / HTTP/1.1\r\nX\r\nHost"s}) {
    const HeadResult result = parse_request_head(bytes, kLimits, head);
    EXPECT_EQ(result.state, HeadState::incomplete) << bytes;
    EXPECT_FALSE(result.defects.none()) << bytes;
  }
  ResponseHead answer;
  for (const std::string& bytes : {"SSH"s, "HTTP/1.1 2x0 \r\n"s}) {
    const HeadResult result = parse_response_head(bytes, kLimits, answer);
    EXPECT_EQ(result.state, HeadState::incomplete) << bytes;
    EXPECT_FALSE(result.defects.none()) << bytes;
  }
}

TEST(RequestHeadParser, AMethodIsAnyTokenAndKeepsItsCase) {
  EXPECT_TRUE(request_defects("get / HTTP/1.1\r\n\r\n").none());
  EXPECT_TRUE(request_defects("M-SEARCH * HTTP/1.1\r\n\r\n").none());
}

TEST(RequestHeadParser, AValueMayHoldTabsAndObsText) {
  EXPECT_TRUE(request_defects("GET / HTTP/1.1\r\nX: a\tb \x80\xff\r\n\r\n").none());
}

// Limits. Whether the bytes come at once or one by one must not matter: the verdict after the last
// byte, or at the first byte that decides, is the same.
enum class Side { request, response };

HeadState whole(Side side, const std::string& bytes, const HeadLimits& limits) {
  RequestHead request;
  ResponseHead response;
  return side == Side::request ? parse_request_head(bytes, limits, request).state
                               : parse_response_head(bytes, limits, response).state;
}

HeadState byte_by_byte(Side side, const std::string& bytes, const HeadLimits& limits) {
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    const HeadState state = whole(side, bytes.substr(0, size), limits);
    if (state != HeadState::incomplete) return state;
  }
  return HeadState::incomplete;
}

TEST(HeadLimits, HoldToTheByteHoweverTheBytesArrive) {
  HeadLimits limits;
  limits.head_bytes = 400;
  limits.line_bytes = 60;
  limits.fields = 8;
  limits.target_bytes = 50;
  const auto check = [&](Side side, const std::string& bytes, HeadState expected) {
    EXPECT_EQ(whole(side, bytes, limits), expected) << bytes;
    EXPECT_EQ(byte_by_byte(side, bytes, limits), expected) << bytes;
  };
  const auto target = [](std::size_t size) {
    return "GET /" + std::string(size - 1, 'a') + " HTTP/1.1\r\n\r\n";
  };
  check(Side::request, target(50), HeadState::complete);
  check(Side::request, target(51), HeadState::target_too_long);

  const auto field = [](const std::string& start_line, std::size_t size) {
    return start_line + "\r\nX:" + std::string(size - 2, 'v') + "\r\n\r\n";
  };
  for (const auto& [side, start] : {std::pair{Side::request, "GET / HTTP/1.1"s},
                                    std::pair{Side::response, "HTTP/1.1 200 OK"s}}) {
    check(side, field(start, 60), HeadState::complete);
    check(side, field(start, 61), HeadState::head_too_large);

    std::string fields = start + "\r\n";
    for (int i = 0; i < 8; ++i)
      fields += "X: y\r\n";
    check(side, fields + "\r\n", HeadState::complete);
    check(side, fields + "X: y\r\n\r\n", HeadState::head_too_large);

    std::string head = start + "\r\n";
    while (head.size() < 330)
      head += "X: " + std::string(50, 'v') + "\r\n";
    const auto filled = [&](std::size_t size) {
      return head + "X:" + std::string(size - head.size() - 6, 'v') + "\r\n\r\n";
    };
    check(side, filled(400), HeadState::complete);
    check(side, filled(401), HeadState::head_too_large);
  }
}

TEST(HeadLimits, AStartLineOfAnyShapeIsBounded) {
  const std::string method = std::string(20'000, 'A') + " / HTTP/1.1\r\n\r\n";
  EXPECT_EQ(whole(Side::request, method, kLimits), byte_by_byte(Side::request, method, kLimits));
  EXPECT_EQ(whole(Side::request, method, kLimits), HeadState::target_too_long);
  const std::string reason = "HTTP/1.1 200 " + std::string(20'000, 'A') + "\r\n\r\n";
  EXPECT_EQ(whole(Side::response, reason, kLimits), HeadState::head_too_large);
  EXPECT_EQ(byte_by_byte(Side::response, reason, kLimits), HeadState::head_too_large);
}

TEST(HeadLimits, LinesThatNeverEndAreRefusedBeforeTheyFillTheMemory) {
  EXPECT_EQ(byte_by_byte(Side::request, "GET /" + std::string(9000, 'a'), kLimits),
            HeadState::target_too_long);
  EXPECT_EQ(byte_by_byte(Side::request, "GET / HTTP/1.1\r\nX: " + std::string(9000, 'a'), kLimits),
            HeadState::head_too_large);
  EXPECT_EQ(byte_by_byte(Side::response, std::string(9000, 'a'), kLimits),
            HeadState::head_too_large);
}

TEST(ResponseHeadParser, SplitsAHeadIntoItsParts) {
  const std::string bytes = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n\r\nx";
  ResponseHead head;
  const HeadResult result = parse_response_head(bytes, kLimits, head);
  EXPECT_EQ(result.state, HeadState::complete);
  EXPECT_EQ(result.size, bytes.size() - 1);
  EXPECT_TRUE(result.defects.none());
  EXPECT_EQ(head.status, 503);
  EXPECT_EQ(head.reason, "Service Unavailable");
  EXPECT_EQ(head.version, 11);
  EXPECT_EQ(find_field(head.fields, "retry-after"), "5");
  for (std::size_t size = 0; size + 1 < bytes.size(); ++size) {
    ASSERT_EQ(parse_response_head(bytes.substr(0, size), kLimits, head).state,
              HeadState::incomplete);
  }
}

TEST(ResponseHeadParser, AReasonMayBeEmptyButItsSpaceIsThere) {
  EXPECT_TRUE(response_defects("HTTP/1.1 200 \r\n\r\n").none());
  EXPECT_TRUE(response_defects("HTTP/1.1 200\r\n\r\n").has(Defect::bad_start_line));
}

TEST(ResponseHeadParser, NamesWhatIsWrong) {
  struct Row {
    std::string bytes;
    Defect defect;
  };

  const std::vector<Row> rows = {
      {"HTTP/1.1 099 x\r\n\r\n", Defect::bad_status},
      {"HTTP/1.1 999 x\r\n\r\n", Defect::bad_status},
      {"HTTP/1.1 20 x\r\n\r\n", Defect::bad_status},
      {"HTTP/1.1 2000 x\r\n\r\n", Defect::bad_status},
      {"HTTP/1.1 2x0 x\r\n\r\n", Defect::bad_status},
      {"HTTP/1.1 -20 x\r\n\r\n", Defect::bad_status},
      {"HTTP/1.1  200 x\r\n\r\n", Defect::bad_status},
      {"HTTP/1.1\r\n\r\n", Defect::bad_start_line},
      {"HTTP/1.2 200 OK\r\n\r\n", Defect::bad_version},
      {"HTTP/2 200 OK\r\n\r\n", Defect::bad_version},
      {"ICY 200 OK\r\n\r\n", Defect::bad_version},
      {"HTTP/1.1 200 O\rK\r\n\r\n", Defect::bare_cr},
      {"HTTP/1.1 200 OK\n\r\n", Defect::bare_lf},
      {"HTTP/1.1 200 OK\r\nX : y\r\n\r\n", Defect::space_before_colon},
      {"HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n", Defect::obs_fold},
  };
  for (const Row& row : rows) {
    EXPECT_TRUE(response_defects(row.bytes).has(row.defect)) << row.bytes;
  }
}

TEST(FieldLines, EndWithTheEmptyLine) {
  std::vector<Field> fields;
  const HeadResult result = parse_field_lines("Expires: 0\r\nX: y\r\n\r\nrest", kLimits, fields);
  EXPECT_EQ(result.state, HeadState::complete);
  EXPECT_EQ(result.size, 20U);
  EXPECT_EQ(fields.size(), 2U);
  EXPECT_EQ(parse_field_lines("\r\n", kLimits, fields).size, 2U);
  EXPECT_TRUE(fields.empty());
}

}  // namespace
}  // namespace gatedrill::http::h1
