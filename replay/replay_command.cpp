#include "replay/replay_command.hpp"

#include <charconv>
#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "gateway/config/units.hpp"
#include "replay/recording.hpp"
#include "replay/replay_run.hpp"
#include "replay/replay_summary.hpp"

namespace gatedrill::replay {
namespace {

struct Options {
  std::string recording;
  std::string to;
  std::string speed;
  std::string rate;
  std::string duration;
  std::string timeout;
  std::string compare;
  std::string output;
  bool json = false;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  gatedrill replay traffic.db --to http://127.0.0.1:8080 --compare recorded\n"
    "  gatedrill replay traffic.db --to http://127.0.0.1:8080 --rate 200/s --duration 30s -o "
    "run.db\n\n"
    "Without --rate the recording is played once, at its own pace. With it, copies of the whole\n"
    "recording overlap so that the rate holds from the first second.\n"
    "Exit status: 0 done; 1 answers differ (--compare); 2 wrong usage; 3 target or file out of "
    "reach;\n"
    "4 no valid evidence (nothing to replay, interrupted, or the client was late itself).";

Error about(const char* option, const Error& error) {
  return Error{error.code, std::string(option) + ": " + error.message};
}

// http://host:port, http://host or host:port.
Result<gateway::HttpPeer> parse_target(std::string text) {
  if (text.starts_with("https://")) {
    return usage_error("--to: https is not supported; replay to the port that speaks plain HTTP");
  }
  if (text.starts_with("http://")) {
    text.erase(0, 7);
    if (text.ends_with('/')) text.pop_back();
    if (text.find_first_of("/?#") != std::string::npos) {
      return usage_error("--to: the requests have their own paths; give only http://host:port");
    }
    const std::size_t bracket = text.rfind(']');
    if (text.find(':', bracket == std::string::npos ? 0 : bracket) == std::string::npos)
      text += ":80";
  }
  const auto address = gateway::parse_address(text);
  if (!address) return about("--to", address.error());
  return gateway::HttpPeer{address->host, address->port};
}

// 2x, 0.5x or 2.
Result<double> parse_speed(std::string_view text) {
  std::string_view digits = text;
  if (digits.ends_with('x')) digits.remove_suffix(1);
  double speed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), speed);
  if (error != std::errc{} || end != digits.data() + digits.size() || !(speed > 0) || speed > 1e6) {
    return usage_error("--speed: expected a factor such as 2x or 0.5x, got '" + std::string(text) +
                       "'");
  }
  return speed;
}

Result<loadgen::CopyTiming> parse_timing(const Options& options) {
  loadgen::CopyTiming timing;
  if (!options.speed.empty()) {
    const auto speed = parse_speed(options.speed);
    if (!speed) return speed.error();
    timing.speed = *speed;
  }
  if (!options.rate.empty()) {
    const auto rate = gateway::parse_rate(options.rate);
    if (!rate) return about("--rate", rate.error());
    timing.rate_per_second = rate->per_second();
  }
  if (!options.duration.empty()) {
    const auto duration = gateway::parse_duration(options.duration);
    if (!duration) return about("--duration", duration.error());
    timing.duration = *duration;
  }
  return timing;
}

Result<ReplayRunOptions> run_options(const Options& options, bool terminal) {
  ReplayRunOptions run;
  const auto target = parse_target(options.to);
  if (!target) return target.error();
  run.target = *target;
  run.name = target->host + ":" + std::to_string(target->port);
  if (!options.timeout.empty()) {
    const auto timeout = gateway::parse_duration(options.timeout);
    if (!timeout) return about("--timeout", timeout.error());
    if (*timeout <= Duration::zero()) return usage_error("--timeout: must be more than 0");
    run.timeout = *timeout;
  }
  run.progress_every = terminal ? std::chrono::seconds{1} : std::chrono::seconds{5};
  return run;
}

Result<std::shared_ptr<const ReplayPlan>> read_plan(const std::string& path,
                                                    const loadgen::CopyTiming& timing) {
  const auto recording = Recording::open(path);
  if (!recording) return recording.error();
  const auto exchanges = recording->read_all();
  if (!exchanges) return exchanges.error();
  auto plan = ReplayPlan::make(*exchanges, timing);
  if (!plan && plan.error().code == ErrorCode::evidence) {
    return Error{ErrorCode::evidence, path + ": " + plan.error().message};
  }
  return plan;
}

Result<int> replay(const Options& options, const SinkFactory& sinks) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const auto timing = parse_timing(options);
  if (!timing) return timing.error();
  const auto run = run_options(options, terminal);
  if (!run) return run.error();
  const auto plan = read_plan(options.recording, *timing);
  if (!plan) return plan.error();
  std::fprintf(stderr, "%s: %s\n", options.recording.c_str(), (*plan)->describe().c_str());

  const auto open_sink = [&]() -> Result<std::unique_ptr<EventSink>> {
    if (options.output.empty()) return std::unique_ptr<EventSink>(std::make_unique<NullSink>());
    return sinks(options.output);
  };
  const auto show = [terminal](Duration at, const ReplayFigures& figures) {
    const std::string line = progress_line(at, figures);
    std::fputs((terminal ? "\r\033[K" + line : line + "\n").c_str(), stderr);
  };
  const auto outcome = run_replay(*plan, *run, open_sink, show);
  if (terminal) std::fputs("\r\033[K", stderr);
  if (!outcome) return outcome.error();

  const ReplaySubject subject{options.recording, run->name, !options.compare.empty()};
  const std::string summary = options.json ? summary_json(subject, **plan, *outcome)
                                           : summary_text(subject, **plan, *outcome);
  std::fputs(summary.c_str(), stdout);
  if (!outcome->invalid.empty()) return evidence_error(outcome->invalid);
  return subject.compare && outcome->figures.differences() > 0 ? 1 : 0;
}

}  // namespace

void add_replay_command(CLI::App& app, SinkFactory sinks, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("replay", "Replay a recording with its timing and connections");
  command->add_option("recording", options->recording, "traffic.db, from capture or import")
      ->required();
  command->add_option("--to", options->to, "where to: http://host:port")->required();
  command->add_option("--speed", options->speed, "2x plays twice as fast");
  command->add_option("--rate", options->rate, "loop and amplify to this rate, such as 200/s");
  command->add_option("--duration", options->duration, "end after this time, such as 30s");
  command->add_option("--timeout", options->timeout, "of each request (30s)");
  command->add_option("--compare", options->compare, "compare the answers with the recorded ones")
      ->check(CLI::IsMember({"recorded"}));
  command->add_option("-o,--output", options->output, "write the run into this run.db");
  command->add_flag("--json", options->json, "the summary as JSON");
  command->footer(kExamples);
  command->callback([options, sinks = std::move(sinks), &exit_status] {
    const Result<int> status = replay(*options, sinks);
    exit_status = status ? *status : gatedrill::exit_status(status.error().code);
    if (!status) std::fprintf(stderr, "gatedrill replay: %s\n", status.error().message.c_str());
  });
}

}  // namespace gatedrill::replay
