// `gatedrill traffic explain`.
#pragma once

namespace CLI {
class App;
}

namespace gatedrill::replay::explain {

// Adds the subcommand to `traffic`; its run sets the exit status.
CLI::App* add_explain_command(CLI::App& traffic, int& exit_status);

}  // namespace gatedrill::replay::explain
