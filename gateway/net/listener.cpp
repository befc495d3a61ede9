#include "gateway/net/listener.hpp"

#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/net/address.hpp"
#include "gateway/net/network_error.hpp"

namespace gatedrill::gateway {

using boost::system::error_code;

namespace {

// As many before others have their turn.
constexpr int kAtOnce = 64;

bool set_option(int descriptor, int option) {
  const int on = 1;
  return ::setsockopt(descriptor, SOL_SOCKET, option, &on, sizeof on) == 0;
}

}  // namespace

Listener::Listener(Reactor& reactor, Places& places, OnAccept on_accept)
    : reactor_(reactor),
      places_(places),
      on_accept_(std::move(on_accept)),
      later_(reactor.context()) {}

Listener::~Listener() {
  close();
}

Result<void> Listener::open(const TcpEndpoint& address, bool shared) {
  local_ = address;
  const auto size = static_cast<socklen_t>(address.size());
  auto local_size = static_cast<socklen_t>(local_.capacity());
  descriptor_ = ::socket(address.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                         IPPROTO_TCP);
  const bool listens = descriptor_ >= 0 && set_option(descriptor_, SO_REUSEADDR) &&
                       (!shared || set_option(descriptor_, SO_REUSEPORT)) &&
                       ::bind(descriptor_, address.data(), size) == 0 &&
                       ::listen(descriptor_, SOMAXCONN) == 0 &&
                       ::getsockname(descriptor_, local_.data(), &local_size) == 0 &&
                       (key_ = reactor_.add(descriptor_, *this)) != 0;
  if (listens) return {};
  const error_code failed(errno, boost::system::system_category());
  std::string advice;
  if (failed == boost::asio::error::address_in_use) {
    advice = "; stop what uses the port or listen on another one";
  } else if (failed == boost::asio::error::access_denied) {
    advice = "; use a port from 1024 up or run with CAP_NET_BIND_SERVICE";
  }
  return outside_error("cannot listen on " + to_text(address) + ": " + failed.message() + advice);
}

void Listener::start() {
  if (!std::exchange(paused_, false)) return;
  if (acceptable_) reactor_.defer(key_);
}

void Listener::close() {
  paused_ = true;
  on_accept_ = nullptr;
  later_.cancel();
  if (descriptor_ < 0) return;
  reactor_.remove(key_);
  ::close(std::exchange(descriptor_, -1));
}

void Listener::on_ready(std::uint32_t /*events*/) {
  acceptable_ = true;
  for (int count = 0; !paused_; ++count) {
    if (count == kAtOnce) return reactor_.defer(key_);
    if (!places_.enter()) {
      paused_ = true;
      return;
    }
    TcpEndpoint peer;
    auto size = static_cast<socklen_t>(peer.capacity());
    const int accepted = ::accept4(descriptor_, peer.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted >= 0) {
      peer.resize(size);
      on_accept_(accepted, peer);
      continue;
    }
    const error_code failed(errno, boost::system::system_category());
    places_.leave();
    if (failed == boost::asio::error::would_block) {
      acceptable_ = false;
      return;
    }
    // Everything else is the end of one connection before it was accepted.
    if (out_of_descriptors(failed)) return accept_later();
  }
}

void Listener::accept_later() {
  later_.expires_after(std::chrono::milliseconds{50});
  later_.async_wait([this, alive = std::weak_ptr(alive_)](const error_code& /*error*/) {
    if (!alive.expired()) on_ready(0);
  });
}

}  // namespace gatedrill::gateway
