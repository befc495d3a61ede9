// `gatedrill origin`: simulated backends by themselves.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"

namespace CLI {
class App;
}

namespace gatedrill::scenarios {

using SinkFactory = std::function<Result<std::unique_ptr<EventSink>>(const std::string& path)>;

// `sinks` opens run.db for -o. exit_status: 0 stopped by a signal, 2 a wrong configuration, 3 a
// port in use, a recording that cannot be read and the like.
void add_origin_command(CLI::App& app, SinkFactory sinks, int& exit_status);

}  // namespace gatedrill::scenarios
