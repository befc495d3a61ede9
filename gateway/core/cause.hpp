// Why a request or an attempt ended as it did. Status codes differ between gateways for the same
// event, so everything is keyed on the cause. The spelling is the same in C++, YAML, SQL, JSON,
// metrics and logs (product.md, "Causes"; gateway reference 2.7 for the mapping).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gatedrill {

enum class Cause : std::uint8_t {
  ok,               // answered, below 400
  upstream_status,  // the upstream itself answered 4xx or 5xx
  connect_refused,
  connect_timeout,
  unroutable,
  local_ports_exhausted,
  dns_failure,
  upstream_tls,
  no_healthy_upstream,
  panic,  // sent to an unhealthy endpoint because too few are healthy
  upstream_overflow,
  breaker_open,
  upstream_closed,  // closed before the first response byte, fresh connection
  stale_reuse,      // the same on a reused connection
  send_failed,
  stream_reset,
  malformed_response,
  response_header_too_large,
  response_timeout,
  total_timeout,
  body_truncated,
  body_idle_timeout,
  client_closed,
  client_header_timeout,
  client_body_timeout,
  request_header_too_large,
  uri_too_long,
  request_body_too_large,
  malformed_request,
  no_route,
  unauthenticated,
  forbidden,
  rate_limited,
  overloaded,
  degraded,
  draining,
  fault_injected,
  internal,
};

inline constexpr int kCauseCount = static_cast<int>(Cause::internal) + 1;

[[nodiscard]] std::string_view to_string(Cause cause);
[[nodiscard]] std::optional<Cause> cause_from_string(std::string_view text);

// The status with which the gateway answers its client for this cause (499 is only logged);
// 0 where the status is the upstream's or was already sent.
[[nodiscard]] int local_status(Cause cause);

// The error token of RFC 9209 (Proxy-Status); empty where there is none.
[[nodiscard]] std::string_view proxy_status_token(Cause cause);

// What Envoy's RESPONSE_FLAGS and the first two characters of HAProxy's termination state say for
// the same event; empty where they have no word for it.
[[nodiscard]] std::string_view envoy_flag(Cause cause);
[[nodiscard]] std::string_view haproxy_state(Cause cause);

}  // namespace gatedrill
