#include "scenarios/origin/origin_command.hpp"

#include <csignal>
#include <iostream>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio.hpp>

#include "replay/recording.hpp"
#include "scenarios/origin/live_origin.hpp"
#include "scenarios/origin/origin_config.hpp"
#include "scenarios/spec/backends.hpp"

namespace gatedrill::scenarios {
namespace {

namespace asio = boost::asio;

struct Options {
  std::string config;
  std::string out;
  std::vector<std::string> assignments;
};

// The answers of each origin; the recording is read once.
Result<AnswerBooks> make_books(const OriginFile& file) {
  std::shared_ptr<const AnswerBook> recorded;
  AnswerBooks books;
  for (const auto& [name, spec] : file.world.origins) {
    if (!spec.answers.from_recording) {
      books[name] = std::make_shared<const AnswerBook>(
          AnswerBook::fixed(spec.answers.status, spec.answers.body_bytes));
      continue;
    }
    if (!recorded) {
      const auto recording = replay::Recording::open(file.recording);
      if (!recording) return recording.error();
      auto book = AnswerBook::from(*recording);
      if (!book) return book.error();
      recorded = std::make_shared<const AnswerBook>(std::move(*book));
      std::cerr << "gatedrill origin: " << recorded->size() << " recorded answers in "
                << file.recording << "\n";
    }
    books[name] = recorded;
  }
  return books;
}

Result<void> serve(const OriginFile& file, const AnswerBooks& books, EventSink& sink) {
  const SteadyClock clock;
  const Dependencies dependencies = make_dependencies(file.world, file.seed);
  asio::io_context io(1);
  std::map<std::string, OriginWorld> worlds;
  std::vector<std::unique_ptr<LiveOrigin>> origins;
  for (const auto& [name, spec] : file.world.origins) {
    OriginWorld& world =
        worlds.try_emplace(name, OriginWorld{.answers = *books.at(name)}).first->second;
    const gateway::Address& first = file.listen.at(name);
    std::uint16_t instance = 0;
    for (OriginConfig& config : make_origins(name, spec, dependencies, file.seed)) {
      LiveOrigin::Settings settings;
      settings.origin = std::move(config);
      settings.listen_address = first.host;
      settings.listen_port =
          first.port == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(first.port + instance++);
      settings.gateway = intern("origin");
      const std::string label = settings.origin.name;
      auto& origin = origins.emplace_back(
          std::make_unique<LiveOrigin>(io, clock, std::move(settings), world, sink));
      if (auto started = origin->start(); !started) return started;
      std::cerr << "gatedrill origin: " << label << " listens on " << first.host << ":"
                << origin->port() << "\n";
    }
  }
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& failed, int /*signal*/) {
    if (!failed) io.stop();
  });
  io.run();
  return {};
}

Result<void> run_command(const Options& options, const SinkFactory& sinks) {
  auto file = gateway::load_yaml<OriginFile>(options.config, options.assignments);
  if (!file) return file.error();
  const auto books = make_books(*file);
  if (!books) return books.error();
  std::unique_ptr<EventSink> sink = std::make_unique<NullSink>();
  if (!options.out.empty()) {
    auto opened = sinks(options.out);
    if (!opened) return opened.error();
    sink = std::move(*opened);
  }
  return serve(*file, *books, *sink);
}

}  // namespace

void add_origin_command(CLI::App& app, SinkFactory sinks, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("origin", "simulated backends by themselves");
  command->add_option("-c,--config", options->config, "origin.yaml")->required();
  command->add_option("-o,--out", options->out, "record what was executed into this run.db");
  command->add_option("--set", options->assignments,
                      "change a setting, as in --set origins.shop.workers=4");
  command->footer(
      "Example: gatedrill origin -c origin.yaml\n"
      "  origins: {shop: {listen: 127.0.0.1:9001, instances: 2, latency: {p50: 20ms, p99: 80ms}}}");
  command->callback([options, sinks = std::move(sinks), &exit_status] {
    if (const auto done = run_command(*options, sinks); !done) {
      std::cerr << "gatedrill origin: " << done.error().message << "\n";
      exit_status = gatedrill::exit_status(done.error().code);
    }
  });
}

}  // namespace gatedrill::scenarios
