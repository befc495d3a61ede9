// The policies' settings in YAML: one read_yaml for each policy's Config (yaml_reader.hpp). The
// settings, their meaning and their defaults are the structs' own, in gateway/policy.
//
//   breaker: {failure_rate: 50%, consecutive_failures: 10, open: 5s}    or  breaker: off
//   health:  {path: /ready, interval: 5s, timeout: 2s, fall: 3}         or  health: off
//   pool:    {idle_timeout: 50s, max_age: 10m, max_requests: 1000}      or  pool: off
//   queue:   {max: 100, timeout: 1s}                                    or  queue: off
//   retry:   {max_retries: 1, on_connect: true, on_status: [503]}       or  retry: off
//   limits:  {rate: 500/s, burst: 1000}
//   timeouts: {connect: 1s, response: 3s, idle: 15s, total: 5s}
#pragma once

#include "gateway/config/yaml_reader.hpp"
#include "gateway/policy/circuit_breaker.hpp"
#include "gateway/policy/health.hpp"
#include "gateway/policy/load_balancer.hpp"
#include "gateway/policy/pool.hpp"
#include "gateway/policy/request_queue.hpp"
#include "gateway/policy/retry_budget.hpp"
#include "gateway/policy/retry_rules.hpp"
#include "gateway/policy/router.hpp"
#include "gateway/policy/token_bucket.hpp"

namespace gatedrill::gateway {

[[nodiscard]] std::string_view to_string(CircuitBreaker::Mode mode);

void read_yaml(YamlReader& reader, CircuitBreaker::Config& config);
// Health checks that have settings are enabled, unless these say otherwise.
void read_yaml(YamlReader& reader, Health::Config& config);
void read_yaml(YamlReader& reader, LoadBalancer::Config& config);
void read_yaml(YamlReader& reader, Pool::Config& config);
void read_yaml(YamlReader& reader, QueueConfig& config);
void read_yaml(YamlReader& reader, RetryBudget::Config& config);
void read_yaml(YamlReader& reader, RetryConfig& config);
void read_yaml(YamlReader& reader, TimeoutConfig& config);
void read_yaml(YamlReader& reader, TokenBucket::Config& config);

}  // namespace gatedrill::gateway
