// mitmproxy's flow files, made by hand.
#include "replay/formats/mitmproxy.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/formats/tnetstring.hpp"
#include "tests/support/imported.hpp"

namespace gatedrill::replay::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::Imported;

std::string tagged(const std::string& bytes, char tag) {
  return std::to_string(bytes.size()) + ":" + bytes + tag;
}

std::string text(const std::string& bytes) {
  return tagged(bytes, ';');
}

std::string bytes(const std::string& raw) {
  return tagged(raw, ',');
}

std::string list(const std::string& items) {
  return tagged(items, ']');
}

std::string map(const std::string& items) {
  return tagged(items, '}');
}

const std::string kNull = "0:~";

std::string header(const std::string& name, const std::string& value) {
  return list(bytes(name) + bytes(value));
}

std::string request(const std::string& content) {
  return map(text("method") + bytes("POST") + text("path") + bytes("/a?b") + text("http_version") +
             bytes("HTTP/1.1") + text("headers") +
             list(header("Host", "shop") + header("X-A", "1")) + text("content") + content +
             text("timestamp_start") + tagged("1690281721.7268102", '^') + text("timestamp_end") +
             tagged("1690281721.73", '^'));
}

std::string response(const std::string& content) {
  return map(text("status_code") + tagged("503", '#') + text("reason") + bytes("Busy") +
             text("http_version") + bytes("HTTP/1.1") + text("headers") + list("") +
             text("content") + content + text("timestamp_start") + tagged("1690281721.8", '^') +
             text("timestamp_end") + tagged("1690281721.9", '^'));
}

std::string flow(const std::string& request, const std::string& response, int version = 18) {
  return map(
      text("version") + tagged(std::to_string(version), '#') + text("type") + text("http") +
      text("client_conn") + map(text("address") + list(text("10.0.0.1") + tagged("4711", '#'))) +
      text("server_conn") +
      map(text("ip_address") + list(text("::1") + tagged("80", '#')) + text("id") + text("s1")) +
      text("request") + request + text("response") + response + text("error") +
      map(text("msg") + text("refused")));
}

struct MitmproxyTest : ::testing::Test {
  void read(const std::string& file) {
    tests::import_bytes(imported, mitmproxy_format(), {file}, "f.mitm");
  }

  Imported imported;
};

TEST_F(MitmproxyTest, AFlowIsAnExchange) {
  read(flow(request(bytes("x\xFF")), response(bytes("no"))));
  ASSERT_EQ(imported.exchanges.size(), 1U) << imported.error;
  const RecordedExchange& exchange = imported.exchanges[0];
  EXPECT_EQ(exchange.at.ns, 1690281721726810200);
  EXPECT_EQ(exchange.request_end->ns, 1690281721730000000);
  EXPECT_EQ(exchange.response_begin->ns, 1690281721800000000);
  EXPECT_EQ(exchange.latency, Duration(173'189'800));
  EXPECT_EQ(exchange.client, "10.0.0.1:4711");
  EXPECT_EQ(exchange.server, "[::1]:80");
  EXPECT_EQ(exchange.host, "shop");
  EXPECT_EQ(exchange.request->method, "POST");
  EXPECT_EQ(exchange.request->target, "/a?b");
  EXPECT_THAT(exchange.request->fields,
              ElementsAre(RecordedField{"Host", "shop"}, RecordedField{"X-A", "1"}));
  EXPECT_EQ(exchange.request->body, "x\xFF");
  EXPECT_EQ(exchange.response->status, 503);
  EXPECT_EQ(exchange.response->body, "no");
  EXPECT_THAT(imported.losses, IsEmpty());
}

TEST_F(MitmproxyTest, FlowsOfOneServerConnectionAreOneConnection) {
  const std::string one = flow(request(bytes("")), response(bytes("")));
  read(one + one);
  ASSERT_EQ(imported.exchanges.size(), 2U);
  EXPECT_EQ(imported.exchanges[0].connection, imported.exchanges[1].connection);
}

TEST_F(MitmproxyTest, WhatIsMissingIsSaid) {
  read(flow(request(kNull), kNull));
  ASSERT_EQ(imported.exchanges.size(), 1U) << imported.error;
  EXPECT_FALSE(imported.exchanges[0].request->complete);
  EXPECT_FALSE(imported.exchanges[0].response);
  EXPECT_EQ(imported.lost(),
            "f.mitm: byte 0: a request's body that is not in the file\n"
            "f.mitm: byte 0: a flow without an answer\n");
  EXPECT_EQ(imported.losses[1].detail, "refused");
}

TEST_F(MitmproxyTest, WrongFilesAreRefusedWithTheirPlace) {
  const std::string one = flow(request(bytes("")), response(bytes("")));
  const auto refusal = [this](const std::string& file) {
    imported.error.clear();
    read(file);
    return imported.error;
  };
  const std::string size = std::to_string(one.size());
  EXPECT_THAT(refusal("GET /"), HasSubstr("f.mitm: byte 0: expected a flow"));
  EXPECT_THAT(refusal(one + "{}"), HasSubstr("f.mitm: byte " + size + ": expected a flow"));
  EXPECT_THAT(refusal(one + one.substr(0, 50)), HasSubstr("byte " + size + ": a flow of " + size));
  EXPECT_THAT(refusal(text("hello")), HasSubstr("no flow of mitmproxy"));
  EXPECT_THAT(refusal(flow(request(bytes("")), kNull, 5)), HasSubstr("a version before 7"));
}

TEST(Tnetstring, NestingHasABound) {
  std::string deep;
  for (int i = 0; i < 32; ++i)
    deep = list(deep);
  EXPECT_TRUE(parse_tnet(deep));
  for (int i = 0; i < 5; ++i)
    deep = list(deep);
  EXPECT_FALSE(parse_tnet(deep));
}

TEST(Tnetstring, WhatIsNoneIsNone) {
  for (const char* wrong : {"", "1", "1:", "1:a", "1:a?", "2:a,", "a:b,", ":,", "3:1:a]", "3:0:~}",
                            "99999999999999:a,", "-1:a,", "1:a,b"}) {
    EXPECT_FALSE(parse_tnet(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace gatedrill::replay::formats
