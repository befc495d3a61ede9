#include "chaos/command.hpp"

#include <csignal>
#include <iostream>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio.hpp>

#include "chaos/chaos_config.hpp"
#include "chaos/proxy/fault_timeline.hpp"
#include "chaos/proxy/live_link.hpp"

namespace gatedrill::chaos {
namespace {

namespace asio = boost::asio;

struct Options {
  std::string config;
  std::string out;
  std::vector<std::string> assignments;
};

LiveLink::Settings settings_of(const LinkConfig& config) {
  LiveLink::Settings settings;
  settings.link = {{config.upstream, config.name}, config.delay, config.delay};
  settings.listen_address = config.listen.host;
  settings.listen_port = config.listen.port;
  settings.target_address = config.to.host;
  settings.target_port = config.to.port;
  settings.gateway = intern("chaos");
  return settings;
}

void print_counts(const LinkConfig& config, const LiveLink& link) {
  const LiveLink::Counts counts = link.counts();
  std::cout << config.name << ": " << counts.connections << " connections, " << counts.requests
            << " requests, " << counts.resets_sent << " resets, " << counts.bytes_to_origin
            << " bytes there, " << counts.bytes_to_gateway << " bytes back\n";
}

Result<void> serve(const ChaosConfig& config, EventSink& sink) {
  const Result<FaultPlan> plan = FaultPlan::make(config.seed, config.faults);
  if (!plan) return plan.error();
  FaultRun run(*plan);
  const SteadyClock clock;
  asio::io_context io(1);
  std::vector<std::unique_ptr<LiveLink>> links;
  for (const LinkConfig& each : config.links) {
    auto& link =
        links.emplace_back(std::make_unique<LiveLink>(io, clock, settings_of(each), run, sink));
    if (auto started = link->start(); !started) return started;
    std::cerr << "gatedrill chaos: " << each.name << " listens on " << each.listen.host << ":"
              << link->port() << ", for " << to_text(each.to) << "\n";
  }
  const FaultTimeline timeline(io, clock, *plan, intern("chaos"), sink);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& failed, int /*signal*/) {
    if (!failed) io.stop();
  });
  io.run();
  for (std::size_t i = 0; i < links.size(); ++i)
    print_counts(config.links[i], *links[i]);
  for (std::size_t i = 0; i < config.faults.size(); ++i) {
    std::cout << config.faults[i].name << ": " << run.hits(i) << " hits\n";
  }
  return {};
}

Result<void> run_command(const Options& options, const SinkFactory& sinks) {
  auto config = gateway::load_yaml<ChaosConfig>(options.config, options.assignments);
  if (!config) return config.error();
  std::unique_ptr<EventSink> sink = std::make_unique<NullSink>();
  if (!options.out.empty()) {
    auto opened = sinks(options.out);
    if (!opened) return opened.error();
    sink = std::move(*opened);
  }
  return serve(*config, *sink);
}

}  // namespace

void add_chaos_command(CLI::App& app, SinkFactory sinks, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("chaos", "fault-injecting links in front of anything");
  command->add_option("-c,--config", options->config, "chaos.yaml")->required();
  command->add_option("-o,--out", options->out, "record windows and hits into this run.db");
  command->add_option("--set", options->assignments, "change a setting, as in --set seed=2");
  command->footer(
      "Example: gatedrill chaos -c chaos.yaml -o run.db\n"
      "  links:  {shop-1: {listen: 127.0.0.1:9101, to: 127.0.0.1:9001, delay: 2ms}}\n"
      "  faults: [{name: cut, at: 5s, for: 20s, kind: reset_on_request, request: 2}]");
  command->callback([options, sinks = std::move(sinks), &exit_status] {
    if (const auto done = run_command(*options, sinks); !done) {
      std::cerr << "gatedrill chaos: " << done.error().message << "\n";
      exit_status = gatedrill::exit_status(done.error().code);
    }
  });
}

}  // namespace gatedrill::chaos
