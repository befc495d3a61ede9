// The parts of a scenario file that describe the backends.
#pragma once

#include "gateway/config/yaml_reader.hpp"
#include "scenarios/spec/scenario.hpp"

namespace gatedrill::scenarios {

void read_dependency(gateway::YamlReader& reader, DependencySpec& spec);
void read_origin(gateway::YamlReader& reader, OriginSpec& spec);

}  // namespace gatedrill::scenarios
