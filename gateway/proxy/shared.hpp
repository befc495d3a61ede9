// What the shards of one gateway have in common, because users read it as one number however many
// threads there are: the upstreams (breaker, health, budget, requests at once), the routes' rate
// limits, the places for clients.
//
//   Shared ──┬── SharedUpstream: policies behind a Gate, addresses
//            ├── Route: its rate limit goes with its upstream's gate
//            └── ClientPlaces, ClientConnections: safe by themselves
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gateway/config/gateway_config.hpp"
#include "gateway/net/address.hpp"
#include "gateway/net/connection.hpp"
#include "gateway/net/endpoint_addresses.hpp"
#include "gateway/policy/exchange.hpp"
#include "gateway/policy/upstream.hpp"
#include "gateway/proxy/client_connections.hpp"
#include "gateway/proxy/gate.hpp"

namespace gatedrill::gateway {

struct SharedUpstream {
  SharedUpstream(const UpstreamConfig& config, const Random& random, bool shared)
      : upstream(config, random), gate(shared) {}

  Upstream upstream;  // only through the gate, but for what never changes
  Gate gate;
  // On any thread, outside the gate: a request that waits was given a place. Tells its shard.
  std::function<void(const RequestQueue::Grant& grant)> on_granted;
  // Of its endpoints; shared with who watches their names.
  std::shared_ptr<EndpointAddresses> addresses = std::make_shared<EndpointAddresses>();
};

struct SharedRoute {
  Route route;
  std::size_t upstream = 0;  // its place in Shared::upstreams
};

class Shared {
 public:
  // Every route's upstream must exist.
  explicit Shared(const GatewayConfig& config);

  // Reads the addresses of endpoints and proxies; names are yet to be looked up. Before any shard
  // runs.
  Result<void> read_addresses();

  [[nodiscard]] const GatewayConfig& config() const { return config_; }

  [[nodiscard]] std::size_t shard_count() const {
    return static_cast<std::size_t>(config_.threads);
  }

  [[nodiscard]] const std::vector<std::unique_ptr<SharedUpstream>>& upstreams() const {
    return upstreams_;
  }

  [[nodiscard]] const std::vector<std::unique_ptr<SharedRoute>>& routes() const { return routes_; }

  [[nodiscard]] ClientConnections& clients() { return clients_; }

  [[nodiscard]] const AddressSet& trusted_proxies() const { return trusted_proxies_; }

  [[nodiscard]] const AddressSet& proxy_header_from() const { return proxy_header_from_; }

 private:
  GatewayConfig config_;
  std::vector<std::unique_ptr<SharedUpstream>> upstreams_;
  std::vector<std::unique_ptr<SharedRoute>> routes_;
  ClientConnections clients_;
  AddressSet trusted_proxies_;
  AddressSet proxy_header_from_;
};

}  // namespace gatedrill::gateway
