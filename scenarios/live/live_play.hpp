// All variants of a scenario, live and at the same time: each a world on a thread of its own.
#pragma once

#include <string>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "reports/event_store.hpp"
#include "scenarios/spec/backends.hpp"
#include "scenarios/spec/traffic.hpp"

namespace gatedrill::scenarios {

struct LivePlay {
  const Scenario* scenario = nullptr;
  const Traffic* traffic = nullptr;
  const AnswerBooks* answers = nullptr;
  EventSink* sink = nullptr;
  reports::EventStore* store = nullptr;  // for facts of the run, and what makes it invalid
  std::string directory;                 // external gateways keep their files below it
};

// Returns when every send has ended, or early after SIGINT or SIGTERM. Fails (outside) if a world
// cannot be set up; nothing is played then.
Result<void> play_live(const LivePlay& play);

}  // namespace gatedrill::scenarios
