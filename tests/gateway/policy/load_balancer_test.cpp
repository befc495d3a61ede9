#include "gateway/policy/load_balancer.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gatedrill::gateway {
namespace {

using Up = std::vector<std::uint8_t>;
using Tried = std::vector<std::size_t>;

TEST(LoadBalancer, GoesRoundTheEndpoints) {
  LoadBalancer balancer(LoadBalancer::Config{});
  const Up up = {1, 1, 1};
  for (const std::size_t expected : {0U, 1U, 2U, 0U, 1U}) {
    EXPECT_EQ(balancer.choose(up, {})->endpoint, expected);
  }
}

TEST(LoadBalancer, SkipsWhatIsDownAndSharesEvenly) {
  LoadBalancer balancer(LoadBalancer::Config{});
  const Up up = {1, 0, 1, 1};
  std::vector<int> hits(4);
  for (int i = 0; i < 300; ++i) {
    const auto choice = balancer.choose(up, {});
    EXPECT_FALSE(choice->panic);
    ++hits[choice->endpoint];
  }
  EXPECT_EQ(hits, (std::vector<int>{100, 0, 100, 100}));
}

TEST(LoadBalancer, ExactlyHalfUpIsNoPanicAndFewerIs) {
  LoadBalancer balancer(LoadBalancer::Config{});
  const Up half = {1, 1, 0, 0};
  for (int i = 0; i < 20; ++i)
    EXPECT_LT(balancer.choose(half, {})->endpoint, 2U);
  const Up quarter = {1, 0, 0, 0};
  std::vector<int> hits(4);
  for (int i = 0; i < 40; ++i) {
    const auto choice = balancer.choose(quarter, {});
    EXPECT_EQ(choice->panic, choice->endpoint != 0) << "panic is being sent to one that is down";
    ++hits[choice->endpoint];
  }
  EXPECT_EQ(hits, (std::vector<int>{10, 10, 10, 10}));
}

TEST(LoadBalancer, WithoutPanicNothingUpIsNoChoice) {
  LoadBalancer never(LoadBalancer::Config{.panic_percent = 0});
  EXPECT_FALSE(never.choose(Up{0, 0}, {}));
  EXPECT_EQ(never.choose(Up{0, 1, 0, 0}, {})->endpoint, 1U);
  LoadBalancer usual(LoadBalancer::Config{});
  EXPECT_TRUE(usual.choose(Up{0, 0}, {})->panic);
  EXPECT_FALSE(usual.choose(Up{}, {})) << "no endpoints at all";
}

TEST(LoadBalancer, PrefersAnEndpointThatWasNotTried) {
  for (std::size_t start = 0; start < 3; ++start) {
    LoadBalancer balancer(LoadBalancer::Config{});
    const Up up = {1, 1, 1};
    for (std::size_t i = 0; i < start; ++i)
      static_cast<void>(balancer.choose(up, {}));
    EXPECT_EQ(balancer.choose(up, Tried{0, 1})->endpoint, 2U);
    EXPECT_EQ(balancer.choose(up, Tried{0, 2})->endpoint, 1U);
  }
}

TEST(LoadBalancer, TakesATriedOneWhenThereIsNoOther) {
  LoadBalancer balancer(LoadBalancer::Config{});
  EXPECT_EQ(balancer.choose(Up{1, 0}, Tried{0})->endpoint, 0U);
  EXPECT_EQ(balancer.choose(Up{1}, Tried{0})->endpoint, 0U);
  EXPECT_TRUE(balancer.choose(Up{1, 1}, Tried{0, 1, 0}));
}

}  // namespace
}  // namespace gatedrill::gateway
