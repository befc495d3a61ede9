#include "scenarios/origin/origin_config.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::scenarios {
namespace {

using namespace std::chrono_literals;
using gateway::YamlDocument;
using ::testing::HasSubstr;

std::vector<std::string> problems_of(std::string_view text, OriginFile& file) {
  YamlDocument document = YamlDocument::from_text(text, "origin.yaml");
  document.read(file);
  std::vector<std::string> problems;
  for (const gateway::Problem& problem : document.problems())
    problems.push_back(to_string(problem));
  return problems;
}

TEST(OriginFile, ReadsOriginsWithTheirPortsAndDependencies) {
  OriginFile file;
  const auto problems = problems_of(
      "dependencies: {stock: {latency: 5ms}}\n"
      "origins:\n"
      "  shop: {listen: 127.0.0.1:9001, instances: 2, latency: 20ms, workers: 8,\n"
      "         versions: [{name: v1, calls: [stock]}]}\n",
      file);
  EXPECT_TRUE(problems.empty()) << problems.front();
  EXPECT_EQ(file.listen.at("shop").port, 9001);
  EXPECT_EQ(file.world.origins.at("shop").workers, 8U);
  EXPECT_EQ(file.world.origins.at("shop").versions[0].calls[0].dependency, "stock");
}

TEST(OriginFile, SaysWhatIsWrongAndWhere) {
  OriginFile file;
  const auto problems = problems_of(
      "origins:\n"
      "  a: {latency: 20ms}\n"
      "  b: {listen: 127.0.0.1:65535, instances: 2}\n"
      "  c: {listen: 127.0.0.1:9000, answers: recording}\n",
      file);
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_THAT(problems[0], HasSubstr("origins.a"));
  EXPECT_THAT(problems[0], HasSubstr("listen"));
  EXPECT_THAT(problems[1], HasSubstr("leaves no ports for 2 instances"));
  EXPECT_THAT(problems[2], HasSubstr("needs the setting recording"));
}

}  // namespace
}  // namespace gatedrill::scenarios
