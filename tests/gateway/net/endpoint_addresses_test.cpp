// What becomes of an endpoint's address as its name is looked up again.
#include "gateway/net/endpoint_addresses.hpp"

#include <gtest/gtest.h>

#include "gateway/net/address.hpp"

namespace gatedrill::gateway {
namespace {

std::string shown(const EndpointAddresses& addresses, std::size_t endpoint) {
  const auto address = addresses.at(endpoint);
  return address ? to_text(*address) : "none";
}

class Addresses : public ::testing::Test {
 protected:
  Addresses() {
    EXPECT_TRUE(addresses_.configure({"192.0.2.1:80", "shop.example:81", "[::1]:82"}));
  }

  EndpointAddresses addresses_;
};

TEST_F(Addresses, AreThereFromTheStartWhereTheyAreGiven) {
  EXPECT_EQ(shown(addresses_, 0), "192.0.2.1:80");
  EXPECT_EQ(shown(addresses_, 1), "none");
  EXPECT_EQ(shown(addresses_, 2), "[::1]:82");
  EXPECT_EQ(addresses_.name(0), "");
  EXPECT_EQ(addresses_.name(1), "shop.example");
}

TEST_F(Addresses, TheFirstOneFoundIsTaken) {
  addresses_.found(1, {"192.0.2.7", "192.0.2.8"});
  EXPECT_EQ(shown(addresses_, 1), "192.0.2.7:81");
  EXPECT_EQ(addresses_.moves(1), 0U);
}

TEST_F(Addresses, ThePresentOneStaysWhileItIsAmongThoseFound) {
  addresses_.found(1, {"192.0.2.7", "192.0.2.8"});
  addresses_.found(1, {"192.0.2.8", "192.0.2.7"});
  EXPECT_EQ(shown(addresses_, 1), "192.0.2.7:81");
  EXPECT_EQ(addresses_.moves(1), 0U);
}

TEST_F(Addresses, AnotherOneIsAMove) {
  addresses_.found(1, {"192.0.2.7"});
  addresses_.found(1, {"2001:db8::1"});
  EXPECT_EQ(shown(addresses_, 1), "[2001:db8::1]:81");
  EXPECT_EQ(addresses_.moves(1), 1U);
}

TEST_F(Addresses, TheLastGoodOneStaysWhenNothingIsFound) {
  addresses_.found(1, {"192.0.2.7"});
  addresses_.found(1, {});
  addresses_.found(1, {"not an address"});
  EXPECT_EQ(shown(addresses_, 1), "192.0.2.7:81");
  EXPECT_EQ(addresses_.moves(1), 0U);
}

TEST_F(Addresses, WhatIsNoAddressWithAPortIsRefused) {
  EXPECT_FALSE(addresses_.configure({"shop.example"}));
  EXPECT_FALSE(addresses_.configure({"shop.example:http"}));
}

}  // namespace
}  // namespace gatedrill::gateway
