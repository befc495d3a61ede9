#include "replay/redact/encodings.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace gatedrill::replay {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

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

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (is_digit(c)) return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

}  // namespace

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

std::optional<std::string> base64_decoded(std::string_view text) {
  while (text.ends_with('='))
    text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>(bits >> static_cast<unsigned>(held) & 0xffU));
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool contains_ignoring_case(std::string_view text, std::string_view lower) {
  const auto equal = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), equal) != text.end();
}

}  // namespace gatedrill::replay
