// A TCP port that stays ours while nobody listens on it, so that a server can go down (connections
// to it are really refused) and come up again on the same port: a second socket, bound and not
// listening, keeps it.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/core/result.hpp"

namespace gatedrill::chaos {

class HeldPort {
 public:
  // Port 0: any free one. `address` is an IPv4 address. Fails (outside) if it cannot be had.
  static Result<HeldPort> take(const std::string& address, std::uint16_t port);

  HeldPort(HeldPort&& other) noexcept;
  HeldPort& operator=(HeldPort&& other) noexcept;
  ~HeldPort();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // A listening, non-blocking socket on the port; the caller owns the descriptor. Closing it makes
  // the port refuse again.
  [[nodiscard]] Result<int> listen() const;

 private:
  HeldPort(int socket, std::string address, std::uint16_t port)
      : socket_(socket), address_(std::move(address)), port_(port) {}

  int socket_ = -1;
  std::string address_;
  std::uint16_t port_ = 0;
};

}  // namespace gatedrill::chaos
