#include "replay/redact.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/content_coding.hpp"

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

TEST(Redact, FindsSecretsInUrls) {
  Redactor redactor;
  const auto secret_gone = [&](const std::string& url) {
    const auto redacted = redactor.redact_url(url);
    return redacted && redacted->find("s3cret") == std::string::npos;
  };
  EXPECT_TRUE(secret_gone("/a?x=1&api_key=s3cret&y=2"));
  EXPECT_TRUE(secret_gone("/a;jsessionid=s3cret?x=1"));
  EXPECT_TRUE(secret_gone("http://user:s3cret@host/a"));
  EXPECT_TRUE(secret_gone("https://app/callback#access_token=s3cret&expires=5"));
  EXPECT_TRUE(secret_gone("/a?user%5Bpassword%5D=s3cret"));
  EXPECT_EQ(redactor.redact_url("/a;v=1?q=token&max_tokens=5#top"), std::nullopt);
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

TEST(Redact, FindsSecretsInJsonAndKeepsTheRestByteForByte) {
  Redactor redactor;
  const std::string json =
      R"({ "user" : "a\"b", "Pass_Word":"s3\"cret" ,"n":[1, {"pin": 1234}], "token":null })";
  const auto redacted = redactor.redact_json(json);
  EXPECT_EQ(*redacted, R"({ "user" : "a\"b", "Pass_Word":")" + redactor.pseudonym(R"(s3\"cret)") +
                           R"(" ,"n":[1, {"pin": ")" + redactor.pseudonym("1234") +
                           R"("}], "token":null })");
}

TEST(Redact, ATextThatBreaksOffInsideASecretLosesIt) {
  Redactor redactor;
  EXPECT_THAT(*redactor.redact_json(R"({"password": "s3cr)"), Not(HasSubstr("s3cr")));
  EXPECT_THAT(*redactor.redact_json(R"({"password": "s3cr\)"), Not(HasSubstr("s3cr")));
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

TEST(Redact, DropsACodedFormThatCannotBeDecoded) {
  Redactor redactor;
  auto exchange = with_request_body("application/json", "broken gzip");
  exchange.request->fields.push_back({"Content-Encoding", "gzip"});
  redactor.redact(exchange);
  EXPECT_TRUE(exchange.request->body.empty());
  EXPECT_FALSE(exchange.request->complete);
  EXPECT_EQ(redactor.counts().dropped_bytes, 11U);
}

TEST(Redact, ACredentialLineWithoutItsColonDoesNotSlipThrough) {
  Redactor redactor;
  RecordedExchange exchange;
  exchange.request = RecordedRequest{
      .method = "GET", .target = "/", .fields = {{"Authorization Basic czNjcmV0", ""}}};
  redactor.redact(exchange);
  EXPECT_THAT(exchange.request->fields[0].name, Not(HasSubstr("czNjcmV0")));
}

}  // namespace
}  // namespace gatedrill::replay
