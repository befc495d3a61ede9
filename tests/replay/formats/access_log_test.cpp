// Access logs: lines of every shape that is met in real files, and what a log cannot tell.
#include "replay/formats/access_log.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/imported.hpp"

namespace gatedrill::replay::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tests::Imported;

const std::string kTail = R"(" 200 571 "-" "curl/8")";

struct AccessLogTest : ::testing::Test {
  void read(const std::string& bytes) {
    tests::import_bytes(imported, access_log_format(), {bytes}, "a.log");
    EXPECT_EQ(imported.error, "");
  }

  const RecordedExchange& read_one(const std::string& line) {
    imported.exchanges.clear();
    read(line + "\n");
    EXPECT_EQ(imported.exchanges.size(), 1U);
    static const RecordedExchange none;
    return imported.exchanges.empty() ? none : imported.exchanges.front();
  }

  // `who` in front of the time of an ordinary line.
  const RecordedExchange& read_who(const std::string& who) {
    return read_one(who + R"( [17/May/2015:10:05:03 +0200] "GET /x HTTP/1.1)" + kTail);
  }

  static std::string line(const std::string& second, const std::string& target) {
    return "1.2.3.4 - - [17/May/2015:10:05:" + second + " +0000] \"GET " + target +
           " HTTP/1.1\" 200 0 \"-\" \"-\"\n";
  }

  Imported imported;
};

TEST_F(AccessLogTest, ALineIsAnExchange) {
  const RecordedExchange& exchange = read_one(
      R"x(83.149.9.216 - - [17/May/2015:10:05:03 +0200] "GET /a?b HTTP/1.1" 404 571 "http://r/" "Mozilla/5.0 (X)")x");
  EXPECT_EQ(exchange.at.ns, 1431849903000000000);
  EXPECT_EQ(exchange.client, "83.149.9.216");
  EXPECT_EQ(exchange.request->method, "GET");
  EXPECT_EQ(exchange.request->target, "/a?b");
  EXPECT_EQ(exchange.request->version, "HTTP/1.1");
  EXPECT_TRUE(exchange.request->complete);
  EXPECT_THAT(exchange.request->fields,
              ElementsAre(RecordedField{"Referer", "http://r/"},
                          RecordedField{"User-Agent", "Mozilla/5.0 (X)"}));
  EXPECT_EQ(exchange.response->status, 404);
  EXPECT_FALSE(exchange.response->complete) << "571 bytes that the log does not hold";
  EXPECT_EQ(imported.counts["answers without their body"], 1);
  EXPECT_EQ(exchange.latency, std::nullopt);
}

TEST_F(AccessLogTest, TheCommonFormatHasNoReferer) {
  const RecordedExchange& exchange =
      read_one(R"(1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.0" 304 -)");
  EXPECT_EQ(exchange.protocol, "http/1.0");
  EXPECT_THAT(exchange.request->fields, IsEmpty());
  EXPECT_TRUE(exchange.response->complete);
}

TEST_F(AccessLogTest, EscapesAreUndone) {
  EXPECT_EQ(unescaped(R"(\x22a\x5Cb\xe9\\ \" \n\t\q\x1)"), "\"a\\b\xE9\\ \" \n\t\\q\\x1");
  const RecordedExchange& exchange = read_one(
      R"(1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /caf\xC3\xA9?q=\x22 HTTP/1.1" 200 0 "-" "say \"hi\" \x5C")");
  EXPECT_EQ(exchange.request->target, "/caf\xC3\xA9?q=\"");
  EXPECT_EQ(value_of(exchange.request->fields, "User-Agent"), "say \"hi\" \\");
}

TEST_F(AccessLogTest, AddressesComeAloneInListsAndBehindAHost) {
  EXPECT_EQ(read_who("1.2.3.4 - -").client, "1.2.3.4");
  EXPECT_EQ(read_who("2a03::8000 - -").client, "2a03::8000");
  EXPECT_EQ(read_who("unix: - -").client, "unix:");
  EXPECT_EQ(read_who("- - -").client, "");
  const auto forwarded = [this](const std::string& who) {
    const RecordedExchange& exchange = read_who(who);
    return exchange.client + " for " +
           std::string(value_of(exchange.request->fields, "X-Forwarded-For"));
  };
  EXPECT_EQ(forwarded("10.0.0.2, 10.0.0.1, 85.1.2.3 - -"), "85.1.2.3 for 10.0.0.2, 10.0.0.1");
  EXPECT_EQ(forwarded("2a03::1, 10.2.1.17 10.2.2.121 - -"), "10.2.2.121 for 2a03::1, 10.2.1.17");
  EXPECT_EQ(forwarded("\"10.5.1.2, 199.96.1.1\" 10.2.1.185 - -"),
            "10.2.1.185 for 10.5.1.2, 199.96.1.1");
  const RecordedExchange& hosted = read_who("www.shop.example:80 1.2.3.4 - -");
  EXPECT_EQ(hosted.client, "1.2.3.4");
  EXPECT_EQ(hosted.host, "www.shop.example:80");
  EXPECT_EQ(hosted.request->fields.front(), (RecordedField{"Host", "www.shop.example:80"}));
}

TEST_F(AccessLogTest, UserNamesMayBeMissingOrHoldSpacesAndBrackets) {
  EXPECT_EQ(read_who("1.2.3.4 -").client, "1.2.3.4");
  EXPECT_EQ(imported.counts["lines without the user's field"], 1);
  EXPECT_EQ(read_who("1.2.3.4 - ann").client, "1.2.3.4");
  EXPECT_EQ(read_who("1.2.3.4 - ann of [x]").client, "1.2.3.4");
  EXPECT_EQ(imported.counts["user names left out"], 2);
}

TEST_F(AccessLogTest, TheAddressListOfNginxsMainFormatIsAField) {
  const RecordedExchange& exchange = read_one(
      R"(1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/2.0" 200 0 "-" "c" "9.8.7.6")");
  EXPECT_EQ(value_of(exchange.request->fields, "X-Forwarded-For"), "9.8.7.6");
  EXPECT_EQ(exchange.protocol, "h2");
}

TEST_F(AccessLogTest, ARequestLineThatIsNoneLeavesTheAnswer) {
  for (const char* request : {"", "-", "\\x16\\x03\\x01", "GET /", "G(T / HTTP/1.1"}) {
    const RecordedExchange& exchange =
        read_one(std::string("1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"") + request +
                 "\" 400 0 \"-\" \"-\"");
    EXPECT_FALSE(exchange.request) << request;
    EXPECT_EQ(exchange.response->status, 400);
  }
  EXPECT_EQ(imported.losses.size(), 5U);
  EXPECT_EQ(imported.losses[0].place, "a.log:1");
  EXPECT_EQ(imported.losses[0].reason, "a request line that is empty or not HTTP");
}

TEST_F(AccessLogTest, BodiesThatTheLogLacksMakeRequestsPartial) {
  EXPECT_FALSE(read_one(R"(1.2.3.4 - - [17/May/2015:10:05:03 +0000] "POST /login HTTP/1.1)" + kTail)
                   .request->complete);
  EXPECT_EQ(imported.counts["requests without their body"], 1);
}

TEST_F(AccessLogTest, AnAnswerToHeadHasNoBodyWhateverItsSize) {
  EXPECT_TRUE(read_one(R"(1.2.3.4 - - [17/May/2015:10:05:03 +0000] "HEAD / HTTP/1.1)" + kTail)
                  .response->complete);
}

TEST_F(AccessLogTest, NobodyGotAnAnswerWith499And444) {
  for (const char* status : {"499", "444", "000", "009", "099"}) {
    EXPECT_FALSE(
        read_one(std::string(R"(1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" )") +
                 status + R"( 0 "-" "-")")
            .response)
        << status;
    EXPECT_FALSE(read_one(R"({"msec":"1.5","request_method":"GET","request_uri":"/","status":")" +
                          std::string(status) + "\"}")
                     .response)
        << status;
  }
  EXPECT_EQ(imported.counts["requests that got no answer"], 10);
}

TEST_F(AccessLogTest, AStatusIsANumberFrom100To999) {
  EXPECT_EQ(parse_log_status("100"), 100);
  EXPECT_EQ(parse_log_status("999"), 999);
  EXPECT_EQ(parse_log_status("99"), 0);
  EXPECT_EQ(parse_log_status("009"), 0);
  EXPECT_EQ(parse_log_status("000"), 0);
  for (const char* none : {"", "-", "-200", "+200", "1000", "20x", "4294967496"})
    EXPECT_EQ(parse_log_status(none), std::nullopt) << none;
}

TEST_F(AccessLogTest, WhatIsSaidOfAWrongLineHoldsNoSecret) {
  read(line("03", "/1") + "GET /login?token=hunter2\n{\"http_cookie\":\"hunter2\"}\n" +
       "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"token=hunter2\" 400 0\n");
  ASSERT_EQ(imported.losses.size(), 3U);
  for (const ImportLoss& loss : imported.losses)
    EXPECT_EQ(loss.detail, "") << loss.place;
  EXPECT_THAT(imported.lost(), HasSubstr("a.log:2: a line without a [time]"));
  tests::import_bytes(imported, access_log_format(), {"token=hunter2\n"}, "a.log");
  EXPECT_THAT(imported.error, HasSubstr("a.log:1: expected a line such as"));
  EXPECT_THAT(imported.error, Not(HasSubstr("hunter2")));
}

TEST_F(AccessLogTest, WrongLinesAreListedWithTheirNumberAndReason) {
  read(line("03", "/1") + "2021/12/01 13:53:33 [error] 31#31: *46 open() failed\n" +
       "nonsense\n\n" + "1.2.3.4 [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n" +
       "1.2.3.4 - - [17/May/2015:10:05:03 +0000] GET\n" +
       "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" abc\n" +
       "1.2.3.4 - - [32/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n" +
       "{\"a\":1}\n{\"a\n{\"msec\":1e9999}\n" + line("04", "/2"));
  EXPECT_EQ(imported.exchanges.size(), 2U);
  EXPECT_EQ(imported.lost(),
            "a.log:2: a line of an error log\n"
            "a.log:3: a line without a [time] of the combined format\n"
            "a.log:5: a line without address, ident and user in front of its time\n"
            "a.log:6: a line without a \"request\" behind its time\n"
            "a.log:7: a line without status and size behind its request\n"
            "a.log:8: a line without a [time] of the combined format\n"
            "a.log:9: a JSON line that has neither nginx's msec nor gatedrill's time, target and "
            "cause\n"
            "a.log:10: a line that is no JSON\n"
            "a.log:11: a line that is no JSON\n");
}

TEST_F(AccessLogTest, TheLinesOfASecondAreSpreadOverItInTheirOrder) {
  read(line("03", "/1") + line("03", "/2") + line("03", "/3") + line("03", "/4") +
       line("04", "/5") + line("03", "/6") + line("03", "/7") + line("05", "/8"));
  std::vector<std::string> order;
  std::vector<std::int64_t> times;
  std::vector<RecordedExchange> all = imported.exchanges;
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  for (const RecordedExchange& exchange : all) {
    order.push_back(exchange.request->target);
    times.push_back(exchange.at.ns);
  }
  EXPECT_THAT(order, ElementsAre("/1", "/2", "/3", "/4", "/6", "/7", "/5", "/8"));
  EXPECT_EQ(times[1] - times[0], 250'000'000) << "four lines, a quarter of a second each";
  EXPECT_EQ(std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()), times.end())
      << "each later than the one before";
  EXPECT_EQ(times[5] / 1'000'000'000, times[0] / 1'000'000'000) << "and within its second";
}

TEST_F(AccessLogTest, AFileWithoutAGoodLineIsRefused) {
  tests::import_bytes(imported, access_log_format(), {"\n{\"log\": {\n\"entries\": []}}"}, "a.har");
  EXPECT_THAT(imported.error, HasSubstr("a.har:2: expected a line such as 1.2.3.4 - - ["));
  imported.error.clear();
  std::string garbage;
  for (int i = 0; i < 5000; ++i)
    garbage += "garbage\n";
  imported.losses.clear();
  tests::import_bytes(imported, access_log_format(), {garbage}, "a.bin");
  EXPECT_THAT(imported.error, HasSubstr("a.bin:1:"));
  EXPECT_EQ(imported.losses.size(), 1000U) << "no need to read all of it";
}

TEST_F(AccessLogTest, NginxsVariablesInJson) {
  const RecordedExchange& exchange = read_one(
      R"({"msec":"1706000000.500","request_time":"0.125","remote_addr":"10.0.0.1","remote_port":"4711",)"
      R"("server_addr":"10.0.0.2","server_port":"8080","connection":"77","connection_requests":"3",)"
      R"("request_method":"POST","request_uri":"/a?b","server_protocol":"HTTP/1.1","http_user_agent":"curl/8",)"
      R"("http_host":"shop","content_type":"text/plain","content_length":"5","request_body":"he\"lo",)"
      R"("status":"201","body_bytes_sent":"0","sent_http_location":"/new","http_referer":"-"})");
  EXPECT_EQ(exchange.at.ns, 1706000000375000000) << "nginx logs the end of a request";
  EXPECT_EQ(exchange.latency, Duration(125'000'000));
  EXPECT_EQ(exchange.client, "10.0.0.1:4711");
  EXPECT_EQ(exchange.server, "10.0.0.2:8080");
  EXPECT_EQ(exchange.ordinal, 3U);
  EXPECT_EQ(exchange.host, "shop");
  EXPECT_EQ(exchange.request->body, "he\"lo");
  EXPECT_TRUE(exchange.request->complete);
  EXPECT_THAT(exchange.request->fields,
              ElementsAre(RecordedField{"Host", "shop"}, RecordedField{"User-Agent", "curl/8"},
                          RecordedField{"Content-Type", "text/plain"},
                          RecordedField{"Content-Length", "5"}));
  EXPECT_EQ(exchange.response->status, 201);
  EXPECT_THAT(exchange.response->fields, ElementsAre(RecordedField{"Location", "/new"}));
  EXPECT_TRUE(exchange.response->complete);
}

// The log_format that the manual tells users to write.
TEST_F(AccessLogTest, TheDocumentedFormatIsReadWhole) {
  std::ifstream manual(std::string(GD_SOURCE_DIR) + "/docs/formats.md");
  std::string format;
  bool inside = false;
  for (std::string line; std::getline(manual, line);) {
    inside = inside || line.starts_with("log_format gatedrill escape=json ");
    if (!inside) continue;
    const std::size_t begin = line.find('\'');
    format += line.substr(begin + 1, line.rfind('\'') - begin - 1);
    if (line.ends_with(";")) break;
  }
  const std::map<std::string, std::string> values = {
      {"msec", "1706000000.500"},
      {"request_time", "0.125"},
      {"remote_addr", "10.0.0.1"},
      {"remote_port", "4711"},
      {"server_addr", "10.0.0.2"},
      {"server_port", "8080"},
      {"connection", "77"},
      {"connection_requests", "3"},
      {"request_method", "POST"},
      {"request_uri", "/a?b"},
      {"server_protocol", "HTTP/1.1"},
      {"http_host", "shop"},
      {"http_user_agent", "agent"},
      {"http_accept", "*/*"},
      {"http_accept_encoding", "br"},
      {"http_cookie", "cookie"},
      {"http_authorization", "credentials"},
      {"content_type", "text/plain"},
      {"content_length", "4"},
      {"request_body", "body"},
      {"status", "201"},
      {"body_bytes_sent", "0"},
      {"sent_http_content_type", "text/html"},
  };
  std::string line;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '$') {
      line += format[at++];
      continue;
    }
    const std::size_t end = format.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
    const std::string name = format.substr(at + 1, end - at - 1);
    ASSERT_TRUE(values.contains(name)) << name;
    line += values.at(name);
    at = end;
  }
  const RecordedExchange& exchange = read_one(line);
  EXPECT_EQ(exchange.at.ns, 1706000000375000000);
  EXPECT_EQ(exchange.client, "10.0.0.1:4711");
  EXPECT_EQ(exchange.server, "10.0.0.2:8080");
  EXPECT_EQ(exchange.ordinal, 3U);
  EXPECT_EQ(exchange.request->method + " " + exchange.request->target, "POST /a?b");
  EXPECT_EQ(exchange.request->body, "body");
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"Host", "shop"},
                                          {"User-Agent", "agent"},
                                          {"Accept", "*/*"},
                                          {"Accept-Encoding", "br"},
                                          {"Content-Type", "text/plain"},
                                          {"Content-Length", "4"}}) {
    EXPECT_EQ(value_of(exchange.request->fields, name), value) << name;
  }
  EXPECT_EQ(exchange.response->status, 201);
  EXPECT_EQ(value_of(exchange.response->fields, "Content-Type"), "text/html");
}

TEST_F(AccessLogTest, NginxsJsonIsNotAlwaysUtf8) {
  const RecordedExchange& exchange = read_one(
      "{\"msec\":1706000000.5,\"request\":\"PUT /\xE9 HTTP/1.0\",\"request_body\":\"\xFF\\u0000\","
      "\"content_length\":2,\"status\":204}");
  EXPECT_EQ(exchange.request->target, "/\xE9");
  EXPECT_EQ(exchange.request->body, std::string("\xFF\0", 2));
  EXPECT_EQ(exchange.protocol, "http/1.0");
}

TEST_F(AccessLogTest, EqualConnectionNumbersAreOneConnection) {
  const auto with = [](const char* connection) {
    return std::string(
               R"({"msec":"1706000000.5","request_method":"GET","request_uri":"/","status":200,)") +
           R"("connection":")" + connection + "\"}\n";
  };
  read(with("7") + with("8") + with("7"));
  EXPECT_EQ(imported.exchanges[0].connection, imported.exchanges[2].connection);
  EXPECT_NE(imported.exchanges[0].connection, imported.exchanges[1].connection);
}

TEST_F(AccessLogTest, AnUploadThatNginxDidNotLogIsPartial) {
  EXPECT_FALSE(read_one(R"({"msec":"1.5","request_method":"POST","request_uri":"/","status":200,)"
                        R"("content_length":"900","request_body":""})")
                   .request->complete);
}

TEST_F(AccessLogTest, OurOwnLog) {
  const RecordedExchange& exchange = read_one(
      R"({"time":"2026-11-30T10:10:00.123Z","gateway":"edge","request_id":"r-1","client":"10.0.0.9",)"
      R"("method":"GET","host":"shop","target":"/cart?a=1","route":"/","upstream":"shop","status":502,)"
      R"("cause":"stale_reuse","body_in":0,"body_out":42,"latency_ms":12.345,"attempts":[]})");
  EXPECT_EQ(exchange.at.ns, 1796033400123000000);
  EXPECT_EQ(exchange.client, "10.0.0.9");
  EXPECT_EQ(exchange.request->target, "/cart?a=1");
  EXPECT_EQ(exchange.host, "shop");
  EXPECT_EQ(exchange.latency, Duration(12'345'000));
  EXPECT_EQ(exchange.response->status, 502);
  EXPECT_FALSE(exchange.response->complete);
  const RecordedExchange& refused = read_one(
      R"({"time":"2026-11-30T10:10:00.123Z","method":null,"target":null,"status":400,"cause":"malformed_request"})");
  EXPECT_FALSE(refused.request);
  EXPECT_EQ(refused.response->status, 400);
}

TEST(LineReader, ALineWithoutEndIsAnErrorWithItsPlace) {
  Input input = Input::from_bytes("one\n" + std::string(2'000'000, '\0'), "a.log");
  LineReader lines(input, 1000, 1'000'000);
  ASSERT_TRUE(lines.next());
  const auto endless = lines.next();
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().message,
            "a.log:2: byte 4: no line end within 1000000 bytes; this is no file of lines");
  Input shorter = Input::from_bytes("one\n" + std::string(900'000, '\0'), "a.log");
  LineReader cut(shorter, 1000, 1'000'000);
  ASSERT_TRUE(cut.next());
  EXPECT_FALSE(cut.next().value()->whole);
}

TEST(LineReader, IsStoppedInsideALine) {
  Input input = Input::from_bytes(std::string(2'000'000, '\0'), "a.log");
  std::atomic<bool> stop{true};
  input.heed(stop);
  LineReader lines(input);
  EXPECT_FALSE(lines.next().value());
  EXPECT_LT(input.offset(), 1'000'000U);
}

}  // namespace
}  // namespace gatedrill::replay::formats
