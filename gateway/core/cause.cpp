#include "gateway/core/cause.hpp"

namespace gatedrill {

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::ok:
      return "ok";
    case Cause::upstream_status:
      return "upstream_status";
    case Cause::connect_refused:
      return "connect_refused";
    case Cause::connect_timeout:
      return "connect_timeout";
    case Cause::unroutable:
      return "unroutable";
    case Cause::local_ports_exhausted:
      return "local_ports_exhausted";
    case Cause::dns_failure:
      return "dns_failure";
    case Cause::upstream_tls:
      return "upstream_tls";
    case Cause::no_healthy_upstream:
      return "no_healthy_upstream";
    case Cause::panic:
      return "panic";
    case Cause::upstream_overflow:
      return "upstream_overflow";
    case Cause::breaker_open:
      return "breaker_open";
    case Cause::upstream_closed:
      return "upstream_closed";
    case Cause::stale_reuse:
      return "stale_reuse";
    case Cause::send_failed:
      return "send_failed";
    case Cause::stream_reset:
      return "stream_reset";
    case Cause::malformed_response:
      return "malformed_response";
    case Cause::response_header_too_large:
      return "response_header_too_large";
    case Cause::response_timeout:
      return "response_timeout";
    case Cause::total_timeout:
      return "total_timeout";
    case Cause::body_truncated:
      return "body_truncated";
    case Cause::body_idle_timeout:
      return "body_idle_timeout";
    case Cause::client_closed:
      return "client_closed";
    case Cause::client_header_timeout:
      return "client_header_timeout";
    case Cause::client_body_timeout:
      return "client_body_timeout";
    case Cause::request_header_too_large:
      return "request_header_too_large";
    case Cause::uri_too_long:
      return "uri_too_long";
    case Cause::request_body_too_large:
      return "request_body_too_large";
    case Cause::malformed_request:
      return "malformed_request";
    case Cause::no_route:
      return "no_route";
    case Cause::unauthenticated:
      return "unauthenticated";
    case Cause::forbidden:
      return "forbidden";
    case Cause::rate_limited:
      return "rate_limited";
    case Cause::overloaded:
      return "overloaded";
    case Cause::degraded:
      return "degraded";
    case Cause::draining:
      return "draining";
    case Cause::fault_injected:
      return "fault_injected";
    case Cause::internal:
      return "internal";
  }
  return "internal";
}

std::optional<Cause> cause_from_string(std::string_view text) {
  for (int i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (to_string(cause) == text) return cause;
  }
  return std::nullopt;
}

int local_status(Cause cause) {
  switch (cause) {
    case Cause::ok:
    case Cause::upstream_status:
    case Cause::panic:
    case Cause::body_truncated:
    case Cause::body_idle_timeout:
    case Cause::fault_injected:
      return 0;
    case Cause::connect_refused:
    case Cause::unroutable:
    case Cause::local_ports_exhausted:
    case Cause::dns_failure:
    case Cause::upstream_tls:
    case Cause::upstream_closed:
    case Cause::stale_reuse:
    case Cause::send_failed:
    case Cause::stream_reset:
    case Cause::malformed_response:
    case Cause::response_header_too_large:
      return 502;
    case Cause::connect_timeout:
    case Cause::response_timeout:
    case Cause::total_timeout:
      return 504;
    case Cause::no_healthy_upstream:
    case Cause::upstream_overflow:
    case Cause::breaker_open:
    case Cause::overloaded:
    case Cause::degraded:
    case Cause::draining:
      return 503;
    case Cause::client_closed:
      return 499;
    case Cause::client_header_timeout:
    case Cause::client_body_timeout:
      return 408;
    case Cause::request_header_too_large:
      return 431;
    case Cause::uri_too_long:
      return 414;
    case Cause::request_body_too_large:
      return 413;
    case Cause::malformed_request:
      return 400;
    case Cause::no_route:
      return 404;
    case Cause::unauthenticated:
      return 401;
    case Cause::forbidden:
      return 403;
    case Cause::rate_limited:
      return 429;
    case Cause::internal:
      return 500;
  }
  return 500;
}

std::string_view proxy_status_token(Cause cause) {
  switch (cause) {
    case Cause::ok:
    case Cause::upstream_status:
    case Cause::panic:
    case Cause::client_closed:
    case Cause::no_route:
    case Cause::draining:
    case Cause::fault_injected:
      return "";
    case Cause::connect_refused:
      return "connection_refused";
    case Cause::connect_timeout:
      return "connection_timeout";
    case Cause::unroutable:
      return "destination_ip_unroutable";
    case Cause::local_ports_exhausted:
    case Cause::internal:
      return "proxy_internal_error";
    case Cause::dns_failure:
      return "dns_error";
    case Cause::upstream_tls:
      return "tls_protocol_error";
    case Cause::no_healthy_upstream:
    case Cause::breaker_open:
      return "destination_unavailable";
    case Cause::upstream_overflow:
      return "connection_limit_reached";
    case Cause::upstream_closed:
    case Cause::stale_reuse:
    case Cause::send_failed:
    case Cause::stream_reset:
      return "connection_terminated";
    case Cause::malformed_response:
      return "http_protocol_error";
    case Cause::response_header_too_large:
      return "http_response_header_section_size";
    case Cause::response_timeout:
    case Cause::total_timeout:
      return "http_response_timeout";
    case Cause::body_truncated:
      return "http_response_incomplete";
    case Cause::body_idle_timeout:
      return "connection_read_timeout";
    case Cause::client_header_timeout:
    case Cause::client_body_timeout:
    case Cause::request_header_too_large:
    case Cause::uri_too_long:
    case Cause::request_body_too_large:
    case Cause::malformed_request:
      return "http_request_error";
    case Cause::unauthenticated:
    case Cause::forbidden:
    case Cause::rate_limited:
      return "http_request_denied";
    case Cause::overloaded:
    case Cause::degraded:
      return "proxy_internal_response";
  }
  return "";
}

}  // namespace gatedrill
