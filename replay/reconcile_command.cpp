#include "replay/reconcile_command.hpp"

#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "replay/command_end.hpp"
#include "replay/reconcile.hpp"
#include "replay/reconcile_summary.hpp"

namespace gatedrill::replay {
namespace {

constexpr int kDiffers = 1;

struct Arguments {
  std::string a;
  std::string b;
  ReconcileOptions options;
  bool json = false;
};

int run(const Arguments& arguments) {
  const auto result = reconcile(arguments.a, arguments.b, arguments.options);
  if (!result) {
    std::cerr << "gatedrill traffic reconcile: " << result.error().message << "\n";
    return exit_status(result.error().code);
  }
  std::cout << (arguments.json ? render_json(*result) : render(*result));
  for (const ReconciledSide* side : {&result->a, &result->b}) {
    const std::string& field = arguments.options.id_field;
    if (field.empty() || side->named > 0 || side->exchanges == 0) continue;
    std::cerr << "gatedrill traffic reconcile: no request in " << side->path << " has the field '"
              << field << "' that --by names; nothing was matched by it\n";
  }
  if (result->matched == 0) {
    std::cerr << "gatedrill traffic reconcile: no exchange of one is in the other"
              << (result->a.exchanges == 0 || result->b.exchanges == 0
                      ? ": there is nothing to compare"
                      : "; are they of the same traffic?")
              << "\n";
    return kNotEvidence;
  }
  return result->equal() ? 0 : kDiffers;
}

}  // namespace

CLI::App* add_reconcile_command(CLI::App& traffic, int& exit_status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = traffic.add_subcommand(
      "reconcile", "Completeness of one recording against another of the same traffic");
  command->footer(
      "Example: gatedrill traffic reconcile tap.db wire.db --port 8080\n"
      "Exit status: 0 both hold the same, 1 they do not, 4 nothing could be compared");
  command->add_option("a", arguments->a, "A recording")->required()->type_name("A.db");
  command->add_option("b", arguments->b, "Another one")->required()->type_name("B.db");
  command->add_option("-p,--port", arguments->options.ports,
                      "Only exchanges with servers at this port; may be repeated");
  command
      ->add_option("--by", arguments->options.id_field,
                   "The request field that names it (x-request-id, x-correlation-id or "
                   "traceparent without this)")
      ->check([](const std::string& name) { return name.empty() ? "say a field's name" : ""; });
  command->add_option("--top", arguments->options.listed, "How many of each kind are listed");
  command->add_flag("--json", arguments->json, "One JSON document on stdout");
  command->callback([arguments, &exit_status] { exit_status = run(*arguments); });
  return command;
}

}  // namespace gatedrill::replay
