// The rows of the gateway reference 2.8 and the desync classes below them: what another parser
// might read differently is refused.
#include "gateway/http/strict.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gatedrill::http {
namespace {

using namespace std::string_literals;

// The head keeps views into the bytes, so they live together.
struct Judged {
  explicit Judged(std::string text) : bytes(std::move(text)) {
    const h1::HeadResult parsed = h1::parse_request_head(bytes, h1::HeadLimits{}, head);
    EXPECT_NE(parsed.state, h1::HeadState::incomplete) << bytes;
    verdict = judge_request(head, parsed);
  }

  Judged(const Judged&) = delete;
  Judged& operator=(const Judged&) = delete;
  ~Judged() = default;

  [[nodiscard]] int status() const { return verdict.refusal ? verdict.refusal->status : 0; }

  [[nodiscard]] std::string_view reason() const {
    return verdict.refusal ? verdict.refusal->reason : "";
  }

  std::string bytes;
  RequestHead head;
  RequestVerdict verdict;
};

Judged request(const std::string& fields, const std::string& line = "POST / HTTP/1.1") {
  return Judged(line + "\r\nHost: shop\r\n" + fields + "\r\n");
}

TEST(StrictRequest, ASoundHeadPasses) {
  const Judged judged = request("Content-Length: 5\r\n");
  EXPECT_FALSE(judged.verdict.refusal);
  EXPECT_EQ(judged.verdict.framing, (Framing{BodyKind::length, 5}));
  EXPECT_EQ(judged.verdict.host, "shop");
  EXPECT_EQ(request("").verdict.framing, Framing{});
  EXPECT_EQ(request("Content-Length: 0\r\n").verdict.framing, Framing{});
  EXPECT_EQ(request("Transfer-Encoding: chunked\r\n").verdict.framing,
            (Framing{BodyKind::chunked, 0}));
  EXPECT_EQ(request("Transfer-Encoding: CHUNKED\r\n").verdict.framing,
            (Framing{BodyKind::chunked, 0}));
}

TEST(StrictRequest, ABodyOnGetIsFramedNotIgnored) {
  EXPECT_EQ(request("Content-Length: 5\r\n", "GET / HTTP/1.1").verdict.framing,
            (Framing{BodyKind::length, 5}));
}

TEST(StrictRequest, ACodingBesideALengthIsRefusedInEitherOrder) {
  for (const char* coding :
       {"gzip", "identity", "xchunked", "\"chunked\"", "chunked, identity", "chunked", ""}) {
    const std::string te = "Transfer-Encoding: "s + coding + "\r\n";
    for (const Judged& judged :
         {request(te + "Content-Length: 5\r\n"), request("Content-Length: 5\r\n" + te)}) {
      EXPECT_EQ(judged.status(), 400) << coding;
      EXPECT_EQ(judged.reason(), "length_and_coding") << coding;
    }
  }
}

TEST(StrictRequest, ACodingThatIsNotChunkedOnceAndLastIsRefused) {
  struct Row {
    std::string fields;
    int status;
  };

  const std::vector<Row> rows = {
      {"Transfer-Encoding: gzip\r\n", 501},
      {"Transfer-Encoding: identity\r\n", 501},
      {"Transfer-Encoding: xchunked\r\n", 501},
      {"Transfer-Encoding: \"chunked\"\r\n", 501},
      {"Transfer-Encoding: chunked;q=1\r\n", 501},
      {"Transfer-Encoding: chunked chunked\r\n", 501},
      {"Transfer-Encoding: gzip, chunked\r\n", 501},
      {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 501},
      {"Transfer-Encoding:\r\n", 501},
      {"Transfer-Encoding: \x0b"
       "chunked\r\n",
       400},
      {"Transfer-Encoding: chunked, chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked, identity\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400},
      {"Transfer-Encoding: chunked,\r\n", 400},
      {"Transfer-Encoding:\r\n chunked\r\n", 400},
      {"Transfer-Encoding : chunked\r\n", 400},
      {"Transfer_Encoding: chunked\r\nTransfer-Encoding: x\r\n", 501},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(request(row.fields).status(), row.status) << row.fields;
  }
}

TEST(StrictRequest, ALengthThatIsNotOneNumberIsRefused) {
  for (const char* fields :
       {"Content-Length: +5\r\n", "Content-Length: -1\r\n", "Content-Length: 0x5\r\n",
        "Content-Length: 5, 5\r\n", "Content-Length: 5 5\r\n", "Content-Length:\r\n",
        "Content-Length: 5.0\r\n", "Content-Length: 5;\r\n", "Content-Length : 5\r\n",
        "Content-Length: 18446744073709551616\r\n", "Content-Length: 9223372036854775808\r\n",
        "Content-Length: \"5\"\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5\r\ncontent-length: 5\r\n",
        "Content-Length: 5\r\n 0\r\n"}) {
    EXPECT_EQ(request(fields).status(), 400) << fields;
  }
  EXPECT_EQ(request("Content-Length: 9223372036854775807\r\n").verdict.framing.length,
            9223372036854775807U);
}

TEST(StrictRequest, AnUnderscoreNameNeverFrames) {
  EXPECT_EQ(request("Content_Length: 5\r\n").verdict.framing, Framing{});
}

TEST(StrictRequest, ACodingInHttp10IsRefused) {
  EXPECT_EQ(request("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0").status(), 400);
}

TEST(StrictRequest, AnyDefectOfTheHeadIsRefused) {
  for (const std::string& bytes :
       {"GET / HTTP/1.1\nHost: a\r\n\r\n"s, "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: a\0\r\n\r\n"s, "GET / HTTP/1.1\r\nHost: a\r\n x\r\n\r\n"s,
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n"s, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"s,
        "GET /\r\nHost: a\r\n\r\n"s, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"s, "GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n"s, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n"s}) {
    const Judged judged(bytes);
    EXPECT_EQ(judged.status(), 400) << bytes;
    ASSERT_TRUE(judged.verdict.refusal);
    EXPECT_EQ(judged.verdict.refusal->cause, Cause::malformed_request) << bytes;
    EXPECT_FALSE(judged.reason().empty()) << bytes;
  }
}

TEST(StrictRequest, TooLargeHeadsHaveTheirOwnStatus) {
  EXPECT_EQ(request("X: " + std::string(9000, 'a') + "\r\n").status(), 431);
  EXPECT_EQ(request("", "GET /" + std::string(9000, 'a') + " HTTP/1.1").status(), 414);
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += "X: y\r\n";
  EXPECT_EQ(request(many).status(), 431);
}

TEST(StrictRequest, ExactlyOneSoundHostIsWanted) {
  struct Row {
    std::string bytes;
    std::string_view reason;
  };

  const std::vector<Row> rows = {
      {"GET / HTTP/1.1\r\n\r\n", "missing_host"},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "repeated_host"},
      {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", "repeated_host"},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "bad_host"},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "bad_host"},
      {"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", "bad_host"},
      {"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", "bad_host"},
      {"GET / HTTP/1.1\r\nHost: \xc3\xa9\r\n\r\n", "bad_host"},
      {"GET http://h/ HTTP/1.1\r\n\r\n", "missing_host"},
  };
  for (const Row& row : rows) {
    const Judged judged(row.bytes);
    EXPECT_EQ(judged.reason(), row.reason) << row.bytes;
    EXPECT_EQ(judged.status(), 400) << row.bytes;
  }
  EXPECT_EQ(Judged("GET / HTTP/1.0\r\n\r\n").status(), 0) << "HTTP/1.0 has no Host";
}

TEST(StrictRequest, AnAbsoluteTargetWinsOverTheHostField) {
  for (const char* target : {"http://other:81/x", "HTTPS://other:81/x"}) {
    const Judged judged("GET "s + target + " HTTP/1.1\r\nHost: shop\r\n\r\n");
    EXPECT_EQ(judged.status(), 0) << target;
    EXPECT_EQ(judged.verdict.host, "other:81");
  }
}

TEST(StrictRequest, ATargetOfNoKnownFormIsRefused) {
  for (const char* target : {"foo", "foo/bar", "*", "http:///x", "http://user@h/",
                             "a/b?u=http://evil/", "x.y://h/", "javascript://h/", "?q", "h:80"}) {
    EXPECT_EQ(Judged("GET "s + target + " HTTP/1.1\r\nHost: shop\r\n\r\n").reason(), "bad_target")
        << target;
  }
  EXPECT_EQ(Judged("OPTIONS * HTTP/1.1\r\nHost: shop\r\n\r\n").status(), 0);
  EXPECT_EQ(Judged("CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n").status(), 0);
}

struct JudgedResponse {
  explicit JudgedResponse(std::string text, std::string_view method = "GET")
      : bytes(std::move(text)) {
    const h1::HeadResult parsed = h1::parse_response_head(bytes, h1::HeadLimits{}, head);
    EXPECT_EQ(parsed.state, h1::HeadState::complete) << bytes;
    verdict = judge_response(head, parsed, method);
  }

  std::string bytes;
  ResponseHead head;
  ResponseVerdict verdict;
};

ResponseVerdict response(const std::string& fields,
                         const std::string& line = "HTTP/1.1 200 OK",
                         std::string_view method = "GET") {
  // The verdict's own view is a literal; nothing points into the bytes.
  return JudgedResponse(line + "\r\n" + fields + "\r\n", method).verdict;
}

TEST(StrictResponse, FramesASoundAnswer) {
  EXPECT_EQ(response("Content-Length: 5\r\n").framing, (Framing{BodyKind::length, 5}));
  EXPECT_EQ(response("Transfer-Encoding: chunked\r\n").framing, (Framing{BodyKind::chunked, 0}));
  EXPECT_EQ(response("").framing, (Framing{BodyKind::until_close, 0}));
  EXPECT_EQ(response("Content-Length: 0\r\n").framing, Framing{});
}

TEST(StrictResponse, SomeAnswersHaveNoBodyWhateverTheirFieldsSay) {
  EXPECT_EQ(response("Content-Length: 5\r\n", "HTTP/1.1 204 No Content").framing, Framing{});
  EXPECT_EQ(response("Content-Length: 5\r\n", "HTTP/1.1 304 Not Modified").framing, Framing{});
  EXPECT_EQ(response("Content-Length: 5\r\n", "HTTP/1.1 200 OK", "HEAD").framing, Framing{});
  EXPECT_EQ(response("Transfer-Encoding: chunked\r\n", "HTTP/1.1 200 OK", "HEAD").framing,
            Framing{});
  EXPECT_EQ(response("", "HTTP/1.1 100 Continue").framing, Framing{});
  EXPECT_EQ(response("", "HTTP/1.1 200 OK", "CONNECT").framing, Framing{});
}

TEST(StrictResponse, EveryAmbiguityIsMalformed) {
  for (const char* fields :
       {"Transfer-Encoding: gzip\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5, 5\r\n",
        "Content-Length: -1\r\n", "Content-Length: +5\r\n", "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
        "Content-Length : 5\r\n", "X: y\r\n folded\r\n"}) {
    EXPECT_NE(response(fields).malformed, "") << fields;
  }
  EXPECT_NE(response("", "HTTP/1.1 099 x").malformed, "");
  EXPECT_NE(response("", "HTTP/1.1 999 x").malformed, "");
  EXPECT_NE(response("Transfer-Encoding: chunked\r\n", "HTTP/1.0 200 OK").malformed, "");
}

TEST(StrictResponse, AConnectionIsReusableOnlyIfBothSidesKnowWhereTheAnswerEnds) {
  EXPECT_TRUE(response("Content-Length: 5\r\n").reusable);
  EXPECT_TRUE(response("Transfer-Encoding: chunked\r\n").reusable);
  EXPECT_TRUE(response("", "HTTP/1.1 204 No Content").reusable);
  EXPECT_FALSE(response("").reusable) << "ended by the close";
  EXPECT_FALSE(response("Content-Length: 5\r\nConnection: close\r\n").reusable);
  EXPECT_FALSE(response("Content-Length: 5\r\nConnection: x, Close\r\n").reusable);
  EXPECT_FALSE(response("", "HTTP/1.1 101 Switching Protocols").reusable);
  EXPECT_FALSE(response("Content-Length: 5\r\n", "HTTP/1.0 200 OK").reusable);
  EXPECT_TRUE(
      response("Content-Length: 5\r\nConnection: keep-alive\r\n", "HTTP/1.0 200 OK").reusable);
  EXPECT_FALSE(response("Content-Length: 5\r\nConnection: keep-alive, close\r\n", "HTTP/1.0 200 OK")
                   .reusable);
}

}  // namespace
}  // namespace gatedrill::http
