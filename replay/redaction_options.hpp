// The options by which every command that writes a recording is told what to hide.
#pragma once

#include <string>

#include "gateway/core/result.hpp"
#include "replay/recording_writer.hpp"

namespace CLI {
class App;
}

namespace gatedrill::replay {

struct RedactionArguments {
  bool keep_secrets = false;
  bool keep_numbers = false;
  RedactionRules rules{};
  std::string key_file{};
};

// `arguments` outlives the parsing.
void add_redaction_options(CLI::App& command, RedactionArguments& arguments);

// Reads the key's file, or makes it. Fails if that cannot be, or if options contradict each other.
[[nodiscard]] Result<RecordingOptions> recording_options(const RedactionArguments& arguments);

}  // namespace gatedrill::replay
