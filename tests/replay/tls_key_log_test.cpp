#include "replay/capture/tls_key_log.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::replay::capture {
namespace {

using testing::HasSubstr;

const std::string kRandom(64, 'a');
const std::string kRandomBytes(32, '\xaa');

TEST(KeyLog, TakesTheLabelsThatItKnowsAndLeavesTheRestOut) {
  KeyLog log;
  const auto added = log.add("# made by a test\r\n\nCLIENT_RANDOM " + kRandom + " 0011FF\r\n" +
                             "EXPORTER_SECRET " + kRandom + " 22\n" + "RSA 0102 0304\n" +
                             "SERVER_TRAFFIC_SECRET_0 " + kRandom + " 33");
  EXPECT_EQ(added.bad_lines, 0U);
  ASSERT_NE(log.find(kRandomBytes), nullptr);
  EXPECT_EQ(log.find(kRandomBytes)->master, std::string("\x00\x11\xff", 3));
  EXPECT_EQ(log.find(kRandomBytes)->server_traffic, "\x33");
  EXPECT_EQ(log.find(kRandomBytes)->client_traffic, "");
  EXPECT_EQ(log.find("other"), nullptr);
  EXPECT_EQ(log.connections(), 1U);
}

TEST(KeyLog, CountsLinesThatAreNone) {
  for (const std::string bad :
       {"hello world", "CLIENT_RANDOM", "CLIENT_RANDOM aa bb", "CLIENT_RANDOM 00 zz 11"}) {
    KeyLog log;
    const auto added = log.add("# one\n" + bad + "\nCLIENT_RANDOM " + kRandom + " 00\n");
    EXPECT_EQ(added.bad_lines, 1U) << bad;
    EXPECT_EQ(added.first_bad_line, 2U) << bad;
    EXPECT_EQ(log.connections(), 1U) << bad;
  }
}

class KeyLogFileTest : public testing::Test {
 protected:
  ~KeyLogFileTest() override { std::remove(path_.c_str()); }

  void append(const std::string& text) const {
    std::ofstream(path_, std::ios::app | std::ios::binary) << text;
  }

  const std::string path_ =
      testing::TempDir() + "keys-" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(KeyLogFileTest, IsFollowedWhileItGrowsAndNeverReadInsideALine) {
  KeyLog log;
  KeyLogFile file(path_);
  append("CLIENT_RANDOM " + kRandom + " 00\nCLIENT_RANDOM " + std::string(40, 'b'));
  ASSERT_TRUE(file.read_into(log, false));
  EXPECT_EQ(log.connections(), 1U);
  append(std::string(24, 'b') + " 11\n");
  ASSERT_TRUE(file.read_into(log, false));
  EXPECT_EQ(log.connections(), 2U);
  append("CLIENT_RANDOM " + std::string(64, 'c') + " 22");
  ASSERT_TRUE(file.read_into(log, true));
  EXPECT_EQ(log.connections(), 3U);
}

TEST_F(KeyLogFileTest, OnceOpenItStaysSoWhoeverMayReadItThen) {
  KeyLog log;
  KeyLogFile file(path_);
  EXPECT_FALSE(file.open().value()) << "it is not there yet";
  append("CLIENT_RANDOM " + kRandom + " 00\n");
  EXPECT_TRUE(file.open().value());
  append("CLIENT_RANDOM " + std::string(64, 'b') + " 11\n");
  std::remove(path_.c_str());
  ASSERT_TRUE(file.read_into(log, false));
  EXPECT_EQ(log.connections(), 2U);
}

TEST_F(KeyLogFileTest, ABadLineIsNamedWithItsNumber) {
  KeyLog log;
  KeyLogFile file(path_);
  append("CLIENT_RANDOM " + kRandom + " 00\n");
  ASSERT_TRUE(file.read_into(log, false));
  append(
      "# more\n\x7f"
      "ELF\n");
  const auto read = file.read_into(log, false);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::usage);
  EXPECT_THAT(read.error().message, HasSubstr(path_ + ":3: "));
}

TEST_F(KeyLogFileTest, AMissingFileIsNamed) {
  KeyLog log;
  const auto read = KeyLogFile(path_).read_into(log, true);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::outside);
  EXPECT_THAT(read.error().message, HasSubstr(path_));
}

}  // namespace
}  // namespace gatedrill::replay::capture
