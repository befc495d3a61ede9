#include "replay/capture_command.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "gateway/config/units.hpp"
#include "gateway/core/time.hpp"
#include "replay/capture/packet_source.hpp"
#include "replay/capture/port_filter.hpp"
#include "replay/capture/privileges.hpp"
#include "replay/capture/queued_source.hpp"
#include "replay/capture/record.hpp"
#include "replay/capture/recording_files.hpp"
#include "replay/capture/tls_key_log.hpp"
#include "replay/capture_outcome.hpp"
#include "replay/command_end.hpp"
#include "replay/redaction_options.hpp"

namespace gatedrill::replay {
namespace {

// Set by a signal; the second signal has its usual effect and kills.
std::atomic<bool> stop_requested{false};

void request_stop(int signal) {
  stop_requested.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);
}

// Also where the terminal goes away, unless somebody said that it may (nohup).
void stop_on_signals() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  if (std::signal(SIGHUP, request_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

struct CaptureArguments {
  std::vector<std::string> interfaces;
  std::string file;
  capture::LiveOptions live;  // its filter and ports hold for files too
  std::string user;
  std::string key_log;
  capture::Rotation rotation;
  capture::RecordOptions record;
  bool include_replays = false;
  gateway::RedactionConfig redaction;
  double loss_share_max = 0.01;
  std::string output;

  [[nodiscard]] bool is_live() const { return !interfaces.empty(); }

  [[nodiscard]] std::string source() const {
    if (!is_live()) return file;
    std::string names;
    for (const std::string& interface : interfaces)
      names += (names.empty() ? "" : ", ") + interface;
    return names;
  }
};

void say(const std::string& text) {
  std::cerr << "gatedrill capture: " << text << "\n";
}

// Opens the interfaces, gives up what only that needed, and then begins to read.
Result<std::unique_ptr<capture::PacketSource>> open_live(const CaptureArguments& arguments) {
  std::vector<std::unique_ptr<capture::PacketSource>> sources;
  for (const std::string& name : arguments.interfaces) {
    auto source = capture::open_interface(name, arguments.live);
    if (!source) return source.error();
    sources.push_back(std::move(*source));
  }
  std::string folder = std::filesystem::path(arguments.output).parent_path().string();
  if (folder.empty()) folder = ".";
  const auto dropped = capture::drop_privileges(arguments.user, folder);
  if (!dropped) return dropped.error();
  say("capturing on " + arguments.source() + " as " + dropped->user +
      ", without capabilities; Ctrl-C ends it");
  if (dropped->still_root) {
    say("it stays root, since nobody else may write into " + folder +
        "; --user NAME makes it somebody else");
  }
  if (arguments.live.filter.empty() && !arguments.live.ports.empty()) {
    say("the kernel lets through " + capture::port_filter_text(arguments.live.ports));
  }
  return std::unique_ptr<capture::PacketSource>(
      std::make_unique<capture::QueuedSource>(std::move(sources), arguments.live.buffer_bytes));
}

int run_capture(CaptureArguments& arguments) {
  stop_on_signals();
  // Before privileges go: the key of the pseudonyms may be a file that only this user reads.
  const auto writing = recording_options(arguments.redaction);
  if (!writing) return fail("capture", writing.error());
  std::optional<capture::KeyLogFile> key_log;
  if (!arguments.key_log.empty()) {
    key_log.emplace(arguments.key_log);
    arguments.record.key_log = &*key_log;
    // Before, too.
    const auto there = key_log->open();
    if (!there) return fail("capture", there.error());
    if (!*there && arguments.is_live()) {
      say(arguments.key_log + " is not there yet; it is read once it is, without root's rights");
    }
  }
  auto source = arguments.is_live() ? open_live(arguments)
                                    : capture::open_file(arguments.file, arguments.live.filter);
  if (!source) return fail("capture", source.error());
  const SteadyClock clock;
  auto files = capture::RecordingFiles::create(arguments.output, *writing, arguments.rotation,
                                               clock.unix_time(clock.now()));
  if (!files) return fail("capture", files.error());
  if (writing->keep_secrets) {
    say("passwords, cookies, tokens, card and phone numbers are kept as they are; guard " +
        arguments.output);
  }
  arguments.record.capture.ports = arguments.live.ports;
  arguments.record.live = arguments.is_live();
  arguments.record.leave_out_replays = arguments.is_live() && !arguments.include_replays;
  std::optional<Result<capture::RecordReport>> report;
  {
    CaptureProgress progress;
    report =
        capture::record(**source, std::move(*files), arguments.record, clock, stop_requested,
                        [&](const capture::RecordProgress& figures) { progress.show(figures); });
  }
  if (!*report) return fail("capture", report->error());
  CaptureJudgement judgement;
  judgement.source = arguments.source();
  judgement.live = arguments.is_live();
  judgement.filtered = !arguments.live.filter.empty();
  judgement.loss_share_max = arguments.loss_share_max;
  return judge_capture(judgement, **report);
}

// A duration or a size in its units; a bare number of seconds too, where the option takes one.
void add_duration(CLI::App& command,
                  const std::string& name,
                  std::optional<Duration>& target,
                  const std::string& text) {
  command
      .add_option_function<std::string>(
          name,
          [name, &target](const std::string& given) {
            const bool bare = given.find_first_not_of("0123456789.") == std::string::npos;
            const auto duration = gateway::parse_duration(bare ? given + "s" : given);
            if (!duration) throw CLI::ValidationError(name, duration.error().message);
            if (duration->count() == 0) throw CLI::ValidationError(name, "must be above 0");
            target = *duration;
          },
          text)
      ->type_name("DURATION");
}

template <class T>
void add_size(CLI::App& command, const std::string& name, T& target, const std::string& text) {
  command
      .add_option_function<std::string>(
          name,
          [name, &target](const std::string& given) {
            const auto size = gateway::parse_size(given);
            if (!size) throw CLI::ValidationError(name, size.error().message);
            constexpr std::uint64_t kMin = std::uint64_t{1024} * 1024;
            if (*size < kMin) throw CLI::ValidationError(name, "must be at least 1MiB");
            target = static_cast<T>(*size);
          },
          text)
      ->type_name("SIZE");
}

void add_allow_loss(CLI::App& command, double& share_max) {
  command
      .add_option_function<std::string>(
          "--allow-loss",
          [&share_max](const std::string& given) {
            const auto share = gateway::parse_percent(given.ends_with('%') ? given : given + "%");
            if (!share) throw CLI::ValidationError("--allow-loss", share.error().message);
            share_max = *share;
          },
          "End with status 4 if more of the packets were dropped, or of the bytes are missing, "
          "than this share (1%)")
      ->type_name("PERCENT");
}

// CLI11's own check answers with the range of a double.
std::string above_zero(const std::string& text) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const bool positive = number && text.find_first_not_of('0') != std::string::npos;
  return positive ? "" : "expected a whole number above 0, got '" + text + "'";
}

void add_live_options(CLI::App& command, CaptureArguments& arguments) {
  add_size(command, "--buffer", arguments.live.buffer_bytes,
           "Live: how much may wait, in the kernel and again in front of the recording, for each "
           "interface (64MiB)");
  command.add_option("--user", arguments.user,
                     "Live: become this user once the interfaces are open (who called sudo, else "
                     "nobody)");
  add_duration(command, "--rotate", arguments.rotation.every,
               "Live: begin another file so often; each is a whole recording");
  add_size(command, "--rotate-size", arguments.rotation.bytes,
           "Live: begin another file when one is about so large");
  command.add_option("--keep", arguments.rotation.keep, "Live: keep only so many files")
      ->check(above_zero);
  command.add_flag("--include-replays", arguments.include_replays,
                   "Live: record requests of `gatedrill replay` as well");
}

}  // namespace

void add_capture_command(CLI::App& app, int& exit_status) {
  auto arguments = std::make_shared<CaptureArguments>();
  CLI::App* command = app.add_subcommand(
      "capture", "Record HTTP from an interface or a capture file (pcap, pcapng)");
  command->footer(
      "Examples:\n"
      "  gatedrill capture -i any --port 8080 -o traffic.db\n"
      "  gatedrill capture -i eth0 --port 80 --rotate 1h --keep 24 -o traffic.db\n"
      "  gatedrill capture -r incident.pcapng -o traffic.db");
  auto* interface =
      command->add_option("-i,--interface", arguments->interfaces,
                          "Capture on this interface; any is all of them; may be repeated");
  auto* file = command->add_option("-r,--read", arguments->file,
                                   "Read this capture file; - is standard input");
  interface->excludes(file);
  command->add_option("-p,--port", arguments->live.ports,
                      "Only TCP with this port at either end; may be repeated. Without it, any "
                      "connection that speaks HTTP");
  command->add_option("-f,--filter", arguments->live.filter,
                      "Only packets that this pcap-filter(7) takes");
  command
      ->add_option("--keylog", arguments->key_log,
                   "Read TLS 1.2 and 1.3 with the secrets in this file, which a client or server "
                   "writes where SSLKEYLOGFILE says; live, while it writes")
      ->type_name("FILE");
  add_duration(*command, "--duration", arguments->record.duration,
               "End after so long (30s, 5m; a bare number is seconds)");
  command->add_option("--limit", arguments->record.exchanges, "End after about so many exchanges")
      ->check(above_zero);
  command->add_option("-o,--output", arguments->output, "The recording to write")
      ->required()
      ->type_name("traffic.db");
  add_allow_loss(*command, arguments->loss_share_max);
  add_live_options(*command, *arguments);
  add_redaction_options(*command, arguments->redaction);
  command->callback([arguments, &exit_status] {
    if (arguments->is_live() == !arguments->file.empty()) {
      exit_status = fail("capture", usage_error("say either -i INTERFACE or -r FILE"));
      return;
    }
    if (arguments->rotation.keep > 0 && !arguments->rotation.on()) {
      exit_status = fail("capture", usage_error("--keep goes with --rotate or --rotate-size"));
      return;
    }
    if (!arguments->is_live() && arguments->rotation.on()) {
      exit_status = fail("capture", usage_error("--rotate and --rotate-size go with -i"));
      return;
    }
    exit_status = run_capture(*arguments);
  });
}

}  // namespace gatedrill::replay
