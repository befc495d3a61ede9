// The commands of this folder as a program of their own, for the tests that run them.
#include <CLI/CLI.hpp>

#include "replay/capture_command.hpp"

int main(int argc, char** argv) {
  CLI::App app("gatedrill");
  int status = 0;
  gatedrill::replay::add_capture_command(app, status);
  gatedrill::replay::add_traffic_command(app, status);
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  return status;
}
