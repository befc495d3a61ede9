#include "replay/traffic_command.hpp"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "replay/command_end.hpp"
#include "replay/content_coding.hpp"
#include "replay/explain/explain.hpp"
#include "replay/explain/explain_command.hpp"
#include "replay/reconcile_command.hpp"
#include "replay/recording.hpp"
#include "replay/traffic_summary.hpp"

namespace gatedrill::replay {
namespace {

struct ShowArguments {
  std::string file;
  std::int64_t id = 0;
  std::string body;  // of which message, alone
  bool raw = false;
};

int run_traffic(const std::string& file, int top) {
  auto summary = summarize(file, top);
  if (!summary) return fail("traffic", summary.error());
  auto recording = Recording::open(file);
  if (!recording) return fail("traffic", recording.error());
  auto ledger = recording->ledger();
  if (!ledger) return fail("traffic", ledger.error());
  std::cout << render(*summary) << "\n" << render(*ledger);
  if (recording->finished()) return 0;
  std::cerr << "gatedrill traffic: " << file
            << ": is unfinished; its writer was ended before it was done, and what it had not "
               "saved is missing\n";
  return kNotEvidence;
}

// The bytes of one body and nothing else, for other programs.
template <class Message>
int write_body(const ShowArguments& arguments, const Message& message) {
  const std::string_view coding = value_of(message.fields, "Content-Encoding");
  if (arguments.raw || message.body.empty()) {
    std::cout << message.body;
    return 0;
  }
  const auto plain = decode_content(message.body, coding);
  if (!plain) {
    return fail("traffic show",
                evidence_error("the body cannot be decoded as " + std::string(coding) +
                               "; --raw gives it as it was sent"));
  }
  std::cout << *plain;
  return 0;
}

int show_body(const ShowArguments& arguments, const RecordedExchange& exchange) {
  if (arguments.body == "request" && exchange.request) {
    return write_body(arguments, *exchange.request);
  }
  if (arguments.body == "response" && exchange.response) {
    return write_body(arguments, *exchange.response);
  }
  return fail("traffic show", evidence_error("exchange " + std::to_string(arguments.id) +
                                             " has no " + arguments.body));
}

int run_show(const ShowArguments& arguments) {
  const std::string& file = arguments.file;
  auto recording = Recording::open(file);
  if (!recording) return fail("traffic show", recording.error());
  auto exchange = recording->find(arguments.id);
  if (!exchange) return fail("traffic show", exchange.error());
  if (!*exchange) {
    return fail("traffic show",
                usage_error(file + ": has no exchange " + std::to_string(arguments.id) +
                            "; `sqlite3 " + file + " 'SELECT id FROM exchanges'` lists them"));
  }
  if (!arguments.body.empty()) return show_body(arguments, **exchange);
  auto explained = explain::explain_one(file, **exchange);
  if (!explained) return fail("traffic show", explained.error());
  std::cout << render(**exchange);
  if (*explained) {
    std::cout << "\nchain\n" << explain::render((*explained)->chain, (*explained)->verdict);
  }
  return 0;
}

}  // namespace

void add_traffic_command(CLI::App& app, int& exit_status) {
  struct Arguments {
    std::string file;
    int top = 20;
    ShowArguments show;
  };

  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("traffic", "Say what is in a recording");
  command->footer(
      "Examples: gatedrill traffic traffic.db\n"
      "          gatedrill traffic show traffic.db 17\n"
      "          gatedrill traffic explain traffic.db\n"
      "          gatedrill traffic reconcile tap.db capture.db");
  command->add_option("file", arguments->file, "The recording")->type_name("traffic.db");
  command->add_option("--top", arguments->top, "How many lines a list has")
      ->check(CLI::Range(1, 1'000'000));
  CLI::App* show = command->add_subcommand(
      "show", "Show one exchange in full: heads, decoded bodies, connection, and its other legs");
  show->footer(
      "Examples: gatedrill traffic show traffic.db 17\n"
      "          gatedrill traffic show traffic.db 17 --body response > body.json");
  ShowArguments& shown = arguments->show;
  show->add_option("file", shown.file, "The recording")->required()->type_name("traffic.db");
  show->add_option("id", shown.id, "Its id in the view exchanges")->required();
  auto* body = show->add_option("--body", shown.body, "Only this body, decoded")
                   ->check(CLI::IsMember({"request", "response"}));
  show->add_flag("--raw", shown.raw, "Leave the body's content coding as it was sent")->needs(body);
  const CLI::App* explain = explain::add_explain_command(*command, exit_status);
  const CLI::App* reconcile = add_reconcile_command(*command, exit_status);
  command->require_subcommand(0, 1);
  command->callback([arguments, show, explain, reconcile, &exit_status] {
    if (explain->parsed() || reconcile->parsed()) return;
    if (show->parsed()) {
      exit_status = run_show(arguments->show);
    } else if (arguments->file.empty()) {
      exit_status = fail("traffic", usage_error("name a recording, such as traffic.db"));
    } else {
      exit_status = run_traffic(arguments->file, arguments->top);
    }
  });
}

}  // namespace gatedrill::replay
