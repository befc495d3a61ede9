// Reads a scenario file, every problem at once with its place.
//
// The file is one tree. What overrides what is a matter of laying trees over each other before
// anything is read, so every override is checked like the rest and points at its own line:
//
//   file ◄── its section `live` (for a live play) ◄── --set ;  then for each variant:
//   world ◄── variants.NAME
#pragma once

#include <string>
#include <vector>

#include "gateway/config/yaml_tree.hpp"
#include "gateway/core/result.hpp"
#include "scenarios/spec/scenario.hpp"

namespace gatedrill::scenarios {

enum class Durations { live, incident };

struct ScenarioFile {
  Scenario scenario;
  std::vector<gateway::Problem> problems;  // empty: the scenario can be played
};

// Fails (outside) if the file cannot be read at all. Paths in it are taken from its folder.
[[nodiscard]] Result<ScenarioFile> read_scenario(const std::string& path,
                                                 Durations durations,
                                                 const std::vector<std::string>& assignments = {});

}  // namespace gatedrill::scenarios
