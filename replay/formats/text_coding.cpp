#include "replay/formats/text_coding.hpp"

#include <algorithm>
#include <cstdint>

namespace gatedrill::replay::formats {
namespace {

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
}

// The size of the well-formed character at the beginning; 0 if there is none.
std::size_t utf8_size(std::string_view text) {
  const auto continues = [text](std::size_t at, unsigned low = 0x80, unsigned high = 0xBF) {
    return at < text.size() && byte_at(text, at) >= low && byte_at(text, at) <= high;
  };
  const std::uint32_t first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if ((first & 0xF0U) == 0xE0) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;  // no surrogates
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = utf8_size(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string latin1_to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text.push_back(c);
    } else {
      text.push_back(static_cast<char>(0xC0U | byte >> 6U));
      text.push_back(static_cast<char>(0x80U | (byte & 0x3FU)));
    }
  }
  return text;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return std::string(text.substr(0, std::min(text.find('?'), kShown)));
}

std::optional<std::string> utf8_to_latin1(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (size == 0 || size > 2 || byte_at(text, 0) > 0xC3) return std::nullopt;
    bytes.push_back(
        size == 1 ? text.front()
                  : static_cast<char>((byte_at(text, 0) & 3U) << 6U | (byte_at(text, 1) & 0x3FU)));
    text.remove_prefix(size);
  }
  return bytes;
}

}  // namespace gatedrill::replay::formats
