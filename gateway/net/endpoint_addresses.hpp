// Where the endpoints of one upstream are: an address for each, or none while its name cannot be
// looked up. Names are looked up again while the gateway runs (net/name_watch), because what they
// stand for moves; the last good address stays until there is a better one. Safe from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio.hpp>

#include "gateway/core/result.hpp"

namespace gatedrill::gateway {

class EndpointAddresses {
 public:
  using TcpEndpoint = boost::asio::ip::tcp::endpoint;

  // `endpoints` as configurations write them: "127.0.0.1:80", "shop.example:80". Error: one that is
  // no address with a port. Those given by name have no address yet.
  [[nodiscard]] Result<void> configure(const std::vector<std::string>& endpoints);

  [[nodiscard]] std::size_t size() const { return endpoints_.size(); }

  // The name to look up; empty if the endpoint was given by address.
  [[nodiscard]] const std::string& name(std::size_t endpoint) const {
    return endpoints_[endpoint].name;
  }

  [[nodiscard]] std::optional<TcpEndpoint> at(std::size_t endpoint) const;

  // How often its address has changed: whoever keeps connections to the old one lets go of them.
  [[nodiscard]] std::uint32_t moves(std::size_t endpoint) const;

  // What the name stands for now. The present address stays if it is among them (a name with
  // several addresses is answered in any order), and if there are none.
  void found(std::size_t endpoint, const std::vector<std::string>& addresses);

 private:
  struct Endpoint {
    std::string name;
    std::uint16_t port = 0;
    std::optional<boost::asio::ip::address> address;
    std::uint32_t moves = 0;
  };

  mutable std::mutex mutex_;  // addresses and moves; the rest does not change
  std::vector<Endpoint> endpoints_;
};

}  // namespace gatedrill::gateway
