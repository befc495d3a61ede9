// The SQL of a recording's file (RECORDING.md). Private to replay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/recording.hpp"

namespace gatedrill::replay {

inline constexpr std::int64_t kRecordingApplicationId = 0x47445452;  // "GDTR"
inline constexpr std::int64_t kRecordingVersion = 4;

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

// Fields as the file holds them: one "name: value" a line; trailers, if there are any, behind an
// empty line. Names hold no colon, and a line feed in a value (HTTP has none) becomes a space, so
// reading gives back what was written.
void encode_fields(const std::vector<RecordedField>& fields,
                   const std::vector<RecordedField>& trailers,
                   std::string& text);
void decode_fields(std::string_view text,
                   std::vector<RecordedField>& fields,
                   std::vector<RecordedField>& trailers);

}  // namespace gatedrill::replay
