// Secrets in the contents of messages: where they are found, and what stays as it is.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "replay/redact/content.hpp"
#include "replay/redact/encodings.hpp"
#include "replay/redact/text.hpp"
#include "replay/redact/wide_text.hpp"

namespace gatedrill::replay {
namespace {

using testing::HasSubstr;
using testing::Not;

class RedactContent : public testing::Test {
 protected:
  // What stands in for `secret`.
  std::string p(std::string_view secret) { return content.pseudonym(secret); }

  ContentRedactor content{SecretNames(), Pseudonyms()};
};

ContentRedactor with_rules(const RedactionRules& rules) {
  return {SecretNames::create(rules).value(), Pseudonyms()};
}

TEST_F(RedactContent, FindsSecretsInUrls) {
  EXPECT_EQ(content.url("/a?x=1&api_key=s3cret&y=2"), "/a?x=1&api_key=" + p("s3cret") + "&y=2");
  EXPECT_EQ(content.url("/a;jsessionid=s3cret?x=1"), "/a;jsessionid=" + p("s3cret") + "?x=1");
  EXPECT_EQ(content.url("http://user:s3cret@host/a"), "http://" + p("user:s3cret") + "@host/a");
  EXPECT_EQ(content.url("https://app/cb#access_token=s3cret&expires=5"),
            "https://app/cb#access_token=" + p("s3cret") + "&expires=5");
  EXPECT_EQ(content.url("/a?user%5Bpassword%5D=s3%2Bcret"),
            "/a?user%5Bpassword%5D=" + p("s3+cret"));
  EXPECT_EQ(content.url("/cb?code=abc&state=x"), "/cb?code=" + p("abc") + "&state=x");
  EXPECT_EQ(content.url("/reset-password/a1b2c3d4/confirm"),
            "/reset-password/" + p("a1b2c3d4") + "/confirm");
  EXPECT_EQ(content.url("//user:s3cret@host/a"), "//" + p("user:s3cret") + "@host/a");
  EXPECT_EQ(content.url("/a%3Ftoken=s3cret?x=1"),
            "/a" + percent_encoded("?token=" + p("s3cret")) + "?x=1");
  EXPECT_EQ(content.url("/a%3Fb%3D1%26token%3Ds3cret"),
            "/a" + percent_encoded("?b=1&token=" + p("s3cret")));
  EXPECT_EQ(content.url("/verify/eyJhbGciOiJIUzI1NiJ9.eyJ1IjoxfQ.c2ln?x=1"),
            "/verify/" + p("eyJhbGciOiJIUzI1NiJ9.eyJ1IjoxfQ.c2ln") + "?x=1");
}

TEST_F(RedactContent, FindsSecretsInUrlsAndJsonInsideOfParameters) {
  EXPECT_EQ(content.url("/go?to=https%3A%2F%2Fapp%2Fcb%3Ftoken%3Ds3cret%26x%3D1"),
            "/go?to=" + percent_encoded("https://app/cb?token=" + p("s3cret") + "&x=1"));
  EXPECT_EQ(content.url(R"(/q?filter=%7B%22password%22%3A%22s3cret%22%7D)"),
            "/q?filter=" + percent_encoded(R"({"password":")" + p("s3cret") + R"("})"));
  EXPECT_EQ(content.url("/go?to=/cb?token=s3cret"), "/go?to=/cb?token=" + p("s3cret"));
}

TEST_F(RedactContent, FindsSecretsInJsonAndKeepsTheRestByteForByte) {
  EXPECT_EQ(
      content.json(
          R"({ "user" : "a\"b", "Pass_Word":"s3\"cret" ,"n":[1, {"pin": 1234}], "token":null })"),
      R"({ "user" : "a\"b", "Pass_Word":")" + p("s3\"cret") + R"(" ,"n":[1, {"pin": ")" +
          p("1234") + R"("}], "token":null })");
  EXPECT_EQ(content.json(R"({"passwords":["a","b"],"auth":{"user":"ann"}})"),
            R"({"passwords":[")" + p("a") + R"(",")" + p("b") + R"("],"auth":{"user":"ann"}})");
}

TEST_F(RedactContent, AllBelowASecretNameIsSecret) {
  EXPECT_EQ(content.json(R"({"token":["x",{"y":"s3cret","z":[7,null]}],"a":"b"})"),
            R"({"token":[")" + p("x") + R"(",{"y":")" + p("s3cret") + R"(","z":[")" + p("7") +
                R"(",null]}],"a":"b"})");
  EXPECT_EQ(content.json(R"({"auth":[{"token":"a"},{"user":"ann"}],"secrets":{"a":{"b":"c"}}})"),
            R"({"auth":[{"token":")" + p("a") + R"("},{"user":"ann"}],"secrets":{"a":{"b":")" +
                p("c") + R"("}}})");
}

TEST_F(RedactContent, NamesOfMembersMayBeEscapedAndHoldTokens) {
  EXPECT_EQ(content.json(R"({"p\u0061ssword":"s3cret","x":"y"})"),
            R"({"p\u0061ssword":")" + p("s3cret") + R"(","x":"y"})");
  EXPECT_EQ(content.json(R"({"eyJhbGciOiJIUzI1NiJ9.e30.x":1})"),
            R"({")" + p("eyJhbGciOiJIUzI1NiJ9.e30.x") + R"(":1})");
}

TEST_F(RedactContent, ALineThatIsDamagedHidesNoSecretOfTheNext) {
  EXPECT_EQ(
      content.body("{\"a\":1}\n{\"bad\n{\"token\":\"s3cret\"}\n{\"pin\":\"77\"}\n", ""),
      "{\"a\":1}\n{\"bad\n{\"token\":\"" + p("s3cret") + "\"}\n{\"pin\":\"" + p("77") + "\"}\n");
  EXPECT_THAT(*content.body("{\"password\":\"first\ns3cret\"}", ""), Not(HasSubstr("s3cret")));
}

TEST_F(RedactContent, EventsMayBreakANameOrAValue) {
  EXPECT_THAT(*content.body("data: {\"tok\ndata: en\":\"s3cret\"}\n\n", "text/event-stream"),
              Not(HasSubstr("s3cret")));
  EXPECT_THAT(*content.body("data: {\"token\":\"s3\ndata: cret\"}\n\n", "text/event-stream"),
              Not(HasSubstr("cret")));
}

TEST_F(RedactContent, WhatIsNearlyJsonIsSearchedForAssignments) {
  EXPECT_EQ(
      content.body("{'password':'s3cret', /* c */ pin2: 4711, user: 'ann',}", "application/json"),
      "{'password':'" + p("s3cret") + "', /* c */ pin2: " + p("4711") + ", user: 'ann',}");
  EXPECT_EQ(
      content.body("var x={token:\"s3cret\",n:1}; y.token=e.token; z.pin = `99`;",
                   "application/javascript"),
      "var x={token:\"" + p("s3cret") + "\",n:1}; y.token=e.token; z.pin = `" + p("99") + "`;");
  EXPECT_EQ(content.body("<script>var a='<b>', token='s3cret';</script><p>x</p>", "text/html"),
            "<script>var a='<b>', token='" + p("s3cret") + "';</script><p>x</p>");
  EXPECT_EQ(content.body(R"(log: {\"password\":\"s3cret\",\"a\":\"b\"} end)", "text/plain"),
            R"(log: {\"password\":\")" + p("s3cret") + R"(\",\"a\":\"b\"} end)");
}

TEST_F(RedactContent, LinesOfHeadsAndAssignmentsInTextsAreSearched) {
  EXPECT_EQ(content.body("it has password=s3cret, and so on\n"
                         "Cookie: sid=a; theme=b\n"
                         "X-Api-Key: k3y with spaces\n"
                         "Authorization: Bearer abcdefgh\n"
                         "curl -H 'Authorization: Token xyz' -H 'cookie: a=b' x\n"
                         "token = null, user=ann\n",
                         "text/plain"),
            "it has password=" + p("s3cret") + ", and so on\nCookie: " + p("sid=a; theme=b") +
                "\nX-Api-Key: " + p("k3y with spaces") + "\nAuthorization: Bearer " +
                p("abcdefgh") + "\ncurl -H 'Authorization: Token " + p("xyz") +
                "' -H 'cookie: " + p("a=b") + "' x\ntoken = null, user=ann\n");
}

TEST_F(RedactContent, TextsOfTwoAndFourBytesACharacterAreSearched) {
  const std::string json = R"({"password":"s3cret","user":"äß😀"})";
  const std::string redacted = R"({"password":")" + p("s3cret") + R"(","user":"äß😀"})";
  for (const std::size_t unit : {std::size_t{2}, std::size_t{4}}) {
    for (const bool big : {false, true}) {
      const WideForm form{unit, big};
      EXPECT_EQ(content.body(widened(json, form), "application/json"), widened(redacted, form));
      EXPECT_EQ(content.body(widened("\xef\xbb\xbf" + json, form), ""),
                widened("\xef\xbb\xbf" + redacted, form));
      EXPECT_EQ(narrowed(widened(json, form), form), json);
    }
  }
  EXPECT_EQ(content.body("\xef\xbb\xbf<pin>77</pin>", ""),
            "\xef\xbb\xbf<pin>" + p("77") + "</pin>");
}

// "pin" is a word of all the first, and only a part of a word, or about something else, in the
// second.
TEST_F(RedactContent, ANameIsSecretByItsWords) {
  for (const auto name : {"x-user-pin",
                          "user_pin",
                          "userPin",
                          "pin_code",
                          "PINCode",
                          "pin2",
                          "user.pin",
                          "otp_code",
                          "jwt-assertion",
                          "X-Goog-IAP-JWT-Assertion",
                          "x-hub-signature-256",
                          "tokens",
                          "access_tokens",
                          "accessTokens",
                          "passcode",
                          "session",
                          "x-session",
                          "bearer",
                          "device_code",
                          "deviceCode",
                          "code_verifier",
                          "authorization_code",
                          "assertion",
                          "client_assertion",
                          "token_value",
                          "csrf",
                          "x-xsrf-token",
                          "db_pass",
                          "x-auth",
                          "X-Shopify-Hmac-Sha256",
                          "verification_code"}) {
    EXPECT_EQ(content.kind(name, SecretNames::Place::field), NameKind::secret) << name;
    EXPECT_EQ(content.json("{\"" + std::string(name) + "\":\"s3\"}"),
              "{\"" + std::string(name) + "\":\"" + p("s3") + "\"}");
    EXPECT_EQ(content.parameters(std::string(name) + "=s3"), std::string(name) + "=" + p("s3"));
    EXPECT_EQ(content.markup("<" + std::string(name) + ">s3</" + std::string(name) + ">"),
              "<" + std::string(name) + ">" + p("s3") + "</" + std::string(name) + ">");
  }
  for (const auto name : {"pinned",
                          "is_pinned",
                          "shipping",
                          "spinner",
                          "pinterest",
                          "session_count",
                          "sessionTimeout",
                          "session_duration",
                          "tokenizer",
                          "token_type",
                          "token_count",
                          "max_tokens",
                          "total_tokens",
                          "completion_tokens",
                          "maxOutputTokens",
                          "x-ratelimit-remaining-tokens",
                          "description",
                          "signature_version",
                          "SignatureMethod",
                          "otp_enabled",
                          "passenger",
                          "passed",
                          "bypass_ok",
                          "compass",
                          "author",
                          "authors",
                          "authority",
                          "bearer_format",
                          "pin_color",
                          "codename",
                          "country_code",
                          "postal_code",
                          "status_code",
                          "code",
                          "code_challenge",
                          "number",
                          "value",
                          "256",
                          "sha256",
                          "assertions",
                          "possession",
                          "signal",
                          "x-session-affinity"}) {
    EXPECT_NE(content.kind(name, SecretNames::Place::field), NameKind::secret) << name;
  }
}

TEST_F(RedactContent, ATextThatBreaksOffInsideASecretLosesIt) {
  EXPECT_THAT(*content.json(R"({"password": "s3cr)"), Not(HasSubstr("s3cr")));
  EXPECT_THAT(*content.json(R"({"password": "s3cr\)"), Not(HasSubstr("s3cr")));
  EXPECT_THAT(*content.json(R"("x":1},{"password":"s3cr"})"), Not(HasSubstr("s3cr")));
}

TEST_F(RedactContent, FindsSecretsInJsonAndUrlsInsideOfStrings) {
  EXPECT_EQ(content.json(R"({"body":"{\"password\":\"s3cret\"}"})"),
            R"({"body":")" + json_escaped(R"({"password":")" + p("s3cret") + R"("})") + R"("})");
  EXPECT_EQ(content.json(R"({"next":"https:\/\/app\/?token=s3cret"})"),
            R"({"next":"https://app/?token=)" + p("s3cret") + R"("})");
}

TEST_F(RedactContent, DeepNestingNeitherCrashesNorHidesASecret) {
  std::string deep(100'000, '[');
  deep += R"({"password":"s3cret"})";
  EXPECT_THAT(*content.json(deep), Not(HasSubstr("s3cret")));
  EXPECT_EQ(content.json(std::string(100'000, ']')), std::nullopt);
  std::string strings = R"({"a":"b"})";
  for (int i = 0; i < 12; ++i)
    strings = R"({"a":")" + json_escaped(strings) + R"("})";
  EXPECT_EQ(content.json(strings), std::nullopt);
}

TEST_F(RedactContent, LinesAndEventsOfJsonAreSearched) {
  EXPECT_EQ(content.body("data: {\"token\":\"s3cret\"}\n\ndata: x bearer a1b2c3d4\n",
                         "text/event-stream"),
            "data: {\"token\":\"" + p("s3cret") + "\"}\n\ndata: x bearer " + p("a1b2c3d4") + "\n");
}

TEST_F(RedactContent, LinksInsideOfTextsAreSearched) {
  EXPECT_EQ(content.value("</a?signature=s3cret>; rel=next, <http://u:p4ss@b/#token=t>; rel=last"),
            "</a?signature=" + p("s3cret") + ">; rel=next, <http://" + p("u:p4ss") +
                "@b/#token=" + p("t") + ">; rel=last");
  EXPECT_EQ(content.body("10.0.0.1 - - \"GET /a?token=s3cret HTTP/1.1\" 200\n", "text/plain"),
            "10.0.0.1 - - \"GET /a?token=" + p("s3cret") + " HTTP/1.1\" 200\n");
}

TEST_F(RedactContent, JsonPathsNameMembersElementsAndWhatIsBelow) {
  ContentRedactor rules = with_rules(
      {.json = {"$.user.name", "$.cards[*].holder", "$['odd name'][1]", "$..iban", "$.all.*"}});
  const auto s = [&](std::string_view secret) { return "\"" + rules.pseudonym(secret) + "\""; };
  EXPECT_EQ(rules.json(R"({"user":{"name":"ann","age":5},"name":"shop"})"),
            R"({"user":{"name":)" + s("ann") + R"(,"age":5},"name":"shop"})");
  EXPECT_EQ(rules.json(R"({"cards":[{"holder":"a"},{"holder":"b","x":1}]})"),
            R"({"cards":[{"holder":)" + s("a") + R"(},{"holder":)" + s("b") + R"(,"x":1}]})");
  EXPECT_EQ(rules.json(R"({"odd name":["a","b","c"]})"),
            R"({"odd name":["a",)" + s("b") + R"(,"c"]})");
  EXPECT_EQ(rules.json(R"({"a":{"b":[{"iban":"DE1"}]},"iban":"DE2"})"),
            R"({"a":{"b":[{"iban":)" + s("DE1") + R"(}]},"iban":)" + s("DE2") + "}");
  EXPECT_EQ(rules.json(R"({"all":{"x":{"y":[7,"z"]}}})"),
            R"({"all":{"x":{"y":[)" + s("7") + "," + s("z") + "]}}}");
}

TEST_F(RedactContent, APathThatIsNoneIsNamedWithItsPlace) {
  for (const auto path : {"user", "$", "$.", "$.a[", "$.a[x]", "$.a['b]", "$a", "$[99999999999]"}) {
    const auto names = SecretNames::create({.json = {path}});
    ASSERT_FALSE(names) << path;
    EXPECT_EQ(names.error().code, ErrorCode::usage);
    EXPECT_THAT(names.error().message, HasSubstr("not understood at character")) << path;
  }
}

TEST_F(RedactContent, FindsSecretsInMarkup) {
  EXPECT_EQ(content.body("<s:login id=\"1\"><wsse:Password Type=\"x\"> s3&amp;cret </wsse:Password>"
                         "<user>ann</user></s:login>",
                         "text/xml"),
            "<s:login id=\"1\"><wsse:Password Type=\"x\"> " + p("s3&cret") +
                " </wsse:Password><user>ann</user></s:login>");
  EXPECT_EQ(content.markup(R"(<db user="ann" password='s3cret'/>)"),
            R"(<db user="ann" password=')" + p("s3cret") + "'/>");
  EXPECT_EQ(content.markup(R"(<input type=hidden name="csrf_token" value="s3cret"><b>x</b>)"),
            R"(<input type=hidden name="csrf_token" value=")" + p("s3cret") + R"("><b>x</b>)");
  EXPECT_EQ(content.markup(R"(<a href="/a?token=s3cret">call +49 30 1234567</a>)"),
            R"(<a href="/a?token=)" + p("s3cret") + R"(">call )" + p("+49 30 1234567") + "</a>");
  for (const auto broken :
       {"<", "<a", "<a b", "<a b=", "<a b=\"", "<a b='x", "<><<>", "<!-- x", "</"}) {
    EXPECT_EQ(content.markup(broken), std::nullopt) << broken;
  }
}

TEST_F(RedactContent, FindsSecretsInTheContentsOfMultipartBodies) {
  EXPECT_EQ(
      content.body("--XX\r\nContent-Disposition: form-data; filename=\"a\"; name=user\r\n\r\nann"
                   "\r\n--XX\r\ncontent-disposition: form-data; name=\"password\"\r\n\r\ns3cret"
                   "\r\n--XX\r\nContent-Type: application/json\r\n\r\n{\"token\":\"t\"}"
                   "\r\n--XX--\r\n",
                   "multipart/form-data; boundary=\"XX\""),
      "--XX\r\nContent-Disposition: form-data; filename=\"a\"; name=user\r\n\r\nann"
      "\r\n--XX\r\ncontent-disposition: form-data; name=\"password\"\r\n\r\n" +
          p("s3cret") + "\r\n--XX\r\nContent-Type: application/json\r\n\r\n{\"token\":\"" + p("t") +
          "\"}\r\n--XX--\r\n");
}

TEST_F(RedactContent, InMarkupAllBelowASecretElementIsSecret) {
  EXPECT_EQ(content.markup("<a><secret><b x='1'>s3</b> cret<secret>x</secret>y</secret>"
                           "<password><![CDATA[s3<cret]]></password><c>d</c></a>"),
            "<a><secret><b x='" + p("1") + "'>" + p("s3") + "</b> " + p("cret") + "<secret>" +
                p("x") + "</secret>" + p("y") + "</secret><password><![CDATA[" + p("s3<cret") +
                "]]></password><c>d</c></a>");
  EXPECT_EQ(content.markup("<item key=\"password\">s3cret</item><item key=\"user\">ann</item>"),
            "<item key=\"password\">" + p("s3cret") + "</item><item key=\"user\">ann</item>");
  EXPECT_EQ(
      content.markup("<key>token</key>\n<string>s3cret</string><key>a</key><string>b</string>"),
      "<key>token</key>\n<string>" + p("s3cret") + "</string><key>a</key><string>b</string>");
  EXPECT_EQ(content.markup("<form name=password><b>Hello</b></form><!-- password=s3cret -->"),
            "<form name=password><b>Hello</b></form><!-- password=" + p("s3cret") + " -->");
  EXPECT_EQ(content.markup("<input name=pin><p>Hello</p>"), std::nullopt);
}

TEST_F(RedactContent, MultipartBodiesMayHaveBareLineEndsAndNoBoundary) {
  const std::string body =
      "--XX\nContent-Disposition: form-data; name=\"password\"\n\ns3cret\n--XX\n"
      "Content-Disposition: form-data; name*=utf-8''p%69n\n\n4711\n--XX--\n";
  const std::string redacted =
      "--XX\nContent-Disposition: form-data; name=\"password\"\n\n" + p("s3cret") +
      "\n--XX\nContent-Disposition: form-data; name*=utf-8''p%69n\n\n" + p("4711") + "\n--XX--\n";
  for (const auto type :
       {"multipart/form-data; boundary=XX", "multipart/form-data; Boundary=\"XX\"",
        "multipart/form-data", "multipart/form-data; boundary=YY", ""}) {
    EXPECT_EQ(content.body(body, type), redacted) << type;
  }
  EXPECT_EQ(content.body("token=s3cret x\n--YY", "multipart/mixed; boundary=YY"),
            "token=" + p("s3cret") + " x\n--YY");
}

TEST_F(RedactContent, FindsTokensByTheirForm) {
  struct Case {
    std::string before;
    std::string secret;
    std::string after;
  };

  const std::vector<Case> cases = {
      {"x ", "eyJhbGciOiJIUzI1NiJ9.eyJ1IjoxfQ.c2ln", " y"},
      {"state=", "eyJyZXR1cm4iOiIvIiwidSI6MX0=", "&x"},
      {"Authorization: Bearer ", "a1b2c3d4e5", "\n"},
      {"curl -H 'authorization: basic ", "YW5uOnMzY3JldA==", "'"},
      {"key: ", "AKIAIOSFODNN7EXAMPLE", ","},
      {"(", "ghp_0123456789abcdefghijklmnopqrstuvwxyz", ")"},
      {"-----BEGIN RSA PRIVATE KEY-----", "\nMIIEow\nIBAAK\n", "-----END RSA PRIVATE KEY-----"},
      {"card ", "4111 1111 1111 1111", "."},
      {"card ", "3782-822463-10005", ", thanks"},
      {"card=", "5555555555554444", ";"},
      {"call ", "+49 (0)30 1234567", " now"},
      {"call ", "(212) 555-0123", ""},
      {"call ", "212-555-0123", ""},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(content.text(one.before + one.secret + one.after),
              one.before + p(one.secret) + one.after)
        << one.secret;
  }
}

TEST_F(RedactContent, NamesOfPhonesMakeNumbersPhones) {
  EXPECT_EQ(content.json(R"({"phone":"030 1234567","mobile":4915112345678,"isMobile":true})"),
            R"({"phone":")" + p("030 1234567") + R"(","mobile":")" + p("4915112345678") +
                R"(","isMobile":true})");
  EXPECT_EQ(content.parameters("tel=0301234567&x=0301234567"),
            "tel=" + p("0301234567") + "&x=0301234567");
}

// Whatever a user needs to tell requests apart, and what only looks like a secret.
TEST_F(RedactContent, HarmlessContentsStayAsTheyAre) {
  for (
      const auto json : {
          R"({"id":4111111111111111,"order_id":"4111111111111111","ts":1700000000000})",
          R"({"created":"2026-11-30T13:00:00+01:00","at":"2026-11-30T13:00:00.123456789+0100"})",
          R"({"timestamp":1700000000000000,"ns":1700000000000000000,"price":1234.56,"n":-12e+10})",
          R"({"uuid":"123e4567-e89b-12d3-a456-426614174000","sha256":"4b5111111111111111aa0f"})",
          R"({"etag":"\"5d8c72a5edda8d6a:3239\"","ip":"203.0.113.195","v6":"2001:db8::8a2e:370"})",
          R"({"isbn":"978-3-16-148410-0","ean":"4006381333931","iso":"2026-11-30","version":"1.22.333"})",
          R"({"max_tokens":100,"next_page_token":"abc","token_type":"bearer","code":"DE"})",
          R"({"text":"basic information for the bearer of instruments; call 112 or 555-0123"})",
          R"({"lat":52.520008,"lng":13.404954,"range":"100-200-3000","sku":"212-555"})",
          R"({"url":"https://shop/a/b?page=2&sort=price#top","mail":"ann@example.com"})",
          R"({"number":"4111111111111112","long":"41111111111111111111","hex":"4111111111111111a"})",
          R"({"image":"/9j/4AAQSkZJRgABAQAAAQABAAD/2wCEAAkGBxMTEhUTExMWFhUXGBgYGBgYGB0a"})",
      }) {
    EXPECT_EQ(content.body(json, "application/json"), std::nullopt) << json;
  }
  for (const auto url :
       {"/a;v=1?q=token&max_tokens=5#top", "/orders/4111111111111112", "/token/refresh",
        "/items/2026-11-30T13:00:00%2B01:00?t=1700000000.123", "*", "shop.example:443", "/",
        "/a?state=x&code=", "http://shop/a@b?mail=a%40b.c", "/?q=100%25+sure",
        "/passwords/reset?x=1"}) {
    EXPECT_EQ(content.url(url), std::nullopt) << url;
  }
  for (const auto text : {"date: Mon, 30 Nov 2026 13:00:00 GMT", "bytes 0-1023/146515",
                          "W/\"67ab43-4111111111111111\"", "1.4111111111111111",
                          "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0.0.0",
                          "text/html;q=0.9,*/*;q=0.8", "10.0.0.1:40000 -> 10.0.0.2:80",
                          "max-age=31536000; includeSubDomains", "2026-11-30 13:00:00 +0000",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}) {
    EXPECT_EQ(content.text(text), std::nullopt) << text;
    EXPECT_EQ(content.value(text), std::nullopt) << text;
  }
  const std::string image = std::string("\x89PNG\0\0", 6) + "4111111111111111 Bearer a1b2c3d4";
  EXPECT_EQ(content.body(image, "image/png"), std::nullopt);
}

TEST_F(RedactContent, NumbersStayWhereTheUserSaysSo) {
  ContentRedactor rules = with_rules({.numbers = false});
  EXPECT_EQ(rules.json(R"({"card":"4111111111111111","phone":"+49 30 1234567"})"), std::nullopt);
  EXPECT_NE(rules.json(R"({"j":"Bearer a1b2c3d4"})"), std::nullopt);
}

TEST_F(RedactContent, NoCutOfATextCrashes) {
  const std::string text =
      "a=b&c={\"token\":\"x\\u00e9\\ud83d\\ude00\"}<a b=\"c\">Bearer a1b2c3d4 eyJhbGciOiJIUzI1NiJ9"
      " 4111 1111 1111 1111 3782-822463-10005 (212) 555-0123 +49 30 1234567 AKIAIOSFODNN7EXAMPLE"
      "-----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY----- %41%4 http://u:p@h/;a=b?c#d";
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{40}, text.size()}) {
      const std::string part = text.substr(begin, size);
      content.json(part);
      content.url(part);
      content.parameters(part);
      content.markup(part);
      content.text(part);
      content.multipart(part, "a");
      content.loose(part);
      content.body(widened(part, {}), "");
      for (const auto type :
           {"", "application/json", "text/html", "multipart/form-data; boundary=a"})
        content.body(part, type);
    }
  }
}

// Pieces of everything, in any order: what was redacted once stays as it is.
TEST_F(RedactContent, RedactingTwiceIsRedactingOnce) {
  const std::vector<std::string> pieces = {R"({"token":"a","x":)",
                                           R"("password":"b\"c",)",
                                           "[",
                                           "]",
                                           "}",
                                           ",",
                                           "?api_key=1&",
                                           "code=a&state=b&",
                                           "<pin>1</pin>",
                                           "<a secret='x' ",
                                           ">",
                                           "Bearer a1b2c3d4 ",
                                           "eyJhbGciOiJub25lIn0.e30. ",
                                           "\n",
                                           " ",
                                           "4111 1111 1111 1111 ",
                                           "+49 30 1234567 ",
                                           "%7B%22token%22%3A%22x%22%7D",
                                           "http://u:p@h/",
                                           "=",
                                           "\"",
                                           "212-555-0123",
                                           "AKIAIOSFODNN7EXAMPLE",
                                           "/token/a1b2c3d4/",
                                           "phone=0301234567&",
                                           ":",
                                           "\\",
                                           "-"};
  Random random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(8); i > 0; --i)
      text += pieces[random.below(pieces.size())];
    for (const auto type :
         {"application/json", "text/plain", "application/x-www-form-urlencoded"}) {
      const auto once = content.body(text, type);
      const std::string first = once.value_or(text);
      EXPECT_EQ(content.body(first, type).value_or(first), first) << type << "\n" << text;
    }
    const auto once = content.url(text);
    const std::string first = once.value_or(text);
    EXPECT_EQ(content.url(first).value_or(first), first) << text;
  }
}

TEST_F(RedactContent, HostileTextsTakeTimeInProportionToTheirSize) {
  for (const std::string piece :
       {"token=",      "token='",   "<pin>",     "<pin a=b>",
        "<script>",    "<!--",      "<![CDATA[", "\"\n",
        "--\n\n",      "a/%3F",     "a:",        "a   :",
        "{\"pin\":[",  "code=1&",   "<a",        "<a a a",
        "?a=",         "\"\\",      "+1 ",       "eyJ",
        "bearer ",     "[",         "sk_live_",  "a?b#c;d",
        "%7B",         "{\"a\":\"", "4111 ",     "-----BEGIN PRIVATE KEY-----",
        "\xef\xbb\xbf"}) {
    std::string text;
    while (text.size() < 300'000)
      text += piece;
    content.body(text, "text/plain");
    content.body(text, "application/json");
    content.parameters(text);
    content.markup(text);
    content.url(text);
  }
}

TEST(RedactText, CardNumbersHaveTheLengthAndPrefixOfANetworkAndLuhnsSum) {
  for (const auto card :
       {"4111111111111111", "5555555555554444", "2223003122003222", "378282246310005",
        "6011111111111117", "3530111333300000", "30569309025904", "36227206271667"}) {
    EXPECT_TRUE(is_card_number(card)) << card;
  }
  for (const auto none :
       {"4111111111111112", "1700000000000000", "0000000000000000", "9111111111111111",
        "411111111111111", "41111111111111111", "411111111111111a"}) {
    EXPECT_FALSE(is_card_number(none)) << none;
  }
}

TEST(RedactEncodings, UndoWhatTheyDo) {
  EXPECT_EQ(percent_decoded("a%2Bb+c%zz%4"), "a+b c%zz%4");
  EXPECT_EQ(percent_decoded(percent_encoded("a b&c=d/é")), "a b&c=d/é");
  EXPECT_EQ(json_unescaped(R"(a\"\\\/\n\u0041\u00e9\ud83d\ude00\x\)"), "a\"\\/\nAé😀x\\");
  EXPECT_EQ(json_unescaped(json_escaped("a\"\\\n\tb")), "a\"\\\n\tb");
  EXPECT_EQ(xml_unescaped("a&lt;b&amp;amp;&x;"), "a<b&amp;&x;");
  EXPECT_EQ(base64_decoded("YW5uOnMzY3JldA=="), "ann:s3cret");
  EXPECT_EQ(base64_decoded("YW5uOnMzY3JldA"), "ann:s3cret");
  EXPECT_EQ(base64_decoded("a b"), std::nullopt);
  EXPECT_EQ(base64_decoded("abcde"), std::nullopt);
}

}  // namespace
}  // namespace gatedrill::replay
