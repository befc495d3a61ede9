// `gatedrill run`.
#pragma once

namespace CLI {
class App;
}

namespace gatedrill::scenarios {

void add_run_command(CLI::App& app, int& exit_status);

}  // namespace gatedrill::scenarios
