// `gatedrill replay`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"

namespace CLI {
class App;
}

namespace gatedrill::replay {

// Opens a run.db for writing; the file is finished when the sink is destroyed.
using SinkFactory = std::function<Result<std::unique_ptr<EventSink>>(const std::string& path)>;

// The callback runs the replay and sets `exit_status`, which outlives the app.
void add_replay_command(CLI::App& app, SinkFactory sinks, int& exit_status);

}  // namespace gatedrill::replay
