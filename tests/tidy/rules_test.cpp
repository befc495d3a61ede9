// Each rule catches what it is there for, and lets the right way pass.
#include "tests/tidy/rules.hpp"

#include <gtest/gtest.h>

namespace gatedrill::tidy {
namespace {

TEST(TidyRules, CatchIncludesThatPointUpwards) {
  const auto findings = [](const std::string& path, const std::string& include) {
    return upward_includes({path, "#pragma once\n#include \"" + include + "\"\n"});
  };
  EXPECT_EQ(findings("gateway/core/x.hpp", "reports/summary.hpp").size(), 1U);
  EXPECT_EQ(findings("gateway/core/x.hpp", "gateway/http/head.hpp").size(), 1U);
  EXPECT_EQ(findings("gateway/policy/x.cpp", "gateway/proxy/drive.hpp").size(), 1U);
  EXPECT_EQ(findings("chaos/x.cpp", "replay/recording.hpp").size(), 1U);
  EXPECT_EQ(findings("reports/x.cpp", "tests/support/loopback_peer.hpp").size(), 1U);
  EXPECT_TRUE(findings("scenarios/x.cpp", "replay/recording.hpp").empty());
  EXPECT_TRUE(findings("replay/x.cpp", "loadgen/generator.hpp").empty());
  EXPECT_TRUE(findings("tests/x_test.cpp", "scenarios/spec/scenario.hpp").empty());
  EXPECT_TRUE(findings("gateway/proxy/x.cpp", "gateway/policy/pool.hpp").empty());
  EXPECT_EQ(to_string(findings("gateway/core/x.hpp", "chaos/plan.hpp").at(0)),
            "gateway/core/x.hpp:2: includes what is above it: chaos/plan.hpp");
}

TEST(TidyRules, CatchIncludesOfAnotherFoldersPrivateHeaders) {
  const File cmake{"reports/CMakeLists.txt",
                   "gd_library(reports_store  # the store\n  HEADERS event_store.hpp\n"
                   "  SOURCES row_writer.cpp\n  DEPENDS x)\n"};
  const std::vector<std::string> headers = public_headers(cmake);
  const std::set<std::string> known(headers.begin(), headers.end());
  EXPECT_EQ(known, std::set<std::string>{"reports/event_store.hpp"});
  EXPECT_TRUE(
      private_includes({"replay/a.cpp", "#include \"reports/event_store.hpp\"\n"}, known).empty());
  EXPECT_TRUE(
      private_includes({"reports/a.cpp", "#include \"reports/row_writer.hpp\"\n"}, known).empty());
  EXPECT_EQ(
      private_includes({"replay/a.cpp", "#include \"reports/row_writer.hpp\"\n"}, known).size(),
      1U);
}

TEST(TidyRules, CatchClocks) {
  for (const char* bad :
       {"auto t = std::chrono::steady_clock::now();", "using C = std::chrono::system_clock;",
        "auto t = time(nullptr);", "auto t = std::time(nullptr);", "t = ::time(&t);",
        "gettimeofday(&tv, nullptr);", "clock_gettime(CLOCK_MONOTONIC, &ts);"}) {
    EXPECT_EQ(clock_reads({"gateway/proxy/x.cpp", bad}).size(), 1U) << bad;
  }
  for (const char* good :
       {"auto t = clock.now();", "std::chrono::steady_clock::time_point start_;",
        "auto t = unix_time(0);", "event.time(0);", "// steady_clock::now() is banned",
        "print(\"system_clock\");", "asio::steady_timer timer(executor);",
        "clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);"}) {
    EXPECT_TRUE(clock_reads({"gateway/proxy/x.cpp", good}).empty()) << good;
  }
  EXPECT_TRUE(clock_reads({"gateway/core/time.cpp", "std::chrono::steady_clock::now()"}).empty());
}

TEST(TidyRules, CatchRandomNumbersFromElsewhere) {
  for (const char* bad :
       {"std::random_device device;", "int x = rand();", "srand(1);", "std::mt19937 g(1);",
        "std::uniform_int_distribution<int> d(0, 1);", "std::shuffle(a, b, g);",
        "std::normal_distribution d;", "getrandom(b, 8, 0);"}) {
    EXPECT_EQ(hidden_randomness({"loadgen/x.cpp", bad}).size(), 1U) << bad;
  }
  for (const char* good : {"Random random(seed);", "random.below(3);", "Distribution distribution;",
                           "operand(1);", "// rand() would differ"}) {
    EXPECT_TRUE(hidden_randomness({"loadgen/x.cpp", good}).empty()) << good;
  }
}

TEST(TidyRules, CatchNamesThatSayNothing) {
  for (const char* bad :
       {"gateway/util.hpp", "gateway/net/socket_helper.cpp", "common/x.hpp", "gateway/common/x.hpp",
        "gateway/connection_manager.hpp", "gateway/filter_base.hpp"}) {
    EXPECT_EQ(banned_names({bad, ""}).size(), 1U) << bad;
  }
  for (const char* good :
       {"reports/database.cpp", "gateway/core/baseline.hpp", "gateway/core/time.hpp"}) {
    EXPECT_TRUE(banned_names({good, ""}).empty()) << good;
  }
}

TEST(TidyRules, CatchWorkLeftUndoneWithoutAnIssue) {
  EXPECT_EQ(unnumbered_todos({"a.cpp", "// TODO: more"}).size(), 1U);
  EXPECT_EQ(unnumbered_todos({"Makefile", "# FIXME later"}).size(), 1U);
  EXPECT_TRUE(unnumbered_todos({"a.cpp", "// TODO(#12): more"}).empty());
  EXPECT_TRUE(unnumbered_todos({"a.cpp", "// TODO #12 more"}).empty());
  EXPECT_TRUE(unnumbered_todos({"a.cpp", "kTODOs"}).empty());
}

TEST(TidyRules, CatchValuesMadeInsideCoAwait) {
  for (const char* bad : {
           "co_await f({sp, \"text\"});",
           "co_await f(Opts{sp, 1});",
           "co_await f(first, {sp, 1});",
           "co_await g([sp] { return sp; });",
           "co_await g(\n    [sp](int x) {\n      use(sp);\n      use(x);\n    });",
           "co_await co_spawn(ex, [sp]() -> awaitable<void> { co_return; }, use_awaitable);",
           "auto [ec, n] = co_await read(socket, Buffer{data, 5}, token);",
           "if (co_await f({1})) return;",
           "co_await f(Ctor{sp});",
       }) {
    EXPECT_EQ(values_inside_co_await({"gateway/net/x.cpp", bad}).size(), 1U) << bad;
  }
  for (const char* good : {
           "Opts o{sp, 1}; co_await f(std::move(o));",
           "auto op = f({sp, 1}); co_await std::move(op);",
           "auto work = [sp] { return sp; };\nco_await g(std::move(work));",
           "auto [ec] = co_await timer.async_wait(as_tuple(use_awaitable));",
           "if (co_await f(x)) { Opts o{1}; use(o); }",
           "while (co_await more()) {\n  sink({1, 2});\n}",
           "co_await f(names[i]);",
           "// co_await f({1});",
           "co_await say(\"({\");",
       }) {
    EXPECT_TRUE(values_inside_co_await({"gateway/net/x.cpp", good}).empty()) << good;
  }
  EXPECT_EQ(values_inside_co_await({"a.cpp", "\n\nco_await f({1});"}).at(0).line, 3);
}

TEST(TidyRules, CatchSwitchesOnCoAwait) {
  EXPECT_EQ(switches_on_co_await({"a.cpp", "switch (co_await f()) {"}).size(), 1U);
  EXPECT_EQ(switches_on_co_await({"a.cpp", "switch (int(co_await f())) {"}).size(), 1U);
  EXPECT_TRUE(switches_on_co_await({"a.cpp", "const E e = co_await f();\nswitch (e) {"}).empty());
  EXPECT_TRUE(switches_on_co_await({"a.cpp", "switch (e) { case E::a: co_await f(); }"}).empty());
}

TEST(TidyRules, CatchSleepingTests) {
  for (const char* bad : {"std::this_thread::sleep_for(1ms);", "usleep(5);", "sleep(1);",
                          "nanosleep(&t, nullptr);"}) {
    EXPECT_EQ(sleeping({"tests/x_test.cpp", bad}).size(), 1U) << bad;
  }
  EXPECT_TRUE(sleeping({"tests/x_test.cpp", "// never sleep()\nasleep(1);"}).empty());
  const File cmake{"tests/replay/CMakeLists.txt",
                   "gd_test(a LABEL unit\n  SOURCES one_test.cpp ../support/two.cpp DEPENDS x)\n"
                   "gd_test(b LABEL e2e SOURCES three_test.cpp DEPENDS x)\n"
                   "gd_test(c LABEL sim TIMEOUT 5 SOURCES four_test.cpp DEPENDS x)\n"};
  EXPECT_EQ(test_sources(cmake, {"unit", "sim"}),
            (std::vector<std::string>{"tests/replay/one_test.cpp", "tests/support/two.cpp",
                                      "tests/replay/four_test.cpp"}));
}

TEST(TidyRules, CatchPathsOfOneMachine) {
  for (const char* bad :
       {"see /srv/build/x", "'/home/someone/x'", "cd /root/x", "(/home/someone/wt)"}) {
    EXPECT_EQ(machine_paths({"a.md", bad}).size(), 1U) << bad;
  }
  for (const char* good :
       {"a/root/b", "/tmp/run.db", "https://example.com/home/x/y", "../shared/data"}) {
    EXPECT_TRUE(machine_paths({"a.md", good}).empty()) << good;
  }
}

TEST(TidyRules, CatchRegistryAddresses) {
  EXPECT_EQ(registry_addresses({"package-lock.json", R"("resolved": "https://example.org/a.tgz")"})
                .size(),
            1U);
  EXPECT_EQ(registry_addresses({".npmrc", "registry=https://packages.example/"}).size(), 1U);
  EXPECT_TRUE(registry_addresses({"package-lock.json", R"("integrity": "sha512-abc==")"}).empty());
}

TEST(CodeOf, BlanksCommentsAndLiteralsAndKeepsPlaces) {
  EXPECT_EQ(code_of("a // b\nc"), "a     \nc");
  EXPECT_EQ(code_of("a /* b\nc */ d"), "a     \n     d");
  EXPECT_EQ(code_of(R"(f("x\"y", 'z', '"');)"), R"(f("    ", ' ', ' ');)");
  EXPECT_EQ(code_of("R\"(a\"b)\" c"), "R\"     \" c");
  EXPECT_EQ(code_of("1'000'000 + x"), "1'000'000 + x");
}

}  // namespace
}  // namespace gatedrill::tidy
