// The command `traffic`: what is in a recording, one exchange in full, and who broke what.
#pragma once

namespace CLI {
class App;
}

namespace gatedrill::replay {

// `gatedrill traffic`, `traffic show`, `traffic explain`, `traffic reconcile`.
void add_traffic_command(CLI::App& app, int& exit_status);

}  // namespace gatedrill::replay
