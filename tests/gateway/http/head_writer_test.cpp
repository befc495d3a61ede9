#include "gateway/http/head_writer.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/strict.hpp"

namespace gatedrill::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Rewritten {
  std::string text;
  std::size_t digit = 0;
  RequestOptions options;
};

Rewritten rewrite(const std::string& fields,
                  RequestRewrite settings = {},
                  const std::string& line = "GET /a HTTP/1.1") {
  static std::string bytes;  // the options hold views into it
  bytes = line + "\r\nHost: shop.example\r\n" + fields + "\r\n";
  RequestHead head;
  const auto parsed = h1::parse_request_head(bytes, {}, head);
  const auto verdict = judge_request(head, parsed);
  EXPECT_FALSE(verdict.refusal) << verdict.refusal->reason;
  Rewritten result;
  result.options = request_options(head);
  settings.framing = verdict.framing;
  settings.host = verdict.host;
  settings.via = "gatedrill";
  settings.client = "192.0.2.7";
  settings.request_id = "id-1";
  result.digit = write_request_head(head, result.options, settings, result.text);
  return result;
}

TEST(RequestHeadWriter, WritesTheLineTheFieldsAndItsOwnFields) {
  const Rewritten result = rewrite("Accept: */*\r\nCookie: a=b\r\n");
  EXPECT_EQ(result.text,
            "GET /a HTTP/1.1\r\n"
            "host: shop.example\r\n"
            "Accept: */*\r\n"
            "Cookie: a=b\r\n"
            "via: 1.1 gatedrill\r\n"
            "x-forwarded-for: 192.0.2.7\r\n"
            "x-forwarded-proto: http\r\n"
            "x-forwarded-host: shop.example\r\n"
            "x-request-id: id-1\r\n"
            "x-attempt-count: 1\r\n\r\n");
  EXPECT_EQ(result.text[result.digit], '1');
}

TEST(RequestHeadWriter, DropsWhatBelongsToTheConnectionOrIsForbidden) {
  const char* dropped[] = {
      "Connection: close\r\n",
      "Keep-Alive: timeout=5\r\n",
      "Proxy-Connection: keep-alive\r\n",
      "TE: trailers\r\n",
      "Upgrade: h2c\r\n",
      "Trailer: x\r\n",
      "Expect: 100-continue\r\n",
      "X_Under: 1\r\n",
      "x-attempt-count: 9\r\n",
      "X-Forwarded-For: 10.1.1.1\r\n",
      "X-Forwarded-Proto: https\r\n",
      "X-Forwarded-Port: 1\r\n",
      "X-Request-Id: other\r\n",
  };
  for (const char* field : dropped) {
    EXPECT_THAT(rewrite(field).text, Not(HasSubstr(field))) << field;
  }
}

TEST(RequestHeadWriter, DropsTheFieldsThatConnectionNames) {
  const Rewritten result = rewrite("X-Hop: 1\r\nConnection: x-hop, close\r\nX-Hope: 2\r\n");
  EXPECT_THAT(result.text, Not(HasSubstr("X-Hop: 1")));
  EXPECT_THAT(result.text, HasSubstr("X-Hope: 2"));
  EXPECT_FALSE(result.options.keep_alive);
}

TEST(RequestHeadWriter, NamesTheConnectionOptionThatMustNotBe) {
  for (const char* name : {"Host", "Content-Length", "authorization", "X-Forwarded-For"}) {
    const Rewritten result = rewrite(std::string("Connection: close, ") + name + "\r\n");
    EXPECT_EQ(result.options.protected_option, name);
  }
  EXPECT_TRUE(rewrite("Connection: keep-alive, x-hop\r\n").options.protected_option.empty());
}

TEST(RequestHeadWriter, ContinuesTheChainOfATrustedProxy) {
  RequestRewrite settings;
  settings.trusts_forwarded = true;
  const Rewritten result = rewrite(
      "X-Forwarded-For: 203.0.113.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 10.0.0.9\r\n",
      settings);
  EXPECT_THAT(result.text, HasSubstr("x-forwarded-for: 203.0.113.1, 10.0.0.9, 192.0.2.7\r\n"));
  EXPECT_THAT(result.text, HasSubstr("X-Forwarded-Proto: https\r\n"));
  EXPECT_THAT(result.text, Not(HasSubstr("x-forwarded-proto: http\r\n")));
}

TEST(RequestHeadWriter, TakesThePrefixOffThePath) {
  struct Case {
    const char* line;
    const char* prefix;
    const char* expected;
  };

  const Case cases[] = {
      {"GET /api/x?y=/api HTTP/1.1", "/api", "GET /x?y=/api HTTP/1.1\r\n"},
      {"GET /api HTTP/1.1", "/api", "GET / HTTP/1.1\r\n"},
      {"GET /api?x HTTP/1.1", "/api", "GET /?x HTTP/1.1\r\n"},
      {"GET /other HTTP/1.1", "/api", "GET /other HTTP/1.1\r\n"},
      {"GET http://h.example/api/x HTTP/1.1", "/api", "GET /x HTTP/1.1\r\n"},
      {"GET http://h.example HTTP/1.1", "", "GET / HTTP/1.1\r\n"},
      {"OPTIONS * HTTP/1.1", "", "OPTIONS * HTTP/1.1\r\n"},
  };
  for (const Case& each : cases) {
    RequestRewrite settings;
    settings.strip_prefix = each.prefix;
    EXPECT_THAT(rewrite("", settings, each.line).text, StartsWith(each.expected)) << each.line;
  }
}

TEST(RequestHeadWriter, TheAbsoluteTargetsHostWins) {
  const Rewritten result = rewrite("", {}, "GET http://other.example:81/x HTTP/1.1");
  EXPECT_THAT(result.text, HasSubstr("host: other.example:81\r\n"));
  EXPECT_THAT(result.text, Not(HasSubstr("shop.example")));
}

TEST(RequestHeadWriter, WritesTheFramingAnew) {
  EXPECT_THAT(rewrite("content-LENGTH: 5\r\n").text, HasSubstr("content-length: 5\r\n"));
  EXPECT_THAT(rewrite("Content-Length: 0\r\n").text, HasSubstr("content-length: 0\r\n"));
  EXPECT_THAT(rewrite("transfer-Encoding: CHUNKED\r\n").text,
              HasSubstr("transfer-encoding: chunked\r\n"));
  EXPECT_THAT(rewrite("").text, Not(HasSubstr("content-length")));
}

TEST(RequestHeadWriter, KeepsConnectionsAsTheVersionHasIt) {
  EXPECT_TRUE(rewrite("").options.keep_alive);
  EXPECT_FALSE(rewrite("", {}, "GET / HTTP/1.0").options.keep_alive);
  EXPECT_TRUE(rewrite("Connection: keep-alive\r\n", {}, "GET / HTTP/1.0").options.keep_alive);
}

std::string rewrite_answer(const std::string& bytes, ResponseRewrite settings) {
  ResponseHead head;
  const auto parsed = h1::parse_response_head(bytes, {}, head);
  EXPECT_EQ(parsed.state, h1::HeadState::complete);
  std::string out;
  write_response_head(head, response_options(head), settings, out);
  return out;
}

TEST(ResponseHeadWriter, WritesTheFieldsAndItsOwnFraming) {
  ResponseRewrite settings;
  settings.framing = {BodyKind::length, 7};
  EXPECT_EQ(rewrite_answer("HTTP/1.0 200 Fine\r\nServer: x\r\nConnection: x-hop\r\nX-Hop: 1\r\n"
                           "Keep-Alive: timeout=5\r\nContent-Length: 7\r\n\r\n",
                           settings),
            "HTTP/1.1 200 Fine\r\nServer: x\r\ncontent-length: 7\r\n\r\n");
  settings.framing = {BodyKind::chunked, 0};
  settings.close = true;
  EXPECT_EQ(rewrite_answer("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n", settings),
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n");
}

TEST(ResponseHeadWriter, TellsTheLengthThatAnAnswerWithoutBodyAnnounces) {
  ResponseRewrite settings;
  settings.bodiless = true;
  EXPECT_THAT(rewrite_answer("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", settings),
              HasSubstr("content-length: 7\r\n"));
  EXPECT_THAT(rewrite_answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", settings),
              HasSubstr("content-length: 9\r\n"));
  EXPECT_THAT(rewrite_answer("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", settings),
              Not(HasSubstr("content-length")));
}

TEST(ResponseHeadWriter, ReadsTheUpstreamsKeepAliveTimeout) {
  ResponseHead head;
  const std::string bytes = "HTTP/1.1 200 OK\r\nKeep-Alive: max=3, timeout=15\r\n\r\n";
  ASSERT_EQ(h1::parse_response_head(bytes, {}, head).state, h1::HeadState::complete);
  EXPECT_EQ(response_options(head).keep_alive_timeout, Duration{std::chrono::seconds{15}});
}

}  // namespace
}  // namespace gatedrill::http
