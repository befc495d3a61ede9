#include "gateway/proxy/command.hpp"

#include <csignal>
#include <iostream>
#include <utility>

#include <CLI/CLI.hpp>
#include <boost/asio.hpp>
#include <sys/resource.h>

#include "gateway/config/gateway_config_reader.hpp"
#include "gateway/config/units.hpp"
#include "gateway/proxy/server.hpp"

namespace gatedrill::gateway {
namespace {

namespace asio = boost::asio;

struct Options {
  std::string config;
  std::string out;
  std::string record;
  RedactionConfig redaction;
  std::string which_route;
  std::vector<std::string> assignments;
};

// The first signal drains; the second one, handled by nobody any more, kills.
void drain_on_signal(asio::signal_set& signals, GatewayServer& server, asio::io_context& context) {
  signals.async_wait([&](const boost::system::error_code& error, int /*signal*/) {
    if (error) return;
    std::cerr
        << "gatedrill gateway: stopping once running requests have ended; again to stop now\n";
    signals.clear();
    server.drain([&context] { context.stop(); });
  });
}

// As nginx does: logrotate renames the file and sends USR1.
void reopen_log_on_signal(asio::signal_set& signals, GatewayServer& server) {
  signals.async_wait([&](const boost::system::error_code& error, int /*signal*/) {
    if (error) return;
    server.reopen_log();
    reopen_log_on_signal(signals, server);
  });
}

void print_ledger(const GatewayServer::Counts& counts) {
  const std::uint64_t ended = counts.requests_answered + counts.requests_client_closed;
  std::cerr << "gatedrill gateway: " << counts.connections_accepted << " connections; "
            << counts.requests_begun << " requests begun = " << counts.requests_answered
            << " answered + " << counts.requests_client_closed << " left by their clients + "
            << counts.requests_begun - ended << " in flight\n";
}

// All that the system allows: every client and every upstream's connection is a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

// What was recorded, and whether all of it was.
Result<void> end_recording(const RecordConfig& config, TrafficRecorder& recorder) {
  auto report = recorder.finish();
  if (!report) return report.error();
  std::cerr << "gatedrill gateway: " << report->exchanges << " exchanges in " << config.traffic
            << "\n";
  if (report->lost_bytes == 0) return {};
  return evidence_error(config.traffic + ": " + std::to_string(report->lost_bytes) +
                        " bytes came faster than they could be written and are missing; a larger "
                        "record.buffer than " +
                        size_text(config.buffer_bytes) + " bridges longer bursts");
}

struct Makers {
  SamplingSinkFactory sinks;
  TrafficRecorderFactory recorders;
};

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// What the command line says comes on top of the file's `record`.
Result<void> add_record_options(const Options& options, RecordConfig& record) {
  const RedactionConfig& more = options.redaction;
  if (!options.record.empty()) record.traffic = options.record;
  if (record.traffic.empty() && more != RedactionConfig{}) {
    return usage_error(
        "what to hide was said, but not where to record; say --record traffic.db, or `record` in "
        "gateway.yaml");
  }
  RedactionConfig& all = record.redaction;
  all.keep_secrets = all.keep_secrets || more.keep_secrets;
  all.keep_numbers = all.keep_numbers || more.keep_numbers;
  append(all.fields, more.fields);
  append(all.params, more.params);
  append(all.json, more.json);
  append(all.allow, more.allow);
  if (!more.key_file.empty()) all.key_file = more.key_file;
  return {};
}

Result<void> serve(const GatewayConfig& config, const std::string& out, const Makers& make) {
  std::unique_ptr<EventSink> sink = std::make_unique<NullSink>();
  std::unique_ptr<TrafficRecorder> recorder;
  const SteadyClock clock;
  Result<void> ended;
  asio::io_context context(1);
  {
    if (!out.empty()) {
      auto opened = make.sinks(out, config.sample_ok);
      if (!opened) return opened.error();
      sink = std::move(*opened);
    }
    if (!config.record.traffic.empty()) {
      auto opened = make.recorders(config.record, static_cast<std::size_t>(config.threads), clock);
      if (!opened) return opened.error();
      recorder = std::move(*opened);
    }
    GatewayServer server(config, clock, *sink, context);
    if (recorder) server.record_traffic(*recorder);
    if (auto started = server.start(); !started) return started;
    asio::signal_set signals(context, SIGINT, SIGTERM);
    drain_on_signal(signals, server, context);
    asio::signal_set reopen(context, SIGUSR1);
    reopen_log_on_signal(reopen, server);
    if (!out.empty() && config.sample_ok > 1) {
      std::cerr << "gatedrill gateway: " << out
                << " counts every request and keeps the rows of one ok request in "
                << config.sample_ok << " (sample_ok: 1 keeps all)\n";
    }
    for (const std::string& name : server.unknown_names()) {
      std::cerr << "gatedrill gateway: cannot look up " << name
                << "; its requests are answered with 502 dns_failure until it can be\n";
    }
    for (const std::string& address : server.addresses()) {
      std::cerr << "gatedrill gateway: listening on " << address << "\n";
    }
    context.run();
    print_ledger(server.counts());
    if (const std::string trouble = server.log_trouble(); !trouble.empty()) {
      ended = outside_error(trouble);
    }
  }
  if (!recorder) return ended;
  auto recorded = end_recording(config.record, *recorder);
  return ended ? recorded : ended;
}

Result<void> run(const Options& options, const Makers& make) {
  auto config = load_gateway_config(options.config, options.assignments);
  if (!config) return config.error();
  if (!options.which_route.empty()) {
    auto route = which_route(*config, options.which_route);
    if (!route) return route.error();
    std::cout << *route << "\n";
    return {};
  }
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  raise_descriptor_limit();
  if (auto added = add_record_options(options, config->record); !added) return added;
  if (!options.out.empty() && options.out == config->record.traffic) {
    return usage_error("-o and --record both name " + options.out +
                       ": one is a run.db, the other a traffic.db");
  }
  return serve(*config, options.out, make);
}

}  // namespace

void add_gateway_command(CLI::App& app,
                         SamplingSinkFactory sinks,
                         TrafficRecording recording,
                         int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("gateway", "the gateway alone, as one would deploy it");
  command->add_option("-c,--config", options->config, "gateway.yaml")->required();
  command->add_option("-o,--out", options->out, "record what happens into this run.db");
  command->add_option("--record", options->record,
                      "record the traffic of both legs into this traffic.db");
  recording.add_options(*command, options->redaction);
  command->add_option("--set", options->assignments,
                      "change a setting, as in --set timeouts.response=2s");
  command->add_option_function<std::string>(
      "--threads",
      [options](const std::string& threads) {
        options->assignments.push_back("threads=" + threads);
      },
      "processors to use, in place of the file's threads");
  command->add_option("--which-route", options->which_route,
                      "explain where a request would go, as in 'GET /order/x', and exit");
  command->footer(
      "Examples:\n"
      "  gatedrill gateway -c gateway.yaml -o run.db\n"
      "  gatedrill gateway -c gateway.yaml --which-route 'GET http://shop.example/order/1'");
  Makers make{std::move(sinks), std::move(recording.open)};
  command->callback([options, make = std::move(make), &exit_status] {
    if (const auto done = run(*options, make); !done) {
      std::cerr << "gatedrill gateway: " << done.error().message << "\n";
      exit_status = gatedrill::exit_status(done.error().code);
    }
  });
}

}  // namespace gatedrill::gateway
