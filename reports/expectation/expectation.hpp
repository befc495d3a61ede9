// Judging a finished run: what was expected of whom, and whether it held.
//
//   expectations ─► parse ─► SQL on run.db, per gateway and phase ─► verdicts ─► view `verdicts`
//
// No data is never a pass: such a verdict has no `passed` and counts as failed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"

namespace gatedrill::reports {

struct Expectation {
  std::string name;                   // empty: the text
  std::string text;                   // see expression.hpp
  std::vector<std::string> gateways;  // whom it is expected of; empty: all of the run
};

struct Verdict {
  std::string name;
  std::string gateway;  // empty for a query that is not about one
  std::string expression;
  std::string actual;          // "12", "83.3 % (10 of 12)", "187 ms", "no data"
  std::optional<bool> passed;  // nothing: no data
  std::string note;            // where the figure comes from, if that needs saying

  bool operator==(const Verdict&) const = default;
};

struct Judgement {
  bool valid = false;                        // the run is evidence
  std::vector<std::string> invalid_because;  // why not
  std::vector<Verdict> verdicts;

  // 0 all held, 1 one did not or had no data, 4 the run is no valid evidence.
  [[nodiscard]] int exit_status() const;
};

// Evaluates the expectations on a finished run.db and writes its `verdicts`, in place of earlier
// ones. Fails (usage) on a text that is no expectation, before anything is written.
Result<Judgement> judge(const std::string& path, std::span<const Expectation> expectations);

// What an earlier judge() wrote.
Result<Judgement> read_judgement(const std::string& path);

}  // namespace gatedrill::reports
