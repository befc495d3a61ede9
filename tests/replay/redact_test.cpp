#include "replay/redact.hpp"

#include <cstdlib>
#include <filesystem>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "replay/content_coding.hpp"
#include "replay/redact/pseudonyms.hpp"

namespace gatedrill::replay {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

RecordedExchange with_request_body(const std::string& type, const std::string& body) {
  RecordedExchange exchange;
  exchange.request = RecordedRequest{.method = "POST",
                                     .target = "/login",
                                     .version = "HTTP/1.1",
                                     .fields = {{"Content-Type", type}, {"Content-Length", "1"}},
                                     .body = body};
  return exchange;
}

std::string redacted_field(const std::string& name, const std::string& value) {
  Redactor redactor;
  RecordedExchange exchange;
  exchange.request = RecordedRequest{.method = "GET", .target = "/", .fields = {{name, value}}};
  redactor.redact(exchange);
  return exchange.request->fields[0].value;
}

TEST(Redact, ReplacesCredentialFieldsAndKeepsTheirScheme) {
  for (const auto name : {"Authorization", "proxy-authorization", "X-Api-Key", "X-Auth-Token",
                          "X-Amz-Security-Token", "X-CSRF-Token"}) {
    EXPECT_THAT(redacted_field(name, "hunter2"), StartsWith("redacted-")) << name;
  }
  EXPECT_THAT(redacted_field("Authorization", "Bearer abc.def"), StartsWith("Bearer redacted-"));
}

TEST(Redact, LeavesOrdinaryFieldsAlone) {
  for (const auto name : {"Accept", "ETag", "User-Agent", "X-Request-Id", "Host", "Referer"}) {
    EXPECT_EQ(redacted_field(name, "http://shop/a?b=1;c"), "http://shop/a?b=1;c") << name;
  }
}

TEST(Redact, KeepsCookieNamesAndAttributes) {
  const std::string cookies = redacted_field("Cookie", "sid=abc; theme=dark");
  EXPECT_THAT(cookies, testing::MatchesRegex("sid=redacted-[0-9a-f]+; theme=redacted-[0-9a-f]+"));
  EXPECT_THAT(redacted_field("Set-Cookie", "sid=abc; Path=/; HttpOnly"),
              testing::MatchesRegex("sid=redacted-[0-9a-f]+; Path=/; HttpOnly"));
}

TEST(Redact, GivesEqualValuesEqualPseudonymsAndOthersOthers) {
  Redactor redactor;
  RecordedExchange exchange;
  exchange.request = RecordedRequest{.method = "GET",
                                     .target = "/?access_token=t%6Fken1",
                                     .fields = {{"Authorization", "Bearer token1"}}};
  exchange.response = RecordedResponse{.status = 200,
                                       .fields = {{"Content-Type", "application/json"}},
                                       .body = R"({"token": "token1", "other": "x"})"};
  redactor.redact(exchange);
  const std::string pseudonym = redactor.pseudonym("token1");
  EXPECT_EQ(exchange.request->target, "/?access_token=" + pseudonym);
  EXPECT_EQ(exchange.request->fields[0].value, "Bearer " + pseudonym);
  EXPECT_EQ(exchange.response->body, R"({"token": ")" + pseudonym + R"(", "other": "x"})");
  EXPECT_NE(redactor.pseudonym("token2"), pseudonym);
  EXPECT_NE(Redactor().pseudonym("token1"), pseudonym);
  EXPECT_TRUE(exchange.request->redacted);
  EXPECT_TRUE(exchange.response->redacted);
}

TEST(Redact, FindsSecretsInForms) {
  Redactor redactor;
  auto exchange = with_request_body("application/x-www-form-urlencoded; charset=utf-8",
                                    "user=ann&password=s3cret&remember=1");
  redactor.redact(exchange);
  EXPECT_EQ(exchange.request->body,
            "user=ann&password=" + redactor.pseudonym("s3cret") + "&remember=1");
  EXPECT_EQ(exchange.request->fields[1].value, std::to_string(exchange.request->body.size()));
}

TEST(Redact, FindsSecretsInMultipartForms) {
  Redactor redactor;
  auto exchange = with_request_body(
      "multipart/form-data; boundary=XX",
      "--XX\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nann\r\n"
      "--XX\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cret\r\n--XX--\r\n");
  redactor.redact(exchange);
  EXPECT_THAT(exchange.request->body, HasSubstr("\r\n\r\nann\r\n"));
  EXPECT_THAT(exchange.request->body, Not(HasSubstr("s3cret")));
  EXPECT_THAT(exchange.request->body, testing::EndsWith("\r\n--XX--\r\n"));
}

TEST(Redact, LooksIntoCodedBodies) {
  Redactor redactor;
  for (const auto coding : {"gzip", "br", "zstd", "deflate"}) {
    auto exchange =
        with_request_body("application/json", *encode_content(R"({"password":"s3cret"})", coding));
    exchange.request->fields.push_back({"Content-Encoding", coding});
    redactor.redact(exchange);
    EXPECT_THAT(decode_content(exchange.request->body, coding).value_or("undecodable"),
                StartsWith(R"({"password":"redacted-)"))
        << coding;
  }
}

TEST(Redact, DropsABodyThatCannotBeDecodedWhateverItsType) {
  const std::string html = "<input name=csrf value=s3cret>";
  const std::string gzip = *encode_content(html, "gzip");

  struct Case {
    const char* coding;
    std::string body;
  };

  const std::vector<Case> cases = {{"gzip", html},      {"gzip", gzip.substr(0, gzip.size() - 4)},
                                   {"foo", html},       {"br", html},
                                   {"zstd", html},      {"deflate", html},
                                   {"gzip, gzip", gzip}};
  for (const auto type : {"text/html", "application/xml", "text/plain", "image/png", ""}) {
    for (const Case& one : cases) {
      Redactor redactor;
      auto exchange = with_request_body(type, one.body);
      exchange.request->fields.push_back({"Content-Encoding", one.coding});
      exchange.request->fields.push_back({"Content-MD5", "q3TsG1Yw0i0gJfVxQk1c5Q=="});
      EXPECT_EQ(redactor.redact(exchange).request.dropped_bytes, one.body.size())
          << type << one.coding;
      EXPECT_TRUE(exchange.request->body.empty());
      EXPECT_TRUE(exchange.request->body_dropped);
      EXPECT_TRUE(exchange.request->complete) << "it was whole on the wire";
      EXPECT_THAT(exchange.request->fields[3].value, StartsWith("redacted-"));
      EXPECT_EQ(redactor.counts().dropped_bytes, one.body.size());
      EXPECT_EQ(redactor.counts().dropped_bodies, 1U);
    }
  }
}

TEST(Redact, OfAMessageThatBreaksOffWhatCanBeDecodedIsSearched) {
  for (const auto coding : {"gzip", "br", "zstd", "deflate", "gzip, br"}) {
    Redactor redactor;
    std::string text = "<input name=csrf value=s3cret>";
    Random random(3);  // nothing that packs well, so that much is decoded before the end
    while (text.size() < 1'000'000)
      text += "<p>" + std::to_string(random.below(1U << 30U)) + "</p>";
    auto exchange = with_request_body("text/html", *encode_content(text, coding));
    RecordedRequest& request = *exchange.request;
    request.fields.push_back({"Content-Encoding", coding});
    request.complete = false;
    request.body.resize(request.body.size() * 9 / 10);
    EXPECT_EQ(redactor.redact(exchange).request.dropped_bytes, 0U);
    const std::string content = decode_content(request.body, coding).value_or("undecodable");
    EXPECT_THAT(content, StartsWith("<input name=csrf value=redacted-")) << coding;
    EXPECT_GT(content.size(), text.size() / 2) << coding;
    EXPECT_FALSE(request.complete);
  }
}

TEST(Redact, BytesBehindTheEndOfACodingAreTakenAway) {
  for (const auto coding : {"gzip", "deflate", "br"}) {
    Redactor redactor;
    auto exchange = with_request_body("text/plain", *encode_content("hello", coding) + "s3cret");
    exchange.request->fields.push_back({"Content-Encoding", coding});
    redactor.redact(exchange);
    EXPECT_EQ(decode_content(exchange.request->body, coding), "hello") << coding;
    EXPECT_THAT(exchange.request->body, Not(HasSubstr("s3cret"))) << coding;
  }
}

TEST(Redact, UserInformationIsHiddenInTargetsAndHosts) {
  Redactor redactor;
  RecordedExchange exchange;
  exchange.host = "u:s3cret@h";
  exchange.request = RecordedRequest{.method = "CONNECT",
                                     .target = "u:s3cret@h:443",
                                     .fields = {{"Host", "u:s3cret@h"},
                                                {"x-forwarded-host", "u:s3cret@h:80"},
                                                {"Location", "//u:s3cret@h/"}}};
  redactor.redact(exchange);
  const std::string user = redactor.pseudonym("u:s3cret");
  const RecordedRequest& request = *exchange.request;
  EXPECT_EQ(exchange.host, user + "@h");
  EXPECT_EQ(request.target, user + "@h:443");
  EXPECT_EQ(request.fields[0].value, user + "@h");
  EXPECT_EQ(request.fields[1].value, user + "@h:80");
  EXPECT_EQ(request.fields[2].value, "//" + user + "@h/");
  EXPECT_TRUE(request.redacted);
}

TEST(Redact, CredentialsWithoutASchemeAreHiddenWhole) {
  for (const auto value :
       {"nextnonce=\"s3cret\", qop=auth", "s3cret more", "k=s3cret x", "secret more"}) {
    for (const auto name : {"Authentication-Info", "Proxy-Authentication-Info", "X-Api-Key"}) {
      EXPECT_THAT(redacted_field(name, value), testing::MatchesRegex("redacted-[0-9a-f]{16}"));
    }
  }
  EXPECT_THAT(redacted_field("Authorization", "AWS4-HMAC-SHA256 Credential=s3cret"),
              StartsWith("AWS4-HMAC-SHA256 redacted-"));
}

TEST(Redact, TokensThatAreSentAsProtocolsAreHidden) {
  EXPECT_THAT(redacted_field("Sec-WebSocket-Protocol", "chat, bearer, s3cret"),
              testing::MatchesRegex("chat, bearer, redacted-[0-9a-f]{16}"));
  EXPECT_THAT(
      redacted_field("Sec-WebSocket-Protocol",
                     "base64url.bearer.authorization.k8s.io.s3cret, v4.channel.k8s.io"),
      testing::MatchesRegex("base64url\\.bearer\\.authorization\\.k8s\\.io\\.redacted-[0-9a-"
                            "f]{16}, v4.channel.k8s.io"));
  EXPECT_EQ(redacted_field("Sec-WebSocket-Protocol", "graphql-ws, mqtt"), "graphql-ws, mqtt");
  const std::string token =
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
  for (const std::string before : {"v1.chat, ", "bearer."}) {
    EXPECT_THAT(
        redacted_field("Sec-WebSocket-Protocol", before + token),
        testing::AllOf(testing::HasSubstr("redacted-"), testing::Not(testing::HasSubstr("eyJ")),
                       testing::Not(testing::HasSubstr("dozjg"))));
  }
}

TEST(Redact, ReasonsAndLinesWithoutAColonAreSearched) {
  Redactor redactor;
  RecordedExchange exchange;
  exchange.request = RecordedRequest{
      .method = "GET", .target = "/", .fields = {{"no colon token=s3cret", ""}, {"x y", ""}}};
  exchange.response = RecordedResponse{.status = 200, .reason = "fine token=s3cret"};
  redactor.redact(exchange);
  const std::string token = "token=" + redactor.pseudonym("s3cret");
  EXPECT_EQ(exchange.request->fields[0].name, "no colon " + token);
  EXPECT_EQ(exchange.request->fields[1].name, "x y");
  EXPECT_EQ(exchange.response->reason, "fine " + token);
}

TEST(Redact, DropsACodedFormThatBecomesFarLargerThanItIs) {
  Redactor redactor;
  for (const auto coding : {"gzip", "br", "zstd", "deflate"}) {
    const std::string bomb = R"({"password":")" + std::string(10'000'000, 'x') + R"("})";
    auto exchange = with_request_body("application/json", *encode_content(bomb, coding));
    exchange.request->fields.push_back({"Content-Encoding", coding});
    redactor.redact(exchange);
    EXPECT_TRUE(exchange.request->body.empty()) << coding;
  }
  EXPECT_EQ(redactor.counts().dropped_bodies, 4U);
}

TEST(Redact, ACredentialLineWithoutItsColonDoesNotSlipThrough) {
  Redactor redactor;
  RecordedExchange exchange;
  exchange.request = RecordedRequest{
      .method = "GET", .target = "/", .fields = {{"Authorization Basic czNjcmV0", ""}}};
  redactor.redact(exchange);
  EXPECT_THAT(exchange.request->fields[0].name, Not(HasSubstr("czNjcmV0")));
}

TEST(Redact, TheSameUserStaysTheSameInAFieldACookieAUrlAndABody) {
  Redactor redactor;
  RecordedExchange exchange;
  exchange.request = RecordedRequest{.method = "POST",
                                     .target = "http://ann:s%3Acret@shop/?token=s%3Asecret",
                                     .fields = {{"Authorization", "Basic YW5uOnM6Y3JldA=="},
                                                {"X-Auth-Token", "s:secret"},
                                                {"Cookie", R"(sid=s%3Asecret; other="s:secret")"},
                                                {"Content-Type", "application/json"}},
                                     .body = R"({"session_token":"s\u003asecret"})"};
  redactor.redact(exchange);
  const std::string user = redactor.pseudonym("ann:s:cret");
  const std::string token = redactor.pseudonym("s:secret");
  const RecordedRequest& request = *exchange.request;
  EXPECT_EQ(request.target, "http://" + user + "@shop/?token=" + token);
  EXPECT_EQ(request.fields[0].value, "Basic " + user);
  EXPECT_EQ(request.fields[1].value, token);
  EXPECT_EQ(request.fields[2].value, "sid=" + token + "; other=" + token);
  EXPECT_EQ(request.body, R"({"session_token":")" + token + R"("})");
}

TEST(Redact, AKeyMakesThePseudonymsOfTwoRecordingsTheSame) {
  Redactor one(SecretNames(), Pseudonyms("a key of some length"));
  Redactor same(SecretNames(), Pseudonyms("a key of some length"));
  Redactor other(SecretNames(), Pseudonyms("another key as long"));
  EXPECT_EQ(one.pseudonym("ann"), same.pseudonym("ann"));
  EXPECT_NE(one.pseudonym("ann"), other.pseudonym("ann"));
}

TEST(Redact, AllWhoMakeAKeyAtTheSameTimeHaveTheSame) {
  std::string folder = testing::TempDir() + "keys-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  constexpr std::size_t kMakers = 8;
  for (int round = 0; round < 100; ++round) {
    const std::string path = folder + "/key-" + std::to_string(round);
    std::vector<std::string> keys(kMakers);
    std::vector<std::thread> makers;
    std::latch begin(kMakers);
    for (std::string& key : keys)
      makers.emplace_back([&] {
        begin.arrive_and_wait();
        if (const auto made = read_or_make_key(path); made) key = *made;
      });
    for (std::thread& maker : makers)
      maker.join();
    EXPECT_EQ(keys[0].size(), 32U);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1U);
  }
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder))
    ++files;
  EXPECT_EQ(files, 100U) << "nothing else is left";
  std::filesystem::remove_all(folder);
}

TEST(Redact, WhatIsRedactedAlreadyStaysAsItIs) {
  Redactor redactor;
  const std::string pseudonym = Redactor().pseudonym("ann");
  EXPECT_EQ(redactor.pseudonym(pseudonym), pseudonym);
  EXPECT_NE(redactor.pseudonym("redacted-0123456789abcdeX"), "redacted-0123456789abcdeX");
}

TEST(Redact, FieldsAreSearchedForUrlsAndTokens) {
  EXPECT_THAT(redacted_field("Location", "https://app/cb?code=abc123&state=x"),
              testing::MatchesRegex("https://app/cb\\?code=redacted-[0-9a-f]+&state=x"));
  EXPECT_THAT(redacted_field("Referer", "https://app/reset-password/a1b2c3d4e5"),
              testing::MatchesRegex("https://app/reset-password/redacted-[0-9a-f]+"));
  EXPECT_THAT(redacted_field("X-Original-URL", "/a?access_token=abc"),
              StartsWith("/a?access_token=redacted-"));
  EXPECT_THAT(redacted_field("X-Debug", "calls with bearer a1b2c3d4e5f6"),
              StartsWith("calls with bearer redacted-"));
}

TEST(Redact, ADigestOfARedactedBodyIsHiddenToo) {
  Redactor redactor;
  auto exchange = with_request_body("application/json", R"({"pin":"1234"})");
  exchange.request->fields.push_back({"Content-MD5", "q3TsG1Yw0i0gJfVxQk1c5Q=="});
  redactor.redact(exchange);
  EXPECT_THAT(exchange.request->fields[2].value, StartsWith("redacted-"));
}

Redactor with_rules(const RedactionRules& rules) {
  return Redactor(SecretNames::create(rules).value(), Pseudonyms());
}

TEST(Redact, RulesNameMoreSecretsAndAllowOthers) {
  Redactor redactor = with_rules({.fields = {"X-Customer"},
                                  .parameters = {"voucher"},
                                  .json = {"$.user.name"},
                                  .allowed = {"theme", "csrf-token", "$.public.token"}});
  RecordedExchange exchange;
  exchange.request = RecordedRequest{
      .method = "POST",
      .target = "/?voucher=v1&x-customer=c2",
      .fields = {{"x_customer", "c1"},
                 {"Cookie", "theme=dark; sid=1"},
                 {"X-Csrf-Token", "kept?"},
                 {"csrf-token", "kept"},
                 {"Content-Type", "application/json"}},
      .body = R"({"user":{"name":"ann","token":"t"},"public":{"token":"p"},"name":"shop"})"};
  redactor.redact(exchange);
  const RecordedRequest& request = *exchange.request;
  EXPECT_EQ(request.target, "/?voucher=" + redactor.pseudonym("v1") + "&x-customer=c2");
  EXPECT_EQ(request.fields[0].value, redactor.pseudonym("c1"));
  EXPECT_EQ(request.fields[1].value, "theme=dark; sid=" + redactor.pseudonym("1"));
  EXPECT_EQ(request.fields[2].value, redactor.pseudonym("kept?"));
  EXPECT_EQ(request.fields[3].value, "kept");
  EXPECT_EQ(request.body, R"({"user":{"name":")" + redactor.pseudonym("ann") + R"(","token":")" +
                              redactor.pseudonym("t") +
                              R"("},"public":{"token":"p"},"name":"shop"})");
}

TEST(Redact, CountsWhatItReplaced) {
  Redactor redactor;
  auto exchange = with_request_body(
      "application/json", R"({"pin":1,"card":"4111111111111111","j":"eyJhbGciOiJub25lIn0.e30."})");
  exchange.request->target = "/?token=a&sig=b";
  redactor.redact(exchange);
  const RedactionCounts counts = redactor.counts();
  EXPECT_EQ(counts.bodies, 1U);
  EXPECT_EQ(counts.content.parameters, 2U);
  EXPECT_EQ(counts.content.members, 1U);
  EXPECT_EQ(counts.content.numbers, 1U);
  EXPECT_EQ(counts.content.tokens, 1U);
}

}  // namespace
}  // namespace gatedrill::replay
