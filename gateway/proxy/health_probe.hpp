// Asks one endpoint how it is, whenever its Health says that a probe is due, on a connection of the
// probe's own, and says when it went down: its kept connections are to be closed then, on all
// shards.
#pragma once

#include <functional>
#include <memory>

#include "gateway/proxy/shard.hpp"

namespace gatedrill::gateway {

class HealthProbe {
 public:
  using OnDown = std::function<void()>;

  // All outlive it. Used on the shard's thread.
  HealthProbe(Shard& shard, SharedUpstream& upstream, std::size_t endpoint, OnDown on_down);
  HealthProbe(const HealthProbe&) = delete;
  HealthProbe& operator=(const HealthProbe&) = delete;
  // A probe in flight is abandoned.
  ~HealthProbe();

  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::gateway
