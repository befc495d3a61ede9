#include "gateway/proxy/client_connections.hpp"

namespace gatedrill::gateway {

std::optional<ClientConnections::Place> ClientConnections::enter(const std::string& address) {
  if (max_ == 0) return Place(nullptr, {});
  const std::lock_guard lock(mutex_);
  int& count = counts_[address];
  if (count >= max_) return std::nullopt;
  ++count;
  return Place(this, address);
}

void ClientConnections::leave(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(address);
  if (--found->second == 0) counts_.erase(found);
}

}  // namespace gatedrill::gateway
