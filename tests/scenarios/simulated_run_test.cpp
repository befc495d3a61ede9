// The drill as it is shipped, in virtual time, from the file to the verdicts.
#include <string>

#include <gtest/gtest.h>

#include "scenarios/run/runner.hpp"
#include "tests/support/run_db.hpp"

namespace gatedrill::scenarios {
namespace {

RunResult simulate(const std::string& name, std::optional<std::uint64_t> seed = std::nullopt) {
  RunOptions options;
  options.scenario = std::string(GD_SOURCE_DIR) + "/scenarios/drills/inc-1-rolling-upgrade.yaml";
  options.out = ::testing::TempDir() + "simulated-" + name;
  options.simulate = true;
  options.durations = Durations::live;
  options.seed = seed;
  options.assignments = {"traffic.rate=100/s"};
  auto result = run_scenario(options);
  if (!result) throw std::runtime_error(result.error().message);
  return *result;
}

TEST(SimulatedDrill, EveryExpectationHolds) {
  const RunResult result = simulate("drill");
  EXPECT_EQ(result.judgement.exit_status(), 0);
  EXPECT_TRUE(result.judgement.valid);
  EXPECT_GE(result.judgement.verdicts.size(), 10U);
  for (const reports::Verdict& verdict : result.judgement.verdicts) {
    EXPECT_EQ(verdict.passed, true)
        << verdict.gateway << ": " << verdict.expression << " was " << verdict.actual;
  }
}

TEST(SimulatedDrill, TwiceWithOneSeedEveryViewIsTheSameAndWithAnotherSeedNot) {
  const std::string first = testing::dump_views(simulate("first", 11).run_db);
  const std::string again = testing::dump_views(simulate("again", 11).run_db);
  const std::string other = testing::dump_views(simulate("other", 12).run_db);
  EXPECT_GT(first.size(), 100'000U);
  EXPECT_TRUE(first == again);
  EXPECT_FALSE(first == other);
}

}  // namespace
}  // namespace gatedrill::scenarios
