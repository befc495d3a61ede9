// A recording with many exchanges: what is looked up is found by an index, reading holds one
// exchange at a time, and the SQL that RECORDING.md shows works as it stands there.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/database.hpp"
#include "replay/recording.hpp"
#include "replay/recording_writer.hpp"
#include "tests/support/sanitizers.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kExchanges = 30'000;
constexpr int kConnections = 300;

RecordedExchange exchange(int number) {
  RecordedExchange out;
  out.at = UnixTime{1'700'000'000'000'000'000 + std::int64_t{number} * 10'000'000};
  out.connection = number % kConnections + 1;
  out.client = "10.0.0.1:5000";
  out.server = "10.0.0.2:80";
  out.protocol = "http/1.1";
  out.host = "shop";
  out.latency = Duration{(number * 7919) % 1'000'000};
  out.request = RecordedRequest{.method = "GET",
                                .target = "/items/" + std::to_string(number % 100),
                                .version = "HTTP/1.1",
                                .fields = {{"Host", "shop"}}};
  std::string body = R"({"order":)" + std::to_string(number % 20'000) + R"(,"items":[)";
  for (int i = 0; i < 25; ++i)
    body +=
        R"({"sku":)" + std::to_string(number % 20'000 * 31 + i) + R"(,"name":"copper kettle"},)";
  out.response = RecordedResponse{.status = number % 50 == 0 ? 503 : 200,
                                  .reason = "OK",
                                  .version = "HTTP/1.1",
                                  .fields = {{"Content-Type", "application/json"}},
                                  .body = body + "{}]}"};
  return out;
}

class BigRecording : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = ::testing::TempDir() + "big-XXXXXX";
    folder() = mkdtemp(pattern.data());
    auto writer = RecordingWriter::create(path(), {}).value();
    for (int i = 0; i < kExchanges; ++i)
      writer.add(exchange(i)).value();
    writer
        .add(RecordedConnection{.connection = 1,
                                .client = "10.0.0.1:5000",
                                .server = "10.0.0.2:80",
                                .closed = UnixTime{1'700'000'900'000'000'000},
                                .closed_by = "server",
                                .how = "fin",
                                .idle_before_close = std::chrono::seconds(60)})
        .value();
    writer.add(RecordedLoss{UnixTime{1}, 1, "response", "gap", 12}).value();
    writer.finish(std::vector<LedgerLine>{{"packets", 10, 1000, "seen"}}).value();
  }

  static void TearDownTestSuite() { fs::remove_all(folder()); }

  static fs::path& folder() {
    static fs::path folder;
    return folder;
  }

  static std::string path() { return folder() / "t.db"; }

  // All rows of the first column, one a line.
  static std::string rows_of(const std::string& sql, int column = 0) {
    const auto database = Database::open(path(), Database::Mode::read).value();
    auto rows = database.prepare(sql);
    if (!rows) return "error: " + rows.error().message;
    std::string all;
    for (;;) {
      auto row = rows->step();
      if (!row) return "error: " + row.error().message;
      if (!*row) return all;
      all += rows->text(column) + "\n";
    }
  }

  static std::string plan_of(const std::string& sql) {
    return rows_of("EXPLAIN QUERY PLAN " + sql, 3);
  }
};

// The statements of the indented blocks.
std::vector<std::string> statements_of(const fs::path& document) {
  std::ifstream file(document);
  std::vector<std::string> statements;
  std::string current;
  for (std::string line; std::getline(file, line);) {
    const bool begins = current.empty() && line.starts_with("    SELECT");
    if (!begins && current.empty()) continue;
    current += line + "\n";
    if (!line.ends_with(';')) continue;
    statements.push_back(current);
    current.clear();
  }
  return statements;
}

TEST_F(BigRecording, TheQueriesOfTheDocumentGiveRows) {
  const auto statements = statements_of(fs::path(GD_SOURCE_DIR) / "replay" / "RECORDING.md");
  EXPECT_GE(statements.size(), 10U);
  for (const std::string& sql : statements) {
    const std::string rows = rows_of(sql);
    EXPECT_THAT(rows, Not(HasSubstr("error:"))) << sql;
    const bool may_be_empty = sql.find("server_fin_acked") != std::string::npos;
    EXPECT_TRUE(may_be_empty || !rows.empty()) << sql;
  }
}

TEST_F(BigRecording, WhatIsLookedUpIsFoundByAnIndex) {
  for (const auto where : {"id = 17", "connection = 17", "at_ns = 17", "at_ns BETWEEN 1 AND 2"}) {
    const std::string plan = plan_of(std::string("SELECT * FROM exchanges WHERE ") + where);
    EXPECT_THAT(plan, HasSubstr("SEARCH e ")) << where;
    EXPECT_THAT(plan, Not(HasSubstr("SCAN"))) << where;
  }
  EXPECT_THAT(plan_of("SELECT * FROM exchanges ORDER BY at_ns, id"), Not(HasSubstr("TEMP B-TREE")));
  EXPECT_THAT(plan_of("SELECT * FROM connections"), HasSubstr("SEARCH e "));
}

TEST_F(BigRecording, AnyExchangeIsFound) {
  const auto recording = Recording::open(path()).value();
  for (const int number : {0, 29'999, 12'345, 1, 20'000}) {
    const auto found = recording.find(number + 1).value();
    ASSERT_TRUE(found) << number;
    EXPECT_EQ(found->response->body, exchange(number).response->body) << number;
  }
}

long resident_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_F(BigRecording, ReadingHoldsOneExchangeAtATime) {
  if (gatedrill::testing::kSanitized) GTEST_SKIP() << "memory is kept back under a sanitizer";
  const pid_t child = fork();
  if (child == 0) {
    const auto recording = Recording::open(path()).value();
    int seen = 0;
    long begun = 0;
    recording
        .for_each([&](const RecordedExchange&) {
          if (++seen == 100) begun = resident_kilobytes();
          return true;
        })
        .value();
    constexpr long kGrowthMax = 8 * 1024;
    const bool bounded = resident_kilobytes() - begun < kGrowthMax;
    _exit(seen == kExchanges && bounded ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace gatedrill::replay
