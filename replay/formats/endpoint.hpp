// The addresses of a recording ("10.0.0.1:5678", "[::1]:80") as numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gatedrill::replay::formats {

struct Endpoint {
  std::array<std::uint8_t, 16> address{};  // IPv4: the first four
  bool is_v6 = false;
  std::uint16_t port = 0;

  bool operator==(const Endpoint&) const = default;
};

// Nothing for names and for what is no address with a port.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);

}  // namespace gatedrill::replay::formats
