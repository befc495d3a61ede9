// The canonical rewrite rule of the gateway reference 2.8: what another hop might read differently
// does not pass, and what is written reads back as what was meant.
#include "gateway/http/head_writer.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/strict.hpp"

namespace gatedrill::http {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

struct Rewritten {
  std::string head;
  RequestOptions options;

  [[nodiscard]] bool has_line(const std::string& line) const {
    return head.find("\r\n" + line + "\r\n") != std::string::npos;
  }

  [[nodiscard]] bool mentions(const std::string& text) const {
    return head.find(text) != std::string::npos;
  }
};

// What the upstream gets for the request; a malformed one fails the test.
Rewritten rewrite(const std::string& bytes, RequestRewrite how = {}) {
  RequestHead head;
  const h1::HeadResult parsed = h1::parse_request_head(bytes, h1::HeadLimits{}, head);
  const RequestVerdict verdict = judge_request(head, parsed);
  EXPECT_FALSE(verdict.refusal) << bytes;
  how.framing = verdict.framing;
  how.host = verdict.host;
  how.via = "gw";
  if (how.client.empty()) how.client = "10.1.1.1";
  how.request_id = "id-1";
  Rewritten result;
  result.options = request_options(head);
  result.options.request_id = {};  // it points into bytes
  const std::size_t digit = write_request_head(head, result.options, how, result.head);
  EXPECT_EQ(result.head[digit], '1');
  RequestHead again;
  const h1::HeadResult reread = h1::parse_request_head(result.head, h1::HeadLimits{}, again);
  EXPECT_EQ(reread.state, h1::HeadState::complete);
  EXPECT_EQ(reread.size, result.head.size());
  EXPECT_FALSE(judge_request(again, reread).refusal) << result.head;
  return result;
}

TEST(RequestRewrite, PlainFieldsPassInOrderAndAsTheyAre) {
  const Rewritten sent =
      rewrite("GET /a?b=c HTTP/1.1\r\nHost: shop\r\nX-One: 1\r\nAccept:  */*\r\nX-One: 2\r\n\r\n");
  EXPECT_TRUE(sent.head.starts_with(
      "GET /a?b=c HTTP/1.1\r\nhost: shop\r\nX-One: 1\r\nAccept: */*\r\nX-One: 2\r\n"));
  EXPECT_TRUE(sent.has_line("via: 1.1 gw"));
  EXPECT_TRUE(sent.has_line("x-request-id: id-1"));
  EXPECT_TRUE(sent.has_line("x-attempt-count: 1"));
}

TEST(RequestRewrite, HopByHopFieldsAndThoseNamedInConnectionEndHere) {
  const Rewritten sent = rewrite(
      "GET / HTTP/1.1\r\nHost: shop\r\nConnection: close, X-Secret , te\r\nX-Secret: 1\r\n"
      "x-SECRET: 2\r\nTE: trailers\r\nTrailer: Expires\r\nKeep-Alive: timeout=5\r\n"
      "Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nX-Kept: 3\r\n\r\n");
  for (const char* gone : {"Connection", "ecret", "SECRET", "TE:", "railer", "Keep-Alive", "Proxy",
                           "Upgrade", "h2c"}) {
    EXPECT_FALSE(sent.mentions(gone)) << gone;
  }
  EXPECT_TRUE(sent.has_line("X-Kept: 3"));
}

TEST(RequestRewrite, NamesWithUnderscoresAreDropped) {
  const Rewritten sent =
      rewrite("POST / HTTP/1.1\r\nHost: shop\r\nContent_Length: 5\r\nX_User: root\r\n\r\n");
  EXPECT_FALSE(sent.mentions("_"));
}

TEST(RequestRewrite, NamesWithUnderscoresPassWhereTheyMayUnlessTheyWouldMeanSomething) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: shop\r\nContent_Length: 5\r\nuser_id: 7\r\nX_Forwarded_For: "
      "1.2.3.4\r\nTransfer_Encoding: chunked\r\nKeep_Alive: timeout=5\r\nX-Request_Id: "
      "theirs\r\n\r\n";
  RequestHead head;
  const h1::HeadResult parsed = h1::parse_request_head(bytes, h1::HeadLimits{}, head);
  const RequestVerdict verdict = judge_request(head, parsed);
  const RequestOptions options = request_options(head, UnderscoreNames::pass);
  EXPECT_FALSE(judge_options(head, options, verdict.framing));
  std::string out;
  write_request_head(head, options, {}, out);
  EXPECT_NE(out.find("\r\nuser_id: 7\r\n"), std::string::npos);
  EXPECT_EQ(std::count(out.begin(), out.end(), '_'), 1) << out;
  EXPECT_EQ(out.find("1.2.3.4"), std::string::npos);
  const RequestOptions refused = request_options(head, UnderscoreNames::refuse);
  EXPECT_EQ(judge_options(head, refused, verdict.framing)->reason, "underscore_name");
}

TEST(RequestRewrite, TheFramingIsOurOwn) {
  EXPECT_TRUE(rewrite("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 00005\r\n\r\n")
                  .has_line("content-length: 5"));
  const Rewritten chunked =
      rewrite("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n");
  EXPECT_TRUE(chunked.has_line("transfer-encoding: chunked"));
  EXPECT_FALSE(chunked.mentions("content-length"));
  EXPECT_TRUE(rewrite("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
                  .has_line("content-length: 0"));
  const Rewritten none = rewrite("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_FALSE(none.mentions("content-length"));
  EXPECT_FALSE(none.mentions("transfer-encoding"));
}

TEST(RequestRewrite, AnAbsoluteTargetBecomesAPathAndItsHost) {
  for (const auto& [target, path] :
       {std::pair{"http://other:81/x?y", "/x?y"}, std::pair{"http://other:81", "/"},
        std::pair{"http://other:81?y", "/?y"}}) {
    const Rewritten sent = rewrite("GET "s + target + " HTTP/1.1\r\nHost: shop\r\n\r\n");
    EXPECT_TRUE(sent.head.starts_with("GET "s + path + " HTTP/1.1\r\nhost: other:81\r\n"))
        << sent.head;
    EXPECT_FALSE(sent.mentions("shop"));
  }
}

TEST(RequestRewrite, APrefixIsStrippedAndAPathRemains) {
  RequestRewrite how;
  how.strip_prefix = "/api";
  for (const auto& [target, path] : {std::pair{"/api/order", "/order"}, std::pair{"/api", "/"},
                                     std::pair{"/api?x", "/?x"}, std::pair{"/other", "/other"}}) {
    EXPECT_TRUE(rewrite("GET "s + target + " HTTP/1.1\r\nHost: a\r\n\r\n", how)
                    .head.starts_with("GET "s + path + " HTTP/1.1\r\n"))
        << target;
  }
}

TEST(RequestRewrite, ForwardedFieldsOfAStrangerAreReplacedAndThoseOfATrustedProxyContinued) {
  const std::string bytes =
      "GET / HTTP/1.1\r\nHost: shop\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n"
      "X-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Host: front\r\nX-Forwarded-User: root\r\n\r\n";
  const Rewritten stranger = rewrite(bytes);
  EXPECT_TRUE(stranger.has_line("x-forwarded-for: 10.1.1.1"));
  EXPECT_TRUE(stranger.has_line("x-forwarded-proto: http"));
  EXPECT_TRUE(stranger.has_line("x-forwarded-host: shop"));
  EXPECT_FALSE(stranger.mentions("1.2.3.4"));
  EXPECT_FALSE(stranger.mentions("root"));
  RequestRewrite how;
  how.trusts_forwarded = true;
  const Rewritten trusted = rewrite(bytes, how);
  EXPECT_TRUE(trusted.has_line("x-forwarded-for: 1.2.3.4, 5.6.7.8, 10.1.1.1"));
  EXPECT_TRUE(trusted.has_line("X-Forwarded-Proto: https"));
  EXPECT_TRUE(trusted.has_line("X-Forwarded-Host: front"));
  EXPECT_FALSE(trusted.mentions("x-forwarded-proto: http\r"));
}

TEST(RequestRewrite, AForwardedFieldIsContinuedForATrustedProxyAndNeverBegun) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: shop:80\r\nForwarded: for=1.2.3.4\r\n\r\n";
  EXPECT_FALSE(rewrite(bytes).mentions("orwarded: for"));
  RequestRewrite how;
  how.trusts_forwarded = true;
  const Rewritten trusted = rewrite(bytes, how);
  EXPECT_TRUE(trusted.has_line("Forwarded: for=1.2.3.4"));
  EXPECT_TRUE(trusted.has_line("forwarded: for=10.1.1.1;host=\"shop:80\";proto=http"));
  EXPECT_LT(trusted.head.find("1.2.3.4"), trusted.head.find("for=10.1.1.1")) << "the chain's order";
  EXPECT_FALSE(rewrite("GET / HTTP/1.1\r\nHost: a\r\n\r\n", how).mentions("forwarded: for="));
}

TEST(RequestRewrite, AnIpv6AddressIsQuotedInForwarded) {
  RequestRewrite how;
  how.trusts_forwarded = true;
  how.client = "::1";
  EXPECT_TRUE(rewrite("GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=x\r\n\r\n", how)
                  .has_line("forwarded: for=\"[::1]\";host=\"a\";proto=http"));
}

TEST(RequestRewrite, ViaTellsTheClientsVersionBehindTheChainSoFar) {
  const Rewritten sent = rewrite("GET / HTTP/1.0\r\nHost: a\r\nVia: 1.1 front\r\n\r\n");
  EXPECT_TRUE(sent.has_line("via: 1.0 gw"));
  EXPECT_LT(sent.head.find("1.1 front"), sent.head.find("1.0 gw"));
}

TEST(RequestRewrite, MaxForwardsOfOptionsAndTraceIsCountedDown) {
  const auto sent = [](const std::string& method, const std::string& value) {
    return rewrite(method + " / HTTP/1.1\r\nHost: a\r\nMax-Forwards: " + value + "\r\n\r\n");
  };
  EXPECT_TRUE(sent("OPTIONS", "2").has_line("max-forwards: 1"));
  EXPECT_TRUE(sent("TRACE", "1").has_line("max-forwards: 0"));
  EXPECT_FALSE(sent("TRACE", "1").mentions("Max-Forwards"));
  EXPECT_TRUE(sent("GET", "2").has_line("Max-Forwards: 2")) << "means nothing there";
}

TEST(RequestRewrite, OptionsOfAWholeServerStaySoInOriginForm) {
  EXPECT_TRUE(rewrite("OPTIONS http://h HTTP/1.1\r\nHost: h\r\n\r\n")
                  .head.starts_with("OPTIONS * HTTP/1.1\r\n"));
  EXPECT_TRUE(rewrite("OPTIONS http://h/ HTTP/1.1\r\nHost: h\r\n\r\n")
                  .head.starts_with("OPTIONS / HTTP/1.1\r\n"));
}

TEST(RequestRewrite, TrailersAreAnnouncedAndAskedForOnlyWhereSomePass) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers, gzip\r\nTrailer: X-Sum, X-Other\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  const Rewritten dropped = rewrite(bytes);
  EXPECT_FALSE(dropped.mentions("railer"));
  const std::vector<std::string> allowed = {"x-sum", "x-more"};
  RequestRewrite how;
  how.trailers = allowed;
  const Rewritten passed = rewrite(bytes, how);
  EXPECT_TRUE(passed.has_line("te: trailers"));
  EXPECT_TRUE(passed.has_line("connection: te"));
  EXPECT_TRUE(passed.has_line("trailer: x-sum"));
  EXPECT_FALSE(passed.mentions("gzip"));
  const Rewritten counted =
      rewrite("POST / HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nContent-Length: 5\r\n\r\n", how);
  EXPECT_FALSE(counted.mentions("railer")) << "only chunks have any";
}

TEST(RequestRewrite, ANewRequestIdReplacesTheClients) {
  const Rewritten sent =
      rewrite("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: theirs\r\nX-Attempt-Count: 9\r\n\r\n");
  EXPECT_FALSE(sent.mentions("theirs"));
  EXPECT_FALSE(sent.mentions("9"));
}

RequestOptions options_of(const std::string& bytes) {
  RequestHead head;
  static_cast<void>(h1::parse_request_head(bytes, h1::HeadLimits{}, head));
  return request_options(head);
}

TEST(RequestOptions, TheClientsConnectionIsKeptAsItsVersionAndItsWordsSay) {
  EXPECT_TRUE(options_of("GET / HTTP/1.1\r\n\r\n").keep_alive);
  EXPECT_FALSE(options_of("GET / HTTP/1.1\r\nConnection: x, CLOSE\r\n\r\n").keep_alive);
  EXPECT_FALSE(options_of("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(options_of("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
  EXPECT_FALSE(options_of("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n").keep_alive);
}

TEST(RequestOptions, AnOptionThatWouldDropAProtectedFieldIsNamed) {
  for (const char* name : {"Host", "content-length", "Content-Type", "Authorization",
                           "X-Forwarded-For", "x-forwarded-proto", "transfer-encoding", "Cookie",
                           "Expect", "Forwarded", "Via", "Max-Forwards", "x-request-id"}) {
    const std::string bytes = "GET / HTTP/1.1\r\nConnection: close, "s + name + "\r\n\r\n";
    EXPECT_EQ(options_of(bytes).protected_option, name);
  }
  EXPECT_EQ(options_of("GET / HTTP/1.1\r\nConnection: X-Other\r\n\r\n").protected_option, "");
}

TEST(RequestOptions, OnlyOneExpectationIsKnown) {
  EXPECT_TRUE(options_of("POST / HTTP/1.1\r\nExpect: 100-Continue\r\n\r\n").expects_continue);
  EXPECT_FALSE(options_of("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").expects_continue);
  for (const char* expectation : {"y 100-continue", "100-continue, 100-continue", "x", ""}) {
    EXPECT_FALSE(options_of("POST / HTTP/1.1\r\nExpect: "s + expectation + "\r\n\r\n")
                     .refused_expectation.empty())
        << expectation;
  }
}

TEST(RequestOptions, MaxForwardsCountsForTwoMethodsAndIsOneNumber) {
  const auto of = [](const std::string& method, const std::string& fields) {
    return options_of(method + " / HTTP/1.1\r\n" + fields + "\r\n");
  };
  EXPECT_EQ(of("OPTIONS", "Max-Forwards: 0\r\n").max_forwards, 0U);
  EXPECT_EQ(of("TRACE", "Max-Forwards: 10\r\n").max_forwards, 10U);
  EXPECT_EQ(of("GET", "Max-Forwards: 0\r\n").max_forwards, std::nullopt);
  EXPECT_EQ(of("TRACE", "").max_forwards, std::nullopt);
  for (const char* bad : {"", "-1", "1, 1", "4294967296", "x"}) {
    EXPECT_TRUE(of("TRACE", "Max-Forwards: "s + bad + "\r\n").bad_max_forwards) << bad;
  }
  EXPECT_TRUE(of("TRACE", "Max-Forwards: 1\r\nMax-Forwards: 1\r\n").bad_max_forwards);
}

TEST(RequestOptions, ANameDroppedForItsUnderscoreIsTold) {
  EXPECT_EQ(options_of("GET / HTTP/1.1\r\nX: 1\r\n\r\n").dropped_name, "");
  RequestHead head;
  const std::string bytes = "GET / HTTP/1.1\r\nX_User: 1\r\n\r\n";
  static_cast<void>(h1::parse_request_head(bytes, h1::HeadLimits{}, head));
  EXPECT_EQ(request_options(head).dropped_name, "X_User");
}

const ResponseRewrite kBodiless = [] {
  ResponseRewrite how;
  how.bodiless = true;
  return how;
}();

// What the client gets for an answer.
std::string answer(const std::string& bytes, const ResponseRewrite& how) {
  ResponseHead head;
  EXPECT_EQ(h1::parse_response_head(bytes, h1::HeadLimits{}, head).state, h1::HeadState::complete);
  std::string out;
  write_response_head(head, response_options(head), how, out);
  return out;
}

TEST(ResponseRewrite, TheFramingAndTheConnectionAreOurOwn) {
  const std::string bytes =
      "HTTP/1.0 200 Fine\r\nConnection: close, X-Inner\r\nX-Inner: 1\r\nKeep-Alive: timeout=5\r\n"
      "Transfer-Encoding: chunked\r\nTrailer: X\r\nContent-Length: 5\r\nX_Ok: 2\r\n\r\n";
  EXPECT_EQ(answer(bytes, {.framing = {BodyKind::chunked, 0}}),
            "HTTP/1.1 200 Fine\r\nX_Ok: 2\r\ntransfer-encoding: chunked\r\n\r\n");
  EXPECT_EQ(answer(bytes, {.framing = {BodyKind::length, 5}, .close = true}),
            "HTTP/1.1 200 Fine\r\nX_Ok: 2\r\ncontent-length: 5\r\nconnection: close\r\n\r\n");
  EXPECT_EQ(answer(bytes, {.framing = {BodyKind::until_close, 0}, .close = true}),
            "HTTP/1.1 200 Fine\r\nX_Ok: 2\r\nconnection: close\r\n\r\n");
  EXPECT_EQ(answer(bytes, {.framing = {}, .keep_alive = true}),
            "HTTP/1.1 200 Fine\r\nX_Ok: 2\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n");
}

TEST(ResponseRewrite, AnAnswerWithoutABodyTellsTheLengthItWouldHave) {
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", kBodiless),
            "HTTP/1.1 200 OK\r\ncontent-length: 1234\r\n\r\n");
  EXPECT_EQ(answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\nEtag: x\r\n\r\n", kBodiless),
            "HTTP/1.1 304 Not Modified\r\ncontent-length: 12\r\nEtag: x\r\n\r\n");
  EXPECT_EQ(answer("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", kBodiless),
            "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(ResponseRewrite, AResetContentSaysThatItHasNone) {
  EXPECT_EQ(answer("HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\n", {.framing = {}}),
            "HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n");
}

TEST(ResponseRewrite, ViaTellsTheUpstreamsVersion) {
  EXPECT_EQ(answer("HTTP/1.0 204 x\r\nVia: 1.1 inner\r\n\r\n",
                   {.framing = {}, .bodiless = true, .via = "gw"}),
            "HTTP/1.1 204 x\r\nVia: 1.1 inner\r\nvia: 1.0 gw\r\n\r\n");
  EXPECT_EQ(answer("HTTP/1.1 204 x\r\n\r\n", {.framing = {}, .bodiless = true, .via = "gw"}),
            "HTTP/1.1 204 x\r\nvia: 1.1 gw\r\n\r\n");
}

TEST(ResponseRewrite, ADateIsAddedOnlyWhereTheUpstreamToldNone) {
  ResponseRewrite how;
  how.date = "Mon, 30 Nov 2026 10:00:00 GMT";
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\n\r\n", how),
            "HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 10:00:00 GMT\r\ncontent-length: 0\r\n\r\n");
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nDate: its own\r\n\r\n", how),
            "HTTP/1.1 200 OK\r\nDate: its own\r\ncontent-length: 0\r\n\r\n");
}

TEST(ResponseRewrite, TrailersAreAnnouncedOnlyWhereSomePass) {
  const std::string bytes =
      "HTTP/1.1 200 OK\r\nTrailer: X-Sum, X-Other\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::vector<std::string> allowed = {"x-sum"};
  EXPECT_EQ(answer(bytes, {.framing = {BodyKind::chunked, 0}, .trailers = allowed}),
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n");
  EXPECT_EQ(answer(bytes, {.framing = {BodyKind::until_close, 0}, .trailers = allowed}),
            "HTTP/1.1 200 OK\r\n\r\n");
}

TEST(ViaName, IsAToken) {
  EXPECT_EQ(via_name("edge-1"), "edge-1");
  EXPECT_EQ(via_name("edge 1\r\nx: y"), "edge-1--x--y");
}

TEST(ResponseRewrite, AnEmptyReasonIsFilledIn) {
  EXPECT_EQ(answer("HTTP/1.1 503 \r\n\r\n", kBodiless), "HTTP/1.1 503 Service Unavailable\r\n\r\n");
  EXPECT_EQ(answer("HTTP/1.1 299 \r\n\r\n", kBodiless), "HTTP/1.1 299 \r\n\r\n");
}

TEST(ResponseRewrite, AnInterimAnswerHasNeitherFramingNorWhatEndsAtTheHop) {
  ResponseHead head;
  const std::string bytes =
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 5\r\nConnection: x\r\nX: 1\r\n"
      "Keep-Alive: timeout=5\r\nTrailer: X\r\n\r\n";
  static_cast<void>(h1::parse_response_head(bytes, h1::HeadLimits{}, head));
  std::string out;
  write_interim_head(head, out);
  EXPECT_EQ(out, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
}

TEST(ResponseOptions, TheKeepAliveTimeoutIsFoundAmongItsParameters) {
  const auto timeout_of = [](const std::string& value) {
    const std::string bytes = "HTTP/1.1 200 OK\r\nKeep-Alive: " + value + "\r\n\r\n";
    ResponseHead head;
    static_cast<void>(h1::parse_response_head(bytes, h1::HeadLimits{}, head));
    return response_options(head).keep_alive_timeout;
  };
  EXPECT_EQ(timeout_of("timeout=5"), Duration{5s});
  EXPECT_EQ(timeout_of("max=100, Timeout=7"), Duration{7s});
  for (const char* nonsense :
       {"timeout=", "timeout=x", "timeout=5s", "timeout=-1", "max=100", "timeout=99999999999999"}) {
    EXPECT_EQ(timeout_of(nonsense), std::nullopt) << nonsense;
  }
}

}  // namespace
}  // namespace gatedrill::http
