// `gatedrill chaos`: links with faults in front of anything.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"

namespace CLI {
class App;
}

namespace gatedrill::chaos {

using SinkFactory = std::function<Result<std::unique_ptr<EventSink>>(const std::string& path)>;

// `sinks` opens run.db for -o. exit_status: 0 stopped by a signal, 2 a wrong configuration, 3 a
// port in use and the like.
void add_chaos_command(CLI::App& app, SinkFactory sinks, int& exit_status);

}  // namespace gatedrill::chaos
