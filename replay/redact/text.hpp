// Secrets that are known by their form, anywhere in a text:
//
//   eyJhbGciOi...          JSON in base64, with or without the rest of a JWT
//   Bearer abc.def         credentials behind the name of their scheme; also Basic
//   AKIA..., ghp_...       keys that their makers have marked
//   -----BEGIN ... KEY     private keys
//   4111 1111 1111 1111    card numbers: the lengths and prefixes of a network, and Luhn's sum
//   +49 30 1234567         phone numbers: international, or (212) 555-0123 and 212-555-0123
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gatedrill::replay {

// Shorter texts hold nothing that is known by its form.
inline constexpr std::size_t kFormBytesMin = 9;

struct TextSecret {
  enum class Kind : std::uint8_t { token, number } kind = Kind::token;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The first one at or behind `from`.
[[nodiscard]] std::optional<TextSecret> find_secret(std::string_view text,
                                                    std::size_t from,
                                                    bool numbers);

// What a text may hold, by the characters in it: one quick look for the many that hold nothing.
struct TextTraits {
  bool formed = false;  // something known by its form
  bool colon = false;
  bool equals = false;
  bool bracket = false;    // { or [
  bool delimiter = false;  // ? # ;
};

[[nodiscard]] TextTraits traits_of(std::string_view text);

// Digits alone: 14 to 16, a network's prefix, Luhn's sum.
[[nodiscard]] bool is_card_number(std::string_view digits);

// The whole text is written like a phone number; for values whose name says that they are one.
[[nodiscard]] bool is_phone_number(std::string_view text);

}  // namespace gatedrill::replay
