// Commands that a shell reads as they were meant, whatever bytes are in them: a real shell runs
// them, with a curl of the test's own that only writes down what it is given.
#include "replay/formats/curl.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "replay/formats/har.hpp"
#include "replay/formats/vegeta.hpp"
#include "tests/support/imported.hpp"
#include "tests/support/recorded.hpp"

namespace gatedrill::replay::formats {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tests::Exported;

std::string output_of(const std::string& script) {
  const tests::Folder folder;
  std::ofstream(folder / "script", std::ios::binary) << script;
  std::FILE* pipe = popen(("sh " + (folder / "script")).c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
    output.push_back(static_cast<char>(c));
  EXPECT_EQ(pclose(pipe), 0);
  return output;
}

RecordedExchange exchange() {
  RecordedExchange one = testing::recorded(1, Duration{0}, 1, "/a?b=1&c=[2]");
  one.request->fields = {{"Host", "shop"}, {"User-Agent", "x"}, {"Accept", "*/*"}};
  return one;
}

struct CurlTest : ::testing::Test {
  // What curl is given: its arguments; its input last, if it is told to read it.
  std::vector<std::string> run(const RecordedExchange& one) {
    tests::export_exchanges(exported, curl_format(), {one});
    const std::string out = output_of(
        "curl() { printf '%s\\0' \"$@\"; case \"$*\" in *@-*) cat; printf '\\0';; esac; }\n" +
        exported.text);
    std::vector<std::string> arguments;
    for (std::size_t at = 0; at < out.size();) {
      const std::size_t end = std::min(out.find('\0', at), out.size());
      arguments.push_back(out.substr(at, end - at));
      at = end + 1;
    }
    return arguments;
  }

  Exported exported;
};

TEST_F(CurlTest, APlainRequest) {
  EXPECT_THAT(run(exchange()), ElementsAre("--header", "User-Agent: x", "--header", "Accept: */*",
                                           "--path-as-is", "--globoff", "http://shop/a?b=1&c=[2]"));
  EXPECT_THAT(exported.text, HasSubstr("# exchange 1, 2023-11-14T22:13:20.000Z, answered 200\n"));
  EXPECT_THAT(exported.notes, IsEmpty());
}

TEST_F(CurlTest, AGuessedSchemeIsSaidByEveryFormatThatWritesUrls) {
  std::vector<RecordedExchange> all(4, exchange());
  all[0].server = "10.0.0.2:18443";
  all[1].server = "10.0.0.2:443";
  all[2].server = "10.0.0.2:80";
  all[3].server = "10.0.0.2:3128";
  all[3].request->target = "https://shop/a";
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].id = static_cast<std::int64_t>(i) + 1;
    all[i].connection = all[i].id;
  }
  for (const Format& format : {curl_format(), har_format(), vegeta_format()}) {
    Exported of_format;
    tests::export_exchanges(of_format, format, all);
    EXPECT_THAT(of_format.notes,
                Contains("1 URLs with http:// by the server's port alone (https:// is written for "
                         "port 443 only where nothing says whether there was TLS): exchange 1"))
        << format.name;
  }
}

TEST_F(CurlTest, WhatCameInsideTlsIsAskedForByHttps) {
  std::vector<RecordedExchange> all(2, exchange());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].id = static_cast<std::int64_t>(i) + 1;
    all[i].server = "10.0.0.2:8443";
    all[i].host = "shop:8443";
    all[i].tls = i == 1;
  }
  tests::export_exchanges(exported, curl_format(), all);
  EXPECT_THAT(exported.text, HasSubstr("http://shop:8443"));
  EXPECT_THAT(exported.text, HasSubstr("https://shop:8443"));
  EXPECT_THAT(exported.notes, IsEmpty());
}

TEST_F(CurlTest, WhatCurlWouldAddIsTurnedOff) {
  RecordedExchange one = exchange();
  one.request->fields = {{"X-Empty", ""}};
  one.request->method = "POST";
  one.request->body = "a=1";
  EXPECT_THAT(run(one), ElementsAre("--header", "X-Empty;", "--header", "Host:", "--header",
                                    "User-Agent:", "--header", "Accept:", "--header",
                                    "Content-Type:", "--header", "Expect:", "--data-raw", "a=1",
                                    "--path-as-is", "--globoff", "http://shop/a?b=1&c=[2]"));
}

TEST_F(CurlTest, MethodsAndVersions) {
  RecordedExchange one = exchange();
  one.request->method = "HEAD";
  EXPECT_THAT(run(one), Contains("--head"));
  one.request->method = "DELETE";
  one.request->version = "HTTP/1.0";
  EXPECT_THAT(run(one), Contains("--http1.0"));
  EXPECT_THAT(exported.text, HasSubstr("--request DELETE"));
  one.server = "10.0.0.2:443";
  EXPECT_THAT(run(one), Contains("https://shop/a?b=1&c=[2]"));
}

TEST_F(CurlTest, NothingInARequestIsReadByTheShell) {
  RecordedExchange one = exchange();
  const std::string hostile = "'; touch /x; $(id) `id` \\ \"!\" ${HOME} *";
  one.request->target = "/" + hostile;
  one.request->fields.push_back({"X-Odd", hostile});
  one.request->body = "@" + hostile + "\n-n %s\n";
  one.request->method = "PUT";
  const auto arguments = run(one);
  EXPECT_THAT(arguments, Contains("X-Odd: " + hostile));
  EXPECT_THAT(arguments, Contains("@" + hostile + "\n-n %s\n"));
  EXPECT_THAT(arguments, Contains("/" + hostile));
  EXPECT_THAT(arguments, Contains("--request-target"));
}

TEST_F(CurlTest, BodiesThatAreNoTextGoThroughAPipe) {
  Random random(7);
  for (int i = 0; i < 30; ++i) {
    RecordedExchange one = exchange();
    one.request->method = "POST";
    one.request->body = "-%\\'\"123";
    for (std::uint64_t n = random.below(100); n > 0; --n)
      one.request->body.push_back(static_cast<char>(1 + random.below(255)));
    one.request->body += "\x01\xFF";
    EXPECT_EQ(run(one).back(), one.request->body);
  }
  RecordedExchange zero = exchange();
  zero.request->body = std::string("\0001", 2);
  tests::export_exchanges(exported, curl_format(), {zero});
  EXPECT_THAT(exported.text, HasSubstr("printf '\\0001' | curl"));
  EXPECT_EQ(output_of("printf " + printf_quoted(zero.request->body)), zero.request->body);
}

TEST_F(CurlTest, LargeTextsDoNotBecomeArguments) {
  RecordedExchange one = exchange();
  one.request->method = "POST";
  one.request->body = std::string(300'000, 'x');
  EXPECT_EQ(run(one).back(), one.request->body);
}

TEST_F(CurlTest, WhatCannotBeACommandIsLeftOutAndSaid) {
  RecordedExchange alone = exchange();
  alone.id = 1;
  alone.request.reset();
  RecordedExchange half = exchange();
  half.id = 2;
  half.request->complete = false;
  RecordedExchange tunnel = exchange();
  tunnel.id = 3;
  tunnel.tunnel = true;
  RecordedExchange odd = exchange();
  odd.id = 4;
  odd.request->method = "G T";
  RecordedExchange lost = exchange();
  lost.id = 5;
  lost.connection = 9;
  lost.host = "a b";
  lost.server = "";
  tests::export_exchanges(exported, curl_format(), {alone, half, tunnel, odd, lost});
  EXPECT_THAT(exported.text, Not(HasSubstr("\ncurl")));
  EXPECT_THAT(
      exported.notes,
      ElementsAre("1 exchanges left out: the request was not seen: exchange 1",
                  "1 exchanges left out: the request is not whole: exchange 2",
                  "1 exchanges left out: a tunnel: exchange 3",
                  "1 exchanges left out: the request cannot be written as HTTP/1: exchange 4",
                  "1 exchanges left out: where to is not known: exchange 5"));
}

}  // namespace
}  // namespace gatedrill::replay::formats
