#include "tests/support/loopback_peer.hpp"

#include <array>
#include <cassert>
#include <cstdlib>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gatedrill::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

void expect(bool condition) {
  if (!condition) std::abort();
}

std::size_t announced_length(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  for (std::size_t line = head.find('\n'); line != std::string_view::npos;
       line = head.find('\n', line + 1)) {
    const std::string_view rest = head.substr(line + 1);
    if (rest.size() > kName.size() && strncasecmp(rest.data(), kName.data(), kName.size()) == 0) {
      return std::strtoull(rest.data() + kName.size(), nullptr, 10);
    }
  }
  return 0;
}

}  // namespace

PeerSocket::PeerSocket(PeerSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), unread_(std::move(other.unread_)) {}

PeerSocket& PeerSocket::operator=(PeerSocket&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(unread_, other.unread_);
  return *this;
}

PeerSocket::~PeerSocket() {
  close();
}

bool PeerSocket::receive() {
  std::array<char, 65536> bytes{};
  const auto received = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (received <= 0) return false;
  unread_.append(bytes.data(), static_cast<std::size_t>(received));
  return true;
}

std::string PeerSocket::read_request() {
  while (true) {
    const std::size_t end = unread_.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t total =
          end + 4 + announced_length(std::string_view{unread_}.substr(0, end));
      if (unread_.size() >= total) {
        std::string request = unread_.substr(0, total);
        unread_.erase(0, total);
        return request;
      }
    }
    if (!receive()) return std::exchange(unread_, {});
  }
}

std::string PeerSocket::read_until(std::string_view end) {
  while (true) {
    const std::size_t found = unread_.find(end);
    if (found != std::string::npos) {
      std::string text = unread_.substr(0, found + end.size());
      unread_.erase(0, text.size());
      return text;
    }
    if (!receive()) return std::exchange(unread_, {});
  }
}

std::string PeerSocket::read_some() {
  if (unread_.empty()) receive();
  return std::exchange(unread_, {});
}

std::string PeerSocket::read_to_end() {
  while (receive()) {
  }
  return std::exchange(unread_, {});
}

std::size_t PeerSocket::read_available() {
  std::array<char, 65536> bytes{};
  const auto received = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  return received > 0 ? static_cast<std::size_t>(received) : 0;
}

bool PeerSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t PeerSocket::send_until_stuck(std::size_t size_max) {
  constexpr int kStuckMs = 300;
  const std::string piece(65536, 'x');
  std::size_t total = 0;
  while (total < size_max) {
    const auto sent = ::send(socket_, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      total += static_cast<std::size_t>(sent);
      continue;
    }
    pollfd writable{socket_, POLLOUT, 0};
    if (::poll(&writable, 1, kStuckMs) != 1 || (writable.revents & (POLLERR | POLLHUP)) != 0) break;
  }
  return total;
}

void PeerSocket::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void PeerSocket::reset() {
  const linger zero{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &zero, sizeof zero);
  close();
}

void PeerSocket::finish() {
  if (socket_ >= 0) ::shutdown(socket_, SHUT_WR);
}

void PeerSocket::shut_down() {
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

LoopbackListener::LoopbackListener(int backlog) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  expect(socket_ >= 0);
  expect(::bind(socket_, generic(address), size) == 0);
  expect(::listen(socket_, backlog) == 0);
  expect(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
}

LoopbackListener::~LoopbackListener() {
  ::close(socket_);
}

PeerSocket LoopbackListener::accept() {
  const int accepted = ::accept(socket_, nullptr, nullptr);
  if (accepted < 0) return {};
  const int on = 1;
  ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return PeerSocket{accepted};
}

bool LoopbackListener::has_connection() const {
  pollfd waiting{socket_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 1;
}

void LoopbackListener::shut_down() {
  ::shutdown(socket_, SHUT_RDWR);
}

std::uint16_t unused_port() {
  return LoopbackListener{}.port();
}

PeerSocket connect_to(std::uint16_t port) {
  const int connected = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  expect(connected >= 0);
  expect(::connect(connected, generic(address), sizeof address) == 0);
  const int on = 1;
  ::setsockopt(connected, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return PeerSocket{connected};
}

}  // namespace gatedrill::testing
