// The commands `import` and `export`.
#pragma once

namespace CLI {
class App;
}

namespace gatedrill::replay {

// `gatedrill import FORMAT FILE... -o traffic.db`
void add_import_command(CLI::App& app, int& exit_status);

// `gatedrill export traffic.db --format FORMAT [-o FILE]`
void add_export_command(CLI::App& app, int& exit_status);

}  // namespace gatedrill::replay
