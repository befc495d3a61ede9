// Bytes in texts: base64, UTF-8 and Latin-1, percent-encoding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gatedrill::replay::formats {

[[nodiscard]] std::string to_base64(std::string_view bytes);
// White space is passed over, and missing padding is forgiven; nothing for anything else.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

// Whether the bytes are well-formed UTF-8 (RFC 3629).
[[nodiscard]] bool is_utf8(std::string_view bytes);

// Each byte as the character of that number, in UTF-8; and back, where all are below 256.
[[nodiscard]] std::string latin1_to_utf8(std::string_view bytes);
[[nodiscard]] std::optional<std::string> utf8_to_latin1(std::string_view text);

// All but letters, digits and "-._~" as %HH.
[[nodiscard]] std::string percent_encoded(std::string_view bytes);

}  // namespace gatedrill::replay::formats
