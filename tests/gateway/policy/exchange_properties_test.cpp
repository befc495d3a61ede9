// What holds for every request on every path (exchange_world), at random.
#include <stdexcept>

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "tests/gateway/policy/exchange_world.hpp"

namespace gatedrill::gateway {
namespace {

class RandomChoices final : public Choices {
 public:
  explicit RandomChoices(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] bool empty() const override { return false; }

  std::uint64_t below(std::uint64_t limit) override { return random_.below(limit); }

  bool chance(double probability) override { return random_.chance(probability); }

 private:
  Random random_;
};

TEST(ExchangeProperty, EveryLegalSequenceEndsOnceAndGivesEverythingBack) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomChoices choices(seed);
    try {
      play_exchanges(choices, 400);
    } catch (const std::logic_error& broken) {
      FAIL() << "seed " << seed << ": " << broken.what();
    }
  }
}

}  // namespace
}  // namespace gatedrill::gateway
