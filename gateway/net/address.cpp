#include "gateway/net/address.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace gatedrill::gateway {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

}  // namespace

Result<HostAndPort> split_address(std::string_view host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  if (colon == std::string_view::npos) {
    return usage_error("expected an address with a port such as 127.0.0.1:8080, got " +
                       quoted(host_and_port));
  }
  std::string_view host = host_and_port.substr(0, colon);
  const std::string_view digits = host_and_port.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty()) {
    return usage_error("expected a port from 0 to 65535 in " + quoted(host_and_port));
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return HostAndPort{std::string(host), port};
}

Result<tcp::endpoint> resolve(std::string_view host_and_port) {
  const Result<HostAndPort> parts = split_address(host_and_port);
  if (!parts) return parts.error();
  boost::system::error_code failed;
  const auto address = asio::ip::make_address(parts->host, failed);
  if (!failed) return tcp::endpoint(address, parts->port);

  asio::io_context context;
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(parts->host, std::to_string(parts->port), failed);
  if (failed || found.empty()) {
    return outside_error("cannot look up the host of " + quoted(host_and_port) + ": " +
                         failed.message());
  }
  return found.begin()->endpoint();
}

std::string to_text(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + host + "]:" + port : host + ":" + port;
}

Result<AddressSet> AddressSet::parse(const std::vector<std::string>& entries) {
  AddressSet set;
  for (const std::string& entry : entries) {
    boost::system::error_code failed;
    const bool v6 = entry.find(':') != std::string::npos;
    const bool network = entry.find('/') != std::string::npos;
    const std::string text = network ? entry : entry + (v6 ? "/128" : "/32");
    if (v6) {
      set.v6_.push_back(asio::ip::make_network_v6(text, failed));
    } else {
      set.v4_.push_back(asio::ip::make_network_v4(text, failed));
    }
    if (failed) {
      return usage_error("expected an address or network such as 10.0.0.0/8, got " + quoted(entry));
    }
  }
  return set;
}

bool AddressSet::contains(const asio::ip::address& address) const {
  if (address.is_v4()) {
    const auto value = address.to_v4().to_uint();
    return std::any_of(v4_.begin(), v4_.end(), [value](const asio::ip::network_v4& network) {
      return (value & network.netmask().to_uint()) == network.network().to_uint();
    });
  }
  const asio::ip::address_v6 host = address.to_v6();
  return std::any_of(v6_.begin(), v6_.end(), [&host](const asio::ip::network_v6& network) {
    const asio::ip::network_v6 same(host, network.prefix_length());
    return same.canonical() == network.canonical();
  });
}

}  // namespace gatedrill::gateway
