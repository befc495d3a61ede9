// The command `capture`.
#pragma once

namespace CLI {
class App;
}

namespace gatedrill::replay {

// `gatedrill capture`: HTTP from an interface or a capture file into a recording.
void add_capture_command(CLI::App& app, int& exit_status);

}  // namespace gatedrill::replay
