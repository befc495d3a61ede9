// Plays a scenario: every variant, live or in virtual time, into one run.db; then judges it and
// writes the reports.
//
//   scenario file ─► Scenario ─┐                    ┌─► live world (a thread each) ─┐
//   recording ─► plan, answers ┴─► for each variant ┤                               ├─► run.db
//                                                   └─► simulated world ────────────┘     │
//   report.html, junit.xml, the verdict on the terminal ◄── judge ◄───────────────────────┘
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "reports/expectation/expectation.hpp"
#include "scenarios/spec/scenario_reader.hpp"

namespace gatedrill::scenarios {

struct RunOptions {
  std::string scenario;           // the file
  std::string out = "drill-out";  // a directory; made if it is missing
  bool simulate = false;
  std::optional<Durations> durations;  // default: live for a live play, incident for a simulation
  std::optional<std::uint64_t> seed;
  std::vector<std::string> assignments;  // --set
};

struct RunResult {
  reports::Judgement judgement;
  std::string run_db;
};

// Progress goes to stderr. SIGINT and SIGTERM end a live play early, with a whole report that says
// so. Fails (usage) with every problem of the file, one a line; (outside) if something is in the
// way; (evidence) if the run cannot be one.
Result<RunResult> run_scenario(const RunOptions& options);

}  // namespace gatedrill::scenarios
