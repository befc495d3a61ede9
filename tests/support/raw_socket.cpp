#include "tests/support/raw_socket.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace gatedrill::testing {
namespace {

sockaddr loopback(std::uint16_t port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr generic{};
  std::memcpy(&generic, &where, sizeof where);
  return generic;
}

void set_deadline(int fd, std::chrono::microseconds longest = std::chrono::seconds{5}) {
  timeval limit{};
  limit.tv_sec = longest.count() / 1'000'000;
  limit.tv_usec = longest.count() % 1'000'000;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace

thread_local int RawSocket::last_connect_error = 0;

RawSocket::RawSocket(int descriptor) : fd_(descriptor) {
  set_deadline(fd_);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

RawSocket RawSocket::connect(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr where = loopback(port);
  if (::connect(fd, &where, sizeof where) != 0) {
    last_connect_error = errno;
    ::close(fd);
    return {};
  }
  last_connect_error = 0;
  return RawSocket(fd);
}

bool RawSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

RawSocket::Read RawSocket::read(std::size_t size_max) {
  std::vector<char> bytes(size_max);
  const ssize_t size = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (size < 0) return {.bytes = {}, .fin = false, .error = errno};
  if (size == 0) return {.bytes = {}, .fin = true, .error = 0};
  return {
      .bytes = std::string(bytes.data(), static_cast<std::size_t>(size)), .fin = false, .error = 0};
}

RawSocket::Read RawSocket::read_exactly(std::size_t size) {
  Read all;
  while (all.bytes.size() < size && !all.fin && all.error == 0) {
    const Read some = read(size - all.bytes.size());
    all.bytes += some.bytes;
    all.fin = some.fin;
    all.error = some.error;
  }
  return all;
}

RawSocket::Read RawSocket::read_until(std::string_view end) {
  Read all;
  while (!all.bytes.ends_with(end) && !all.fin && all.error == 0) {
    const Read some = read();
    all.bytes += some.bytes;
    all.fin = some.fin;
    all.error = some.error;
  }
  return all;
}

void RawSocket::set_read_limit(std::chrono::milliseconds limit) {
  set_deadline(fd_, limit);
}

void RawSocket::shut_down_sending() {
  ::shutdown(fd_, SHUT_WR);
}

void RawSocket::reset() {
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void RawSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

int RawSocket::tcp_state() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  ::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info.tcpi_state;
}

RawListener::RawListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr where = loopback(0);
  ::bind(fd_, &where, sizeof where);
  ::listen(fd_, 64);
  set_deadline(fd_);
  sockaddr bound{};
  socklen_t size = sizeof bound;
  ::getsockname(fd_, &bound, &size);
  sockaddr_in inet{};
  std::memcpy(&inet, &bound, sizeof inet);
  port_ = ntohs(inet.sin_port);
}

RawListener::~RawListener() {
  ::close(fd_);
}

RawSocket RawListener::accept() {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  return fd < 0 ? RawSocket() : RawSocket(fd);
}

}  // namespace gatedrill::testing
