#include "replay/formats/format_commands.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "gateway/core/time.hpp"
#include "replay/command_end.hpp"
#include "replay/formats/formats.hpp"
#include "replay/formats/import_run.hpp"
#include "replay/formats/redaction_note.hpp"
#include "replay/recording.hpp"
#include "replay/recording_writer.hpp"
#include "replay/redaction_options.hpp"
#include "replay/traffic_summary.hpp"

namespace gatedrill::replay {
namespace {

// Set by a signal; the second signal has its usual effect and kills.
std::atomic<bool> stop_requested{false};

void request_stop(int signal) {
  stop_requested.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);
}

void say(const char* command, const std::string& text) {
  std::cerr << "gatedrill " << command << ": " << text << "\n";
}

// A line that replaces itself on a terminal; elsewhere a line every few seconds.
class ProgressLine {
 public:
  void show(std::uint64_t exchanges) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    const Duration every = terminal ? std::chrono::milliseconds(200) : std::chrono::seconds(5);
    const TimePoint now = clock_.now();
    if (now - told_ < every) return;
    told_ = now;
    std::cerr << (terminal ? "\r" : "") << exchanges << " exchanges" << (terminal ? "   " : "\n")
              << std::flush;
    open_ = terminal;
  }

  void end() {
    if (open_) std::cerr << "\n";
    open_ = false;
  }

 private:
  SteadyClock clock_;
  TimePoint told_{};
  bool open_ = false;
};

struct ImportArguments {
  std::string format;
  std::vector<std::string> files;
  gateway::RedactionConfig redaction;
  std::string output;
};

struct ExportArguments {
  std::string recording;
  std::string format;
  std::string output = "-";
};

std::string list_of_formats(formats::Direction direction) {
  std::string list;
  for (const formats::Format& format : formats::all_formats()) {
    const bool known =
        direction == formats::Direction::read ? format.read != nullptr : format.write != nullptr;
    if (!known) continue;
    list.append("  ").append(format.name);
    list.append(std::max<std::size_t>(format.name.size(), 12) - format.name.size() + 2, ' ');
    list.append(format.title).append("\n");
  }
  return list;
}

void show(const formats::ImportReport& report) {
  for (const formats::ImportLoss& loss : report.first_losses) {
    std::string text = loss.place + ": " + loss.reason;
    if (!loss.detail.empty()) text += ": " + loss.detail;
    if (loss.bytes > 0) text += " (" + std::to_string(loss.bytes) + " bytes)";
    say("import", text);
  }
  const std::uint64_t more = report.losses - report.first_losses.size();
  if (more > 0) say("import", "and " + std::to_string(more) + " more; the view losses has them");
}

int run_import(const ImportArguments& arguments) {
  auto format = formats::find_format(arguments.format, formats::Direction::read);
  if (!format) return fail("import", format.error());
  std::vector<formats::Input> inputs;
  for (const std::string& file : arguments.files) {
    auto input = formats::Input::open(file);
    if (!input) return fail("import", input.error());
    inputs.push_back(std::move(*input));
  }
  const auto writing = recording_options(arguments.redaction);
  if (!writing) return fail("import", writing.error());
  auto writer = RecordingWriter::create(arguments.output, *writing);
  if (!writer) return fail("import", writer.error());
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  if (writing->keep_secrets) {
    say("import",
        "passwords, cookies, tokens, card and phone numbers are kept as they are; guard " +
            arguments.output);
  }
  ProgressLine line;
  const auto progress = [&line](std::uint64_t exchanges) { line.show(exchanges); };
  auto report = formats::run_import(**format, inputs, std::move(*writer), stop_requested, progress);
  line.end();
  if (!report) return fail("import", report.error());
  show(*report);
  if (report->exchanges == 0) {
    say("import", inputs.front().name() + ": holds no exchange; no recording was written");
    return kNotEvidence;
  }
  std::cout << render(report->ledger) << report->exchanges << " exchanges in " << arguments.output
            << "\n";
  return 0;
}

int run_export(const ExportArguments& arguments) {
  auto format = formats::find_format(arguments.format, formats::Direction::write);
  if (!format) return fail("export", format.error());
  auto recording = Recording::open(arguments.recording);
  if (!recording) return fail("export", recording.error());
  auto redaction = formats::redaction_note(*recording);
  if (!redaction) return fail("export", redaction.error());
  if (arguments.output != "-" && is_recording(arguments.output)) {
    return fail("export", usage_error(arguments.output +
                                      ": is a recording, and would be lost; name another file"));
  }
  if (!recording->finished()) {
    say("export", arguments.recording +
                      ": is unfinished, its writer was killed: what it had saved is exported");
  }
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  auto output = formats::Output::create(arguments.output, stop_requested);
  if (!output) return fail("export", output.error());
  formats::ExportNotes notes;
  if (auto done = (*format)->write(*recording, *output, notes); !done) {
    return fail("export", done.error());
  }
  if (auto finished = output->finish(); !finished) return fail("export", finished.error());
  if (!redaction->empty()) say("export", *redaction);
  for (const std::string& line : notes.lines())
    say("export", line);
  return 0;
}

}  // namespace

void add_import_command(CLI::App& app, int& exit_status) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command =
      app.add_subcommand("import", "Make a recording from files of another program");
  command->footer("Formats:\n" + list_of_formats(formats::Direction::read) +
                  "Example: gatedrill import har checkout.har -o traffic.db");
  command->add_option("format", arguments->format, "What the files are")
      ->required()
      ->type_name("FORMAT");
  command
      ->add_option("files", arguments->files,
                   "The files, as one recording; gzip is undone; - is standard input")
      ->required()
      ->type_name("FILE");
  add_redaction_options(*command, arguments->redaction);
  command->add_option("-o,--output", arguments->output, "The recording to write")
      ->required()
      ->type_name("traffic.db");
  command->callback([arguments, &exit_status] { exit_status = run_import(*arguments); });
}

void add_export_command(CLI::App& app, int& exit_status) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand("export", "Write a recording for another program");
  command->footer("Formats:\n" + list_of_formats(formats::Direction::write) +
                  "Example: gatedrill export traffic.db --format gor -o traffic.gor");
  command->add_option("recording", arguments->recording, "The recording")
      ->required()
      ->type_name("traffic.db");
  command->add_option("-f,--format", arguments->format, "What to write")
      ->required()
      ->type_name("FORMAT");
  command
      ->add_option("-o,--output", arguments->output,
                   "The file to write, packed if its name ends in .gz; standard output if not "
                   "given")
      ->type_name("FILE");
  command->callback([arguments, &exit_status] { exit_status = run_export(*arguments); });
}

}  // namespace gatedrill::replay
