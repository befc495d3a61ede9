#include "replay/explain/explain_command.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "replay/command_end.hpp"
#include "replay/explain/explain.hpp"

namespace gatedrill::replay::explain {
namespace {

struct Arguments {
  std::string file;
  std::string upstream_leg;
  std::vector<std::string> timeouts;
  std::size_t examples = 2;
  std::size_t top = 5;
  bool json = false;
};

constexpr const char* kCommand = "traffic explain";

int run(const Arguments& arguments) {
  Options options;
  options.examples = arguments.examples;
  if (!arguments.upstream_leg.empty()) options.upstream_leg = arguments.upstream_leg;
  for (const std::string& text : arguments.timeouts) {
    auto timeout = parse_timeout(text);
    if (!timeout) return fail(kCommand, timeout.error());
    options.timeouts.push_back(std::move(*timeout));
  }
  auto report = explain(arguments.file, options);
  if (!report) return fail(kCommand, report.error());
  if (report->findings.exchanges() == 0) {
    if (arguments.json) std::cout << to_json(*report);
    return fail(kCommand,
                evidence_error(arguments.file + ": holds no exchange; `gatedrill traffic " +
                               arguments.file + "` says what was captured"));
  }
  std::cout << (arguments.json ? to_json(*report) : render(*report, arguments.top));
  return 0;
}

}  // namespace

CLI::App* add_explain_command(CLI::App& traffic, int& exit_status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = traffic.add_subcommand(
      "explain", "Say who broke which connection, and why the gateway answered 502 or 504");
  command->footer(
      "Examples: gatedrill traffic explain traffic.db --timeout 1s\n"
      "          gatedrill traffic explain client.db --upstream-leg upstream.db --json");
  command->add_option("file", arguments->file, "The recording, of one leg or of both")
      ->required()
      ->type_name("traffic.db");
  command
      ->add_option("--upstream-leg", arguments->upstream_leg,
                   "Another recording, made between the gateway and its upstreams")
      ->type_name("traffic.db");
  command
      ->add_option("--timeout", arguments->timeouts,
                   "A timeout of the gateway, such as 1s or route=15s; may be repeated")
      ->type_name("[NAME=]DURATION");
  command->add_option("--examples", arguments->examples,
                      "How many chains of each kind to show (they are held in memory)");
  command->add_option("--top", arguments->top,
                      "How many listeners the text shows, those with the most failures first");
  command->add_flag("--json", arguments->json, "One JSON document instead of text");
  command->callback([arguments, &exit_status] { exit_status = run(*arguments); });
  return command;
}

}  // namespace gatedrill::replay::explain
