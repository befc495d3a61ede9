#include "gateway/net/listener.hpp"

#include <utility>

#include "gateway/net/address.hpp"
#include "gateway/net/network_error.hpp"

namespace gatedrill::gateway {

namespace asio = boost::asio;
using boost::system::error_code;

Listener::Listener(asio::io_context& context, OnAccept on_accept)
    : context_(context),
      on_accept_(std::move(on_accept)),
      acceptor_(context.get_executor()),
      pause_(context) {}

Result<void> Listener::open(const TcpEndpoint& address) {
  error_code failed;
  acceptor_.open(address.protocol(), failed);
  if (!failed) acceptor_.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) acceptor_.bind(address, failed);
  if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
  if (!failed) local_ = acceptor_.local_endpoint(failed);
  if (!failed) return {};
  std::string advice;
  if (failed == asio::error::address_in_use) {
    advice = "; stop what uses the port or listen on another one";
  } else if (failed == asio::error::access_denied) {
    advice = "; use a port from 1024 up or run with CAP_NET_BIND_SERVICE";
  }
  return outside_error("cannot listen on " + to_text(address) + ": " + failed.message() + advice);
}

void Listener::start() {
  paused_ = false;
  if (!accepting_ && acceptor_.is_open()) accept();
}

void Listener::close() {
  paused_ = true;
  on_accept_ = nullptr;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
}

void Listener::accept() {
  accepting_ = true;
  acceptor_.async_accept(context_.get_executor(), peer_,
                         [self = shared_from_this()](const error_code& error, Socket socket) {
                           self->accepting_ = false;
                           if (!self->on_accept_) return;
                           if (!error) {
                             self->on_accept_(std::move(socket), self->peer_);
                           } else if (out_of_descriptors(error)) {
                             self->accept_later();
                             return;
                           }
                           if (!self->paused_ && self->on_accept_) self->accept();
                         });
}

void Listener::accept_later() {
  accepting_ = true;
  pause_.expires_after(std::chrono::milliseconds{50});
  pause_.async_wait([self = shared_from_this()](const error_code& /*error*/) {
    self->accepting_ = false;
    if (!self->paused_ && self->on_accept_) self->accept();
  });
}

}  // namespace gatedrill::gateway
