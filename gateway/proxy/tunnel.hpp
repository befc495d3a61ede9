// Bytes both ways between a client and an upstream, after a 101 or for a CONNECT: nobody looks at
// them. What one side sends waits in its own connection's read buffer until the other side takes
// it, and while it waits no more is read, so that a tunnel costs two read buffers at most and holds
// the faster side back. An end of file passes on; the other direction goes on.
#pragma once

#include <optional>

#include "gateway/net/connection.hpp"
#include "gateway/net/task.hpp"
#include "gateway/policy/router.hpp"

namespace gatedrill::gateway {

class Session;

enum class TunnelEnd {
  closed,         // both sides have ended in good order
  client_lost,    // a reset, or nothing can be written any more
  upstream_lost,  // the same
  idle,           // neither side has sent anything for too long
  stopped,        // the session is to end
};

// Runs until the end, once what waits for the client has been written.
Task<TunnelEnd> run_tunnel(Session& session, Connection& upstream, const TimeoutConfig& timeouts);

class Tunnel {
 public:
  // Both outlive it.
  Tunnel(Connection& client, Connection& upstream)
      : from_client_{client, upstream}, from_upstream_{upstream, client} {}

  // Moves what it can now; true if something moved.
  bool move();

  // How it has ended; nothing while it is open.
  [[nodiscard]] std::optional<TunnelEnd> end() const;

  // One side has sent its last byte.
  [[nodiscard]] bool half_closed() const { return from_client_.ended || from_upstream_.ended; }

  // Has the session resumed once more can be moved.
  void await_more();

 private:
  struct Flow {
    Connection& from;
    Connection& to;
    bool ended = false;  // and `to` has been told

    bool move();
    void await_more();
    [[nodiscard]] bool broken() const;
  };

  Flow from_client_;
  Flow from_upstream_;
};

}  // namespace gatedrill::gateway
