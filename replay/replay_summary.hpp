// What a replay came to, as text for people and as one JSON document.
#pragma once

#include <string>

#include "replay/replay_run.hpp"
#include "replay/replay_source.hpp"

namespace gatedrill::replay {

struct ReplaySubject {
  std::string recording;
  std::string target;
  bool compare = false;  // with the recorded answers
};

[[nodiscard]] std::string summary_text(const ReplaySubject& subject,
                                       const ReplayPlan& plan,
                                       const ReplayOutcome& outcome);

[[nodiscard]] std::string summary_json(const ReplaySubject& subject,
                                       const ReplayPlan& plan,
                                       const ReplayOutcome& outcome);

// One line while it runs.
[[nodiscard]] std::string progress_line(Duration since_start, const ReplayFigures& figures);

}  // namespace gatedrill::replay
