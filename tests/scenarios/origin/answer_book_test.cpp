#include "scenarios/origin/answer_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::scenarios {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

replay::RecordedExchange recorded(std::int64_t id,
                                  std::string method,
                                  std::string target,
                                  int status,
                                  std::string body,
                                  std::vector<replay::RecordedField> fields = {}) {
  replay::RecordedExchange exchange;
  exchange.id = id;
  exchange.request.emplace();
  exchange.request->method = std::move(method);
  exchange.request->target = std::move(target);
  exchange.response.emplace();
  exchange.response->status = status;
  exchange.response->body = std::move(body);
  exchange.response->fields = std::move(fields);
  return exchange;
}

TEST(AnswerBook, GivesTheExchangeThatTheRequestNames) {
  AnswerBook book;
  book.add(recorded(7, "GET", "/cart", 200, "seven"));
  book.add(recorded(8, "GET", "/cart", 200, "eight"));
  AnswerBook::Turns turns;
  EXPECT_EQ(book.choose("GET", "/cart", "8", turns).body, "eight");
  EXPECT_EQ(book.choose("GET", "/cart", "8", turns).body, "eight");
  EXPECT_EQ(book.choose("GET", "/other", "7", turns).exchange, 7);
  EXPECT_EQ(book.choose("POST", "/cart", "7", turns).status, 404) << "not by another method";
  EXPECT_EQ(book.choose("GET", "/cart", "99", turns).body, "seven") << "unknown: by the request";
}

TEST(AnswerBook, TakesTurnsAmongSeveralAnswersToTheSame) {
  AnswerBook book;
  book.add(recorded(1, "GET", "/stock", 200, "5"));
  book.add(recorded(2, "GET", "/stock", 200, "4"));
  AnswerBook::Turns turns;
  EXPECT_EQ(book.choose("GET", "/stock", "", turns).body, "5");
  EXPECT_EQ(book.choose("GET", "/stock", "", turns).body, "4");
  EXPECT_EQ(book.choose("GET", "/stock", "", turns).body, "5");
  AnswerBook::Turns of_another_variant;
  EXPECT_EQ(book.choose("GET", "/stock", "", of_another_variant).body, "5");
}

TEST(AnswerBook, PrefersTheWholeTargetToThePath) {
  AnswerBook book;
  book.add(recorded(1, "GET", "/item?id=1", 200, "one"));
  book.add(recorded(2, "GET", "/item?id=2", 200, "two"));
  AnswerBook::Turns turns;
  EXPECT_EQ(book.choose("GET", "/item?id=2", "", turns).body, "two");
  EXPECT_EQ(book.choose("GET", "/item?id=9", "", turns).body, "one");
  EXPECT_EQ(book.choose("GET", "/items", "", turns).status, 404);
}

TEST(AnswerBook, KeepsRecordedFieldsButNotThoseOfTheConnection) {
  AnswerBook book;
  book.add(recorded(1, "GET", "/", 200, "\x1f\x8b zip",
                    {{"Content-Type", "text/html"},
                     {"Content-Encoding", "gzip"},
                     {"Transfer-Encoding", "chunked"},
                     {"Connection", "keep-alive, X-Hop"},
                     {"X-Hop", "1"},
                     {"Set-Cookie", "a=1"},
                     {"Set-Cookie", "b=2"},
                     {"X-Bad", "line\r\nbreak"},
                     {"Content-Length", "999"}}));
  AnswerBook::Turns turns;
  const Answer& answer = book.choose("GET", "/", "", turns);
  EXPECT_EQ(answer.head("GET", false),
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
            "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 6\r\n\r\n");
  EXPECT_THAT(answer.head("GET", true), HasSubstr("\r\nConnection: close\r\n"));
}

TEST(AnswerBook, AnswersAHeadWithoutBody) {
  AnswerBook book;
  book.add(recorded(1, "GET", "/page", 200, "0123456789"));
  book.add(recorded(2, "HEAD", "/file", 200, "", {{"Content-Length", "4096"}}));
  AnswerBook::Turns turns;
  const Answer& of_get = book.choose("HEAD", "/page", "", turns);
  EXPECT_FALSE(of_get.has_body("HEAD"));
  EXPECT_THAT(of_get.head("HEAD", false), HasSubstr("Content-Length: 10\r\n"));
  const Answer& of_head = book.choose("HEAD", "/file", "", turns);
  EXPECT_THAT(of_head.head("HEAD", false), HasSubstr("Content-Length: 4096\r\n"));
}

TEST(AnswerBook, SendsNoLengthWhereNoBodyIsAllowed) {
  AnswerBook book;
  book.add(recorded(1, "GET", "/logo", 304, ""));
  AnswerBook::Turns turns;
  const Answer& answer = book.choose("GET", "/logo", "", turns);
  EXPECT_FALSE(answer.has_body("GET"));
  EXPECT_THAT(answer.head("GET", false), Not(HasSubstr("Content-Length")));
}

TEST(AnswerBook, LeavesOutWhatHasNoFinalAnswer) {
  AnswerBook book;
  replay::RecordedExchange unanswered = recorded(1, "GET", "/a", 200, "");
  unanswered.response.reset();
  book.add(unanswered);
  book.add(recorded(2, "GET", "/b", 101, ""));
  EXPECT_EQ(book.size(), 0U);
}

TEST(AnswerBook, GivesAFixedAnswerToEverything) {
  const AnswerBook book = AnswerBook::fixed(200, 1024);
  AnswerBook::Turns turns;
  const Answer& answer = book.choose("POST", "/any", "", turns);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), 1024U);
}

}  // namespace
}  // namespace gatedrill::scenarios
