// Access logs: nginx's and Apache's combined format (and the common one), JSON objects of nginx's
// variables, and gatedrill's own log. Each line is told apart by how it begins.
//
//   1.2.3.4 - ann [17/May/2015:10:05:03 +0000] "GET /x HTTP/1.1" 200 571 "-" "curl/8"
//   {"msec":"1431857103.211","request_method":"GET","request_uri":"/x",...}
//   {"time":"2015-05-17T10:05:03.211Z","method":"GET","target":"/x",...}
//
// A log holds no bodies and few fields: what it lacks is marked as missing, never made up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

[[nodiscard]] bool looks_like_access_log(std::string_view beginning);
Result<void> read_access_log(std::span<Input> inputs, ImportSink& sink);

[[nodiscard]] Format access_log_format();

// Private to the format, for its tests.

// What one line says. Absent: the log does not say it.
struct LogEntry {
  UnixTime at{};               // when the request began, as far as the line knows
  bool whole_seconds = false;  // it knows no more than the second
  std::string client{};        // an address, perhaps with a port
  std::string server{};
  std::string host{};
  std::string connection{};  // the server's name for it
  std::uint32_t ordinal = 0;
  std::optional<Duration> latency{};
  std::optional<RecordedRequest> request{};  // absent: its line was not understood by the server
  std::uint64_t request_bytes = 0;           // of a body that is not in the log
  int status = 0;                            // 0: no answer was sent
  std::uint64_t response_bytes = 0;
  std::vector<RecordedField> response_fields{};
  bool user_missing = false;
  bool user_left_out = false;  // the log names one, but no credentials
};

// A line's entry, or why there is none (in a few different words).
struct LogVerdict {
  std::optional<LogEntry> entry;
  std::string_view wrong;
};

[[nodiscard]] LogVerdict parse_combined_line(std::string_view line);
[[nodiscard]] LogVerdict parse_json_log_line(std::string_view line);

// The status of a line: 0, no answer, for what is below 100, as nginx's 000 and 009. Nothing for
// what is no number of up to 999.
[[nodiscard]] std::optional<int> parse_log_status(std::string_view text);

// Undoes nginx's \xHH, and Apache's \n, \t and the like.
[[nodiscard]] std::string unescaped(std::string_view text);

// "GET /x HTTP/1.1"; nothing for anything else.
[[nodiscard]] std::optional<RecordedRequest> parse_request_line(std::string_view line);

}  // namespace gatedrill::replay::formats
