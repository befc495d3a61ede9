#include "scenarios/spec/scenario_check.hpp"

#include "gateway/config/units.hpp"
#include "scenarios/spec/scenario_reader.hpp"

namespace gatedrill::scenarios {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// "inc-1: 5 variants, 10 expectations; lasts 15m, 36s live"
std::string summary(const Scenario& incident, const Scenario& live) {
  std::string text = incident.name + ": " + counted(incident.variants.size(), "variant") + ", " +
                     counted(incident.expectations.size(), "expectation") + "; lasts " +
                     gateway::to_text(incident.duration);
  if (live.duration != incident.duration) text += ", " + gateway::to_text(live.duration) + " live";
  return text;
}

Result<gateway::Checked> check_scenario(const std::string& path,
                                        const std::vector<std::string>& assignments) {
  const Result<ScenarioFile> incident = read_scenario(path, Durations::incident, assignments);
  if (!incident) return incident.error();
  const Result<ScenarioFile> live = read_scenario(path, Durations::live, assignments);
  if (!live) return live.error();
  gateway::Checked checked;
  checked.problems = incident->problems;
  checked.problems.insert(checked.problems.end(), live->problems.begin(), live->problems.end());
  // What both plays share is said once.
  gateway::put_in_order(checked.problems);
  if (checked.problems.empty()) checked.summary = summary(incident->scenario, live->scenario);
  return checked;
}

}  // namespace

gateway::FileKind scenario_file_kind() {
  const auto recognises = [](const gateway::YamlNode& root) {
    return root.find("variants") != nullptr || root.find("world") != nullptr;
  };
  return {"scenario", recognises, check_scenario};
}

}  // namespace gatedrill::scenarios
