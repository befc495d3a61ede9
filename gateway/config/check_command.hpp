// `gatedrill check FILE...`: every problem of every file, or one line of what was understood.
#pragma once

#include <string>
#include <vector>

#include "gateway/config/file_check.hpp"

namespace CLI {
class App;
}

namespace gatedrill::gateway {

// `kinds` of files it understands, the default one first. exit_status: 0 all fine, 2 problems were
// found, 3 a file could not be read.
void add_check_command(CLI::App& app, std::vector<FileKind> kinds, int& exit_status);

}  // namespace gatedrill::gateway
