// What marks a SQLite file as a run.db, and opening one that is said to be. Private to reports/.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/core/result.hpp"
#include "reports/sqlite.hpp"

namespace gatedrill::reports {

inline constexpr std::int32_t kRunApplicationId = 0x67647275;  // "gdru"
inline constexpr int kRunSchemaVersion = 2;

// A run.db of any version.
[[nodiscard]] bool is_run_file(const std::string& path);

// An existing run.db of this version. Fails (outside) if it is missing or unreadable, (usage) if
// it is a folder, empty, something else, or of a newer version.
Result<Database> open_run_file(const std::string& path, Database::Mode mode);

}  // namespace gatedrill::reports
