#include "scenarios/spec/scenario_reader.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace std::chrono_literals;
using testing::HasSubstr;

namespace gatedrill::scenarios {
namespace {

const std::string kDrill =
    std::string(GD_SOURCE_DIR) + "/scenarios/drills/inc-1-rolling-upgrade.yaml";

class ScenarioReader : public testing::Test {
 protected:
  // A file in a folder of its own.
  std::string write(const std::string& text) {
    const std::string folder = testing::TempDir() + "scenario_reader";
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/s.yaml";
    std::ofstream(path) << text;
    return path;
  }

  static const Variant& variant(const Scenario& scenario, const std::string& name) {
    for (const Variant& each : scenario.variants) {
      if (each.name == name) return each;
    }
    throw std::runtime_error("no variant " + name);
  }

  // The smallest scenario, with more lines under some of its keys.
  static std::string smallest(const std::string& origin = "", const std::string& more = "") {
    return "name: small\n"
           "duration: 10s\n"
           "traffic: {recording: a.db}\n"
           "world:\n"
           "  origins:\n"
           "    shop: {instances: 2" +
           origin +
           "}\n"
           "  gateway:\n"
           "    upstreams:\n"
           "      shop: {origin: shop}\n"
           "    routes: [{upstream: shop}]\n"
           "variants:\n"
           "  as_was: {}\n" +
           more;
  }
};

TEST_F(ScenarioReader, ReadsTheIncidentsDurationsOrTheLiveOnes) {
  const auto incident = read_scenario(kDrill, Durations::incident);
  ASSERT_TRUE(incident) << incident.error().message;
  ASSERT_TRUE(incident->problems.empty()) << gateway::to_string(incident->problems);
  EXPECT_EQ(incident->scenario.duration, 15min);
  EXPECT_EQ(variant(incident->scenario, "as_was").world.origins.at("shop").stop.removal_wait, 30s);
  EXPECT_TRUE(incident->scenario.live_mapping.empty());

  const auto live = read_scenario(kDrill, Durations::live);
  ASSERT_TRUE(live);
  ASSERT_TRUE(live->problems.empty()) << gateway::to_string(live->problems);
  EXPECT_LE(live->scenario.duration, 60s);
  EXPECT_LT(variant(live->scenario, "as_was").world.origins.at("shop").stop.removal_wait, 30s);
  EXPECT_FALSE(live->scenario.live_mapping.empty());
}

TEST_F(ScenarioReader, AVariantIsTheWorldWithItsOverrides) {
  const auto read = read_scenario(kDrill, Durations::incident);
  ASSERT_TRUE(read);
  const World& was = variant(read->scenario, "as_was").world;
  const World& fixed = variant(read->scenario, "as_fixed").world;
  EXPECT_EQ(was.gateway.routes.at(0).timeouts.response, 1s);
  EXPECT_EQ(fixed.gateway.routes.at(0).timeouts.response, 5s);
  EXPECT_EQ(fixed.gateway.routes.at(0).timeouts.total, 10s);
  EXPECT_EQ(was.origins.at("shop").stop.style, StopStyle::abrupt);
  EXPECT_EQ(fixed.origins.at("shop").stop.style, StopStyle::graceful);
  EXPECT_EQ(was.gateway.upstreams.at(0).endpoint_names,
            instance_names("shop", was.origins.at("shop").instances));
  EXPECT_TRUE(variant(read->scenario, "nginx_as_was").world.external.has_value());
}

TEST_F(ScenarioReader, SetWinsOverTheLiveSection) {
  const auto read = read_scenario(kDrill, Durations::live, {"duration=7s", "traffic.rate=10/s"});
  ASSERT_TRUE(read);
  ASSERT_TRUE(read->problems.empty()) << gateway::to_string(read->problems);
  EXPECT_EQ(read->scenario.duration, 7s);
  EXPECT_EQ(read->scenario.traffic.rate->per_second(), 10.0);
}

TEST_F(ScenarioReader, EveryProblemIsReportedOnceWithItsPlace) {
  const std::string path = write(smallest(", wrokers: 5",
                                          "  other: {gateway: {timeots: {response: 1s}}}\n"
                                          "expectations:\n"
                                          "  - cuont(status = 502) == 0\n"));
  const auto read = read_scenario(path, Durations::live);
  ASSERT_TRUE(read);
  const std::string text = gateway::to_string(read->problems);
  EXPECT_THAT(text, HasSubstr("s.yaml:6:26: origins.shop.wrokers: is not a known setting; "
                              "did you mean workers?"));
  EXPECT_THAT(text, HasSubstr("timeots"));
  EXPECT_THAT(text, HasSubstr("s.yaml:15:5: expectations[0]"));
  EXPECT_EQ(read->problems.size(), 3U) << text;
}

TEST_F(ScenarioReader, NamesThatDoNotExistAreProblems) {
  const std::string path =
      write(smallest("",
                     "timeline:\n"
                     "  - {at: 1s, restart: {origin: shopp, interval: 1s}}\n"
                     "expectations:\n"
                     "  - {expect: count(status = 502) == 0, variants: [as_si]}\n"));
  const auto read = read_scenario(path, Durations::live);
  ASSERT_TRUE(read);
  const std::string text = gateway::to_string(read->problems);
  EXPECT_THAT(text, HasSubstr("shopp"));
  EXPECT_THAT(text, HasSubstr("as_si"));
}

TEST_F(ScenarioReader, AMissingFileIsOutsideAndAnEmptyOneAProblem) {
  const auto missing = read_scenario("/nowhere/s.yaml", Durations::live);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::outside);
  const auto empty = read_scenario(write(""), Durations::live);
  ASSERT_TRUE(empty);
  EXPECT_FALSE(empty->problems.empty());
}

TEST_F(ScenarioReader, TimelineEntriesWithNamesArePhases) {
  const auto read = read_scenario(kDrill, Durations::incident);
  ASSERT_TRUE(read);
  bool found = false;
  for (const Phase& phase : read->scenario.phases) {
    if (phase.name != "slow_dependency") continue;
    found = true;
    EXPECT_EQ(phase.from, TimePoint{60s});
    EXPECT_EQ(phase.until, TimePoint{60s + 12min});
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace gatedrill::scenarios
