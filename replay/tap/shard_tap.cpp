#include "replay/tap/shard_tap.hpp"

#include <string>

namespace gatedrill::replay {
namespace {

// Left for what opens and ends connections, when bytes have filled the rest.
constexpr std::size_t kReserve = std::size_t{64} * 1024;

}  // namespace

TapEvent ShardTap::event(TapEvent::Kind kind, const TappedConnection& connection) const {
  TapEvent event;
  event.kind = kind;
  event.connection = connection.id;
  event.at = clock_.unix_time(clock_.now());
  event.received = connection.received;
  event.sent = connection.sent;
  return event;
}

void ShardTap::on_opened(TappedConnection& connection,
                         bool accepted,
                         std::string_view own,
                         std::string_view peer) noexcept {
  connection = {.id = next_id_.fetch_add(1, std::memory_order_relaxed)};
  TapEvent opened = event(TapEvent::Kind::opened, connection);
  opened.accepted = accepted;
  if (ring_.push(opened, std::string(own) + '\n' + std::string(peer))) return;
  connection = {};  // nothing more is told of it
  lost_connections_.fetch_add(1, std::memory_order_relaxed);
}

void ShardTap::on_connected(TappedConnection& connection) noexcept {
  static_cast<void>(ring_.push(event(TapEvent::Kind::connected, connection), {}));
}

void ShardTap::push_bytes(TapEvent::Kind kind,
                          const TappedConnection& connection,
                          std::string_view bytes) {
  if (ring_.push(event(kind, connection), bytes, kReserve)) return;
  lost_bytes_.fetch_add(bytes.size(), std::memory_order_relaxed);
}

void ShardTap::on_received(TappedConnection& connection, std::string_view bytes) noexcept {
  push_bytes(TapEvent::Kind::received, connection, bytes);
  connection.received += bytes.size();
}

void ShardTap::on_sent(TappedConnection& connection, std::string_view bytes) noexcept {
  push_bytes(TapEvent::Kind::sent, connection, bytes);
  connection.sent += bytes.size();
}

void ShardTap::on_ended(TappedConnection& connection,
                        ConnectionEnding ending,
                        bool closed) noexcept {
  TapEvent ended = event(TapEvent::Kind::ended, connection);
  ended.ending = ending;
  ended.closed = closed;
  static_cast<void>(ring_.push(ended, {}));
}

}  // namespace gatedrill::replay
