#include "replay/redact/encodings.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace gatedrill::replay {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

// The four digits of \uXXXX; nothing if they are not there.
std::optional<std::uint32_t> utf16_unit(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  std::uint32_t unit = 0;
  for (const char c : digits.substr(0, 4)) {
    const int digit = hex_digit(c);
    if (digit < 0) return std::nullopt;
    unit = unit * 16 + static_cast<std::uint32_t>(digit);
  }
  return unit;
}

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoBase64Digit = 64;
constexpr std::uint8_t kWhiteSpace = 65;

constexpr std::array<std::uint8_t, 256> make_base64_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoBase64Digit);
  for (std::uint8_t i = 0; i < kBase64Digits.size(); ++i)
    values[static_cast<unsigned char>(kBase64Digits[i])] = i;
  for (const char c : {' ', '\t', '\r', '\n'})
    values[static_cast<unsigned char>(c)] = kWhiteSpace;
  values['-'] = 62;  // the alphabet for URLs (RFC 4648 5)
  values['_'] = 63;
  return values;
}

constexpr auto kBase64Values = make_base64_values();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
}

}  // namespace

void append_utf8(std::string& out, std::uint32_t code) {
  const auto push = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xc0 | code >> 6U);
    push(0x80 | (code & 0x3fU));
  } else if (code < 0x10000) {
    push(0xe0 | code >> 12U);
    push(0x80 | (code >> 6U & 0x3fU));
    push(0x80 | (code & 0x3fU));
  } else {
    push(0xf0 | code >> 18U);
    push(0x80 | (code >> 12U & 0x3fU));
    push(0x80 | (code >> 6U & 0x3fU));
    push(0x80 | (code & 0x3fU));
  }
}

std::string percent_decoded(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' && plus == Plus::is_space ? ' ' : text[i]);
    }
  }
  return out;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHexDigits[byte >> 4U]);
    out.push_back(kHexDigits[byte & 15U]);
  }
  return out;
}

std::string json_unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    const char escape = text[++i];
    constexpr std::string_view kNames = "bfnrt";
    constexpr std::string_view kValues = "\b\f\n\r\t";
    if (const std::size_t at = kNames.find(escape); at != std::string_view::npos) {
      out.push_back(kValues[at]);
    } else if (const auto unit = utf16_unit(escape == 'u' ? text.substr(i + 1) : "")) {
      i += 4;
      std::uint32_t code = *unit;
      const bool high = code >= 0xd800 && code < 0xdc00;
      const auto low =
          utf16_unit(high && text.substr(i + 1).starts_with("\\u") ? text.substr(i + 3) : "");
      if (low && *low >= 0xdc00 && *low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10U) + (*low - 0xdc00);
        i += 6;
      }
      append_utf8(out, code);
    } else {
      out.push_back(escape);
    }
  }
  return out;
}

std::string json_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20) {
      out.push_back(c);
      continue;
    }
    out.append("\\u00");
    out.push_back(kHexDigits[byte >> 4U]);
    out.push_back(kHexDigits[byte & 15U]);
  }
  return out;
}

std::string xml_unescaped(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string out;
  while (!text.empty()) {
    std::size_t taken = 1;
    char c = text.front();
    for (const auto& [entity, character] : kEntities) {
      if (c != '&' || !text.starts_with(entity)) continue;
      c = character;
      taken = entity.size();
      break;
    }
    out.push_back(c);
    text.remove_prefix(taken);
  }
  return out;
}

std::optional<std::string> base64_decoded(std::string_view text, WhiteSpace white_space) {
  const bool passes = white_space == WhiteSpace::is_passed_over;
  while (!text.empty() &&
         (text.back() == '=' ||
          (passes && kBase64Values[static_cast<unsigned char>(text.back())] == kWhiteSpace))) {
    text.remove_suffix(1);
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t group = 0;
  unsigned digits = 0;
  for (const char c : text) {
    const std::uint8_t value = kBase64Values[static_cast<unsigned char>(c)];
    if (value == kWhiteSpace && passes) continue;
    if (value >= kNoBase64Digit) return std::nullopt;
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

std::string base64_encoded(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group =
        byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    text.push_back(kBase64Digits[group >> 18U]);
    text.push_back(kBase64Digits[group >> 12U & 63U]);
    text.push_back(i + 1 < bytes.size() ? kBase64Digits[group >> 6U & 63U] : '=');
    text.push_back(i + 2 < bytes.size() ? kBase64Digits[group & 63U] : '=');
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::size_t find_ignoring_case(std::string_view text, std::string_view lower, std::size_t from) {
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(std::min(from, text.size()));
  const auto found = std::search(begin, text.end(), lower.begin(), lower.end(),
                                 [](char a, char b) { return to_small(a) == b; });
  if (found == text.end()) return std::string_view::npos;
  return static_cast<std::size_t>(found - text.begin());
}

bool contains_ignoring_case(std::string_view text, std::string_view lower) {
  return find_ignoring_case(text, lower) != std::string_view::npos;
}

std::string_view value_behind(std::string_view text, std::string_view name) {
  std::size_t found = find_ignoring_case(text, name);
  // Not the end of a longer name: "filename=" holds "name=".
  while (found != std::string_view::npos && found > 0 && is_letter(text[found - 1]))
    found = find_ignoring_case(text, name, found + 1);
  if (found == std::string_view::npos) return {};
  std::string_view value = text.substr(found + name.size());
  if (value.starts_with('"')) {
    value.remove_prefix(1);
    return value.substr(0, value.find('"'));
  }
  return trimmed(value.substr(0, value.find_first_of(";\r\n")));
}

}  // namespace gatedrill::replay
