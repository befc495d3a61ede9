#include "gateway/config/yaml_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// A configuration in a namespace of its own, as another folder would have it.
namespace demo {

using gatedrill::Distribution;
using gatedrill::Duration;
using gatedrill::gateway::YamlReader;
using namespace std::chrono_literals;

enum class Mode { any, all };

std::string to_string(Mode mode) {
  return mode == Mode::any ? "any" : "all";
}

struct Route {
  std::string path;
  std::string upstream;
  int max_attempts = 2;
  Duration timeout = 5s;
};

void read_yaml(YamlReader& reader, Route& route) {
  reader.required("path", route.path);
  reader.optional("upstream", gatedrill::gateway::refers_to("upstream", route.upstream));
  reader.optional("max_attempts", route.max_attempts, gatedrill::gateway::at_least(1));
  reader.optional("timeout", route.timeout);
}

struct Upstream {
  std::vector<gatedrill::gateway::Address> endpoints;
  std::size_t buffer = 1024;
  double ratio = 0.5;
  Mode mode = Mode::any;
};

void read_yaml(YamlReader& reader, Upstream& upstream) {
  reader.required("endpoints", upstream.endpoints, gatedrill::gateway::not_empty);
  reader.optional("buffer", gatedrill::gateway::as_size(upstream.buffer));
  reader.optional("ratio", gatedrill::gateway::as_percent(upstream.ratio));
  reader.optional("mode", gatedrill::gateway::one_of(upstream.mode, {Mode::any, Mode::all}));
}

struct Config {
  std::vector<Route> routes;
  std::map<std::string, Upstream> upstreams;
  std::optional<Duration> drain;
  bool verbose = false;
  double scale = 1;
  std::uint16_t small = 0;
  Distribution latency;
  std::string file;
};

void read_yaml(YamlReader& reader, Config& config) {
  reader.required("routes", config.routes);
  reader.optional("upstreams", [&](YamlReader& upstreams) {
    upstreams.each_entry([&](const std::string& name, YamlReader& entry) {
      entry.defines("upstream", name);
      read_yaml(entry, config.upstreams[name]);
    });
  });
  reader.optional("drain", config.drain, [](const auto&) { return std::string(); });
  reader.optional("verbose", config.verbose);
  reader.optional("scale", config.scale, gatedrill::gateway::between(0.5, 10.0));
  reader.optional("small", config.small);
  reader.optional("latency", config.latency);
  reader.optional("file", gatedrill::gateway::as_path(config.file));
}

}  // namespace demo

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

struct Loaded {
  demo::Config config;
  std::string problems;
};

Loaded load(std::string_view text, const std::vector<std::string>& assignments = {}) {
  YamlDocument document = YamlDocument::from_text(text, "demo.yaml");
  for (const std::string& assignment : assignments)
    document.set(assignment);
  Loaded loaded;
  document.read(loaded.config);
  loaded.problems = to_string(document.problems());
  return loaded;
}

// Of one setting beside what is required.
std::string problems_of(const std::string& setting) {
  return load("routes: []\n" + setting).problems;
}

TEST(YamlReader, GathersEveryProblemAndGoesOn) {
  EXPECT_EQ(
      load(R"(
routes:
  - path: /a
    max_attempts: many
    timeout: '250'
  - max_attempt: 3
    path: /b
  - path: /c
    path: /d
)")
          .problems,
      "demo.yaml:4:19: routes[0].max_attempts: expected a whole number, got 'many'\n"
      "demo.yaml:5:14: routes[0].timeout: expected a duration such as 250ms or 2s, got '250'\n"
      "demo.yaml:6:5: routes[1].max_attempt: is not a known setting; did you mean max_attempts?\n"
      "demo.yaml:9:5: routes[2].path: is set twice");
}

TEST(YamlReader, ReadsAllKindsOfValues) {
  const Loaded loaded = load(R"(
routes:
  - {path: /a, max_attempts: 3, timeout: 250ms, upstream: shop}
upstreams:
  shop: {endpoints: ['127.0.0.1:9001', '[::1]:9002'], buffer: 64KiB, ratio: 5%, mode: all}
drain: 10s
verbose: true
scale: 2.5
small: 65535
latency: {p50: 40ms, p99: 80ms}
file: traffic.db
)");
  EXPECT_EQ(loaded.problems, "");
  ASSERT_EQ(loaded.config.routes.size(), 1U);
  EXPECT_EQ(loaded.config.routes[0].path, "/a");
  EXPECT_EQ(loaded.config.routes[0].max_attempts, 3);
  EXPECT_EQ(loaded.config.routes[0].timeout, Duration{250ms});
  EXPECT_EQ(loaded.config.routes[0].upstream, "shop");
  const demo::Upstream& shop = loaded.config.upstreams.at("shop");
  EXPECT_THAT(shop.endpoints, ElementsAre(Address{"127.0.0.1", 9001}, Address{"::1", 9002}));
  EXPECT_EQ(shop.buffer, 65536U);
  EXPECT_DOUBLE_EQ(shop.ratio, 0.05);
  EXPECT_EQ(shop.mode, demo::Mode::all);
  EXPECT_EQ(loaded.config.drain, Duration{10s});
  EXPECT_TRUE(loaded.config.verbose);
  EXPECT_DOUBLE_EQ(loaded.config.scale, 2.5);
  EXPECT_EQ(loaded.config.small, 65535);
  EXPECT_EQ(loaded.config.latency, Distribution::log_normal(40ms, 80ms));
  EXPECT_EQ(loaded.config.file, "traffic.db");
}

TEST(YamlReader, KeepsTheDefaultsOfWhatIsNotThere) {
  const Loaded loaded = load("routes: [{path: /}]\n");
  EXPECT_EQ(loaded.problems, "");
  EXPECT_EQ(loaded.config.routes[0].max_attempts, 2);
  EXPECT_EQ(loaded.config.routes[0].timeout, Duration{5s});
  EXPECT_EQ(loaded.config.drain, std::nullopt);
}

TEST(YamlReader, NamesWhatIsRequiredWhereItIsMissing) {
  EXPECT_EQ(load("routes:\n  - timeout: 1s\nupstreams:\n  shop: {}\n").problems,
            "demo.yaml:2:5: routes[0].path: is required\n"
            "demo.yaml:4:9: upstreams.shop.endpoints: is required");
}

TEST(YamlReader, SaysNothingMoreAboutANodeOfTheWrongKind) {
  EXPECT_EQ(load("routes: [/a, [b]]\n").problems,
            "demo.yaml:1:10: routes[0]: expected a mapping (key: value), got '/a'\n"
            "demo.yaml:1:14: routes[1]: expected a mapping (key: value), got a list");
  EXPECT_EQ(load("routes: /a\n").problems, "demo.yaml:1:9: routes: expected a list, got '/a'");
  EXPECT_EQ(load("routes:\nscale: 1\n").problems,
            "demo.yaml:1:1: routes: expected a list, got nothing");
  EXPECT_EQ(load("- 1\n").problems, "demo.yaml:1:1: expected a mapping (key: value), got a list");
}

TEST(YamlReader, ChecksEveryValueWithATextOfItsOwn) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"verbose: yes", "verbose: expected true or false, got 'yes'"},
      {"scale: big", "scale: expected a number, got 'big'"},
      {"scale: 0.25", "scale: must be from 0.5 to 10, got 0.25"},
      {"small: 65536", "small: expected a whole number from 0 to 65535, got '65536'"},
      {"small: -1", "small: expected a whole number from 0 to 65535, got '-1'"},
      {"small: 1.5", "small: expected a whole number, got '1.5'"},
      {"small: [1]", "small: expected a whole number, got a list"},
      {"drain: 5", "drain: expected a duration such as 250ms or 2s, got '5'"},
      {"drain: {}", "drain: expected a duration such as 250ms or 2s, got a mapping"},
      {"file: ''", "file: must not be empty"},
      {"verbos: true", "verbos: is not a known setting; did you mean verbose?"},
      {"banana: 1",
       "banana: is not a known setting; known here: routes, upstreams, drain, verbose, scale, "
       "small, "
       "latency, "
       "file"},
  };
  for (const auto& [setting, text] : rows) {
    const std::string column = text.find("known setting") != std::string::npos
                                   ? "1"
                                   : std::to_string(setting.find(' ') + 2);
    EXPECT_EQ(problems_of(setting), "demo.yaml:2:" + column + ": " + text);
  }
}

TEST(YamlReader, ReadsEnumeratorsByTheirSpelling) {
  const std::string text = "routes: []\nupstreams: {a: {endpoints: ['h:1'], mode: nay}}\n";
  EXPECT_EQ(load(text).problems,
            "demo.yaml:2:43: upstreams.a.mode: expected any or all, got 'nay'; did you mean any?");
}

TEST(YamlReader, ReportsUnknownNamesWhereTheyAreUsed) {
  EXPECT_EQ(load("routes:\n  - {path: /, upstream: shpo}\n  - {path: /x, upstream: bank}\n"
                 "upstreams: {shop: {endpoints: ['h:1']}}\n")
                .problems,
            "demo.yaml:2:25: routes[0].upstream: there is no upstream 'shpo'; did you mean shop?\n"
            "demo.yaml:3:26: routes[1].upstream: there is no upstream 'bank'; known here: shop");
}

TEST(YamlReader, DoesNotBlameReferencesWhenTheNamesCouldNotBeRead) {
  EXPECT_EQ(load("routes: [{path: /, upstream: shop}]\nupstreams: [shop]\n").problems,
            "demo.yaml:2:12: upstreams: expected a mapping (key: value), got a list");
}

TEST(YamlReader, OverridesBeforeReading) {
  const std::string text = "routes: [{path: /, timeout: 1s}]\n";
  const Loaded loaded = load(text, {"routes[0].timeout=5s", "drain=2s"});
  EXPECT_EQ(loaded.problems, "");
  EXPECT_EQ(loaded.config.routes[0].timeout, Duration{5s});
  EXPECT_EQ(loaded.config.drain, Duration{2s});
  EXPECT_EQ(load(text, {"routes[0].timeuot=5s", "drain=soon"}).problems,
            "--set routes[0].timeuot=5s: routes[0].timeuot: is not a known setting; did you mean "
            "timeout?\n"
            "--set drain=soon: drain: expected a duration such as 250ms or 2s, got 'soon'");
}

TEST(YamlReader, ReadsOverValuesThatAreThere) {
  demo::Config config = load(
                            "routes: [{path: /a}]\nscale: 3\n"
                            "upstreams: {shop: {endpoints: ['h:1'], buffer: 2KiB}}\n")
                            .config;
  YamlDocument variant =
      YamlDocument::from_text("routes: [{path: /b}, {path: /c}]\ndrain: 1s\n", "v.yaml");
  variant.read(config);
  EXPECT_THAT(variant.problems(), IsEmpty());
  EXPECT_EQ(config.routes.size(), 2U);
  EXPECT_DOUBLE_EQ(config.scale, 3);
  EXPECT_EQ(config.drain, Duration{1s});
  EXPECT_EQ(config.upstreams.at("shop").buffer, 2048U);
}

TEST(YamlReader, LaysOneFileOverAnotherAndBlamesTheRightOne) {
  YamlDocument document = YamlDocument::from_text("routes: [{path: /}]\ndrain: 1s\n", "base.yaml");
  const YamlDocument over = YamlDocument::from_text("\ndrain: soon\n", "over.yaml");
  document.overlay(over.root());
  demo::Config config;
  document.read(config);
  EXPECT_EQ(to_string(document.problems()),
            "over.yaml:2:8: drain: expected a duration such as 250ms or 2s, got 'soon'");
}

TEST(YamlReader, ReportsAnEmptyDocument) {
  EXPECT_EQ(load("").problems, "demo.yaml:1:1: holds no settings");
  EXPECT_EQ(load("# only a comment\n").problems, "demo.yaml:1:1: holds no settings");
  EXPECT_EQ(load("a: [").problems,
            "demo.yaml:1:1: is not valid YAML: end of sequence flow not found");
}

TEST(YamlReader, FindsFilesBesideTheFileThatNamesThem) {
  YamlDocument document =
      YamlDocument::from_text("routes: []\nfile: ../t.db\n", "drills/inc-1/a.yaml");
  demo::Config config;
  document.read(config);
  EXPECT_EQ(config.file, "drills/t.db");
  YamlDocument overridden = YamlDocument::from_text("routes: []\n", "drills/a.yaml");
  overridden.set("file=t.db");
  overridden.read(config);
  EXPECT_EQ(config.file, "t.db");
}

TEST(LoadYaml, GivesTheValueOrOneErrorWithEveryProblem) {
  const Result<demo::Config> missing = load_yaml<demo::Config>("no-such-file.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), outside_error("no-such-file.yaml: there is no such file"));
}

TEST(Distributions, ReadInEverySpelling) {
  const auto read = [](const std::string& text) {
    return load("routes: []\nlatency: " + text).config.latency;
  };
  EXPECT_EQ(read("40ms"), Distribution::fixed(40ms));
  EXPECT_EQ(read("{p50: 40ms, p99: 80ms}"), Distribution::log_normal(40ms, 80ms));
  EXPECT_EQ(read("{uniform: [1ms, 5ms]}"), Distribution::uniform(1ms, 5ms));
  EXPECT_EQ(read("{quantiles: {99: 8s, 50: 900ms, 90: 3s}}"),
            Distribution::quantiles({{0.5, 900ms}, {0.9, 3s}, {0.99, 8s}}));
}

TEST(Distributions, SayWhatIsWrong) {
  const std::string shape =
      "expected a duration such as 40ms, or {p50: 40ms, p99: 80ms}, {uniform: [1ms, 5ms]} or "
      "{quantiles: {50: 40ms, 99: 80ms}}, got ";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"40", "2:10: latency: expected a duration such as 250ms or 2s, got '40'"},
      {"[1ms, 2ms]", "2:10: latency: " + shape + "a list"},
      {"{p50: 40ms}", "2:10: latency.p99: is required"},
      {"{p50: 0, p99: 1s}", "2:16: latency.p50: must be more than 0"},
      {"{p50: 80ms, p99: 40ms}", "2:27: latency.p99: cannot be shorter than p50 (80ms)"},
      {"{uniform: [5ms]}",
       "2:20: latency.uniform: expected the shortest and the longest duration, as in [1ms, 5ms]"},
      {"{uniform: [5ms, 1ms]}",
       "2:20: latency.uniform: expected the shortest and the longest duration, as in [1ms, 5ms]"},
      {"{quantiles: {}}", "2:22: latency.quantiles: must not be empty"},
      {"{quantiles: {x: 1s}}",
       "2:26: latency.quantiles.x: expected a quantile from 0 to 100 before the colon, got 'x'"},
      {"{quantiles: {50: 2s, 99: 1s}}",
       "2:22: latency.quantiles: a higher quantile cannot be shorter"},
      {"{uniform: [1ms, 5ms], p50: 1ms}",
       "2:20: latency.uniform: cannot stand beside p50; give one of p50, uniform, quantiles"},
  };
  for (const auto& [text, problem] : rows) {
    EXPECT_EQ(problems_of("latency: " + text), "demo.yaml:" + problem);
  }
}

}  // namespace
}  // namespace gatedrill::gateway
