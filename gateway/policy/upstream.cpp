#include "gateway/policy/upstream.hpp"

#include <cassert>
#include <utility>

namespace gatedrill::gateway {

Pool::Config share_of(const Pool::Config& config, ShardPlace place) {
  const auto share = [&](int total) {
    const auto count = static_cast<int>(place.count);
    return total / count + (static_cast<int>(place.index) < total % count ? 1 : 0);
  };
  assert(config.max_connections == 0 || config.max_connections >= static_cast<int>(place.count));
  Pool::Config mine = config;
  mine.max_connections = share(config.max_connections);
  mine.max_idle = share(config.max_idle);
  return mine;
}

Upstream::Upstream(const UpstreamConfig& config, const Random& random)
    : config_(config),
      name_(intern(config.name)),
      up_(config.endpoints.size(), 1),
      balancer_(config.load_balancer),
      breaker_(config.breaker),
      retry_budget_(config.retry_budget),
      queue_(config.queue) {
  assert(config.endpoint_names.empty() || config.endpoint_names.size() == config.endpoints.size());
  for (const std::string& name : names_of_endpoints(config)) {
    endpoints_.push_back({intern(name), Health(config.health, random.fork(name))});
  }
}

bool Upstream::on_probe_done(TimePoint now,
                             std::size_t endpoint,
                             bool success,
                             std::string_view verdict) {
  Endpoint& probed = endpoints_[endpoint];
  if (!probed.health.on_probe_done(now, success)) return false;
  const bool up = probed.health.up();
  up_[endpoint] = up ? 1 : 0;
  transitions_.push_back({now, Transition::Kind::health, probed.name, intern(up ? "down" : "up"),
                          intern(up ? "up" : "down"), intern(verdict)});
  return true;
}

std::vector<Transition> Upstream::take_transitions() {
  for (const CircuitBreaker::Change& change : breaker_.take_changes()) {
    transitions_.push_back({change.at, Transition::Kind::breaker, name_,
                            intern(to_string(change.from)), intern(to_string(change.to)),
                            intern(change.reason)});
  }
  return std::exchange(transitions_, {});
}

}  // namespace gatedrill::gateway
