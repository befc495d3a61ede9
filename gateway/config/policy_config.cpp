#include "gateway/config/policy_config.hpp"

namespace gatedrill::gateway {
namespace {

// True if the setting is `off` as a whole, or no settings either: there is nothing more to read.
bool is_off(YamlReader& reader) {
  if (reader.is_map()) return false;
  const bool off = reader.is_scalar() && reader.node().text == "off";
  if (!off) {
    reader.problem("expected a mapping (key: value) or off, got " + described(reader.node()));
  }
  return true;
}

}  // namespace

std::string_view to_string(CircuitBreaker::Mode mode) {
  switch (mode) {
    case CircuitBreaker::Mode::any:
      return "any";
    case CircuitBreaker::Mode::all:
      return "all";
  }
  return {};
}

void read_yaml(YamlReader& reader, CircuitBreaker::Config& config) {
  config.enabled = !is_off(reader);
  if (!config.enabled) return;
  reader.optional("enabled", config.enabled);
  using Mode = CircuitBreaker::Mode;
  reader.optional("mode", one_of(config.mode, {Mode::any, Mode::all}));
  reader.optional("window", config.window, at_least(Duration{std::chrono::milliseconds{10}}));
  reader.optional("min_calls", config.min_calls, at_least(1));
  reader.optional("failure_rate", as_percent(config.failure_rate_percent), at_least(1));
  reader.optional("consecutive_failures", config.consecutive_failures, at_least(0));
  reader.optional("slow_call", config.slow_call, positive);
  reader.optional("slow_rate", as_percent(config.slow_rate_percent));
  reader.optional("open", config.open_base, positive);
  reader.optional("open_max", config.open_max, positive);
  reader.optional("probes", config.probes_max, at_least(1));
  reader.optional("successes_needed", config.successes_needed, at_least(1));
  reader.optional("probe_timeout", config.probe_timeout, positive);
  if (!reader.clean()) return;
  if (config.open_max < config.open_base) {
    reader.problem_at("open_max",
                      "cannot be shorter than open (" + to_text(config.open_base) + ")");
  }
  if (config.successes_needed > config.probes_max) {
    reader.problem_at("successes_needed", "cannot be more than probes (" +
                                              std::to_string(config.probes_max) +
                                              "): the breaker could never close");
  }
}

void read_yaml(YamlReader& reader, Health::Config& config) {
  config.enabled = !is_off(reader);
  if (!config.enabled) return;
  reader.optional("enabled", config.enabled);
  reader.optional("path", config.path, starts_with_slash);
  reader.optional("interval", config.interval, positive);
  reader.optional("timeout", config.timeout, positive);
  reader.optional("fall", config.fall, at_least(1));
  reader.optional("rise", config.rise, at_least(1));
  reader.optional("fast_interval", config.fast_interval, positive);
  reader.optional("down_interval", config.down_interval, positive);
  reader.optional("jitter", as_percent(config.jitter_percent));
}

void read_yaml(YamlReader& reader, LoadBalancer::Config& config) {
  reader.optional("panic", as_percent(config.panic_percent));
}

void read_yaml(YamlReader& reader, Pool::Config& config) {
  config.enabled = !is_off(reader);
  if (!config.enabled) return;
  reader.optional("enabled", config.enabled);
  reader.optional("max_idle", config.max_idle, at_least(0));
  reader.optional("max_connections", config.max_connections, at_least(0));
  reader.optional("idle_timeout", config.idle_timeout, positive);
  reader.optional("max_age", config.max_age, positive);
  reader.optional("max_requests", config.max_requests, at_least(1));
}

void read_yaml(YamlReader& reader, QueueConfig& config) {
  if (is_off(reader)) {
    config.max = 0;
    return;
  }
  reader.optional("max", config.max, at_least(0));
  reader.optional("timeout", config.timeout, positive);
}

void read_yaml(YamlReader& reader, RetryBudget::Config& config) {
  reader.optional("percent", as_percent(config.percent));
  reader.optional("min_concurrent", config.min_concurrent, at_least(0));
  reader.optional("burst", config.burst, at_least(0));
}

void read_yaml(YamlReader& reader, RetryConfig& config) {
  constexpr int kMostRetries = 5;
  if (is_off(reader)) {
    config.max_retries = 0;
    config.on_connect = config.on_stale_reuse = config.on_reset = config.on_timeout = false;
    config.on_status.clear();
    return;
  }
  reader.optional("max_retries", config.max_retries, between(0, kMostRetries));
  reader.optional("on_connect", config.on_connect);
  reader.optional("on_stale_reuse", config.on_stale_reuse);
  reader.optional("on_reset", config.on_reset);
  reader.optional("on_timeout", config.on_timeout);
  reader.optional("on_status", [&](YamlReader& statuses) {
    config.on_status.clear();
    statuses.each_item([&](YamlReader& item) {
      int status = 0;
      read_yaml(item, status);
      if (!item.clean()) return;
      if (status < 502 || status > 504) {
        item.problem("expected 502, 503 or 504, got " + std::to_string(status) +
                     ": no other status says that a second try may do better");
      }
      config.on_status.push_back(status);
    });
  });
  reader.optional("idempotency_key_header", config.idempotency_key_header, not_empty);
  reader.optional("backoff", config.backoff_base);
  reader.optional("backoff_max", config.backoff_max);
  if (reader.clean() && config.backoff_max < config.backoff_base) {
    reader.problem_at("backoff_max",
                      "cannot be shorter than backoff (" + to_text(config.backoff_base) + ")");
  }
}

void read_yaml(YamlReader& reader, TimeoutConfig& config) {
  reader.optional("connect", config.connect, positive);
  reader.optional("response", config.response, positive);
  reader.optional("idle", config.idle, positive);
  reader.optional("total", config.total, positive);
  reader.optional("per_try", config.per_try);
  reader.optional("tunnel", config.tunnel, positive);
}

void read_yaml(YamlReader& reader, TokenBucket::Config& config) {
  Rate rate{config.count, config.period};
  const bool has_rate = reader.optional("rate", rate, [](const Rate& value) -> std::string {
    // The bucket counts in nanoseconds times tokens.
    return value.count > 1'000'000'000 ? "must be at most 1000000000 in its period" : "";
  });
  if (has_rate) {
    config.count = rate.count;
    config.period = rate.per;
  }
  reader.optional("burst", config.capacity, between<std::int64_t>(1, 1'000'000));
  if (reader.clean() && config.count == 0 && reader.has("burst")) {
    reader.problem_at("burst", "means nothing without a rate");
  }
}

}  // namespace gatedrill::gateway
