// The kinds of ASCII characters that protocols speak of, whatever the locale; bytes that are none
// belong to no kind.
#pragma once

namespace gatedrill {

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

[[nodiscard]] constexpr bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}

[[nodiscard]] constexpr bool is_letter(char c) {
  return is_small(c) || is_capital(c);
}

[[nodiscard]] constexpr char to_small(char c) {
  return is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] constexpr char to_capital(char c) {
  return is_small(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

// -1 if it is none.
[[nodiscard]] constexpr int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace gatedrill
