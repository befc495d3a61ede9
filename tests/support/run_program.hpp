// Runs the built program as a user does, and keeps what it printed.
#pragma once

#include <string>

namespace gatedrill::testing {

struct ProgramRun {
  int status = -1;     // exit status; 128 + n after signal n
  std::string out;
  std::string errors;
};

// `arguments` as in a shell: quoting, redirections and environment included. `$GATEDRILL` is the
// program.
ProgramRun run_shell(const std::string& command);

// gatedrill with these arguments.
ProgramRun run_gatedrill(const std::string& arguments);

}  // namespace gatedrill::testing
