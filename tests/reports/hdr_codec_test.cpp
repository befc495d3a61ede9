#include "reports/hdr_codec.hpp"

#include <gtest/gtest.h>

namespace gatedrill::reports {
namespace {

TEST(HdrCodec, GivesBackEveryCount) {
  Histogram histogram;
  for (int i = 0; i < 10'000; ++i)
    histogram.record(std::chrono::microseconds{i * i % 700'001});
  histogram.record(std::chrono::hours{2}, 3'000'000'000'000U);
  const Result<Histogram> back = decode_hdr(encode_hdr(histogram));
  ASSERT_TRUE(back);
  EXPECT_TRUE(std::ranges::equal(back->counts(), histogram.counts()));
  EXPECT_EQ(back->count(), histogram.count());
}

TEST(HdrCodec, GivesBackAnEmptyHistogram) {
  const Result<Histogram> back = decode_hdr(encode_hdr(Histogram()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->count(), 0U);
}

TEST(HdrCodec, KnowsThePercentilesWithinItsThreeDigits) {
  Histogram histogram;
  for (int ms = 1; ms <= 1000; ++ms)
    histogram.record(std::chrono::milliseconds{ms});
  const Result<Histogram> back = decode_hdr(encode_hdr(histogram));
  ASSERT_TRUE(back);
  EXPECT_NEAR(to_ms(back->at_quantile(0.5)), 500, 0.5);
  EXPECT_NEAR(to_ms(back->at_quantile(0.99)), 990, 1);
  EXPECT_NEAR(to_ms(back->max()), 1000, 1);
}

TEST(HdrCodec, RefusesDamagedBytes) {
  const std::string good = [] {
    Histogram histogram;
    histogram.record(std::chrono::milliseconds{5}, 7);
    return encode_hdr(histogram);
  }();
  EXPECT_FALSE(decode_hdr(""));
  EXPECT_FALSE(decode_hdr("not a histogram"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_hdr(std::string_view(good).substr(0, size))) << size;
  }
  std::string damaged = good;
  damaged[12] = static_cast<char>(damaged[12] ^ 0x55);
  EXPECT_FALSE(decode_hdr(damaged));
}

}  // namespace
}  // namespace gatedrill::reports
