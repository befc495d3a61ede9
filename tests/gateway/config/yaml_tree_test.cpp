#include "gateway/config/yaml_tree.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::gateway {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Parsed {
  YamlNode root;
  std::vector<Problem> problems;

  explicit Parsed(std::string_view text) { root = parse_yaml(text, "demo.yaml", problems); }

  [[nodiscard]] std::vector<std::string> texts() {
    put_in_order(problems);
    std::vector<std::string> texts;
    for (const Problem& problem : problems)
      texts.push_back(to_string(problem));
    return texts;
  }

  void set(std::string_view assignment) { set_value(root, assignment, problems); }
};

// The tree in one line, as flow YAML.
std::string flow(const YamlNode& node) {
  std::string text;
  switch (node.kind) {
    case YamlNode::Kind::nothing:
      return "~";
    case YamlNode::Kind::scalar:
      return node.text;
    case YamlNode::Kind::list:
      for (const YamlNode& item : node.items)
        text += (text.empty() ? "" : ", ") + flow(item);
      return "[" + text + "]";
    case YamlNode::Kind::map:
      for (const YamlEntry& entry : node.entries) {
        text += (text.empty() ? "" : ", ") + entry.key + ": " + flow(entry.value);
      }
      return "{" + text + "}";
  }
  return text;
}

TEST(YamlTree, KeepsValuesAndTheirPlacesCountedFromOne) {
  Parsed parsed("listen: 127.0.0.1:80\nroutes:\n  - path: /\n");
  EXPECT_THAT(parsed.texts(), IsEmpty());
  EXPECT_EQ(flow(parsed.root), "{listen: 127.0.0.1:80, routes: [{path: /}]}");
  const YamlNode* routes = parsed.root.find("routes");
  ASSERT_NE(routes, nullptr);
  const Place place = routes->items[0].find("path")->place;
  EXPECT_EQ(place.line, 3);
  EXPECT_EQ(place.column, 11);
}

TEST(YamlTree, FindsRepeatedKeysAtEveryDepth) {
  EXPECT_THAT(Parsed("a: 1\nb: {c: 1, c: 2}\na: 3\n").texts(),
              ElementsAre("demo.yaml:2:11: b.c: is set twice", "demo.yaml:3:1: a: is set twice"));
}

TEST(YamlTree, ReportsBadSyntaxAtItsPlace) {
  EXPECT_THAT(Parsed("a: [1, 2\nb: 3\n").texts(),
              ElementsAre("demo.yaml:2:2: is not valid YAML: end of sequence flow not found"));
  EXPECT_THAT(
      Parsed("a: *nobody\n").texts(),
      ElementsAre("demo.yaml:1:4: is not valid YAML: the referenced anchor is not defined"));
}

TEST(YamlTree, LetsNoControlCharactersOutOfAFile) {
  EXPECT_THAT(Parsed("a: \"\\\x1b\"\n").texts(),
              ElementsAre("demo.yaml:1:7: is not valid YAML: unknown escape character: ?"));
}

TEST(YamlTree, AllowsOneDocumentAFile) {
  EXPECT_THAT(
      Parsed("a: 1\n---\nb: 2\n").texts(),
      ElementsAre("demo.yaml:3:1: a second document begins here; write one document a file"));
}

TEST(YamlTree, ExpandsAliasesAndMergesMappings) {
  Parsed parsed("x: &base {p: 1, q: 2}\ny:\n  <<: *base\n  q: 3\nz: *base\n");
  EXPECT_THAT(parsed.texts(), IsEmpty());
  EXPECT_EQ(flow(parsed.root), "{x: {p: 1, q: 2}, y: {q: 3, p: 1}, z: {p: 1, q: 2}}");
  EXPECT_THAT(Parsed("y:\n  <<: 5\n").texts(),
              ElementsAre("demo.yaml:2:7: y: merges (<<) '5'; only mappings can be merged"));
}

TEST(YamlTree, StopsAtATreeThatGrowsWithoutEnd) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j)
      laughs += (j == 0 ? "" : ", ") + before;
    laughs += "]\n";
  }
  Parsed parsed(laughs);
  ASSERT_EQ(parsed.texts().size(), 1U);
  EXPECT_EQ(parsed.problems[0].text, "holds too many values");
  EXPECT_EQ(Parsed("a: &a [*a]\n").problems.at(0).text, "is nested too deeply");
  EXPECT_FALSE(Parsed(std::string(100'000, '[')).problems.empty());
}

TEST(YamlTree, RefusesKeysThatAreNotText) {
  EXPECT_THAT(Parsed("a:\n  [1, 2]: 3\n").texts(),
              ElementsAre("demo.yaml:2:3: a: has a key that is not plain text"));
}

TEST(SetValue, ReplacesAndAddsByPath) {
  Parsed parsed(
      "routes:\n  - name: buy\n    timeout: 1s\n  - name: look\nupstreams: {shop.v2: {}}\n");
  parsed.set("routes[0].timeout=5s");
  parsed.set("routes.look.retry.max_attempts=3");
  parsed.set("upstreams.\"shop.v2\".endpoints=[a:1, b:2]");
  parsed.set("listen=127.0.0.1:0");
  EXPECT_THAT(parsed.texts(), IsEmpty());
  EXPECT_EQ(flow(parsed.root),
            "{routes: [{name: buy, timeout: 5s}, {name: look, retry: {max_attempts: 3}}], "
            "upstreams: {shop.v2: {endpoints: [a:1, b:2]}}, listen: 127.0.0.1:0}");
}

TEST(SetValue, SaysWhichPartOfThePathIsWrong) {
  Parsed parsed("routes:\n  - name: buy\n    timeout: 1s\n");
  for (const char* assignment :
       {"routes[1].timeout=5s", "routes.sell.timeout=5s", "routes[0].timeout.x=1", "routes[0][0]=1",
        "routes..x=1", "=1", "routes[x]=1", "routes", "a=[1"}) {
    parsed.set(assignment);
  }
  std::vector<std::string> texts;
  for (const Problem& problem : parsed.problems)
    texts.push_back(to_string(problem));
  EXPECT_THAT(
      texts, ElementsAre("--set routes[1].timeout=5s: routes[1]: does not exist; the list has 1 "
                         "entry, counted from 0",
                         "--set routes.sell.timeout=5s: routes.sell: does not exist; no entry of "
                         "the list has this name",
                         "--set routes[0].timeout.x=1: routes[0].timeout: has no settings inside",
                         "--set routes[0][0]=1: routes[0]: is not a list",
                         "--set routes..x=1: routes..x: is not a path to a setting such as "
                         "routes[0].timeouts.response",
                         "--set =1: is not a path to a setting such as routes[0].timeouts.response",
                         "--set routes[x]=1: routes[x]: is not a path to a setting such as "
                         "routes[0].timeouts.response",
                         "--set routes: expected key.path=value",
                         "--set a=[1: is not valid YAML: end of sequence flow not found"));
}

TEST(LayOver, MergesMappingsAndReplacesAllElse) {
  Parsed under("a: {p: 1, q: [1, 2]}\nb: 1\n");
  const Parsed over("a: {q: [3], r: 4}\nc: {d: 5}\n");
  lay_over(under.root, over.root);
  EXPECT_EQ(flow(under.root), "{a: {p: 1, q: [3], r: 4}, b: 1, c: {d: 5}}");
}

TEST(ReadTextFile, SaysWhyAFileCannotBeRead) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string missing = (folder / "no-such-file.yaml").string();
  EXPECT_EQ(read_text_file(missing).error(), outside_error(missing + ": there is no such file"));
  EXPECT_EQ(read_text_file(folder.string()).error(),
            outside_error(folder.string() + ": is a directory; name the file inside it"));
  const std::string endless = "/dev/zero";
  EXPECT_EQ(read_text_file(endless).error(),
            outside_error("/dev/zero: is larger than 16MiB; this is not a configuration"));
}

}  // namespace
}  // namespace gatedrill::gateway
