// What holds for each route, with the reasons: `gatedrill check --explain`.
#include <algorithm>

#include "gateway/config/gateway_config_reader.hpp"
#include "gateway/http/head_writer.hpp"

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

std::string queue_line(const UpstreamConfig& upstream) {
  if (upstream.max_requests == 0) return line("queue", "off", "the upstream is never full");
  const std::string full =
      "beyond " + std::to_string(upstream.max_requests) + " requests at the upstream: ";
  if (upstream.queue.max == 0) return line("queue", "off", full + "503 upstream_overflow");
  return line("queue", std::to_string(upstream.queue.max),
              full + to_text(upstream.queue.timeout) + " for a place; then 503 upstream_overflow");
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

// What our own fields add to a head at the most: as they are written before an empty one.
std::size_t own_field_bytes(const GatewayConfig& config) {
  constexpr std::string_view kBare = "GET / HTTP/1.1\r\nhost: \r\n\r\n";
  const std::string longest_address(45, 'f');  // IPv6
  const std::string longest_id(40, 'f');
  const std::string via = http::via_name(config.name);
  http::RequestHead head;
  head.method = "GET";
  head.target = "/";
  http::RequestRewrite rewrite;
  rewrite.via = via;
  rewrite.client = longest_address;
  rewrite.request_id = longest_id;
  std::string written;
  http::write_request_head(head, http::request_options(head), rewrite, written);
  return written.size() - kBare.size();
}

std::string at_least(const MinimumRate::Config& rate) {
  if (rate.bytes_per_second == 0) return "at any rate";
  return "at least " + size_text(rate.bytes_per_second) + "/s over " + to_text(rate.grace);
}

std::string head_note(const http::h1::HeadLimits& limits, std::string_view beyond) {
  return "in " + std::to_string(limits.fields) + " fields of at most " +
         size_text(limits.line_bytes) + "; beyond: " + std::string(beyond);
}

std::string clients_explanation(const GatewayConfig& config) {
  const ClientConfig& client = config.client;
  std::string text = "from clients: what the tiers in front may send\n";
  text += line("head", size_text(client.head.head_bytes),
               head_note(client.head, "431 request_header_too_large"));
  text += line("uri", size_text(client.head.target_bytes), "beyond: 414 uri_too_long");
  text += client.body_bytes_max == 0
              ? line("body", "any", "no limit")
              : line("body", size_text(client.body_bytes_max),
                     "counted as it comes; beyond: 413 request_body_too_large");
  text += line("head by", to_text(client.header_timeout),
               "from its first byte to its end; later: 408 client_header_timeout");
  text += line("body by", to_text(client.body_timeout),
               "for each next piece, and " + at_least(client.body_rate) +
                   "; slower: 408 client_body_timeout");
  text += line(
      "answer by", to_text(client.body_timeout),
      "for each next piece to be taken, and " + at_least(client.read_rate) + "; slower: closed");
  text +=
      line("clients", client.connections_max > 0 ? std::to_string(client.connections_max) : "any",
           std::string("at once; more wait") +
               (client.connections_max > 0 ? "" : " when half of the descriptors are taken") +
               (client.connections_per_ip_max > 0
                    ? "; " + std::to_string(client.connections_per_ip_max) +
                          " from one address, more: 503 overloaded"
                    : ""));
  text += line("keep-alive", to_text(client.keep_alive),
               "idle between requests; whoever keeps connections to us must drop them earlier");
  return text;
}

std::string upstreams_explanation(const GatewayConfig& config) {
  const std::size_t own = own_field_bytes(config);
  std::string text = "to upstreams: what the next tier must take, and may answer\n";
  text += line(
      "head", size_text(config.client.head.head_bytes),
      "and some " + std::to_string(own) +
          " bytes of ours and its Host once more, in 6 fields; a tier that takes less answers 431 "
          "or 400");
  text += line("answer", size_text(config.response_head.head_bytes),
               head_note(config.response_head, "502 response_header_too_large"));
  return text;
}

}  // namespace

std::string explanation(const GatewayConfig& config, const RouteConfig& route) {
  const TimeoutConfig& timeouts = route.timeouts;
  std::string text = "route " + route_name(route) + " to upstream " + route.upstream + "\n";
  text +=
      line("connect", to_text(timeouts.connect), ended_by_total(timeouts.connect, timeouts.total));
  text += line("response", to_text(timeouts.response),
               ended_by_total(timeouts.response, timeouts.total));
  if (timeouts.per_try.count() > 0) {
    const Duration phases = timeouts.connect + timeouts.response;
    text += line("per try", to_text(timeouts.per_try),
                 timeouts.per_try <= timeouts.response ? "ends each attempt before response could"
                 : timeouts.per_try >= phases
                     ? "never reached: connect and response together end an attempt earlier"
                     : "for one attempt, connecting included");
  }
  text += line("idle", to_text(timeouts.idle), "between two reads of the answer's body");
  if (!route.upgrade.empty()) {
    text +=
        line("tunnel", to_text(timeouts.tunnel), "that neither side sends anything, after a 101");
  }
  text += line("total", to_text(timeouts.total),
               "from the request's end to the answer's head, retries and back-off included");
  text += retry_line(route.retry);
  if (route.rate_limit.enabled()) {
    const std::int64_t burst =
        route.rate_limit.capacity > 0 ? route.rate_limit.capacity : route.rate_limit.count;
    text += line("limit", to_text(Rate{route.rate_limit.count, route.rate_limit.period}),
                 "at most " + std::to_string(burst) + " at once");
  }
  const UpstreamConfig* upstream = find_upstream(config, route.upstream);
  if (upstream == nullptr) return text;
  text += queue_line(*upstream);
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
  std::string text = clients_explanation(config) + "\n" + upstreams_explanation(config);
  for (const RouteConfig& route : config.routes)
    text += "\n" + explanation(config, route);
  return text;
}

}  // namespace gatedrill::gateway
