// Addresses as configurations write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio.hpp>

#include "gateway/core/result.hpp"

namespace gatedrill::gateway {

struct HostAndPort {
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 0;
};

[[nodiscard]] Result<HostAndPort> split_address(std::string_view host_and_port);

// "127.0.0.1:80", "[::1]:80", "localhost:80". Names are looked up, which blocks: at start only.
[[nodiscard]] Result<boost::asio::ip::tcp::endpoint> resolve(std::string_view host_and_port);

// "127.0.0.1:80", "[::1]:80".
[[nodiscard]] std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);

// A set of addresses and networks: "10.0.0.1", "10.0.0.0/8", "::1".
class AddressSet {
 public:
  [[nodiscard]] static Result<AddressSet> parse(const std::vector<std::string>& entries);

  [[nodiscard]] bool contains(const boost::asio::ip::address& address) const;

 private:
  std::vector<boost::asio::ip::network_v4> v4_;
  std::vector<boost::asio::ip::network_v6> v6_;
};

}  // namespace gatedrill::gateway
