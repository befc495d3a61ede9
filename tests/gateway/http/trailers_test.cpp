#include "gateway/http/trailers.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gatedrill::http {
namespace {

TEST(Trailers, WhatAHeaderSectionDecidesIsNeverOne) {
  for (const char* name : {"Content-Length",
                           "Transfer-Encoding",
                           "Trailer",
                           "TE",
                           "Host",
                           "Authorization",
                           "Cookie",
                           "Set-Cookie",
                           "Content-Type",
                           "Content-Encoding",
                           "X-Forwarded-For",
                           "Forwarded",
                           "Via",
                           "Connection",
                           "Keep-Alive",
                           "Upgrade",
                           "Proxy-Connection",
                           "Proxy-Authorization",
                           "Expect",
                           "Max-Forwards",
                           "X-Request-Id",
                           "X-Attempt-Count",
                           "Cache-Control",
                           "Location",
                           "Range",
                           "If-Match",
                           "WWW-Authenticate",
                           "x_sum",
                           "a b",
                           ""}) {
    EXPECT_FALSE(may_be_trailer(name)) << name;
  }
  for (const char* name : {"X-Sum", "ETag", "Server-Timing", "grpc-status", "Digest"}) {
    EXPECT_TRUE(may_be_trailer(name)) << name;
  }
}

TEST(Trailers, OnlyThoseThatAreListedPass) {
  const std::vector<std::string> allowed = {"X-Sum", "grpc-status"};
  std::string out;
  append_trailer(out, {"x-sum", "1"}, allowed);
  append_trailer(out, {"x-other", "2"}, allowed);
  append_trailer(out, {}, allowed);
  append_trailer(out, {"GRPC-Status", ""}, allowed);
  EXPECT_EQ(out, "x-sum: 1\r\nGRPC-Status: \r\n");
  append_trailer(out, {"x-sum", "1"}, {});
  EXPECT_EQ(out, "x-sum: 1\r\nGRPC-Status: \r\n");
}

TEST(Trailers, WhatMayPassAndWasAnnouncedIsAnnounced) {
  const std::vector<std::string> allowed = {"X-Sum", "grpc-status", "x-more"};
  std::string out;
  append_announcement(out, {{"Trailer", "x-other, x-more"}, {"trailer", "X-SUM"}}, allowed);
  EXPECT_EQ(out, "trailer: X-Sum, x-more\r\n");
  out.clear();
  append_announcement(out, {{"Trailer", "x-other"}}, allowed);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace gatedrill::http
