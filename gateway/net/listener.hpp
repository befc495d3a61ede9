// Accepts connections on one address. When descriptors run out it pauses instead of spinning: the
// clients wait in the kernel's queue, and accepting goes on a moment later. When no place is left
// it pauses until it is started again.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio.hpp>

#include "gateway/core/result.hpp"
#include "gateway/net/connection.hpp"
#include "gateway/net/places.hpp"

namespace gatedrill::gateway {

// Used on the context's thread, except `open` and `local`, which may come before it runs.
class Listener final : private Watched {
 public:
  // Of an accepted connection, whose owner this is told.
  using OnAccept = std::function<void(int descriptor, const TcpEndpoint& peer)>;

  // `reactor` and `places` outlive it. Whom it accepts has one of the places, to be given back by
  // whoever takes the connection over.
  Listener(Reactor& reactor, Places& places, OnAccept on_accept);
  ~Listener();

  // Binds and listens. `shared`: several listeners of one process listen there, and the kernel
  // spreads the connections over them.
  Result<void> open(const TcpEndpoint& address, bool shared = false);

  [[nodiscard]] TcpEndpoint local() const { return local_; }

  // Begins to accept; does nothing while it does already.
  void start();

  // For good. on_accept is not called any more.
  void close();

 private:
  void on_ready(std::uint32_t events) override;
  void accept_later();

  Reactor& reactor_;
  Places& places_;
  OnAccept on_accept_;
  int descriptor_ = -1;
  Reactor::Key key_ = 0;
  boost::asio::steady_timer later_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // for a wait that outlasts it
  TcpEndpoint local_;
  bool acceptable_ = false;
  bool paused_ = true;
};

}  // namespace gatedrill::gateway
