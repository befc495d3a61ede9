// An incident played on real sockets and captured from outside: `traffic explain` must count what
// run.db counts, and name the incident.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/child_program.hpp"
#include "tests/support/run_db.hpp"
#include "tests/support/run_program.hpp"

namespace gatedrill::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the clients of one gateway saw.
struct Seen {
  std::int64_t requests = 0;
  std::int64_t bad_gateway = 0;
  std::int64_t timeouts = 0;

  auto operator<=>(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.requests << " requests, " << seen.bad_gateway << " 502, " << seen.timeouts
             << " 504";
}

Seen seen_in_run(const std::string& run_db, const std::string& gateway) {
  const auto rows = query(run_db,
                          "select count(*), total(status = 502), total(status = 504) from sends "
                          "where gateway = '" +
                              gateway + "'");
  return {std::stoll(rows[0][0]), std::stoll(rows[0][1]), std::stoll(rows[0][2])};
}

std::int64_t count(const json& listener, const std::string& answer) {
  std::int64_t sum = 0;
  for (const json& failure : listener["failures"]) {
    if (failure["answer"] == answer) sum += failure["count"].get<std::int64_t>();
  }
  return sum;
}

Seen seen_in_capture(const json& listener) {
  return {listener["requests"].get<std::int64_t>(), count(listener, "502"), count(listener, "504")};
}

using Causes = std::map<std::string, std::int64_t>;  // "502 stale_reuse"

Causes causes_in_run(const std::string& run_db, const std::string& gateway) {
  Causes causes;
  for (const auto& row :
       query(run_db,
             "select status || ' ' || cause, count(*) from requests where status >= 500 and "
             "gateway = '" +
                 gateway + "' group by 1")) {
    causes[row[0]] = std::stoll(row[1]);
  }
  return causes;
}

Causes causes_in_capture(const json& listener) {
  Causes causes;
  for (const json& failure : listener["failures"]) {
    const json& cause = failure["cause"];
    causes[failure["answer"].get<std::string>() + " " +
           (cause.is_null() ? "open" : cause.get<std::string>())] =
        failure["count"].get<std::int64_t>();
  }
  return causes;
}

// Nothing has another cause than the gateway gave it. What the packets do not show may stay open,
// and that is seldom.
void expect_causes(const Causes& captured, const Causes& run) {
  constexpr std::int64_t kOpenMax = 2;
  std::int64_t open = 0;
  std::int64_t in_all = 0;
  for (const auto& [cause, count] : captured) {
    in_all += count;
    const auto told = run.find(cause);
    if (cause.ends_with(" open")) {
      open += count;
    } else {
      EXPECT_LE(count, told == run.end() ? 0 : told->second) << cause;
    }
  }
  EXPECT_LE(open, kOpenMax) << ::testing::PrintToString(captured);
  for (const auto& [cause, count] : run)
    in_all -= count;
  EXPECT_EQ(in_all, 0);
}

class ExplainedUpgrade : public ::testing::Test {
 protected:
  ExplainedUpgrade() {
    std::string pattern = ::testing::TempDir() + "explained-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  ~ExplainedUpgrade() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  // Plays the scenario while everything on loopback is captured. Says why not, if it cannot be.
  std::string play_and_capture() {
    if (find_program("nginx").empty()) return "nginx is not installed";
    ChildProgram capture(
        {GD_PROGRAM, "capture", "-i", "lo", "--include-replays", "-o", path("traffic.db")},
        path("capture.log"));
    for (int i = 0; i < 100 && read_file(path("capture.log")).empty(); ++i)
      std::this_thread::sleep_for(milliseconds(50));
    if (read_file(path("capture.log")).find("capturing on") == std::string::npos) {
      return "no permission to capture: " + read_file(path("capture.log"));
    }
    const ProgramRun run = run_gatedrill("run " + std::string(GD_SOURCE_DIR) +
                                         "/tests/e2e/explained_upgrade.yaml --out " + path("out"));
    // 4: a busy machine sent too late. What was captured is as good.
    EXPECT_TRUE(run.status == 0 || run.status == 4) << run.out << run.errors;
    std::this_thread::sleep_for(milliseconds(300));
    capture.signal(SIGINT);
    const auto ended = capture.wait(std::chrono::seconds(60));
    if (ended != 0) return "the capture was not whole: " + read_file(path("capture.log"));
    return {};
  }

  fs::path folder_;
};

TEST_F(ExplainedUpgrade, TheCaptureTellsWhatTheRunRecordedAndNamesTheIncident) {
  if (const std::string why_not = play_and_capture(); !why_not.empty()) GTEST_SKIP() << why_not;
  const ProgramRun explained =
      run_gatedrill("traffic explain " + path("traffic.db") + " --json --timeout response=1s");
  ASSERT_EQ(explained.status, 0) << explained.errors;
  const json report = json::parse(explained.out);
  const std::string run_db = path("out/run.db");
  for (const std::string gateway : {"as_was", "nginx_as_was"}) {
    SCOPED_TRACE(gateway);
    const Seen expected = seen_in_run(run_db, gateway);
    ASSERT_GT(expected.timeouts, 20) << expected;
    json found;
    std::vector<Seen> others;
    for (const json& listener : report["listeners"]) {
      others.push_back(seen_in_capture(listener));
      if (others.back() == expected) found = listener;
    }
    ASSERT_FALSE(found.is_null()) << expected << "; the capture shows "
                                  << ::testing::PrintToString(others);
    bool named = false;
    for (const json& like : report["incidents"]) {
      named = named || (like["incident"] == "INC-1" && like["listener"] == found["listener"]);
    }
    EXPECT_TRUE(named);
    if (gateway != "as_was") continue;  // another gateway's causes are nowhere written down
    expect_causes(causes_in_capture(found), causes_in_run(run_db, gateway));
  }
}

}  // namespace
}  // namespace gatedrill::testing
