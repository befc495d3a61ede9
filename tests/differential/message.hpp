// HTTP/1 messages as a lenient reader takes them: what a proxy let through is shown, not judged.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gatedrill::differential {

struct Message {
  std::string start_line;
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case, in order
  std::vector<std::pair<std::string, std::string>> trailers;
  std::string body;       // without its chunks
  std::size_t size = 0;   // bytes taken
  bool has_head = false;  // up to the empty line
  bool complete = false;

  [[nodiscard]] std::string value(std::string_view name) const;  // of the first; "" if absent
  [[nodiscard]] std::string method() const;
  [[nodiscard]] std::string target() const;
  [[nodiscard]] int status() const;  // 0 if the start line is not a status line
};

enum class Kind { request, response, bodiless_response };

// The message at the beginning of `bytes`. Transfer-Encoding wins over Content-Length. A response
// with neither goes on to the end: complete only if the connection `ended`.
[[nodiscard]] Message read_message(std::string_view bytes, Kind kind, bool ended);

[[nodiscard]] std::string lower(std::string_view text);

// Printable, quoted, shortened in the middle beyond a line.
[[nodiscard]] std::string quoted(std::string_view bytes, std::size_t size_max = 72);

}  // namespace gatedrill::differential
