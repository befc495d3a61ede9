#include "replay/formats/endpoint.hpp"

#include <charconv>
#include <string>

#include <arpa/inet.h>

namespace gatedrill::replay::formats {

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Endpoint endpoint;
  const std::string_view digits = text.substr(colon + 1);
  const auto [rest, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc{} || rest != digits.data() + digits.size()) return std::nullopt;
  std::string address(text.substr(0, colon));
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  endpoint.is_v6 = address.find(':') != std::string::npos;
  const int family = endpoint.is_v6 ? AF_INET6 : AF_INET;
  if (inet_pton(family, address.c_str(), endpoint.address.data()) != 1) return std::nullopt;
  return endpoint;
}

}  // namespace gatedrill::replay::formats
