// `gatedrill gateway`: the gateway alone, as one would deploy it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gateway/config/gateway_config.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "gateway/core/traffic_tap.hpp"

namespace CLI {
class App;
}

namespace gatedrill::gateway {

// One of `keep_one_ok_in` ok requests keeps its rows.
using SamplingSinkFactory = std::function<Result<std::unique_ptr<EventSink>>(
    const std::string& path, std::uint32_t keep_one_ok_in)>;

// Records the traffic of a gateway with so many shards.
using TrafficRecorderFactory = std::function<Result<std::unique_ptr<TrafficRecorder>>(
    const RecordConfig& config, std::size_t shards, const Clock& clock)>;

struct TrafficRecording {
  TrafficRecorderFactory open;
  // The options that say what it hides.
  std::function<void(CLI::App& command, RedactionConfig& redaction)> add_options;
};

// `sinks` opens run.db for -o, `recording` is for --record. exit_status: 0 stopped by a
// signal, 2 a wrong configuration, 3 a port in use and the like, 4 a recording with holes.
void add_gateway_command(CLI::App& app,
                         SamplingSinkFactory sinks,
                         TrafficRecording recording,
                         int& exit_status);

}  // namespace gatedrill::gateway
