// HAR as programs write it, with what the format leaves open; and that what we write comes back.
#include "replay/formats/har.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/content_coding.hpp"
#include "replay/redact/encodings.hpp"
#include "tests/support/imported.hpp"
#include "tests/support/recorded.hpp"

namespace gatedrill::replay::formats {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tests::Exported;
using tests::Imported;

json entry() {
  return {{"startedDateTime", "2023-03-29T17:37:42.482-07:00"},
          {"time", 9},
          {"request",
           {{"method", "GET"},
            {"url", "http://shop.example/cart?a=1#top"},
            {"httpVersion", "HTTP/1.1"},
            {"headers", json::array({{{"name", "Host"}, {"value", "shop.example"}},
                                     {{"name", "X-Two"}, {"value", "b"}}})}}},
          {"response",
           {{"status", 200},
            {"statusText", "OK"},
            {"httpVersion", "HTTP/1.1"},
            {"headers", json::array({{{"name", "Content-Length"}, {"value", "2"}}})},
            {"content", {{"size", 2}, {"mimeType", "text/plain"}, {"text", "ok"}}}}}};
}

std::string har(const std::vector<json>& entries) {
  return json{{"log", {{"version", "1.2"}, {"entries", entries}}}}.dump();
}

struct HarTest : ::testing::Test {
  void read(const std::string& bytes) {
    tests::import_bytes(imported, har_format(), {bytes}, "x.har");
    EXPECT_EQ(imported.error, "");
  }

  const RecordedExchange& read(const json& one) {
    imported.exchanges.clear();
    read(har({one}));
    EXPECT_EQ(imported.exchanges.size(), 1U);
    static const RecordedExchange none;
    return imported.exchanges.empty() ? none : imported.exchanges.front();
  }

  std::string refusal(const std::string& bytes) {
    tests::import_bytes(imported, har_format(), {bytes}, "x.har");
    return imported.error;
  }

  Imported imported;
};

TEST_F(HarTest, AnEntryIsAnExchange) {
  const RecordedExchange& exchange = read(entry());
  EXPECT_EQ(exchange.at.ns, 1680136662482000000);
  EXPECT_EQ(exchange.host, "shop.example");
  EXPECT_EQ(exchange.server, "shop.example:80");
  EXPECT_EQ(exchange.protocol, "http/1.1");
  EXPECT_EQ(exchange.latency, Duration(9'000'000));
  EXPECT_EQ(exchange.request->method, "GET");
  EXPECT_EQ(exchange.request->target, "/cart?a=1");
  EXPECT_THAT(exchange.request->fields,
              ElementsAre(RecordedField{"Host", "shop.example"}, RecordedField{"X-Two", "b"}));
  EXPECT_EQ(exchange.response->status, 200);
  EXPECT_EQ(exchange.response->reason, "OK");
  EXPECT_EQ(exchange.response->body, "ok");
  EXPECT_THAT(imported.losses, IsEmpty());
}

TEST_F(HarTest, AByteOrderMarkMayComeFirst) {
  read("\xEF\xBB\xBF" + har({entry()}));
  EXPECT_EQ(imported.exchanges.size(), 1U);
}

TEST_F(HarTest, PhasesGiveTheTimes) {
  json one = entry();
  one["timings"] = {{"blocked", 3}, {"dns", -1},   {"connect", 4},
                    {"send", 1.5},  {"wait", 2.5}, {"receive", 0.25}};
  const RecordedExchange& exchange = read(one);
  const std::int64_t at = exchange.at.ns;
  EXPECT_EQ(exchange.request_end->ns - at, 1'500'000);
  EXPECT_EQ(exchange.response_begin->ns - at, 4'000'000);
  EXPECT_EQ(exchange.response_end->ns - at, 4'250'000);
  EXPECT_EQ(exchange.latency, Duration(4'250'000))
      << "queueing and connecting are not the answer's";
}

TEST_F(HarTest, EverySpellingOfTheVersion) {
  const std::vector<std::pair<std::string, std::string>> spellings = {
      {"HTTP/1.1", "http/1.1"}, {"http/1.1", "http/1.1"},
      {"HTTP/1.0", "http/1.0"}, {"h2", "h2"},
      {"http/2.0", "h2"},       {"HTTP/2", "h2"},
      {"HTTP/2.0", "h2"},       {"h3", "h3"},
      {"http/3", "h3"},         {"http/2+quic/46", "h3"},
      {"", "http/1.1"},         {"unknown", "http/1.1"}};
  for (const auto& [spelling, protocol] : spellings) {
    json one = entry();
    one["request"]["httpVersion"] = spelling;
    EXPECT_EQ(read(one).protocol, protocol) << spelling;
  }
}

TEST_F(HarTest, PseudoHeadersAreNoFields) {
  json one = entry();
  one["request"]["httpVersion"] = "";
  one["request"]["headers"] = json::array({{{"name", ":authority"}, {"value", "shop.example"}},
                                           {{"name", ":path"}, {"value", "/cart?a=1"}},
                                           {{"name", "accept"}, {"value", "*/*"}}});
  const RecordedExchange& exchange = read(one);
  EXPECT_EQ(exchange.protocol, "h2");
  EXPECT_THAT(exchange.request->fields, ElementsAre(RecordedField{"accept", "*/*"}));
}

TEST_F(HarTest, StatusZeroIsNoAnswer) {
  json one = entry();
  one["response"]["status"] = 0;
  one["response"]["_error"] = "net::ERR_CONNECTION_RESET";
  EXPECT_FALSE(read(one).response);
  ASSERT_EQ(imported.losses.size(), 1U);
  EXPECT_EQ(imported.losses[0].reason, "an entry without an answer");
  EXPECT_EQ(imported.losses[0].detail, "net::ERR_CONNECTION_RESET");
  EXPECT_EQ(imported.losses[0].place, "x.har: byte 19");
}

TEST_F(HarTest, AContentInBase64IsBytes) {
  json one = entry();
  one["response"]["content"] = {{"size", 3}, {"text", "AAH/"}, {"encoding", "base64"}};
  EXPECT_EQ(read(one).response->body, std::string("\0\1\xFF", 3));
}

TEST_F(HarTest, ADecodedContentIsCodedAgain) {
  json one = entry();
  one["response"]["headers"] = json::array({{{"name", "Content-Encoding"}, {"value", "gzip"}},
                                            {{"name", "Content-Length"}, {"value", "333"}}});
  const RecordedResponse& response = *read(one).response;
  EXPECT_EQ(decode_content(response.body, "gzip"), "ok");
  EXPECT_EQ(value_of(response.fields, "Content-Length"), std::to_string(response.body.size()));
  EXPECT_EQ(imported.counts["answers' bodies coded again"], 1);
}

TEST_F(HarTest, ABodyThatIsNotInTheFileIsMissing) {
  json one = entry();
  one["response"]["content"] = {{"size", 26571}, {"mimeType", "text/html"}};
  EXPECT_FALSE(read(one).response->complete);
  ASSERT_EQ(imported.losses.size(), 1U);
  EXPECT_EQ(imported.losses[0].reason, "an answer's body that is not in the file");
  EXPECT_EQ(imported.losses[0].bytes, 26571U);
}

TEST_F(HarTest, ATextThatLostItsBytesIsNotWhole) {
  json one = entry();
  one["response"]["content"] = {{"size", 4}, {"text", "G\xEF\xBF\xBD\xEF\xBF\xBD!"}};
  EXPECT_FALSE(read(one).response->complete);
  EXPECT_THAT(imported.lost(), HasSubstr("only as damaged text"));
}

TEST_F(HarTest, TheCachedContentOfA304IsNotItsBody) {
  json one = entry();
  one["response"]["status"] = 304;
  EXPECT_EQ(read(one).response->body, "");
  EXPECT_TRUE(imported.exchanges[0].response->complete);
  EXPECT_EQ(imported.counts["contents left out: not of this answer"], 1);
}

TEST_F(HarTest, WithTextAndParametersTheTextIsTheBody) {
  json one = entry();
  one["request"]["postData"] = {{"mimeType", "application/x-www-form-urlencoded"},
                                {"text", "a=%31"},
                                {"params", json::array({{{"name", "a"}, {"value", "1"}}})}};
  EXPECT_EQ(read(one).request->body, "a=%31");
}

TEST_F(HarTest, ParametersAloneBecomeAForm) {
  json one = entry();
  one["request"]["postData"] = {
      {"mimeType", "application/x-www-form-urlencoded"},
      {"params", json::array({{{"name", "a b"}, {"value", "1&2"}},
                              {{"name", "c"}, {"value", "already%20so"}}})}};
  const RecordedRequest& request = *read(one).request;
  EXPECT_EQ(request.body, "a%20b=1%262&c=already%20so");
  EXPECT_EQ(request.defects, "body_from_parameters");
}

TEST_F(HarTest, ParametersAloneBecomeMultipart) {
  json one = entry();
  one["request"]["postData"] = {
      {"mimeType", "multipart/form-data; boundary=XX"},
      {"params",
       json::array({{{"name", "note"}, {"value", "hi"}},
                    {{"name", "up"}, {"fileName", "a.gif"}, {"contentType", "image/gif"}}})}};
  const RecordedRequest& request = *read(one).request;
  EXPECT_EQ(request.body,
            "--XX\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhi\r\n"
            "--XX\r\nContent-Disposition: form-data; name=\"up\"; filename=\"a.gif\"\r\n"
            "Content-Type: image/gif\r\n\r\n\r\n--XX--\r\n");
  EXPECT_FALSE(request.complete) << "the file's content is not there";
}

TEST_F(HarTest, ARequestBodyShorterThanItsLengthIsNotWhole) {
  json one = entry();
  one["request"]["headers"].push_back({{"name", "Content-Length"}, {"value", "2049"}});
  one["request"]["postData"] = {{"mimeType", "x"}, {"text", "short"}};
  EXPECT_FALSE(read(one).request->complete);
  EXPECT_EQ(imported.losses[0].bytes, 2044U);
}

TEST_F(HarTest, BytesWrittenAsCharactersAreBytesAgain) {
  json one = entry();
  one["request"]["headers"].push_back({{"name", "Content-Length"}, {"value", "3"}});
  one["request"]["postData"] = {{"mimeType", "x"}, {"text", "a\xC3\xBF\xC2\x80"}};
  EXPECT_EQ(read(one).request->body, "a\xFF\x80");
}

TEST_F(HarTest, TheBrowsersConnectionNumberIsAConnection) {
  json one = entry();
  one["connection"] = "813184";
  json other = entry();
  other["connection"] = "813150";
  read(har({one, other, one, entry(), entry()}));
  const auto& all = imported.exchanges;
  EXPECT_EQ(all[0].connection, all[2].connection);
  EXPECT_NE(all[0].connection, all[1].connection);
  EXPECT_NE(all[3].connection, all[4].connection);
}

TEST_F(HarTest, WhatWasNeverOnTheNetworkIsLeftOutAndCounted) {
  json data = entry();
  data["request"]["url"] = "data:image/png;base64,AAAA";
  json cached = entry();
  cached["_fromCache"] = "memory";
  json sockets = entry();
  sockets["request"]["url"] = "wss://shop.example/live";
  sockets["_webSocketMessages"] = json::array({{{"type", "send"}, {"data", "hello"}}});
  read(har({data, cached, sockets}));
  ASSERT_EQ(imported.exchanges.size(), 1U);
  EXPECT_EQ(imported.exchanges[0].server, "shop.example:443");
  EXPECT_EQ(imported.counts["entries left out: not of HTTP"], 1);
  EXPECT_EQ(imported.counts["entries left out: answered from the browser's cache"], 1);
  EXPECT_EQ(imported.counts["WebSocket messages left out"], 1);
}

TEST_F(HarTest, EntriesThatAreNoneAreListedWithTheirPlace) {
  json no_request = entry();
  no_request.erase("request");
  json no_time = entry();
  no_time["startedDateTime"] = "yesterday";
  read(har({entry(), no_request, json(5), json("x"), json::array(), no_time}));
  EXPECT_EQ(imported.exchanges.size(), 2U);
  EXPECT_EQ(imported.exchanges[1].at, imported.exchanges[0].at);
  ASSERT_EQ(imported.losses.size(), 5U);
  EXPECT_EQ(imported.losses[0].reason, "an entry without a request");
  EXPECT_EQ(imported.losses[1].reason, "an entry that is no object");
  EXPECT_EQ(imported.losses[4].reason, "an entry without a time; it has that of the one before");
}

TEST_F(HarTest, OtherSectionsPassByWhateverTheyHold) {
  read(R"({"log":{"pages":[{"entries":[{"request":{"url":"http://no/"}}]}],"entries":[)" +
       entry().dump() + R"(],"_x":{"entries":[1]}},"other":{"entries":[2]}})");
  EXPECT_EQ(imported.exchanges.size(), 1U);
  EXPECT_THAT(imported.losses, IsEmpty());
}

TEST_F(HarTest, WrongFilesAreRefusedWithThePlaceAndWhatWasExpected) {
  EXPECT_EQ(refusal("1 ab 1 0\nGET"), "x.har: byte 0: expected an object with a \"log\"");
  EXPECT_THAT(refusal("{\"log\": {]"), HasSubstr("x.har: byte 9: this is no JSON any more"));
  EXPECT_THAT(
      refusal("{\"log\": {\"token\":\"hunter2\"]"),
      AllOf(HasSubstr("x.har: byte 26: this is no JSON any more"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal("{\"log\": {\"entries\": ["), HasSubstr("the file ends here"));
  EXPECT_THAT(refusal("{\"log\": {\"version\": 1}}"), HasSubstr("has no log.entries"));
  EXPECT_THAT(refusal("{\"a\": 1}"), HasSubstr("has no log.entries"));
  EXPECT_THAT(refusal("{\"log\": {\"entries\": {}}}"), HasSubstr("has to be an array"));
  EXPECT_THAT(refusal(""), HasSubstr("the file ends here"));
  EXPECT_THAT(refusal("{\"log\": {\"entries\": [{\"time\": 1e9999}"),
              HasSubstr("no JSON any more"));
  EXPECT_THAT(refusal("{\"log\": {\"entries\": [" + std::string(200, '[')),
              HasSubstr("nested more than 100 deep"));
}

TEST_F(HarTest, ALargeFileIsReadEntryByEntry) {
  json one = entry();
  one["response"]["content"]["text"] = std::string(500'000, 'x');
  one["response"]["content"]["size"] = 500'000;
  read(har(std::vector<json>(20, one)));
  EXPECT_EQ(imported.exchanges.size(), 20U);
}

// Writing.

struct HarWriterTest : HarTest {
  json write(const std::vector<RecordedExchange>& exchanges) {
    tests::export_exchanges(exported, har_format(), exchanges);
    return json::parse(exported.text)["log"]["entries"];
  }

  RecordedExchange there_and_back(const RecordedExchange& exchange) {
    write({exchange});
    imported.exchanges.clear();
    read(exported.text);
    EXPECT_EQ(imported.exchanges.size(), 1U);
    RecordedExchange back = imported.exchanges.empty() ? RecordedExchange{} : imported.exchanges[0];
    back.id = exchange.id;
    return back;
  }

  Exported exported;
};

RecordedExchange rich() {
  RecordedExchange exchange =
      testing::recorded(5, Duration{123'456'789}, 1, "/a?b=1&c", "h\xC3\xA9");
  exchange.latency = Duration{7'654'321};
  exchange.request_end = UnixTime{exchange.at.ns + 1};
  exchange.response_begin = UnixTime{exchange.at.ns + 7'000'000};
  exchange.response_end = UnixTime{exchange.at.ns + 7'654'321};
  exchange.informational = {100, 103};
  exchange.request->method = "POST";
  exchange.request->body = "name=x";
  exchange.request->fields = {{"Host", "shop"},
                              {"COOKIE", "a=1; b=2"},
                              {"X-Empty", ""},
                              {"content-type", "application/x-www-form-urlencoded"},
                              {"Content-Length", "6"}};
  exchange.request->defects = "bare_lf";
  exchange.response->fields = {{"Set-Cookie", "s=1; Path=/"}, {"Content-Length", "3"}};
  return exchange;
}

TEST_F(HarWriterTest, EverythingOfAnExchangeComesBack) {
  EXPECT_EQ(there_and_back(rich()), rich());
}

TEST_F(HarWriterTest, WhatOtherProgramsReadIsThere) {
  const json one = write({rich()})[0];
  EXPECT_EQ(one["startedDateTime"], "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(one["request"]["url"], "http://shop/a?b=1&c");
  EXPECT_EQ(one["request"]["cookies"],
            json::parse(R"([{"name":"a","value":"1"},{"name":"b","value":"2"}])"));
  EXPECT_EQ(one["request"]["queryString"],
            json::parse(R"([{"name":"b","value":"1"},{"name":"c","value":""}])"));
  EXPECT_EQ(one["request"]["postData"]["text"], "name=x");
  EXPECT_EQ(one["response"]["content"]["text"], "h\xC3\xA9");
  EXPECT_EQ(one["response"]["content"]["size"], 3);
  EXPECT_EQ(one["response"]["cookies"], json::parse(R"([{"name":"s","value":"1"}])"));
  EXPECT_DOUBLE_EQ(one["time"].get<double>(), 7.654321);
  EXPECT_DOUBLE_EQ(one["timings"]["receive"].get<double>(), 0.654321);
}

TEST_F(HarWriterTest, OddBytesComeBack) {
  RecordedExchange exchange = rich();
  exchange.request->body = std::string("\0\xFF\xFE", 3);
  exchange.request->target = "/\xE9?x";
  exchange.request->fields = {{"Host", "shop"}, {"X-Latin", "caf\xE9"}, {"X-Utf", "caf\xC3\xA9"}};
  exchange.response->body = std::string("\x89PNG\0", 5);
  EXPECT_EQ(there_and_back(exchange), exchange);
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("binary request bodies")));
}

TEST_F(HarWriterTest, CodedBodiesAreShownDecodedAndComeBackByteForByte) {
  for (const char* coding : {"gzip", "deflate", "br", "zstd"}) {
    RecordedExchange exchange = rich();
    exchange.response->body = *encode_content(std::string(1000, 'z'), coding);
    exchange.response->fields = {{"Content-Encoding", coding}};
    EXPECT_EQ(there_and_back(exchange), exchange) << coding;
    EXPECT_EQ(write({exchange})[0]["response"]["content"]["text"], std::string(1000, 'z'));
  }
  RecordedExchange other = rich();  // packed by somebody else's gzip
  other.response->body =
      *base64_decoded("H4sIADkwAAAC/8tIzcnJV8hAkACAiPnlEQAAAA==", WhiteSpace::is_passed_over);
  other.response->fields = {{"Content-Encoding", "gzip"}};
  EXPECT_EQ(there_and_back(other), other);
  RecordedExchange broken = rich();
  broken.response->body = "not gzip";
  broken.response->fields = {{"Content-Encoding", "gzip"}};
  EXPECT_EQ(there_and_back(broken), broken);
}

TEST_F(HarWriterTest, OddTargetsComeBack) {
  for (const char* target : {"", "*", "http://other/x?y", "host:443", "/a#b", "//x", "?q"}) {
    RecordedExchange exchange = rich();
    exchange.request->target = target;
    EXPECT_EQ(there_and_back(exchange).request->target, target);
  }
}

TEST_F(HarWriterTest, WhatIsMissingIsSaidAndComesBackMissing) {
  RecordedExchange no_answer = rich();
  no_answer.response.reset();
  no_answer.latency.reset();
  EXPECT_EQ(there_and_back(no_answer), no_answer);
  RecordedExchange no_request = rich();
  no_request.request.reset();
  EXPECT_EQ(there_and_back(no_request), no_request);
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("request was not seen: exchange 5")));
  RecordedExchange partial = rich();
  partial.request->complete = false;
  partial.response->complete = false;
  EXPECT_EQ(there_and_back(partial), partial);
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("requests that are not whole"),
                                          HasSubstr("answers that are not whole")));
}

}  // namespace
}  // namespace gatedrill::replay::formats
