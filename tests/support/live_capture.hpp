// `gatedrill capture -i ...` of the built program, beside a test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/support/child_program.hpp"

namespace gatedrill::testing {

class LiveCapture {
 public:
  // Returns once it captures, or has ended: see `running`. `before` is put in front of the program,
  // as in {"env", "SUDO_UID=1000"}.
  LiveCapture(const std::string& folder,
              const std::vector<std::string>& arguments,
              const std::vector<std::string>& before = {});

  [[nodiscard]] bool running() { return program_.running(); }

  [[nodiscard]] pid_t pid() const { return program_.pid(); }

  // As Ctrl-C does; its exit status, -1 if it does not end.
  int interrupt();
  // Its exit status once it has ended by itself, -1 if it does not.
  int wait();

  // A line of /proc/PID/status, without its name.
  [[nodiscard]] std::string status_line(const std::string& name) const;

  // What it has said and printed so far.
  [[nodiscard]] std::string log() const;

  // Why nothing can be captured here; empty if it can.
  [[nodiscard]] static std::string missing_permission(const std::string& folder);

 private:
  std::string log_;
  ChildProgram program_;
};

}  // namespace gatedrill::testing
