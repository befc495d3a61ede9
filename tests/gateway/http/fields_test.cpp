#include <vector>

#include <gtest/gtest.h>

#include "gateway/http/head.hpp"

namespace gatedrill::http {
namespace {

TEST(Fields, NamesCompareWithoutCase) {
  EXPECT_TRUE(equals_ignoring_case("Content-LENGTH", "content-length"));
  EXPECT_FALSE(equals_ignoring_case("Content-Length", "Content_Length"));
  EXPECT_FALSE(equals_ignoring_case("Host", "Hos"));
  EXPECT_FALSE(equals_ignoring_case("[", "{"));
}

TEST(Fields, TheFirstFieldOfANameIsFound) {
  const std::vector<Field> fields = {{"A", "1"}, {"b", "2"}, {"B", "3"}};
  EXPECT_EQ(find_field(fields, "B"), "2");
  EXPECT_EQ(find_field(fields, "c"), std::nullopt);
}

TEST(Fields, ATokenIsFoundInAnyLineOfAList) {
  const std::vector<Field> fields = {
      {"Connection", "Upgrade ,\tKEEP-alive"}, {"connection", "close"}, {"X", "y"}};
  EXPECT_TRUE(has_token(fields, "Connection", "upgrade"));
  EXPECT_TRUE(has_token(fields, "Connection", "keep-alive"));
  EXPECT_TRUE(has_token(fields, "Connection", "close"));
  EXPECT_FALSE(has_token(fields, "Connection", "keep"));
  EXPECT_FALSE(has_token(fields, "X", "close"));
}

TEST(PathOf, TakesThePathOutOfEveryForm) {
  EXPECT_EQ(path_of("/a/b?c=d"), "/a/b");
  EXPECT_EQ(path_of("/"), "/");
  EXPECT_EQ(path_of("http://h:80/a?x"), "/a");
  EXPECT_EQ(path_of("http://h"), "/");
  EXPECT_EQ(path_of("http://h?x=/y"), "/");
  EXPECT_EQ(path_of("/to?url=http://h/z"), "/to");
  EXPECT_EQ(path_of("/to/http://h/z"), "/to/http://h/z");
  EXPECT_EQ(path_of("*"), "*");
}

TEST(Methods, AreSafeAndIdempotentAsTheRfcSays) {
  for (const char* method : {"GET", "HEAD", "OPTIONS", "TRACE"}) {
    EXPECT_TRUE(is_safe(method)) << method;
    EXPECT_TRUE(is_idempotent(method)) << method;
  }
  for (const char* method : {"PUT", "DELETE"}) {
    EXPECT_FALSE(is_safe(method)) << method;
    EXPECT_TRUE(is_idempotent(method)) << method;
  }
  for (const char* method : {"POST", "PATCH", "LOCK", "CONNECT", "get", ""}) {
    EXPECT_FALSE(is_safe(method)) << method;
    EXPECT_FALSE(is_idempotent(method)) << method;
  }
}

}  // namespace
}  // namespace gatedrill::http
