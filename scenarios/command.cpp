#include "scenarios/command.hpp"

#include <cstdlib>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "reports/command.hpp"
#include "scenarios/run/runner.hpp"

namespace gatedrill::scenarios {
namespace {

struct RunArguments {
  RunOptions options;
  std::uint64_t seed = 0;
  std::string durations;
};

int run(const RunOptions& options) {
  const auto result = run_scenario(options);
  if (!result) {
    std::cerr << "gatedrill run: " << result.error().message << "\n";
    return exit_status(result.error().code);
  }
  reports::ReportOptions report;
  report.runs = {result->run_db};
  report.html = options.out + "/report.html";
  report.junit = options.out + "/junit.xml";
  report.color = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  const int status = reports::report_runs(report, std::cout, std::cerr);
  std::cout << "report: " << report.html << "\n";
  return status;
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_status) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Play a scenario against every variant and judge its expectations");
  command->footer(
      "Leaves DIR/run.db, DIR/report.html and DIR/junit.xml. Exit status: 0 every expectation\n"
      "held, 1 one did not, 2 wrong usage or file, 3 something outside failed, 4 no valid\n"
      "evidence.\n\n"
      "Example: gatedrill run scenarios/drills/inc-1-rolling-upgrade.yaml --out drill-out");
  command->add_option("scenario", arguments->options.scenario, "The scenario file")
      ->required()
      ->type_name("SCENARIO.yaml");
  command->add_option("--out", arguments->options.out, "Directory for what it leaves")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_flag("--simulate", arguments->options.simulate,
                    "Play it in virtual time, with the same policies");
  CLI::Option* seed = command->add_option("--seed", arguments->seed, "Instead of the file's seed");
  CLI::Option* durations =
      command
          ->add_option("--durations", arguments->durations,
                       "live: those of the file's section `live` (default for a live play);\n"
                       "incident: the file's own (default with --simulate)")
          ->check(CLI::IsMember({"live", "incident"}));
  command->add_option("--set", arguments->options.assignments, "Override a value of the file")
      ->type_name("key=value");
  command->callback([arguments, seed, durations, &exit_status] {
    RunOptions options = arguments->options;
    if (seed->count() > 0) options.seed = arguments->seed;
    if (durations->count() > 0) {
      options.durations = arguments->durations == "live" ? Durations::live : Durations::incident;
    }
    exit_status = run(options);
  });
}

}  // namespace gatedrill::scenarios
