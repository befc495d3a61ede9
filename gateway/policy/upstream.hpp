// The process-wide state of one upstream: its endpoints' health, the balancer, the breaker, the
// budget and the number of requests in it. Gathers the policies for the exchange; holds no lock:
// with several shards the driver serialises exchanges of one upstream.
//
// The kept connections belong to a shard (their sockets do), so they are a separate object.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/event.hpp"
#include "gateway/core/names.hpp"
#include "gateway/policy/circuit_breaker.hpp"
#include "gateway/policy/health.hpp"
#include "gateway/policy/load_balancer.hpp"
#include "gateway/policy/pool.hpp"
#include "gateway/policy/request_queue.hpp"
#include "gateway/policy/retry_budget.hpp"

namespace gatedrill::gateway {

struct UpstreamConfig {
  std::string name;
  std::vector<std::string> endpoints;  // addresses, "127.0.0.1:9001"
  std::vector<std::string>
      endpoint_names;       // as reports show them, in the same order; empty: addresses
  int max_requests = 1024;  // at once; more wait or are upstream_overflow; 0: no limit
  QueueConfig queue;
  LoadBalancer::Config load_balancer;
  CircuitBreaker::Config breaker;
  Health::Config health;
  Pool::Config pool;
  RetryBudget::Config retry_budget;

  bool operator==(const UpstreamConfig&) const = default;
};

// As reports show them.
[[nodiscard]] inline const std::vector<std::string>& names_of_endpoints(
    const UpstreamConfig& config) {
  return config.endpoint_names.empty() ? config.endpoints : config.endpoint_names;
}

class Upstream {
 public:
  // `random` feeds the jitter of health checks.
  Upstream(const UpstreamConfig& config, const Random& random);

  [[nodiscard]] NameId name() const { return name_; }

  [[nodiscard]] const UpstreamConfig& config() const { return config_; }

  [[nodiscard]] std::size_t endpoint_count() const { return endpoints_.size(); }

  [[nodiscard]] NameId endpoint_name(std::size_t endpoint) const {
    return endpoints_[endpoint].name;
  }

  [[nodiscard]] CircuitBreaker& breaker() { return breaker_; }

  [[nodiscard]] RetryBudget& retry_budget() { return retry_budget_; }

  [[nodiscard]] std::optional<LoadBalancer::Choice> choose(std::span<const std::size_t> tried) {
    return balancer_.choose(up_, tried);
  }

  [[nodiscard]] bool full() const {
    return config_.max_requests > 0 && active_ >= config_.max_requests;
  }

  [[nodiscard]] int active() const { return active_; }

  void enter() { ++active_; }

  // The place goes to the first that waits for one, without becoming free in between: nobody
  // overtakes.
  void leave() {
    if (!queue_.grant()) --active_;
  }

  // Only while it is full may anybody join; the driver tells those who were granted a place.
  [[nodiscard]] RequestQueue& queue() { return queue_; }

  // Health probes: when the next one of an endpoint is due, and what came of it. After an endpoint
  // went down the driver evicts its idle connections.
  [[nodiscard]] TimePoint next_probe(std::size_t endpoint) const {
    return endpoints_[endpoint].health.next_probe();
  }

  void on_probe_started(std::size_t endpoint) { endpoints_[endpoint].health.on_probe_started(); }

  // True if the endpoint went up or down.
  bool on_probe_done(TimePoint now, std::size_t endpoint, bool success, std::string_view verdict);

  [[nodiscard]] bool endpoint_up(std::size_t endpoint) const { return up_[endpoint] != 0; }

  // What changed state since the last call (breaker, health), for the recorder.
  [[nodiscard]] std::vector<Transition> take_transitions();

 private:
  struct Endpoint {
    NameId name;
    Health health;
  };

  UpstreamConfig config_;
  NameId name_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::uint8_t> up_;
  LoadBalancer balancer_;
  CircuitBreaker breaker_;
  RetryBudget retry_budget_;
  RequestQueue queue_;
  int active_ = 0;  // those granted a place included
  std::vector<Transition> transitions_;
};

// Which of how many shards.
struct ShardPlace {
  std::size_t index = 0;
  std::size_t count = 1;
};

// What one shard may keep of the connections that all of them together may: the limits are of the
// process. Requires a max_connections of at least `count`, or none.
[[nodiscard]] Pool::Config share_of(const Pool::Config& config, ShardPlace place);

// The kept connections of one shard to one upstream, and the ids of new ones.
class UpstreamPools {
 public:
  // Ids are next_id, next_id + count, ...: distinct over upstreams and shards if the pools of one
  // shard share `next_id`, and it begins at another number in each.
  UpstreamPools(const UpstreamConfig& config, std::uint64_t& next_id, ShardPlace place = {})
      : next_id_(next_id), shard_(place.index), step_(place.count) {
    const NameId upstream = intern(config.name);
    const Pool::Config share = share_of(config.pool, place);
    for (const std::string& endpoint : names_of_endpoints(config))
      pools_.emplace_back(share, upstream, intern(endpoint));
  }

  [[nodiscard]] Pool& pool(std::size_t endpoint) { return pools_[endpoint]; }

  // Whose they are.
  [[nodiscard]] std::size_t shard() const { return shard_; }

  [[nodiscard]] std::uint64_t new_id() {
    const std::uint64_t id = next_id_;
    next_id_ += step_;
    return id;
  }

 private:
  std::vector<Pool> pools_;
  std::uint64_t& next_id_;
  std::size_t shard_;
  std::uint64_t step_;
};

}  // namespace gatedrill::gateway
