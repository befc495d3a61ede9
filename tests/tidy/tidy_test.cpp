// The rules, over every text file of the repository.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/tidy/rules.hpp"

namespace gatedrill::tidy {
namespace {

namespace fs = std::filesystem;

bool is_text(const fs::path& path) {
  static const std::set<std::string> kEndings = {
      ".cpp", ".hpp",  ".txt", ".cmake", ".md",   ".yaml", ".yml", ".json", ".sh",     ".py",
      ".sql", ".conf", ".js",  ".css",   ".html", ".in",   ".tsv", ".cfg",  ".service"};
  static const std::set<std::string> kNames = {"Makefile", "run",     "install",     "control",
                                               ".npmrc",   "LICENSE", ".clang-tidy", ".gitignore"};
  return kEndings.contains(path.extension().string()) || kNames.contains(path.filename().string());
}

std::vector<File> read_repository() {
  static const std::set<std::string> kSkipped = {".git",      "build",  "node_modules",
                                                 "drill-out", ".cache", "out"};
  const fs::path root = GD_SOURCE_DIR;
  std::vector<File> files;
  for (fs::recursive_directory_iterator at(root), end; at != end; ++at) {
    if (at->is_directory() && kSkipped.contains(at->path().filename().string())) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file() && is_text(at->path())) {
      std::ifstream stream(at->path(), std::ios::binary);
      files.push_back(
          {fs::relative(at->path(), root).string(), {std::istreambuf_iterator<char>(stream), {}}});
    }
  }
  return files;
}

const std::vector<File>& repository() {
  static const std::vector<File> kFiles = read_repository();
  return kFiles;
}

// Every finding of the rule is a failure that names its place.
void expect_none(const std::function<Findings(const File&)>& rule) {
  for (const File& file : repository()) {
    for (const Finding& finding : rule(file))
      ADD_FAILURE() << to_string(finding);
  }
}

TEST(Tidy, LooksAtTheWholeRepository) {
  EXPECT_GT(repository().size(), 100U);
  EXPECT_TRUE(std::any_of(repository().begin(), repository().end(),
                          [](const File& file) { return file.path == "gateway/core/time.cpp"; }));
}

TEST(Tidy, FoldersIncludeDownwardsOnly) {
  expect_none(upward_includes);
}

TEST(Tidy, FoldersIncludeOnlyPublicHeadersOfOthers) {
  std::set<std::string> headers;
  for (const File& file : repository()) {
    if (!file.path.ends_with("CMakeLists.txt")) continue;
    for (const std::string& header : public_headers(file))
      headers.insert(header);
  }
  expect_none([&](const File& file) { return private_includes(file, headers); });
}

TEST(Tidy, OnlyCoreReadsClocks) {
  expect_none(clock_reads);
}

TEST(Tidy, OnlyCoreDrawsRandomNumbers) {
  expect_none(hidden_randomness);
}

TEST(Tidy, FilesAreNamedForWhatTheyHold) {
  expect_none(banned_names);
}

TEST(Tidy, WhatIsLeftUndoneHasAnIssue) {
  expect_none(unnumbered_todos);
}

TEST(Tidy, NoValueIsMadeInsideCoAwait) {
  expect_none(values_inside_co_await);
  expect_none(switches_on_co_await);
}

TEST(Tidy, UnitAndSimulationTestsDoNotSleep) {
  std::set<std::string> sources;
  for (const File& file : repository()) {
    if (!file.path.ends_with("CMakeLists.txt")) continue;
    for (const std::string& source : test_sources(file, {"unit", "sim"}))
      sources.insert(source);
  }
  EXPECT_TRUE(sources.contains("tests/tidy/tidy_test.cpp"));
  sources.erase("tests/tidy/rules_test.cpp");  // its samples sleep
  expect_none(
      [&](const File& file) { return sources.contains(file.path) ? sleeping(file) : Findings{}; });
}

TEST(Tidy, NothingNamesAPathOfOneMachine) {
  expect_none(machine_paths);
}

TEST(Tidy, NothingNamesAPackageRegistry) {
  expect_none(registry_addresses);
}

}  // namespace
}  // namespace gatedrill::tidy
