// The traffic of a scenario: a recording (or a capture, which becomes one first), the plan of its
// replay, and the answers that simulated origins give to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/replay_source.hpp"
#include "scenarios/spec/backends.hpp"

namespace gatedrill::scenarios {

struct Traffic {
  std::shared_ptr<const replay::ReplayPlan> plan;
  std::vector<replay::RecordedExchange> exchanges;  // what the plan was made of
};

// Fails (outside) if the file cannot be read, (usage) if it is neither a recording nor a capture,
// (evidence) if it holds no request that can be replayed.
Result<Traffic> load_traffic(const TrafficSpec& spec, Duration duration);

// The books of all origins of all variants; the exchanges are read only now.
[[nodiscard]] AnswerBooks make_answer_books(const Scenario& scenario, const Traffic& traffic);

}  // namespace gatedrill::scenarios
