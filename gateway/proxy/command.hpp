// `gatedrill gateway`: the gateway alone, as one would deploy it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"

namespace CLI {
class App;
}

namespace gatedrill::gateway {

// One of `keep_one_ok_in` ok requests keeps its rows.
using SamplingSinkFactory = std::function<Result<std::unique_ptr<EventSink>>(
    const std::string& path, std::uint32_t keep_one_ok_in)>;

// `sinks` opens run.db for -o. exit_status: 0 stopped by a signal, 2 a wrong configuration, 3 a
// port in use and the like.
void add_gateway_command(CLI::App& app, SamplingSinkFactory sinks, int& exit_status);

}  // namespace gatedrill::gateway
