// The report as one JSON document: what `--json` writes and what the page carries. Private to
// reports/.
#pragma once

#include <span>

#include <nlohmann/json.hpp>

#include "reports/run_report.hpp"

namespace gatedrill::reports {

[[nodiscard]] nlohmann::ordered_json document_of(std::span<const RunReport> reports);

}  // namespace gatedrill::reports
