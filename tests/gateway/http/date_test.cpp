// The Date field's text.
#include "gateway/http/date.hpp"

#include <gtest/gtest.h>

namespace gatedrill::http {
namespace {

UnixTime at(std::int64_t seconds) {
  return UnixTime{seconds * 1'000'000'000};
}

TEST(Date, IsWrittenAsTheRfcHasIt) {
  EXPECT_EQ(date_text(at(784111777)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date_text(at(0)), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date_text(at(1709164799)), "Wed, 28 Feb 2024 23:59:59 GMT");
  EXPECT_EQ(date_text(at(1709164800)), "Thu, 29 Feb 2024 00:00:00 GMT");
  EXPECT_EQ(date_text(at(4107542400)), "Mon, 01 Mar 2100 00:00:00 GMT");
}

TEST(Date, ChangesWithTheSecondAndNotWithinIt) {
  DateText date;
  const std::string first(date.at(at(784111777)));
  EXPECT_EQ(date.at(UnixTime{784111777'999'999'999}), first);
  EXPECT_EQ(date.at(at(784111778)), "Sun, 06 Nov 1994 08:49:38 GMT");
  EXPECT_EQ(date.at(at(784111777)), first);
}

}  // namespace
}  // namespace gatedrill::http
