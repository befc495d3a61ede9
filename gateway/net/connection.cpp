#include "gateway/net/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/net/address.hpp"

namespace gatedrill::gateway {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

error_code system_error(int number) {
  return {number, boost::system::system_category()};
}

// Small messages are not held back for an acknowledgement.
void send_at_once(int descriptor) {
  const int on = 1;
  static_cast<void>(::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

// As getsockname and getpeername tell it.
std::string address_text(int descriptor, decltype(::getsockname)& ask) {
  TcpEndpoint endpoint;
  auto size = static_cast<socklen_t>(endpoint.capacity());
  if (ask(descriptor, endpoint.data(), &size) != 0) return {};
  endpoint.resize(size);
  return to_text(endpoint);
}

}  // namespace

Connection::Connection(Reactor& reactor, std::uint64_t id, int accepted)
    : reactor_(reactor), id_(id), descriptor_(accepted) {
  send_at_once(descriptor_);
  tell_opened(nullptr);
  watch();
}

Connection::~Connection() {
  close();
}

void Connection::watch() {
  key_ = reactor_.add(descriptor_, *this);
  if (key_ != 0) return;
  const error_code failed = system_error(errno);
  (connecting_ ? connect_error_ : read_error_) = failed;
  write_error_ = failed;
  connecting_ = false;
}

void Connection::connect(const TcpEndpoint& to) {
  descriptor_ =
      ::socket(to.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (descriptor_ < 0) {
    connect_error_ = system_error(errno);
    return;
  }
  send_at_once(descriptor_);
  const bool done = ::connect(descriptor_, to.data(), static_cast<socklen_t>(to.size())) == 0;
  if (!done && errno != EINPROGRESS) {
    connect_error_ = system_error(errno);
    return;
  }
  connecting_ = !done;
  tell_opened(&to);
  if (done) tell_connected();
  watch();
}

void Connection::tell_opened(const TcpEndpoint* to) {
  TrafficTap* tap = reactor_.tap();
  if (tap == nullptr) return;
  // Not of the kernel, which names no peer before the connection is made.
  const std::string peer = to != nullptr ? to_text(*to) : address_text(descriptor_, ::getpeername);
  tap->on_opened(tapped_, to == nullptr, address_text(descriptor_, ::getsockname), peer);
}

void Connection::tell_connected() {
  if (tapped()) reactor_.tap()->on_connected(tapped_);
}

void Connection::tell_ended(ConnectionEnding ending, bool closed) {
  if (!tapped()) return;
  reactor_.tap()->on_ended(tapped_, ending, closed);
  if (closed) tapped_ = {};
}

void Connection::finish_connect() {
  int number = 0;
  socklen_t size = sizeof number;
  if (::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
  connecting_ = false;
  if (number == 0) {
    tell_connected();
    return;
  }
  connect_error_ = system_error(number);
  tell_ended(
      number == ECONNREFUSED ? ConnectionEnding::peer_reset : ConnectionEnding::not_connected,
      true);
}

void Connection::on_ready(std::uint32_t events) {
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) peer_ended_ = true;
  if ((events & EPOLLIN) != 0 || peer_ended_) readable_ = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) writable_ = true;
  bool tell = false;
  if (connecting_) {
    if (!writable_) return;
    finish_connect();
    tell = true;
  }
  if (awaiting_writable_ && writable_) {
    awaiting_writable_ = false;
    tell = true;
  }
  if (reading_ && readable_ && receive()) tell = true;
  // Nothing after it: the owner may have let go.
  if (tell && owner_ != nullptr) owner_->on_connection_event(*this);
}

// Reads once. False if there was nothing after all.
bool Connection::receive() {
  make_room();
  const std::size_t room = capacity_ - end_;
  ssize_t count = 0;
  do {
    count = ::recv(descriptor_, buffer_.get() + end_, room, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) {
    readable_ = false;
    give_back_buffer();
    return false;
  }
  reading_ = false;
  if (count <= 0) {
    read_error_ = count == 0 ? error_code(asio::error::eof) : system_error(errno);
    tell_ended(count == 0 ? ConnectionEnding::peer_fin : ConnectionEnding::peer_reset, false);
    return true;
  }
  if (tapped()) {
    reactor_.tap()->on_received(tapped_, {buffer_.get() + end_, static_cast<std::size_t>(count)});
  }
  end_ += static_cast<std::size_t>(count);
  filled_ = static_cast<std::size_t>(count) == room;
  // A short read took all there was; what comes later is reported anew. An end was reported
  // already.
  if (!filled_ && !peer_ended_) readable_ = false;
  return true;
}

// So that at least one byte more fits: moves what waits to the front or into a larger buffer.
void Connection::make_room() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (capacity_ > 0 && end_ < capacity_) return;
  if (begin_ > 0 && begin_ >= capacity_ / 2) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  } else {
    std::size_t larger = filled_ ? std::max(capacity_ * 2, ReadBuffers::kLarge) : capacity_ + 1;
    auto buffer = reactor_.buffers().take(larger);
    if (end_ > begin_) std::memcpy(buffer.get(), buffer_.get() + begin_, end_ - begin_);
    if (buffer_) reactor_.buffers().give(std::move(buffer_), capacity_);
    buffer_ = std::move(buffer);
    capacity_ = larger;
  }
  end_ -= begin_;
  begin_ = 0;
}

void Connection::give_back_buffer() {
  if (!buffer_ || begin_ < end_) return;
  reactor_.buffers().give(std::move(buffer_), capacity_);
  capacity_ = begin_ = end_ = 0;
}

void Connection::start_read(std::size_t limit) {
  if (reading_ || read_error_ || end_ - begin_ >= limit) return;
  give_back_buffer();
  reading_ = true;
  if (readable_) reactor_.defer(key_);
}

std::size_t Connection::write(std::string_view bytes) {
  if (write_error_ || bytes.empty()) return 0;
  ssize_t count = 0;
  do {
    count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count > 0 && tapped()) {
    reactor_.tap()->on_sent(tapped_, bytes.substr(0, static_cast<std::size_t>(count)));
  }
  if (count == static_cast<ssize_t>(bytes.size())) return bytes.size();
  writable_ = false;
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno != EAGAIN) write_error_ = system_error(errno);
  return 0;
}

std::size_t Connection::unacknowledged() {
  int bytes = 0;
  if (::ioctl(descriptor_, SIOCOUTQ, &bytes) != 0) return 0;
  return static_cast<std::size_t>(bytes);
}

void Connection::await_writable() {
  if (awaiting_writable_) return;
  awaiting_writable_ = true;
  if (writable_) reactor_.defer(key_);
}

void Connection::shutdown_write() {
  if (descriptor_ < 0) return;
  ::shutdown(descriptor_, SHUT_WR);
  tell_ended(ConnectionEnding::own_fin, false);
}

void Connection::close() {
  if (descriptor_ < 0) return;
  tell_ended(connecting_ ? ConnectionEnding::not_connected : ConnectionEnding::own_fin, true);
  reactor_.remove(key_);
  ::close(std::exchange(descriptor_, -1));
}

void Connection::abort() {
  if (descriptor_ < 0) return;
  const linger reset{1, 0};
  static_cast<void>(::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
  tell_ended(ConnectionEnding::own_reset, true);
  close();
}

}  // namespace gatedrill::gateway
