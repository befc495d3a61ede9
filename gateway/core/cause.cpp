#include "gateway/core/cause.hpp"

#include <array>

namespace gatedrill {
namespace {

// What each cause maps to (gateway reference 2.7).
struct Facts {
  Cause cause;  // for the eye, and checked below: the rows are in the enumeration's order
  std::string_view spelling;
  int status;
  std::string_view proxy_status;
  std::string_view envoy_flag;
  std::string_view haproxy_state;
};

constexpr std::array<Facts, kCauseCount> kFacts = {{
    {Cause::ok, "ok", 0, "", "", "--"},
    {Cause::upstream_status, "upstream_status", 0, "", "", "--"},
    {Cause::connect_refused, "connect_refused", 502, "connection_refused", "UF", "SC"},
    {Cause::connect_timeout, "connect_timeout", 504, "connection_timeout", "UF", "sC"},
    {Cause::unroutable, "unroutable", 502, "destination_ip_unroutable", "UF", "SC"},
    {Cause::local_ports_exhausted, "local_ports_exhausted", 502, "proxy_internal_error", "UF",
     "RC"},
    {Cause::dns_failure, "dns_failure", 502, "dns_error", "DF", "SC"},
    {Cause::upstream_tls, "upstream_tls", 502, "tls_protocol_error", "UF", "SC"},
    {Cause::no_healthy_upstream, "no_healthy_upstream", 503, "destination_unavailable", "UH", "SC"},
    {Cause::panic, "panic", 0, "", "", "--"},
    {Cause::upstream_overflow, "upstream_overflow", 503, "connection_limit_reached", "UO", "sQ"},
    {Cause::breaker_open, "breaker_open", 503, "destination_unavailable", "", ""},
    {Cause::upstream_closed, "upstream_closed", 502, "connection_terminated", "UC", "SH"},
    {Cause::stale_reuse, "stale_reuse", 502, "connection_terminated", "UC", "SH"},
    {Cause::send_failed, "send_failed", 502, "connection_terminated", "UC", "SH"},
    {Cause::stream_reset, "stream_reset", 502, "connection_terminated", "UR", "SH"},
    {Cause::malformed_response, "malformed_response", 502, "http_protocol_error", "UPE", "PH"},
    {Cause::response_header_too_large, "response_header_too_large", 502,
     "http_response_header_section_size", "UPE", "PH"},
    {Cause::response_timeout, "response_timeout", 504, "http_response_timeout", "UT", "sH"},
    {Cause::total_timeout, "total_timeout", 504, "http_response_timeout", "UT", "sH"},
    {Cause::body_truncated, "body_truncated", 0, "http_response_incomplete", "UC", "SD"},
    {Cause::body_idle_timeout, "body_idle_timeout", 0, "connection_read_timeout", "SI", "sD"},
    {Cause::client_closed, "client_closed", 499, "", "DC", "CH"},
    {Cause::client_header_timeout, "client_header_timeout", 408, "http_request_error", "", "cR"},
    {Cause::client_body_timeout, "client_body_timeout", 408, "http_request_error", "SI", "cD"},
    {Cause::request_header_too_large, "request_header_too_large", 431, "http_request_error", "DPE",
     "PR"},
    {Cause::uri_too_long, "uri_too_long", 414, "http_request_error", "DPE", "PR"},
    {Cause::request_body_too_large, "request_body_too_large", 413, "http_request_error", "", ""},
    {Cause::malformed_request, "malformed_request", 400, "http_request_error", "DPE", "PR"},
    {Cause::no_route, "no_route", 404, "", "NR", ""},
    {Cause::unauthenticated, "unauthenticated", 401, "http_request_denied", "UAEX", "PR"},
    {Cause::forbidden, "forbidden", 403, "http_request_denied", "UAEX", "PR"},
    {Cause::rate_limited, "rate_limited", 429, "http_request_denied", "RL", "PR"},
    {Cause::overloaded, "overloaded", 503, "proxy_internal_response", "OM", "PC"},
    {Cause::degraded, "degraded", 503, "proxy_internal_response", "OM", ""},
    {Cause::draining, "draining", 503, "", "", "LR"},
    {Cause::fault_injected, "fault_injected", 0, "", "FI", ""},
    {Cause::internal, "internal", 500, "proxy_internal_error", "", "IR"},
}};

constexpr bool in_order() {
  for (int i = 0; i < kCauseCount; ++i) {
    if (kFacts[static_cast<std::size_t>(i)].cause != static_cast<Cause>(i)) return false;
  }
  return true;
}

static_assert(in_order());

const Facts& facts_of(Cause cause) {
  return kFacts[static_cast<std::size_t>(cause)];
}

}  // namespace

std::string_view to_string(Cause cause) {
  return facts_of(cause).spelling;
}

std::optional<Cause> cause_from_string(std::string_view text) {
  for (const Facts& facts : kFacts) {
    if (facts.spelling == text) return facts.cause;
  }
  return std::nullopt;
}

int local_status(Cause cause) {
  return facts_of(cause).status;
}

std::string_view proxy_status_token(Cause cause) {
  return facts_of(cause).proxy_status;
}

std::string_view envoy_flag(Cause cause) {
  return facts_of(cause).envoy_flag;
}

std::string_view haproxy_state(Cause cause) {
  return facts_of(cause).haproxy_state;
}

}  // namespace gatedrill
