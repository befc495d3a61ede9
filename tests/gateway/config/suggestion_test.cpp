#include "gateway/config/suggestion.hpp"

#include <gtest/gtest.h>

namespace gatedrill::gateway {
namespace {

const std::vector<std::string> kKeys = {"listen", "routes", "timeouts", "max_attempts",
                                        "path_prefix"};

TEST(Suggestion, NamesTheKeyThatWasMeant) {
  EXPECT_EQ(nearest("max_attempt", kKeys), "max_attempts");
  EXPECT_EQ(nearest("lsiten", kKeys), "listen") << "two neighbours swapped are one slip";
  EXPECT_EQ(nearest("timeout", kKeys), "timeouts");
  EXPECT_EQ(nearest("path", kKeys), "path_prefix") << "the beginning of a longer word";
  EXPECT_EQ(nearest("route", kKeys), "routes");
}

TEST(Suggestion, SaysNothingWhenNoneIsNear) {
  EXPECT_EQ(nearest("banana", kKeys), "");
  EXPECT_EQ(nearest("x", {"y"}), "") << "a letter replaced by another is another word";
  EXPECT_EQ(nearest("", kKeys), "");
}

TEST(Suggestion, ListsTheChoicesInstead) {
  EXPECT_EQ(suggestion("max_attempt", kKeys), "; did you mean max_attempts?");
  EXPECT_EQ(suggestion("banana", {"p50", "p99"}), "; known here: p50, p99");
  EXPECT_EQ(suggestion("banana", {}), "");
}

}  // namespace
}  // namespace gatedrill::gateway
