#include "chaos/proxy/held_port.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gatedrill::chaos {
namespace {

Error failed(const std::string& address, std::uint16_t port, int error) {
  const std::string why = std::generic_category().message(error);
  return outside_error("cannot listen on " + address + ":" + std::to_string(port) + ": " + why +
                       (error == EADDRINUSE ? "; stop what uses the port or choose another" : ""));
}

Result<int> bound_socket(const std::string& address, std::uint16_t port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1) {
    return usage_error("'" + address + "' is not an IPv4 address to listen on, such as 127.0.0.1");
  }
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return failed(address, port, errno);
  const int on = 1;
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr generic{};
  static_assert(sizeof generic == sizeof where);
  __builtin_memcpy(&generic, &where, sizeof where);
  if (::bind(made, &generic, sizeof generic) != 0) {
    const int error = errno;
    ::close(made);
    return failed(address, port, error);
  }
  return made;
}

std::uint16_t port_of(int socket) {
  sockaddr generic{};
  socklen_t size = sizeof generic;
  if (::getsockname(socket, &generic, &size) != 0) return 0;
  sockaddr_in where{};
  __builtin_memcpy(&where, &generic, sizeof where);
  return ntohs(where.sin_port);
}

}  // namespace

Result<HeldPort> HeldPort::take(const std::string& address, std::uint16_t port) {
  const Result<int> held = bound_socket(address, port);
  if (!held) return held.error();
  HeldPort result(*held, address, port_of(*held));
  // Linux lets a port be bound beside a listener only by sockets that do not listen: try it now, so
  // that a port in use is reported here.
  const Result<int> listener = result.listen();
  if (!listener) return listener.error();
  ::close(*listener);
  return result;
}

HeldPort::HeldPort(HeldPort&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      address_(std::move(other.address_)),
      port_(other.port_) {}

HeldPort& HeldPort::operator=(HeldPort&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(address_, other.address_);
  std::swap(port_, other.port_);
  return *this;
}

HeldPort::~HeldPort() {
  if (socket_ >= 0) ::close(socket_);
}

Result<int> HeldPort::listen() const {
  const Result<int> made = bound_socket(address_, port_);
  if (!made) return made.error();
  if (::listen(*made, SOMAXCONN) != 0) {
    const int error = errno;
    ::close(*made);
    return failed(address_, port_, error);
  }
  return *made;
}

}  // namespace gatedrill::chaos
