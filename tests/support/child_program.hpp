// A program that runs beside a test: a server of someone else's, or our own binary. It is killed
// when this goes out of scope, and by the kernel if the test dies first.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gatedrill::testing {

class ChildProgram {
 public:
  // What it prints goes to the file `log`. The first argument is the program, found on the path
  // (and in /usr/sbin).
  ChildProgram(std::vector<std::string> arguments, const std::string& log);
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;
  ~ChildProgram();

  [[nodiscard]] pid_t pid() const { return pid_; }

  [[nodiscard]] bool running();
  void signal(int number);
  // Its exit status, 128 + n after signal n; nothing if it still runs after that time.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds limit);

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// Where it is on the path or in /usr/sbin; empty if it is not installed.
[[nodiscard]] std::string find_program(const std::string& name);

// True once the program itself listens there on 127.0.0.1 (another test's may have taken the port),
// false if it ends or ten seconds pass first.
[[nodiscard]] bool wait_until_listening(std::uint16_t port, ChildProgram& program);

}  // namespace gatedrill::testing
