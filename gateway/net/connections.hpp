// The sockets behind the connection ids that pools decide about: busy ones belong to a request,
// idle ones are watched here. An idle connection on which anything happens (the peer closes, or
// sends what nobody asked for) leaves its pool at once.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "gateway/net/connection.hpp"
#include "gateway/policy/pool.hpp"

namespace gatedrill::gateway {

// Of one shard; used on its thread.
class Connections final : public ConnectionOwner {
 public:
  // `reactor` outlives it.
  explicit Connections(Reactor& reactor) : reactor_(reactor) {}

  ~Connections() override;

  // A new, unconnected one under this id.
  std::shared_ptr<Connection> open(std::uint64_t id, ConnectionOwner& owner);
  // An idle one that `take_idle` chose; nothing if it is not known.
  std::shared_ptr<Connection> take(std::uint64_t id, ConnectionOwner& owner);
  // Its request has ended and `pool` keeps it; from now on it is watched.
  void keep(const std::shared_ptr<Connection>& connection, Pool& pool);
  // A busy one is of no more use.
  void close(Connection& connection);
  // Told of each connection that a pool gave up.
  std::function<void(const Pool& pool, const Pool::Evicted& evicted)> on_evicted;

  // Closes what the pool gave up.
  void close_evicted(Pool& pool);

  [[nodiscard]] std::size_t count() const { return entries_.size(); }

 private:
  void on_connection_event(Connection& connection) override;

  struct Entry {
    std::shared_ptr<Connection> connection;
    Pool* pool = nullptr;  // of an idle one
  };

  Reactor& reactor_;
  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace gatedrill::gateway
