// What holds for each route, with the reasons: `gatedrill check --explain`.
#include <algorithm>

#include "gateway/config/gateway_config_reader.hpp"

namespace gatedrill::gateway {
namespace {

// "  response   3s   but total ends it at 1s"
std::string line(std::string_view what, const std::string& value, const std::string& note = {}) {
  constexpr std::size_t kWhatWidth = 12;
  constexpr std::size_t kValueWidth = 8;
  std::string text = "  " + std::string(what);
  text.resize(std::max(text.size() + 1, kWhatWidth), ' ');
  text += value;
  if (note.empty()) return text + "\n";
  text.resize(std::max(text.size() + 1, kWhatWidth + kValueWidth), ' ');
  return text + note + "\n";
}

std::string ended_by_total(Duration duration, Duration total) {
  return duration > total ? "total ends it first, after " + to_text(total) : "";
}

std::string retry_line(const RetryConfig& retry) {
  std::string on;
  const auto add = [&](bool flag, std::string_view word) {
    if (flag) on += (on.empty() ? "" : ", ") + std::string(word);
  };
  add(retry.on_connect, "connect");
  add(retry.on_stale_reuse, "stale_reuse");
  add(retry.on_reset, "reset");
  add(retry.on_timeout, "timeout");
  for (const int status : retry.on_status)
    add(true, std::to_string(status));
  if (on.empty()) return line("retry", "off");
  const std::string again =
      retry.max_retries == 1 ? "once" : std::to_string(retry.max_retries) + " times";
  const std::string note = retry.on_stale_reuse ? "; a stale connection is not counted" : "";
  if (retry.max_retries == 0) {
    return line("retry", retry.on_stale_reuse ? "a stale connection only" : "off");
  }
  return line("retry", again, "on " + on + note);
}

std::string breaker_line(const CircuitBreaker::Config& breaker) {
  if (!breaker.enabled) return line("breaker", "off");
  const std::string rate = std::to_string(breaker.failure_rate_percent) + "% of at least " +
                           std::to_string(breaker.min_calls) + " calls in " +
                           to_text(breaker.window);
  const std::string row = std::to_string(breaker.consecutive_failures) + " failures in a row";
  const std::string both = breaker.mode == CircuitBreaker::Mode::all ? " and " : " or ";
  return line("breaker", "opens",
              "for " + to_text(breaker.open_base) + " after " + rate +
                  (breaker.consecutive_failures > 0 ? both + row : ""));
}

std::string health_line(const Health::Config& health) {
  if (!health.enabled) return line("health", "off");
  // Gateway reference 2.3, the worst case from the start of a fault: after the first failed check
  // the next ones follow at the fast interval.
  const Duration worst =
      health.interval + health.timeout * health.fall + health.fast_interval * (health.fall - 1);
  return line("health", "checked",
              health.path + " every " + to_text(health.interval) +
                  "; a dead endpoint is out after at most " + to_text(worst));
}

}  // namespace

std::string explanation(const GatewayConfig& config, const RouteConfig& route) {
  const TimeoutConfig& timeouts = route.timeouts;
  std::string text = "route " + route_name(route) + " to upstream " + route.upstream + "\n";
  text +=
      line("connect", to_text(timeouts.connect), ended_by_total(timeouts.connect, timeouts.total));
  text += line("response", to_text(timeouts.response),
               ended_by_total(timeouts.response, timeouts.total));
  text += line("idle", to_text(timeouts.idle), "between two reads of the answer's body");
  text +=
      line("total", to_text(timeouts.total), "to the answer's head, retries and back-off included");
  text += retry_line(route.retry);
  if (route.rate_limit.enabled()) {
    const std::int64_t burst =
        route.rate_limit.capacity > 0 ? route.rate_limit.capacity : route.rate_limit.count;
    text += line("limit", to_text(Rate{route.rate_limit.count, route.rate_limit.period}),
                 "at most " + std::to_string(burst) + " at once");
  }
  const UpstreamConfig* upstream = find_upstream(config, route.upstream);
  if (upstream == nullptr) return text;
  text += breaker_line(upstream->breaker);
  text += health_line(upstream->health);
  const Pool::Config& pool = upstream->pool;
  text += pool.enabled
              ? line("pool", to_text(pool.idle_timeout),
                     "idle at most; must be less than the upstream's own keep-alive timeout")
              : line("pool", "off", "a new connection for every request");
  return text;
}

std::string explanation(const GatewayConfig& config) {
  std::string text;
  for (const RouteConfig& route : config.routes) {
    text += (text.empty() ? "" : "\n") + explanation(config, route);
  }
  return text;
}

}  // namespace gatedrill::gateway
