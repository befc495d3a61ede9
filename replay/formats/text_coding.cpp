#include "replay/formats/text_coding.hpp"

#include <array>
#include <cstdint>

namespace gatedrill::replay::formats {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;
constexpr std::uint8_t kSpace = 65;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::uint8_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = i;
  for (const char c : {' ', '\t', '\r', '\n'})
    values[static_cast<unsigned char>(c)] = kSpace;
  values['-'] = 62;  // the alphabet for URLs (RFC 4648 5)
  values['_'] = 63;
  return values;
}

constexpr auto kValues = make_values();

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

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group =
        byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    text.push_back(kDigits[group >> 18U]);
    text.push_back(kDigits[group >> 12U & 63U]);
    text.push_back(i + 1 < bytes.size() ? kDigits[group >> 6U & 63U] : '=');
    text.push_back(i + 2 < bytes.size() ? kDigits[group & 63U] : '=');
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (!text.empty() &&
         (text.back() == '=' || kValues[static_cast<unsigned char>(text.back())] == kSpace)) {
    text.remove_suffix(1);
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t group = 0;
  unsigned digits = 0;
  for (const char c : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kSpace) continue;
    if (value == kNoDigit) return std::nullopt;
    group = group << 6U | value;
    if (++digits < 4) continue;
    for (const unsigned shift : {16U, 8U, 0U})
      bytes.push_back(static_cast<char>(group >> shift & 0xFFU));
    group = 0;
    digits = 0;
  }
  if (digits == 1) return std::nullopt;
  if (digits >= 2) bytes.push_back(static_cast<char>(group >> (digits * 6 - 8) & 0xFFU));
  if (digits == 3) bytes.push_back(static_cast<char>(group >> 2U & 0xFFU));
  return bytes;
}

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

std::string percent_encoded(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) < 4;
    if (plain) {
      text.push_back(c);
    } else {
      text.append({'%', kHex[byte >> 4U], kHex[byte & 15U]});
    }
  }
  return text;
}

}  // namespace gatedrill::replay::formats
