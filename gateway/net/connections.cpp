#include "gateway/net/connections.hpp"

#include <cassert>

namespace gatedrill::gateway {

Connections::~Connections() {
  for (auto& [id, entry] : entries_) {
    entry.connection->owned_by(nullptr);
    entry.connection->close();
  }
}

std::shared_ptr<Connection> Connections::open(std::uint64_t id, ConnectionOwner& owner) {
  auto connection = std::make_shared<Connection>(reactor_, id);
  connection->owned_by(&owner);
  const bool fresh = entries_.emplace(id, Entry{connection, nullptr}).second;
  assert(fresh);
  static_cast<void>(fresh);
  return connection;
}

std::shared_ptr<Connection> Connections::take(std::uint64_t id, ConnectionOwner& owner) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  found->second.pool = nullptr;
  found->second.connection->owned_by(&owner);
  return found->second.connection;
}

void Connections::keep(const std::shared_ptr<Connection>& connection, Pool& pool) {
  const auto found = entries_.find(connection->id());
  assert(found != entries_.end());
  found->second.pool = &pool;
  connection->owned_by(this);
  connection->start_read();
}

void Connections::close(Connection& connection) {
  connection.owned_by(nullptr);
  connection.close();
  entries_.erase(connection.id());
}

void Connections::close_evicted(Pool& pool) {
  for (const Pool::Evicted& evicted : pool.take_evicted()) {
    if (on_evicted) on_evicted(pool, evicted);
    const auto found = entries_.find(evicted.lease.id);
    if (found != entries_.end()) close(*found->second.connection);
  }
}

void Connections::on_connection_event(Connection& connection) {
  // A wait to write may outlast the request that began it, and means nothing here.
  if (!connection.ended() && connection.input().empty()) return;
  const auto found = entries_.find(connection.id());
  assert(found != entries_.end() && found->second.pool != nullptr);
  Pool& pool = *found->second.pool;
  pool.lost(connection.id(),
            connection.input().empty() ? Pool::Eviction::peer_closed : Pool::Eviction::unsolicited);
  close_evicted(pool);
}

}  // namespace gatedrill::gateway
