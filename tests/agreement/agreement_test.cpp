// The same scenario live and in virtual time: what share of the requests ended with which cause.
// The live run's share is the median of three; the tolerance is that of the project's promise.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scenarios/run/runner.hpp"
#include "tests/support/run_db.hpp"

namespace gatedrill::scenarios {
namespace {

constexpr double kTolerance = 0.10;

const std::string kScenario = std::string(GD_SOURCE_DIR) + "/tests/agreement/rolling_restart.yaml";

// "variant cause" to its share of the variant's requests.
using Shares = std::map<std::string, double>;

struct Played {
  Shares shares;
  std::string no_evidence_because;
};

Played play(bool simulate, const std::string& name) {
  RunOptions options;
  options.scenario = kScenario;
  options.out = ::testing::TempDir() + "agreement-" + name;
  options.simulate = simulate;
  const auto result = run_scenario(options);
  if (!result) throw std::runtime_error(result.error().message);
  Played played;
  for (const auto& row :
       testing::query(result->run_db, "select value from run where key = 'invalid_because'"))
    played.no_evidence_because = row[0];
  for (const auto& row : testing::query(
           result->run_db,
           "select gateway || ' ' || cause, sum(requests) * 1.0 / (select sum(requests) from "
           "per_second b where b.gateway = a.gateway) from per_second a group by gateway, cause")) {
    played.shares[row[0]] = std::stod(row[1]);
  }
  return played;
}

double median_of_three(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

TEST(Agreement, EachCausesShareIsTheLiveOneWithinTenPoints) {
  Played simulation = play(true, "sim");
  ASSERT_EQ(simulation.no_evidence_because, "");
  Shares& simulated = simulation.shares;
  std::vector<Shares> live;
  for (int i = 0; i < 3; ++i) {
    const Played played = play(false, "live" + std::to_string(i));
    // On a machine that is too busy to send in time there is nothing to compare with.
    if (!played.no_evidence_because.empty()) GTEST_SKIP() << played.no_evidence_because;
    live.push_back(played.shares);
  }
  std::set<std::string> keys;
  for (const auto& [key, share] : simulated)
    keys.insert(key);
  for (Shares& shares : live) {
    for (const auto& [key, share] : shares)
      keys.insert(key);
  }
  for (const std::string& key : keys) {
    const double median = median_of_three(live[0][key], live[1][key], live[2][key]);
    EXPECT_NEAR(simulated[key], median, kTolerance) << key;
    RecordProperty(key, std::to_string(simulated[key]) + " against " + std::to_string(median));
  }
  // The comparison is worth nothing if nothing but `ok` happened.
  EXPECT_GT(simulated["as_was response_timeout"], 0.1);
  EXPECT_GT(simulated["with_breaker breaker_open"], 0.05);
  EXPECT_EQ(simulated["as_fixed response_timeout"], 0.0);
}

TEST(Agreement, TheLiveAndTheSimulatedRunPlayTheSameRequests) {
  RunOptions options;
  options.scenario = kScenario;
  options.assignments = {"duration=2s"};
  std::vector<std::vector<std::vector<std::string>>> intended;
  for (const bool simulate : {true, false}) {
    options.simulate = simulate;
    options.out = ::testing::TempDir() + "same-" + (simulate ? "sim" : "live");
    const auto result = run_scenario(options);
    ASSERT_TRUE(result) << result.error().message;
    intended.push_back(testing::query(
        result->run_db,
        "select gateway, request_id, intended_ms from sends order by gateway, request_id"));
  }
  EXPECT_FALSE(intended[0].empty());
  EXPECT_EQ(intended[0], intended[1]);
}

}  // namespace
}  // namespace gatedrill::scenarios
