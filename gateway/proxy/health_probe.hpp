// Asks one endpoint how it is, whenever its Health says that a probe is due, on a connection of the
// probe's own, and acts on a verdict that changes something: the kept connections to an endpoint
// that went down are closed.
#pragma once

#include <memory>

#include "gateway/proxy/shard.hpp"

namespace gatedrill::gateway {

class HealthProbe {
 public:
  // All outlive it. Used on the context's thread.
  HealthProbe(Shard& shard, ShardUpstream& upstream, std::size_t endpoint);
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
