// The SQL of a recording's file (RECORDING.md). Private to replay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/recording.hpp"

namespace gatedrill::replay {

inline constexpr std::int64_t kRecordingApplicationId = 0x47445452;  // "GDTR"
inline constexpr std::int64_t kRecordingVersion = 5;

// Executed before the first row: the tables, the public views, the marks by which a recording is
// known, and a line in the ledger that says that it is unfinished.
[[nodiscard]] std::string recording_tables();
// Executed after the last row.
[[nodiscard]] const char* recording_indices();

inline constexpr const char* kForgetUnfinished = "DELETE FROM t_ledger WHERE what = 'unfinished';";

// The line of the ledger whose note is the same in recordings that hide the same under one key.
inline constexpr std::string_view kRedactionLine = "redaction rules and key";

// In `request_redacted` and `response_redacted`, beside 0 and 1.
inline constexpr std::int64_t kBodyDropped = 2;

}  // namespace gatedrill::replay
