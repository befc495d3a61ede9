#include "scenarios/spec/scenario_check.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace gatedrill::scenarios {
namespace {

Result<gateway::Checked> check(const std::string& path) {
  return gateway::check_file(path, {gateway::gateway_file_kind(), scenario_file_kind()});
}

TEST(ScenarioCheck, SaysWhatAScenarioPlays) {
  const auto checked = check(GD_SOURCE_DIR "/scenarios/drills/inc-1-rolling-upgrade.yaml");
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(to_string(checked->problems), "");
  EXPECT_TRUE(checked->summary.starts_with("inc-1-rolling-upgrade: 5 variants, "))
      << checked->summary;
}

TEST(ScenarioCheck, SaysOnceWhatIsWrongInEveryVariantAndInBothPlays) {
  const std::string path = testing::TempDir() + "scenario-check-test.yaml";
  std::ofstream(path) << "name: x\nduration: 1m\ntraffic: {recording: r.db}\n"
                         "world:\n"
                         "  origins: {shop: {latency: fast}}\n"
                         "  gateway:\n"
                         "    upstreams: {shop: {origin: shop, pol: off}}\n"
                         "    routes: [{upstream: shop}]\n"
                         "variants: {a: {}, b: {}}\n"
                         "live: {duration: soon}\n";
  const auto checked = check(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(checked) << checked.error().message;
  std::vector<std::string> texts;
  for (const gateway::Problem& problem : checked->problems) {
    texts.push_back(std::to_string(problem.place.line) + ": " + problem.path + ": " + problem.text);
  }
  ASSERT_EQ(texts.size(), 3U) << to_string(checked->problems);
  EXPECT_TRUE(texts[0].starts_with("5: origins.shop.latency: expected a duration")) << texts[0];
  EXPECT_EQ(texts[1], "7: gateway.upstreams.shop.pol: is not a known setting; did you mean pool?");
  EXPECT_EQ(texts[2], "10: duration: expected a duration such as 250ms or 2s, got 'soon'");
}

}  // namespace
}  // namespace gatedrill::scenarios
