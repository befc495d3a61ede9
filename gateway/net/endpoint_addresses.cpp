#include "gateway/net/endpoint_addresses.hpp"

#include <algorithm>

#include "gateway/net/address.hpp"

namespace gatedrill::gateway {

namespace ip = boost::asio::ip;

Result<void> EndpointAddresses::configure(const std::vector<std::string>& endpoints) {
  endpoints_.clear();
  for (const std::string& text : endpoints) {
    const Result<HostAndPort> parts = split_address(text);
    if (!parts) return parts.error();
    Endpoint& endpoint = endpoints_.emplace_back();
    endpoint.port = parts->port;
    boost::system::error_code is_name;
    const ip::address address = ip::make_address(parts->host, is_name);
    if (is_name) {
      endpoint.name = parts->host;
    } else {
      endpoint.address = address;
    }
  }
  return {};
}

std::optional<EndpointAddresses::TcpEndpoint> EndpointAddresses::at(std::size_t endpoint) const {
  const Endpoint& wanted = endpoints_[endpoint];
  const std::lock_guard lock(mutex_);
  if (!wanted.address) return std::nullopt;
  return TcpEndpoint(*wanted.address, wanted.port);
}

std::uint32_t EndpointAddresses::moves(std::size_t endpoint) const {
  const std::lock_guard lock(mutex_);
  return endpoints_[endpoint].moves;
}

void EndpointAddresses::found(std::size_t endpoint, const std::vector<std::string>& addresses) {
  if (addresses.empty()) return;
  Endpoint& moved = endpoints_[endpoint];
  const std::lock_guard lock(mutex_);
  if (moved.address && std::find(addresses.begin(), addresses.end(), moved.address->to_string()) !=
                           addresses.end()) {
    return;
  }
  boost::system::error_code failed;
  const ip::address address = ip::make_address(addresses.front(), failed);
  if (failed) return;
  if (moved.address) ++moved.moves;
  moved.address = address;
}

}  // namespace gatedrill::gateway
