#include "gateway/proxy/tunnel.hpp"

#include <algorithm>

#include "gateway/proxy/session.hpp"

namespace gatedrill::gateway {

bool Tunnel::Flow::move() {
  bool moved = false;
  while (!from.input().empty()) {
    const std::size_t count = to.write(from.input());
    if (count == 0) break;
    from.consume(count);
    moved = true;
  }
  if (!ended && from.ended() && from.input().empty() && !broken()) {
    to.shutdown_write();
    ended = true;
    moved = true;
  }
  return moved;
}

void Tunnel::Flow::await_more() {
  if (!from.input().empty()) to.await_writable();
  from.start_read();
}

// The side that sends was reset.
bool Tunnel::Flow::broken() const {
  return from.ended() && from.read_error() != boost::asio::error::eof;
}

bool Tunnel::move() {
  const bool up = from_client_.move();
  const bool down = from_upstream_.move();
  return up || down;
}

std::optional<TunnelEnd> Tunnel::end() const {
  if (from_client_.ended && from_upstream_.ended) return TunnelEnd::closed;
  if (from_client_.broken()) return TunnelEnd::client_lost;
  if (from_upstream_.broken()) return TunnelEnd::upstream_lost;
  // Who has ended in good order and then takes nothing more has closed the connection whole.
  if (from_client_.from.write_error()) {
    return from_client_.ended ? TunnelEnd::closed : TunnelEnd::client_lost;
  }
  if (from_upstream_.from.write_error()) {
    return from_upstream_.ended ? TunnelEnd::closed : TunnelEnd::upstream_lost;
  }
  return std::nullopt;
}

void Tunnel::await_more() {
  from_client_.await_more();
  from_upstream_.await_more();
}

Task<TunnelEnd> run_tunnel(Session& session, Connection& upstream, const TimeoutConfig& timeouts) {
  Outbox& out = session.to_client();
  Tunnel tunnel(session.client(), upstream);
  TimePoint moved_at = session.now();
  for (;;) {
    if (session.stopping()) co_return TunnelEnd::stopped;
    out.flush(session.client());
    if (out.empty() && tunnel.move()) moved_at = session.now();
    if (const auto end = tunnel.end()) co_return *end;
    const Duration patience =
        tunnel.half_closed() ? std::min(timeouts.idle, timeouts.tunnel) : timeouts.tunnel;
    const TimePoint by = moved_at + patience;
    if (session.now() >= by) co_return TunnelEnd::idle;
    if (!out.empty()) session.client().await_writable();
    tunnel.await_more();
    co_await session.event(by);
  }
}

}  // namespace gatedrill::gateway
