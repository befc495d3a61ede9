// Calendar times as files write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/time.hpp"

namespace gatedrill::replay::formats {

// ISO 8601 as HAR has it: "2023-03-29T17:37:42.482-07:00", with any number of digits behind the
// second, and "Z", "+00:00" or "+0000" as zone. Without a zone it is taken as UTC.
[[nodiscard]] std::optional<UnixTime> parse_iso8601(std::string_view text);

// Access logs: "17/May/2015:10:05:03 +0000".
[[nodiscard]] std::optional<UnixTime> parse_log_time(std::string_view text);

// Seconds since 1970 with a fraction: nginx's "1706000000.123".
[[nodiscard]] std::optional<UnixTime> parse_epoch_seconds(std::string_view text);

// "2023-03-29T17:37:42.482000000Z"; `digits` (0 to 9) behind the second.
[[nodiscard]] std::string to_iso8601(UnixTime at, int digits);

// `at + duration` and `end - begin`, as far as 64 bits go: files can hold any number.
[[nodiscard]] UnixTime later(UnixTime at, Duration duration);
[[nodiscard]] Duration between(UnixTime begin, UnixTime end);

}  // namespace gatedrill::replay::formats
