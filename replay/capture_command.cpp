#include "replay/capture_command.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "gateway/core/time.hpp"
#include "replay/capture/packet_source.hpp"
#include "replay/capture/record.hpp"
#include "replay/recording.hpp"
#include "replay/recording_writer.hpp"
#include "replay/redaction_options.hpp"
#include "replay/traffic_summary.hpp"

namespace gatedrill::replay {
namespace {

constexpr int kNotEvidence = 4;

// Set by a signal; the second signal has its usual effect and kills.
std::atomic<bool> stop_requested{false};

void request_stop(int signal) {
  stop_requested.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);
}

int fail(const char* command, const Error& error) {
  std::cerr << "gatedrill " << command << ": " << error.message << "\n";
  return exit_status(error.code);
}

struct CaptureArguments {
  std::string interface;
  std::string file;
  std::vector<std::uint16_t> ports;
  std::string filter;
  std::string key_log;
  RedactionArguments redaction;
  double allow_loss = 1;  // percent
  double duration_s = 0;
  std::uint64_t limit = 0;
  std::string output;
};

// A line that replaces itself on a terminal; elsewhere a line now and then.
class ProgressLine {
 public:
  void show(const capture::RecordProgress& progress) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    constexpr int kQuietLines = 5;
    if (!terminal && ++calls_ % kQuietLines != 0) return;
    std::cerr << (terminal ? "\r" : "") << progress.packets << " packets, " << progress.exchanges
              << " exchanges, " << progress.kernel_drops << " dropped by the kernel"
              << (terminal ? "   " : "\n") << std::flush;
    open_ = terminal;
  }

  ~ProgressLine() {
    if (open_) std::cerr << "\n";
  }

 private:
  int calls_ = 0;
  bool open_ = false;
};

// Of what there would have been with them.
double percent(std::uint64_t lost, std::uint64_t kept) {
  const double all = static_cast<double>(lost) + static_cast<double>(kept);
  return all > 0 ? static_cast<double>(lost) / all * 100 : 0;
}

std::string more_than(double share, double allowed) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3g %%, more than %.3g %%", share, allowed);
  return text.data();
}

// Says what the capture is worth, and gives the exit status for it.
int judge(const CaptureArguments& arguments, const capture::RecordReport& report) {
  const capture::Ledger& ledger = report.ledger;
  const std::string source = arguments.file.empty() ? arguments.interface : arguments.file;
  const auto say = [](const std::string& text) {
    std::cerr << "gatedrill capture: " << text << "\n";
  };
  if (!report.damage.empty()) say(source + ": read up to where it is damaged, " + report.damage);
  if (ledger.file_end.bytes > 0 && report.damage.empty()) {
    say(source + ": breaks off; its last " + std::to_string(ledger.file_end.bytes) +
        " bytes are no whole packet");
  }
  if (!report.key_log_problem.empty()) say(report.key_log_problem);
  if (ledger.frames.count == 0) {
    say(source + ": holds no packet" +
        (arguments.filter.empty() ? "" : " that the filter lets through") +
        "; no recording was written");
    return kNotEvidence;
  }
  std::cout << render(ledger.lines()) << report.exchanges << " exchanges in " << arguments.output
            << "\n";
  int status = 0;
  for (const std::string& sum : ledger.open_sums()) {
    say("the account does not close: " + sum);
    status = kNotEvidence;
  }
  if (report.exchanges == 0) {
    say("no HTTP message in " + source + "; the ledger above says what was there instead");
    status = kNotEvidence;
  }
  const double drops = percent(ledger.kernel_drops, ledger.frames.count);
  if (drops > arguments.allow_loss) {
    say("the kernel dropped " + std::to_string(ledger.kernel_drops) + " packets, " +
        more_than(drops, arguments.allow_loss) + "; narrow the capture with --port or --filter");
    status = kNotEvidence;
  }
  const double gaps = percent(ledger.gaps.bytes, ledger.stream.bytes);
  if (gaps > arguments.allow_loss) {
    say(std::to_string(ledger.gaps.bytes) + " bytes are missing from " + source + ", " +
        more_than(gaps, arguments.allow_loss) + "; --allow-loss takes a larger share");
    status = kNotEvidence;
  }
  return status;
}

// Live, the kernel leaves other ports out, so that they cost nothing. Later fragments of a datagram
// have no ports.
std::string live_filter(const CaptureArguments& arguments) {
  if (arguments.ports.empty() || !arguments.filter.empty()) return arguments.filter;
  std::string filter = "ip[6:2] & 0x1fff != 0";
  for (const std::uint16_t port : arguments.ports)
    filter += " or tcp port " + std::to_string(port);
  return filter;
}

int run_capture(const CaptureArguments& arguments) {
  const bool live = !arguments.interface.empty();
  auto source = live ? capture::open_interface(arguments.interface, live_filter(arguments))
                     : capture::open_file(arguments.file, arguments.filter);
  if (!source) return fail("capture", source.error());
  const auto writing = recording_options(arguments.redaction);
  if (!writing) return fail("capture", writing.error());
  auto writer = RecordingWriter::create(arguments.output, *writing);
  if (!writer) return fail("capture", writer.error());
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  if (writing->keep_secrets) {
    std::cerr
        << "gatedrill capture: passwords, cookies, tokens, card and phone numbers are kept as "
           "they are; guard "
        << arguments.output << "\n";
  }
  if (live) std::cerr << "capturing on " << arguments.interface << "; Ctrl-C ends it\n";
  capture::RecordOptions options;
  options.capture.ports = arguments.ports;
  options.live = live;
  options.key_log = arguments.key_log;
  if (arguments.duration_s > 0) options.duration = from_ms(arguments.duration_s * 1000);
  if (arguments.limit > 0) options.exchanges = arguments.limit;
  const SteadyClock clock;
  std::optional<Result<capture::RecordReport>> report;
  {
    ProgressLine line;
    report = capture::record(**source, std::move(*writer), options, clock, stop_requested,
                             [&](const capture::RecordProgress& progress) { line.show(progress); });
  }
  if (!*report) return fail("capture", report->error());
  return judge(arguments, **report);
}

}  // namespace

void add_capture_command(CLI::App& app, int& exit_status) {
  auto arguments = std::make_shared<CaptureArguments>();
  CLI::App* command = app.add_subcommand(
      "capture", "Record HTTP from an interface or a capture file (pcap, pcapng)");
  command->footer("Example: gatedrill capture -i any --port 8080 -o traffic.db");
  auto* interface = command->add_option("-i,--interface", arguments->interface,
                                        "Capture on this interface; any is all of them");
  auto* file = command->add_option("-r,--read", arguments->file,
                                   "Read this capture file; - is standard input");
  interface->excludes(file);
  command->add_option("-p,--port", arguments->ports,
                      "Only TCP with this port at either end; may be repeated. Without it, any "
                      "connection that speaks HTTP");
  command->add_option("-f,--filter", arguments->filter,
                      "Only packets that this pcap-filter(7) takes");
  command
      ->add_option("--keylog", arguments->key_log,
                   "Read TLS 1.2 and 1.3 with the secrets in this file, which a client or server "
                   "writes where SSLKEYLOGFILE says; live, while it writes")
      ->type_name("FILE");
  command->add_option("--duration", arguments->duration_s, "End after so many seconds")
      ->check(CLI::PositiveNumber);
  command->add_option("--limit", arguments->limit, "End after about so many exchanges")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--allow-loss", arguments->allow_loss,
                   "End with status 4 if more percent of the packets were dropped, or of the bytes "
                   "are missing")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  add_redaction_options(*command, arguments->redaction);
  command->add_option("-o,--output", arguments->output, "The recording to write")
      ->required()
      ->type_name("traffic.db");
  command->callback([arguments, &exit_status] {
    if (arguments->interface.empty() == arguments->file.empty()) {
      exit_status = fail("capture", usage_error("say either -i INTERFACE or -r FILE"));
      return;
    }
    exit_status = run_capture(*arguments);
  });
}

}  // namespace gatedrill::replay
