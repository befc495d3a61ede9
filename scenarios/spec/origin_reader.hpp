// The parts of a scenario file that describe the backends and the faults on the way to them.
#pragma once

#include "gateway/config/yaml_reader.hpp"
#include "scenarios/spec/scenario.hpp"

namespace gatedrill::scenarios {

void read_dependency(gateway::YamlReader& reader, DependencySpec& spec);
void read_origin(gateway::YamlReader& reader, OriginSpec& spec);
// All but the name and the window, which are the timeline entry's.
void read_placed_fault(gateway::YamlReader& reader, chaos::PlacedFault& placed);

}  // namespace gatedrill::scenarios
