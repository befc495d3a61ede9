// One variant of a scenario, played in virtual time from start to end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "replay/replay_source.hpp"
#include "scenarios/spec/backends.hpp"

namespace gatedrill::scenarios {

struct SimOrder {
  const Variant* variant = nullptr;
  std::shared_ptr<const replay::ReplayPlan> traffic;
  const AnswerBooks* answers = nullptr;
  std::uint64_t seed = 1;
  Duration duration{0};
  EventSink* sink = nullptr;
};

// Fails (usage) if the faults make no sense, (evidence) if one cannot be simulated or the gateway
// is an external one.
Result<void> simulate(const SimOrder& order);

}  // namespace gatedrill::scenarios
