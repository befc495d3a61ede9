// The ways in which a value is written inside a message or a file. Private to replay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/ascii.hpp"

namespace gatedrill::replay {

enum class Plus { is_space, is_itself };

// As in a query or a form, where '+' is a space. What is no escape stays as it is.
[[nodiscard]] std::string percent_decoded(std::string_view text, Plus plus = Plus::is_space);
// Everything but RFC 3986's unreserved characters is escaped.
[[nodiscard]] std::string percent_encoded(std::string_view text);

// Between the quotes of a JSON string. What is no escape stays as it is.
[[nodiscard]] std::string json_unescaped(std::string_view text);
[[nodiscard]] std::string json_escaped(std::string_view text);

void append_utf8(std::string& out, std::uint32_t code);

// The five entities of XML; others stay as they are.
[[nodiscard]] std::string xml_unescaped(std::string_view text);

enum class WhiteSpace { is_wrong, is_passed_over };

// RFC 4648, either alphabet, with or without padding. Nothing if it is not base64.
[[nodiscard]] std::optional<std::string> base64_decoded(
    std::string_view text, WhiteSpace white_space = WhiteSpace::is_wrong);
[[nodiscard]] std::string base64_encoded(std::string_view bytes);

[[nodiscard]] std::string_view trimmed(std::string_view text);
// `lower` is in lower case. npos if it is not there.
[[nodiscard]] std::size_t find_ignoring_case(std::string_view text,
                                             std::string_view lower,
                                             std::size_t from = 0);
[[nodiscard]] bool contains_ignoring_case(std::string_view text, std::string_view lower);
// The value of a field's parameter, or of a field in several lines: what follows `name`, which is
// in lower case with its '=' or ':', without quotes. Empty if it is not there.
[[nodiscard]] std::string_view value_behind(std::string_view text, std::string_view name);

}  // namespace gatedrill::replay
