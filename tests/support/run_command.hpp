// Runs a command of gatedrill inside the test.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace gatedrill::testing {

struct CommandRun {
  int status = 0;  // its exit status
  std::string out;
  std::string err;
};

// `add` puts the command into the app that it is given, with the place for its exit status.
template <class Add>
CommandRun run_command(const std::vector<std::string>& arguments, const Add& add) {
  CLI::App app("gatedrill");
  CommandRun run;
  add(app, run.status);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    run.status = error.get_exit_code() == 0 ? 0 : 2;
  }
  run.out = ::testing::internal::GetCapturedStdout();
  run.err = ::testing::internal::GetCapturedStderr();
  return run;
}

}  // namespace gatedrill::testing
