// A recording as a shell script of curl commands, each sending what was recorded and nothing else.
#pragma once

#include <string>
#include <string_view>

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

Result<void> write_curl(const Recording& recording, Output& output, ExportNotes& notes);

[[nodiscard]] Format curl_format();

// Private to the format: a word of a POSIX shell that stands for these bytes (no NUL among them),
// and the argument of `printf` that prints them.
[[nodiscard]] std::string shell_quoted(std::string_view bytes);
[[nodiscard]] std::string printf_quoted(std::string_view bytes);

}  // namespace gatedrill::replay::formats
