// The options by which every command that writes a recording is told what to hide.
#pragma once

#include "gateway/config/redaction_config.hpp"
#include "gateway/core/result.hpp"
#include "replay/recording_writer.hpp"

namespace CLI {
class App;
}

namespace gatedrill::replay {

// `redaction` outlives the parsing.
void add_redaction_options(CLI::App& command, gateway::RedactionConfig& redaction);

// Reads the key's file, or makes it. Fails if that cannot be, or if options contradict each other.
[[nodiscard]] Result<RecordingOptions> recording_options(const gateway::RedactionConfig& redaction);

}  // namespace gatedrill::replay
