// Chunks of a chunked body, as we frame them.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace gatedrill::gateway {

inline void append_chunk(std::string& out, std::string_view payload) {
  char digits[16];
  const char* end = std::to_chars(digits, digits + sizeof digits, payload.size(), 16).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits)).append("\r\n");
  out.append(payload).append("\r\n");
}

// `trailers` are whole lines.
inline void append_last_chunk(std::string& out, std::string_view trailers = {}) {
  out.append("0\r\n").append(trailers).append("\r\n");
}

}  // namespace gatedrill::gateway
