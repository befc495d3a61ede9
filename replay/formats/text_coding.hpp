// Bytes in texts: UTF-8 and Latin-1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gatedrill::replay::formats {

// Whether the bytes are well-formed UTF-8 (RFC 3629).
[[nodiscard]] bool is_utf8(std::string_view bytes);

// Each byte as the character of that number, in UTF-8; and back, where all are below 256.
[[nodiscard]] std::string latin1_to_utf8(std::string_view bytes);
[[nodiscard]] std::optional<std::string> utf8_to_latin1(std::string_view text);

// What people are shown of a text from a file, which may hold secrets: no more than its first
// characters, and nothing from a query on.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace gatedrill::replay::formats
