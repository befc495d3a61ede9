// One binary: every command of every folder.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "chaos/chaos_config.hpp"
#include "chaos/command.hpp"
#include "gateway/config/check_command.hpp"
#include "gateway/proxy/command.hpp"
#include "replay/capture_command.hpp"
#include "replay/formats/format_commands.hpp"
#include "replay/redaction_options.hpp"
#include "replay/replay_command.hpp"
#include "replay/tap/gateway_recorder.hpp"
#include "replay/traffic_command.hpp"
#include "reports/command.hpp"
#include "reports/queued_sink.hpp"
#include "scenarios/command.hpp"
#include "scenarios/origin/origin_command.hpp"
#include "scenarios/origin/origin_config.hpp"
#include "scenarios/spec/scenario_check.hpp"
#include "scenarios/version.hpp"

namespace {

// What was printed may not have arrived: the disk behind standard output may be full. A reader that
// had enough (`| head`) is no failure.
int flush_output() {
  errno = 0;
  if (std::cout.flush() || errno == EPIPE) return 0;
  std::cerr << "gatedrill: standard output cannot be written"
            << (errno != 0 ? std::string(": ") + std::strerror(errno) : "") << "\n";
  return gatedrill::exit_status(gatedrill::ErrorCode::outside);
}

int run(int argc, char** argv) {
  // A file that may not grow any more is an error like a full disk, and said so.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app{"gatedrill: a workbench for people who run API gateways", "gatedrill"};
  app.set_version_flag("--version", "gatedrill " + std::string(gatedrill::kVersion));
  app.require_subcommand(1);
  app.footer("Example: gatedrill run scenarios/drills/inc-1-rolling-upgrade.yaml");
  int exit_status = 0;
  gatedrill::reports::SinkFailures sink_failures;
  sink_failures.on_early_failure = [](const gatedrill::Error& error) {
    std::cerr << "gatedrill: " << error.message
              << ": nothing more is recorded there; all else goes on\n";
  };
  const auto sinks =
      gatedrill::reports::sink_factory(sink_failures, std::string(gatedrill::kVersion));
  const auto sampling_sinks = [&](const std::string& path, std::uint32_t keep_one_ok_in) {
    gatedrill::reports::RowQueue::Config queue;
    queue.keep_one_ok_in = keep_one_ok_in;
    return gatedrill::reports::sink_factory(sink_failures, std::string(gatedrill::kVersion),
                                            queue)(path);
  };
  gatedrill::scenarios::add_run_command(app, exit_status);
  gatedrill::gateway::add_gateway_command(
      app, sampling_sinks,
      {gatedrill::replay::record_gateway, gatedrill::replay::add_redaction_options}, exit_status);
  gatedrill::replay::add_capture_command(app, exit_status);
  gatedrill::replay::add_import_command(app, exit_status);
  gatedrill::replay::add_export_command(app, exit_status);
  gatedrill::replay::add_traffic_command(app, exit_status);
  gatedrill::replay::add_replay_command(app, sinks, exit_status);
  gatedrill::chaos::add_chaos_command(app, sinks, exit_status);
  gatedrill::scenarios::add_origin_command(app, sinks, exit_status);
  gatedrill::reports::add_report_command(app, exit_status);
  gatedrill::gateway::add_check_command(
      app,
      {gatedrill::gateway::gateway_file_kind(), gatedrill::scenarios::scenario_file_kind(),
       gatedrill::chaos::chaos_file_kind(), gatedrill::scenarios::origin_file_kind()},
      exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version end here as well, with 0.
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const gatedrill::Error& error : sink_failures.all()) {
    std::cerr << "gatedrill: " << error.message << "\n";
    if (exit_status == 0) exit_status = gatedrill::exit_status(error.code);
  }
  return exit_status == 0 ? flush_output() : exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "gatedrill: internal error: " << error.what() << "\n";
  } catch (...) {
    std::cerr << "gatedrill: internal error\n";
  }
  return 3;
}
