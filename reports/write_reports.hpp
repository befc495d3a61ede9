// Reports as files. Each is written beside its place first and then moved there, so what stands
// there is whole.
#pragma once

#include <string>

#include "gateway/core/result.hpp"

namespace gatedrill::reports {

// Fails (outside) if the file cannot be written.
Result<void> write_file(const std::string& path, const std::string& content);

// `report.html` and `junit.xml` of a run.db, into a folder that exists.
Result<void> write_reports(const std::string& run_db, const std::string& folder);

}  // namespace gatedrill::reports
