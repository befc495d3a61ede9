// Which request may change protocols, and which 101 does.
#include "gateway/http/upgrade.hpp"

#include <gtest/gtest.h>

namespace gatedrill::http {
namespace {

const std::vector<std::string> kAllowed = {"websocket", "other"};

RequestHead asking(std::vector<Field> fields) {
  RequestHead head;
  head.method = "GET";
  head.target = "/";
  head.fields = std::move(fields);
  return head;
}

TEST(Upgrade, AWholeRequestForAnAllowedProtocolIsTaken) {
  const Field connection{"Connection", "keep-alive, UPGRADE"};
  EXPECT_EQ(requested_upgrade(asking({connection, {"Upgrade", "WebSocket"}}), {}, kAllowed),
            "websocket");
  EXPECT_EQ(requested_upgrade(asking({connection, {"Upgrade", "h2c, other"}}), {}, kAllowed),
            "other");
  EXPECT_EQ(requested_upgrade(asking({connection, {"Upgrade", "h2c"}}), {}, kAllowed), "");
  EXPECT_EQ(requested_upgrade(asking({connection, {"Upgrade", "websocket"}}), {}, {}), "");
}

TEST(Upgrade, AnythingLessIsNot) {
  const Field connection{"Connection", "Upgrade"};
  const Field upgrade{"Upgrade", "websocket"};
  EXPECT_EQ(requested_upgrade(asking({upgrade}), {}, kAllowed), "");
  EXPECT_EQ(requested_upgrade(asking({connection}), {}, kAllowed), "");
  EXPECT_EQ(requested_upgrade(asking({connection, upgrade}), {BodyKind::length, 1}, kAllowed), "");
  RequestHead old = asking({connection, upgrade});
  old.version = 10;
  EXPECT_EQ(requested_upgrade(old, {}, kAllowed), "");
  RequestHead post = asking({connection, upgrade});
  post.method = "POST";
  EXPECT_EQ(requested_upgrade(post, {}, kAllowed), "");
}

TEST(Upgrade, A101NamesTheProtocolOnceAndInConnection) {
  const auto accepts = [](std::vector<Field> fields) {
    ResponseHead head;
    head.status = 101;
    head.fields = std::move(fields);
    return accepts_upgrade(head, "websocket");
  };
  const Field connection{"connection", "upgrade"};
  EXPECT_TRUE(accepts({connection, {"upgrade", "WebSocket"}}));
  EXPECT_FALSE(accepts({connection}));
  EXPECT_FALSE(accepts({{"upgrade", "websocket"}}));
  EXPECT_FALSE(accepts({connection, {"upgrade", "h2c"}}));
  EXPECT_FALSE(accepts({connection, {"upgrade", "websocket, h2c"}}));
  EXPECT_FALSE(accepts({connection, {"upgrade", "h2c"}, {"upgrade", "websocket"}}));
}

}  // namespace
}  // namespace gatedrill::http
