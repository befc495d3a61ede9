// `gatedrill traffic reconcile`.
#pragma once

namespace CLI {
class App;
}

namespace gatedrill::replay {

// Adds it to `traffic`. exit_status: 0 both hold the same, 1 they do not, 4 nothing could be
// compared.
CLI::App* add_reconcile_command(CLI::App& traffic, int& exit_status);

}  // namespace gatedrill::replay
