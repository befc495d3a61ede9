// Accepts connections on one address. When descriptors run out it pauses instead of spinning: the
// clients wait in the kernel's queue, and accepting goes on a moment later.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio.hpp>

#include "gateway/core/result.hpp"
#include "gateway/net/connection.hpp"

namespace gatedrill::gateway {

// Used on the context's thread, except `open` and `local`, which may come before it runs.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  using OnAccept = std::function<void(Socket socket, const TcpEndpoint& peer)>;

  Listener(boost::asio::io_context& context, OnAccept on_accept);

  // Binds and listens.
  Result<void> open(const TcpEndpoint& address);

  [[nodiscard]] TcpEndpoint local() const { return local_; }

  // Begins to accept; does nothing while it does already.
  void start();

  // Accepts no more for now (the connection that is being accepted still comes).
  void pause() { paused_ = true; }

  // For good. on_accept is not called any more.
  void close();

 private:
  void accept();
  void accept_later();

  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Executor>;

  boost::asio::io_context& context_;
  OnAccept on_accept_;
  Acceptor acceptor_;
  boost::asio::steady_timer pause_;
  TcpEndpoint local_;
  TcpEndpoint peer_;
  bool accepting_ = false;
  bool paused_ = true;
};

}  // namespace gatedrill::gateway
