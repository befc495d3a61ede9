#include "gateway/proxy/tunnel.hpp"

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

Tunnel::State Tunnel::state() const {
  if (from_client_.ended && from_upstream_.ended) return State::closed;
  if (from_client_.broken()) return State::client_lost;
  if (from_upstream_.broken()) return State::upstream_lost;
  // Who has ended in good order and then takes nothing more has closed the connection whole.
  if (from_client_.from.write_error()) {
    return from_client_.ended ? State::closed : State::client_lost;
  }
  if (from_upstream_.from.write_error()) {
    return from_upstream_.ended ? State::closed : State::upstream_lost;
  }
  return State::open;
}

void Tunnel::await_more() {
  from_client_.await_more();
  from_upstream_.await_more();
}

}  // namespace gatedrill::gateway
