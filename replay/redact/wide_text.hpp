// Text whose characters have two or four bytes each: UTF-16 and UTF-32. Private to replay.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gatedrill::replay {

struct WideForm {
  std::size_t unit = 2;  // bytes
  bool big_endian = false;
};

// By its byte order mark, by the zeros of its first characters; nothing if it is something else.
[[nodiscard]] std::optional<WideForm> wide_form_of(std::string_view text);

// UTF-8, a byte order mark included. Bytes at the end that are no unit are left out.
[[nodiscard]] std::string narrowed(std::string_view text, WideForm form);
// The reverse. What is no UTF-8 is taken byte by byte.
[[nodiscard]] std::string widened(std::string_view text, WideForm form);

}  // namespace gatedrill::replay
