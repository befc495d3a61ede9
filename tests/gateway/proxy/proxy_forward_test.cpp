#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/running_gateway.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: shop.example\r\n" + fields + "\r\n";
}

TEST(ProxyForward, AnswersSeveralGetsOnOneConnectionEach) {
  ScriptedPeer origin(always_answer("hello"));
  RunningGateway gateway(shop_config({origin.port()}));
  PeerSocket client = connect_to(gateway.port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(get("/a?x=1")));
    const std::string answer = client.read_request();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nhello"));
  }
  EXPECT_EQ(origin.connections(), 1);
  const auto requests = gateway.events().wait_for<RequestDone>(3);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2].cause, Cause::ok);
  EXPECT_EQ(requests[2].status, 200);
  EXPECT_EQ(name_of(requests[2].path), "/a");
  EXPECT_EQ(name_of(requests[2].client), "127.0.0.1");
  const auto attempts = gateway.events().all<AttemptDone>();
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_FALSE(attempts[0].reused);
  EXPECT_TRUE(attempts[2].reused);
  EXPECT_EQ(attempts[2].connection_ordinal, 3U);
}

}  // namespace
}  // namespace gatedrill::testing
