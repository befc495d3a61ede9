#include "chaos/proxy/held_port.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/raw_socket.hpp"

namespace gatedrill::chaos {
namespace {

using gatedrill::testing::RawListener;
using gatedrill::testing::RawSocket;

TEST(HeldPort, RefusesWhileNobodyListensAndAcceptsAgainOnTheSamePort) {
  const HeldPort held = HeldPort::take("127.0.0.1", 0).value();
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(RawSocket::connect(held.port()).connected());
    EXPECT_EQ(RawSocket::connect_error(), ECONNREFUSED);
    const int listener = held.listen().value();
    EXPECT_TRUE(RawSocket::connect(held.port()).connected());
    ::close(listener);
  }
}

TEST(HeldPort, CannotBeTakenWhileAnotherListens) {
  const RawListener other;
  const auto taken = HeldPort::take("127.0.0.1", other.port());
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::outside);
  EXPECT_THAT(taken.error().message, ::testing::HasSubstr("stop what uses the port"));
}

TEST(HeldPort, SaysWhatAnAddressIs) {
  const auto taken = HeldPort::take("localhost", 0);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace gatedrill::chaos
