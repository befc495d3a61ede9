// Scenario files for `gatedrill check`.
#pragma once

#include "gateway/config/file_check.hpp"

namespace gatedrill::scenarios {

// Recognised by their variants. Both the incident's durations and those of a live play are read.
[[nodiscard]] gateway::FileKind scenario_file_kind();

}  // namespace gatedrill::scenarios
