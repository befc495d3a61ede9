// `gatedrill import` and `gatedrill export` as their users meet them: files, wrong files, exit
// codes.
#include "replay/formats/format_commands.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "replay/recording.hpp"
#include "tests/support/imported.hpp"
#include "tests/support/run_command.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSeparator = "\n\xF0\x9F\x90\xB5\xF0\x9F\x99\x88\xF0\x9F\x99\x89\n";
const std::string kGor =
    "1 ab 1700000000000000000 0\nPOST /login?token=t0psecret HTTP/1.1\r\nHost: shop\r\n"
    "Cookie: sid=c00kie\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    "Content-Length: 25\r\n\r\nuser=ann&password=hunter2" +
    kSeparator + "2 ab 1700000000010000000 0\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" +
    kSeparator;

class FormatCommandsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  // The exit status; what was printed is in `out` and `err`.
  int run(const std::vector<std::string>& arguments) {
    testing::CommandRun done = testing::run_command(arguments, [](CLI::App& app, int& status) {
      add_import_command(app, status);
      add_export_command(app, status);
    });
    out = std::move(done.out);
    err = std::move(done.err);
    return done.status;
  }

  int import(const std::string& format, const std::string& file) {
    return run({"import", format, path(file), "-o", path("t.db")});
  }

  [[nodiscard]] std::string bytes_of(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  [[nodiscard]] std::vector<LedgerLine> ledger_of(const std::string& name) const {
    const auto recording = Recording::open(path(name));
    return recording ? recording->ledger().value() : std::vector<LedgerLine>{};
  }

  [[nodiscard]] bool nothing_left() const {
    for (const auto& entry : fs::directory_iterator(folder_ / "")) {
      if (entry.path().filename().string().starts_with("t.db")) return false;
    }
    return true;
  }

  tests::Folder folder_;
  std::string out;
  std::string err;
};

TEST_F(FormatCommandsTest, JsonLinesBringARecordingBackWithItsOwnAccount) {
  write("a.gor", kGor);
  ASSERT_EQ(import("gor", "a.gor"), 0) << err;
  const auto made = ledger_of("t.db");
  ASSERT_EQ(run({"export", path("t.db"), "--format", "jsonl", "-o", path("a.jsonl")}), 0) << err;
  ASSERT_EQ(run({"import", "jsonl", path("a.jsonl"), "-o", path("b.db")}), 0) << err;
  EXPECT_EQ(ledger_of("b.db"), made);
  ASSERT_EQ(run({"export", path("b.db"), "--format", "jsonl", "-o", path("b.jsonl")}), 0) << err;
  EXPECT_EQ(bytes_of("b.jsonl"), bytes_of("a.jsonl"));
}

TEST_F(FormatCommandsTest, ConnectionsWithoutANumberStayApartWhereRecordingsAreMerged) {
  for (const std::string name : {"a", "b"}) {
    write(
        name + ".jsonl",
        R"({"type":"connection","connection":1000000000001,"client":"10.0.0.1:9","server":"s)" +
            name +
            ":80\"}\n"
            R"({"type":"exchange","at_ns":9,"connection":1000000000001,"response":{"status":503}})"
            "\n"
            R"({"type":"exchange","at_ns":9,"response":{"status":504}})");
  }
  ASSERT_EQ(run({"import", "jsonl", path("a.jsonl"), path("b.jsonl"), "-o", path("b.db")}), 0)
      << err;
  std::map<std::int64_t, std::string> servers;
  const auto recording = Recording::open(path("b.db"));
  ASSERT_TRUE(recording->for_each([&](const RecordedExchange& exchange) {
    servers[exchange.connection] = exchange.server;
    return true;
  }));
  std::multiset<std::string> names;
  for (const auto& [connection, server] : servers)
    names.insert(server);
  EXPECT_EQ(names, (std::multiset<std::string>{"", "", "sa:80", "sb:80"}));
  write("c.jsonl", R"({"type":"connection","connection":-1,"client":"a","server":"b"})");
  EXPECT_EQ(run({"import", "jsonl", path("c.jsonl"), "-o", path("c.db")}), 2);
  EXPECT_THAT(err, HasSubstr("c.jsonl:1: \"id\" and \"connection\" have to be 0 to 2^53"));
}

TEST_F(FormatCommandsTest, RulesOfAnImportDoNotStandForThoseOfTheRecordingBefore) {
  write("a.gor", kGor);
  ASSERT_EQ(import("gor", "a.gor"), 0) << err;
  ASSERT_EQ(run({"export", path("t.db"), "--format", "jsonl", "-o", path("a.jsonl")}), 0) << err;
  ASSERT_EQ(run({"import", "jsonl", path("a.jsonl"), "--redact-param", "user", "-o", path("b.db")}),
            0)
      << err;
  const auto ledger = ledger_of("b.db");
  EXPECT_EQ(
      std::count_if(ledger.begin(), ledger.end(),
                    [](const LedgerLine& line) { return line.what == "redaction rules and key"; }),
      2);
}

TEST_F(FormatCommandsTest, RecordingsAreMergedThroughJsonLines) {
  write("a.gor", kGor);
  ASSERT_EQ(import("gor", "a.gor"), 0) << err;
  const auto made = ledger_of("t.db");
  ASSERT_EQ(run({"export", path("t.db"), "--format", "jsonl", "-o", path("a.jsonl")}), 0) << err;
  // The last has no account of its own.
  write("c.jsonl", R"({"type":"exchange","at_ns":9,"response":{"status":503}})");
  ASSERT_EQ(run({"import", "jsonl", path("a.jsonl"), path("a.jsonl"), path("c.jsonl"), "-o",
                 path("b.db")}),
            0)
      << err;
  std::map<std::string, std::uint64_t> counts;
  for (const LedgerLine& line : ledger_of("b.db")) {
    EXPECT_TRUE(counts.try_emplace(line.what, line.count).second) << line.what << " is there twice";
  }
  for (const LedgerLine& line : made) {
    // Bodies of the second are those of the first.
    if (line.what.starts_with("bodies ")) continue;
    const bool of_the_last = line.what == "answers complete";
    EXPECT_EQ(counts[line.what], 2 * line.count + (of_the_last ? 1 : 0)) << line.what;
  }
  EXPECT_EQ(counts["answers without request"], 1U);
  auto recording = Recording::open(path("b.db"));
  ASSERT_TRUE(recording);
  std::set<std::int64_t> connections;
  std::size_t exchanges = 0;
  ASSERT_TRUE(recording->for_each([&](const RecordedExchange& exchange) {
    connections.insert(exchange.connection);
    ++exchanges;
    return true;
  }));
  EXPECT_EQ(exchanges, 3U);
  EXPECT_EQ(connections.size(), 3U);
}

TEST_F(FormatCommandsTest, AFileBecomesARecordingWithItsAccount) {
  write("a.gor", kGor);
  EXPECT_EQ(import("gor", "a.gor"), 0) << err;
  EXPECT_THAT(out, HasSubstr("1 exchanges in"));
  EXPECT_THAT(out, HasSubstr("requests complete"));
  EXPECT_THAT(out, HasSubstr("files imported"));
  auto recording = Recording::open(path("t.db"));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->read_all().value().size(), 1U);
}

TEST_F(FormatCommandsTest, SecretsReachTheFileOnlyOnRequest) {
  write("a.gor", kGor);
  ASSERT_EQ(import("gor", "a.gor"), 0) << err;
  for (const char* secret : {"t0psecret", "c00kie", "hunter2"})
    EXPECT_THAT(bytes_of("t.db"), Not(HasSubstr(secret)));
  ASSERT_EQ(run({"export", path("t.db"), "-f", "gor", "-o", path("b.gor")}), 0) << err;
  EXPECT_THAT(err, HasSubstr("secrets in this traffic were replaced"));
  ASSERT_EQ(run({"import", "gor", path("a.gor"), "-o", path("t.db"), "--keep-secrets"}), 0) << err;
  EXPECT_THAT(err, HasSubstr("guard"));
  ASSERT_EQ(run({"export", path("t.db"), "-f", "gor", "-o", path("b.gor")}), 0) << err;
  EXPECT_THAT(bytes_of("b.gor"), HasSubstr("hunter2"));
  EXPECT_EQ(err, "");
}

TEST_F(FormatCommandsTest, ExportGoesToStandardOutputIfNoFileIsNamed) {
  write("a.gor", kGor);
  ASSERT_EQ(import("gor", "a.gor"), 0) << err;
  EXPECT_EQ(run({"export", path("t.db"), "--format", "har"}), 0) << err;
  EXPECT_EQ(run({"export", path("t.db"), "--format", "gor", "-o", path("b.gor.gz")}), 0) << err;
  EXPECT_EQ(bytes_of("b.gor.gz").substr(0, 2), "\x1F\x8B");
  EXPECT_EQ(import("gor", "b.gor.gz"), 0) << err;
}

TEST_F(FormatCommandsTest, ARecordingIsNotOverwrittenByItsExport) {
  write("a.gor", kGor);
  ASSERT_EQ(import("gor", "a.gor"), 0) << err;
  EXPECT_EQ(run({"export", path("t.db"), "-f", "gor", "-o", path("t.db")}), 2);
  EXPECT_THAT(err, HasSubstr("t.db: is a recording, and would be lost"));
  EXPECT_TRUE(Recording::open(path("t.db")));
  EXPECT_EQ(run({"import", "gor", path("a.gor"), "-o", path("a.gor")}), 2);
  EXPECT_THAT(err, HasSubstr("exists and is not a recording"));
}

TEST_F(FormatCommandsTest, AWrongFileIsRefusedAndLeavesNothing) {
  write("a.har", "{\"log\": {\"entries\": []}}");
  EXPECT_EQ(import("gor", "a.har"), 2);
  EXPECT_THAT(err, HasSubstr("a.har: byte 0: expected a meta line"));
  EXPECT_THAT(err, HasSubstr("gatedrill import har"));
  EXPECT_TRUE(nothing_left());
  write("a.pcap", "\xD4\xC3\xB2\xA1" + std::string(30, '\0'));
  EXPECT_EQ(import("har", "a.pcap"), 2);
  EXPECT_THAT(err, HasSubstr("gatedrill capture -r"));
  EXPECT_EQ(run({"import", "har", path("none.har"), "-o", path("t.db")}), 3);
  EXPECT_THAT(err, HasSubstr("none.har: cannot be read"));
  EXPECT_EQ(run({"import", "har", path("."), "-o", path("t.db")}), 3);
  EXPECT_THAT(err, HasSubstr("is a directory"));
}

TEST_F(FormatCommandsTest, LinesThatCannotBeReadAreNamedAndNotShown) {
  write("a.log",
        "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n"
        "GET /login?token=hunter2&password=hunter2\n");
  EXPECT_EQ(import("access-log", "a.log"), 0);
  EXPECT_THAT(err, HasSubstr("a.log:2: a line without a [time] of the combined format (41 bytes)"));
  EXPECT_THAT(err, Not(HasSubstr("hunter2")));
}

TEST_F(FormatCommandsTest, AFileWithoutExchangesIsNoEvidence) {
  write("a.har", "{\"log\": {\"entries\": []}}");
  EXPECT_EQ(import("har", "a.har"), 4);
  EXPECT_THAT(err, HasSubstr("holds no exchange; no recording was written"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(FormatCommandsTest, AWrongFormatNameSuggestsTheRightOne) {
  write("a.gor", kGor);
  EXPECT_EQ(import("gorr", "a.gor"), 2);
  EXPECT_THAT(err, HasSubstr("there is no format \"gorr\"; did you mean gor?"));
  EXPECT_EQ(import("goreplay", "a.gor"), 2);
  EXPECT_THAT(err, HasSubstr("did you mean gor (GoReplay recording"));
  EXPECT_EQ(import("pcap", "a.gor"), 2);
  EXPECT_THAT(err, HasSubstr("pcap is only written; to read it: gatedrill capture -r"));
  EXPECT_EQ(import("nginx", "a.gor"), 2);
  EXPECT_THAT(err, HasSubstr("did you mean access-log"));
  EXPECT_EQ(import("xml", "a.gor"), 2);
  EXPECT_THAT(err, HasSubstr("known here: gor, har, access-log, mitmproxy, jsonl"));
}

TEST_F(FormatCommandsTest, WhatIsLostIsShownAndStored) {
  write("a.gor", kGor + "1 ab\nnothing" + kSeparator);
  EXPECT_EQ(import("gor", "a.gor"), 0) << err;
  EXPECT_THAT(err,
              HasSubstr("a.gor: byte 288: a meta line with fewer than three fields (12 bytes)"));
  auto recording = Recording::open(path("t.db"));
  ASSERT_TRUE(recording);
  const auto losses = recording->losses().value();
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_THAT(losses[0].reason, HasSubstr("a.gor: byte 288"));
}

// A recording of GoReplay's has a file for each 32 MB, or for each 256 records.
TEST_F(FormatCommandsTest, ManyFilesAreOneRecordingHoweverFewMayBeOpen) {
  std::vector<std::string> arguments = {"import", "gor"};
  for (int i = 0; i < 200; ++i) {
    const std::string name = "a_" + std::to_string(i) + ".gor";
    write(name, kGor);
    arguments.push_back(path(name));
  }
  arguments.insert(arguments.end(), {"-o", path("t.db")});

  struct rlimit before {};

  getrlimit(RLIMIT_NOFILE, &before);
  struct rlimit few = before;
  few.rlim_cur = 64;
  setrlimit(RLIMIT_NOFILE, &few);
  EXPECT_EQ(run(arguments), 0) << err;
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(out, HasSubstr("200 exchanges in"));
}

TEST_F(FormatCommandsTest, DamagedGzipIsSaidWithItsPlace) {
  write("a.gor", kGor);
  ASSERT_EQ(import("gor", "a.gor"), 0);
  ASSERT_EQ(run({"export", path("t.db"), "-f", "gor", "-o", path("b.gor.gz")}), 0);
  const std::string whole = bytes_of("b.gor.gz");
  fs::remove(path("t.db"));
  write("cut.gor.gz", whole.substr(0, whole.size() - 12));
  EXPECT_EQ(import("gor", "cut.gor.gz"), 2);
  EXPECT_THAT(err, HasSubstr("its gzip data break off behind byte"));
  std::string bad = whole;
  bad[whole.size() - 6] = static_cast<char>(bad[whole.size() - 6] ^ 1);
  write("bad.gor.gz", bad);
  EXPECT_EQ(import("gor", "bad.gor.gz"), 2);
  EXPECT_THAT(err, HasSubstr("its gzip data are damaged"));
  EXPECT_TRUE(nothing_left());
}

}  // namespace
}  // namespace gatedrill::replay
