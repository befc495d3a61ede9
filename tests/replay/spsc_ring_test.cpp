#include "replay/spsc_ring.hpp"

#include <cstdint>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace gatedrill::replay {
namespace {

using Ring = SpscRing<std::uint64_t>;

std::string bytes_of(std::uint64_t number) {
  return std::string(number * 7 % 97, static_cast<char>('a' + number % 26));
}

TEST(SpscRing, RecordsComeOutInOrderAndWholeHoweverOftenItGoesRound) {
  Ring ring(1000);
  std::uint64_t pushed = 0;
  std::uint64_t popped = 0;
  while (popped < 10'000) {
    while (ring.push(pushed, bytes_of(pushed)))
      ++pushed;
    ASSERT_GT(pushed, popped);
    // Not all of them, so that the two ends meet at every place.
    for (std::uint64_t i = 0; i < 1 + popped % 5; ++i) {
      Ring::Record record;
      if (!ring.front(record)) break;
      ASSERT_EQ(record.head, popped);
      ASSERT_EQ(record.bytes, bytes_of(popped));
      ring.pop();
      ++popped;
    }
  }
}

TEST(SpscRing, WithoutRoomAPushIsRefusedAndNothingIsChanged) {
  Ring ring(256);
  EXPECT_FALSE(ring.push(1, std::string(300, 'x')));
  EXPECT_TRUE(ring.push(2, std::string(100, 'y')));
  EXPECT_FALSE(ring.push(3, std::string(200, 'z')));
  Ring::Record record;
  ASSERT_TRUE(ring.front(record));
  EXPECT_EQ(record.head, 2U);
  EXPECT_EQ(record.bytes, std::string(100, 'y'));
  ring.pop();
  EXPECT_FALSE(ring.front(record));
}

TEST(SpscRing, AReserveStaysFree) {
  Ring ring(256);
  EXPECT_FALSE(ring.push(1, std::string(100, 'x'), 200));
  EXPECT_TRUE(ring.push(2, std::string(100, 'x')));
}

TEST(SpscRing, ARecordMayBeEmpty) {
  Ring ring(64);
  ASSERT_TRUE(ring.push(7, {}));
  Ring::Record record;
  ASSERT_TRUE(ring.front(record));
  EXPECT_EQ(record.head, 7U);
  EXPECT_TRUE(record.bytes.empty());
}

TEST(SpscRing, TwoThreadsPassRecordsWithoutLossOrDamage) {
  constexpr std::uint64_t kRecords = 200'000;
  Ring ring(4096);
  std::thread pusher([&] {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      while (!ring.push(i, bytes_of(i)))
        std::this_thread::yield();
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    Ring::Record record;
    while (!ring.front(record))
      std::this_thread::yield();
    if (record.head != i || record.bytes != bytes_of(i)) ++wrong;
    ring.pop();
  }
  pusher.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace gatedrill::replay
