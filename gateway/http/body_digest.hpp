// The SHA-1 of a body, fed piece by piece: how bodies are compared without being kept. It tells
// bodies apart; it protects nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gatedrill::http {

class BodyDigest {
 public:
  using Value = std::array<std::uint8_t, 20>;

  BodyDigest();
  BodyDigest(BodyDigest&&) noexcept;
  BodyDigest& operator=(BodyDigest&&) noexcept;
  ~BodyDigest();

  void update(std::string_view bytes);
  // The digest of everything so far; the object then starts anew.
  [[nodiscard]] Value finish();

  [[nodiscard]] static Value of(std::string_view body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Forty lower-case hexadecimal digits.
[[nodiscard]] std::string to_hex(const BodyDigest::Value& value);

}  // namespace gatedrill::http
