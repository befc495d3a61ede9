#include "tests/support/run_program.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace gatedrill::testing {
namespace {

std::string read_and_remove(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  ::unlink(path.c_str());
  return text.str();
}

std::string temporary_file() {
  std::string path = "/tmp/gatedrill-test-XXXXXX";
  const int fd = ::mkstemp(path.data());
  if (fd < 0) throw std::runtime_error("no temporary file");
  ::close(fd);
  return path;
}

}  // namespace

ProgramRun run_shell(const std::string& command) {
  const std::string out = temporary_file();
  const std::string errors = temporary_file();
  const std::string line = "GATEDRILL='" GD_PROGRAM "'; { " + command + "\n} >" + out + " 2>" +
                           errors + " </dev/null";
  const int status = std::system(line.c_str());  // NOLINT: the tests' own commands
  ProgramRun run;
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.out = read_and_remove(out);
  run.errors = read_and_remove(errors);
  return run;
}

ProgramRun run_gatedrill(const std::string& arguments) {
  return run_shell("\"$GATEDRILL\" " + arguments);
}

}  // namespace gatedrill::testing
