// Quantities as operators write them, and back: pure text, no YAML.
//
//   250ms, 2s, 1m30s, 0      Duration       64KiB, 10MB, 0    a number of bytes
//   500/s, 30/m, 0.5/s       Rate           5%, 0.1%          a ratio (0.05, 0.001)
//   127.0.0.1:80, [::1]:80   Address
//
// A unit is never guessed: a bare number is an error (except 0), because "timeout: 250" means
// milliseconds to one reader and seconds to the next. Each error's message is the rest of a
// sentence about a setting: "expected a duration such as 250ms or 2s, got '250'".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

// `count` events in each `per`, exact and in lowest terms: 0.5/s is 1 in 2 s.
struct Rate {
  std::int64_t count = 0;
  Duration per = std::chrono::seconds{1};

  [[nodiscard]] double per_second() const {
    return static_cast<double>(count) * 1e9 / static_cast<double>(per.count());
  }

  bool operator==(const Rate&) const = default;
};

// A host (name, IPv4 or IPv6 without brackets) and a port. Port 0 lets the system choose one.
struct Address {
  std::string host;
  std::uint16_t port = 0;
  auto operator<=>(const Address&) const = default;
};

// Units ns, us, ms, s, m, h, d, largest first; the last part may have decimals (1.5s). Not
// negative.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
// Units B, KiB, MiB, GiB (1024) and kB, KB, MB, GB (1000). Bytes.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);
// Per s, m, h or d. Not negative.
[[nodiscard]] Result<Rate> parse_rate(std::string_view text);
// 0% to 100%, as a ratio from 0 to 1.
[[nodiscard]] Result<double> parse_percent(std::string_view text);
[[nodiscard]] Result<Address> parse_address(std::string_view text);

// An IPv4 or IPv6 address, without brackets or port.
[[nodiscard]] bool is_ip_address(std::string_view text);
// An address, or one with the length of its network's prefix: 10.0.0.0/8, fd00::/8.
[[nodiscard]] bool is_ip_network(std::string_view text);

// The shortest spelling that reads back as the same value.
[[nodiscard]] std::string to_text(Duration duration);
[[nodiscard]] std::string to_text(Rate rate);
[[nodiscard]] std::string to_text(const Address& address);
[[nodiscard]] std::string size_text(std::uint64_t bytes);
[[nodiscard]] std::string percent_text(double ratio);

}  // namespace gatedrill::gateway
