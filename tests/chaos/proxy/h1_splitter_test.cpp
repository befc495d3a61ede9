#include "chaos/proxy/h1_splitter.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::chaos {
namespace {

struct Seen {
  std::string all;  // every byte that came out
  int begun = 0;
  int ended = 0;
  std::vector<std::string> ids;
};

Seen split(H1Splitter& splitter, std::string_view bytes, std::size_t step) {
  Seen seen;
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    splitter.add(bytes.substr(i, step));
    while (const auto piece = splitter.next()) {
      seen.all += piece->bytes;
      seen.begun += piece->begins ? 1 : 0;
      seen.ended += piece->ends && !piece->interim ? 1 : 0;
      if (!piece->request_id.empty()) seen.ids.push_back(piece->request_id);
    }
  }
  seen.all += splitter.rest();
  return seen;
}

TEST(H1Splitter, FindsPipelinedRequestsHoweverTheBytesArrive) {
  const std::string bytes =
      "GET /a HTTP/1.1\r\nHost: x\r\nX-Request-Id: one\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: x\r\nX-Request-Id: two\r\nContent-Length: 5\r\n\r\nhello"
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
      "GET /d HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    H1Splitter splitter(H1Splitter::Role::requests);
    const Seen seen = split(splitter, bytes, step);
    EXPECT_EQ(seen.all, bytes) << step;
    EXPECT_EQ(seen.begun, 4) << step;
    EXPECT_EQ(seen.ended, 4) << step;
    EXPECT_THAT(seen.ids, ::testing::ElementsAre("one", "two"));
  }
}

TEST(H1Splitter, FindsAnswersByTheMethodsTheyAnswer) {
  const std::string bytes =
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"  // to HEAD: no body
      "HTTP/1.1 100 Continue\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
      "HTTP/1.1 304 Not Modified\r\n\r\n";
  for (const std::size_t step : {std::size_t{1}, bytes.size()}) {
    H1Splitter splitter(H1Splitter::Role::answers);
    splitter.expect("HEAD");
    splitter.expect("POST");
    splitter.expect("GET");
    const Seen seen = split(splitter, bytes, step);
    EXPECT_EQ(seen.all, bytes);
    EXPECT_EQ(seen.begun, 4) << "three and the interim one";
    EXPECT_EQ(seen.ended, 3);
  }
}

TEST(H1Splitter, PassesWhatItCannotFollowUnaltered) {
  const std::string bytes = "\x16\x03\x01 this is not HTTP\r\n\r\nat all";
  H1Splitter splitter(H1Splitter::Role::requests);
  const Seen seen = split(splitter, bytes, 4);
  EXPECT_EQ(seen.all, bytes);
  EXPECT_EQ(seen.begun, 0);
  EXPECT_TRUE(splitter.opaque());
}

TEST(H1Splitter, DoesNotHoldBackOtherProtocols) {
  H1Splitter requests(H1Splitter::Role::requests);
  requests.add("PING\r\n");
  EXPECT_EQ(requests.next()->bytes, "PING\r\n");
  H1Splitter answers(H1Splitter::Role::answers);
  answers.add("+PO");
  EXPECT_EQ(answers.next()->bytes, "+PO");
}

TEST(H1Splitter, FollowsABodyThatEndsWithTheConnection) {
  const std::string bytes = "HTTP/1.1 200 OK\r\n\r\nuntil the end";
  H1Splitter splitter(H1Splitter::Role::answers);
  splitter.expect("GET");
  const Seen seen = split(splitter, bytes, 5);
  EXPECT_EQ(seen.all, bytes);
  EXPECT_EQ(seen.begun, 1);
  EXPECT_EQ(seen.ended, 0) << "only the close ends it";
}

TEST(H1Splitter, GivesBackAnUnfinishedHead) {
  H1Splitter splitter(H1Splitter::Role::requests);
  splitter.add("GET / HT");
  EXPECT_FALSE(splitter.next());
  EXPECT_EQ(splitter.rest(), "GET / HT");
}

}  // namespace
}  // namespace gatedrill::chaos
