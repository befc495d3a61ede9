#include "scenarios/run/runner.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "gateway/config/units.hpp"
#include "reports/event_store.hpp"
#include "reports/queued_sink.hpp"
#include "scenarios/live/live_play.hpp"
#include "scenarios/sim/sim_world.hpp"
#include "scenarios/spec/traffic.hpp"
#include "scenarios/version.hpp"

namespace gatedrill::scenarios {
namespace {

Result<void> make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return outside_error("cannot make the directory " + path + ": " + error.message());
  return {};
}

void describe(const Scenario& scenario,
              const RunOptions& options,
              const Traffic& traffic,
              reports::EventStore& store) {
  store.set_run("name", scenario.name);
  store.set_run("title", scenario.title);
  store.set_run("seed", scenario.seed);
  store.set_run("version", kVersion);
  store.set_run("simulated", options.simulate ? 1 : 0);
  store.set_run("duration_ms", to_ms(scenario.duration));
  store.set_run("scenario", std::filesystem::path(options.scenario).filename().string());
  store.set_run("recording", std::filesystem::path(scenario.traffic.recording).filename().string());
  if (scenario.traffic.rate) store.set_run("rate", gateway::to_text(*scenario.traffic.rate));
  store.set_run("traffic", traffic.plan->describe());
  std::string variants;
  for (const Variant& variant : scenario.variants) {
    variants += (variants.empty() ? "" : ",") + variant.name;
  }
  store.set_run("variants", variants);
  for (std::size_t i = 0; i < scenario.live_mapping.size(); ++i) {
    const Scenario::Mapping& mapping = scenario.live_mapping[i];
    store.set_run("live." + mapping.path,
                  (mapping.incident.empty() ? "-" : mapping.incident) + " -> " + mapping.live);
  }
  for (const Phase& phase : scenario.phases) {
    store.add_phase(phase.name, phase.from, phase.until);
  }
}

// What a simulation cannot play is left out, and said.
Result<void> simulate_all(const Scenario& scenario,
                          const Traffic& traffic,
                          const AnswerBooks& answers,
                          reports::EventStore& store) {
  for (const Variant& variant : scenario.variants) {
    if (variant.world.external) continue;
    SimOrder order;
    order.variant = &variant;
    order.traffic = traffic.plan;
    order.answers = &answers;
    order.seed = scenario.seed;
    order.duration = scenario.duration;
    order.sink = &store;
    if (const auto played = simulate(order); !played) return played.error();
    std::cerr << "simulated " << variant.name << ": " << gateway::to_text(scenario.duration)
              << " of virtual time\n";
  }
  return {};
}

bool is_played(const Scenario& scenario, const std::string& name, bool simulated) {
  for (const Variant& variant : scenario.variants) {
    if (variant.name == name) return !(simulated && variant.world.external);
  }
  return false;
}

// Only of variants that were played; a simulation has no external gateways.
std::vector<reports::Expectation> expectations_of(const Scenario& scenario, bool simulated) {
  std::vector<reports::Expectation> expectations;
  for (const ExpectationSpec& spec : scenario.expectations) {
    reports::Expectation expectation;
    expectation.text = spec.text;
    for (const std::string& name : spec.variants) {
      if (is_played(scenario, name, simulated)) expectation.gateways.push_back(name);
    }
    if (!spec.variants.empty() && expectation.gateways.empty()) continue;
    expectations.push_back(std::move(expectation));
  }
  return expectations;
}

std::string left_out(const Scenario& scenario) {
  std::string names;
  for (const Variant& variant : scenario.variants) {
    if (!variant.world.external) continue;
    names += (names.empty() ? "" : ", ") + variant.name;
  }
  return names;
}

}  // namespace

Result<RunResult> run_scenario(const RunOptions& options) {
  const Durations durations =
      options.durations.value_or(options.simulate ? Durations::incident : Durations::live);
  auto file = read_scenario(options.scenario, durations, options.assignments);
  if (!file) return file.error();
  if (!file->problems.empty()) return usage_error(gateway::to_string(file->problems));
  Scenario& scenario = file->scenario;
  if (options.seed) scenario.seed = *options.seed;

  const auto traffic = load_traffic(scenario.traffic, scenario.duration);
  if (!traffic) return traffic.error();
  std::cerr << traffic->plan->describe() << "\n";
  const AnswerBooks answers = make_answer_books(scenario, *traffic);

  if (const auto made = make_directory(options.out); !made) return made.error();
  RunResult result;
  result.run_db = options.out + "/run.db";
  auto store = reports::EventStore::create(result.run_db);
  if (!store) return store.error();
  describe(scenario, options, *traffic, **store);

  if (options.simulate) {
    if (const std::string names = left_out(scenario); !names.empty()) {
      (*store)->set_run("not_simulated", names);
      std::cerr << "not simulated, because not ours: " << names << "\n";
    }
    const auto played = simulate_all(scenario, *traffic, answers, **store);
    if (!played) return played.error();
    if (const auto finished = (*store)->finish(); !finished) return finished.error();
  } else {
    reports::QueuedSink sink(std::move(*store));
    LivePlay play;
    play.scenario = &scenario;
    play.traffic = &*traffic;
    play.answers = &answers;
    play.sink = &sink;
    play.store = &sink.store();
    play.directory = options.out;
    if (const auto played = play_live(play); !played) return played.error();
    if (const auto finished = sink.finish(); !finished) return finished.error();
  }

  const auto expectations = expectations_of(scenario, options.simulate);
  auto judgement = reports::judge(result.run_db, expectations);
  if (!judgement) return judgement.error();
  result.judgement = std::move(*judgement);
  return result;
}

}  // namespace gatedrill::scenarios
