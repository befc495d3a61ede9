// A whole replay of one plan to one target, as the `replay` command does it: reaches the target
// first, plays, shows progress, ends early on Ctrl-C, and tells what differed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "gateway/net/http_client.hpp"
#include "replay/replay_driver.hpp"
#include "replay/replay_source.hpp"

namespace gatedrill::replay {

struct ReplayRunOptions {
  gateway::HttpPeer target;
  std::string name;  // the target's name in run.db
  Duration timeout = std::chrono::seconds{30};
  Duration late_bound = std::chrono::milliseconds{50};
  Duration progress_every = std::chrono::seconds{1};
};

struct ReplayOutcome {
  ReplayFigures figures;
  Duration took{0};
  // Why it is no valid evidence; empty when it is. The sink was then told what is missing (a
  // Dropped event), so that the run says so as well.
  std::string invalid;
  bool interrupted = false;
  std::vector<SendDone> differing;  // the first ones
};

// Called now and then while the replay runs.
using ReplayProgress = std::function<void(Duration since_start, const ReplayFigures& figures)>;

// Opens what the events go to; called once the target was reached, so that nothing is left behind
// where nothing was replayed.
using OpenSink = std::function<Result<std::unique_ptr<EventSink>>()>;

// Fails (outside) if nothing answers at the target's address. Takes over SIGINT and SIGTERM while
// it runs: the first one stops sending, a second one kills.
Result<ReplayOutcome> run_replay(std::shared_ptr<const ReplayPlan> plan,
                                 const ReplayRunOptions& options,
                                 const OpenSink& open_sink,
                                 const ReplayProgress& progress);

}  // namespace gatedrill::replay
