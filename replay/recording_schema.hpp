// The SQL of a recording's file (RECORDING.md). Private to replay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/recording.hpp"

namespace gatedrill::replay {

inline constexpr std::int64_t kRecordingApplicationId = 0x47445452;  // "GDTR"
inline constexpr std::int64_t kRecordingVersion = 2;

// Created before the first row.
[[nodiscard]] const char* recording_tables();
// Created after the last row: indices, the public views.
[[nodiscard]] const char* recording_views();

// Fields as the file holds them: one "name: value" a line. Names hold no colon, and a line feed in
// a value (HTTP has none) becomes a space, so reading gives back what was written.
[[nodiscard]] std::string encode_fields(const std::vector<RecordedField>& fields);
[[nodiscard]] std::vector<RecordedField> decode_fields(std::string_view text);

}  // namespace gatedrill::replay
