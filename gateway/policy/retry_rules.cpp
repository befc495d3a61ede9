#include "gateway/policy/retry_rules.hpp"

#include <algorithm>

namespace gatedrill::gateway {

RetryVerdict may_retry(const RetryConfig& config,
                       const RequestFacts& request,
                       const FailureFacts& failure) {
  if (failure.response_started) return {};  // S5
  switch (failure.cause) {
    case Cause::connect_refused:
    case Cause::connect_timeout:
    case Cause::unroutable:
    case Cause::local_ports_exhausted:
    case Cause::dns_failure:
    case Cause::upstream_tls:
      return {config.on_connect, true, false, "conn-failure"};  // S0
    case Cause::stale_reuse:
    case Cause::upstream_closed:
    case Cause::send_failed:
      break;
    case Cause::response_timeout:  // S4
      return {config.on_timeout && request.safe && request.body_replayable, true, false,
              "response-timeout"};
    default:  // S7 and all that a second try would not change
      return {};
  }
  if (!failure.request_started) {  // S0; a kept connection that died costs nothing, as in S2
    const bool wanted = config.on_connect || (failure.reused && config.on_stale_reuse);
    return {wanted, !failure.reused, true, "conn-failure"};
  }
  if (!request.body_replayable) return {};
  if (failure.reused) {  // S2
    const bool repeatable = request.idempotent || request.has_idempotency_key;
    return {config.on_stale_reuse && repeatable, false, true, "empty-response"};
  }
  return {config.on_reset && request.idempotent, true, true, "empty-response"};  // S3
}

RetryVerdict may_retry_status(const RetryConfig& config, const RequestFacts& request, int status) {
  const auto listed = std::find(config.on_status.begin(), config.on_status.end(), status);
  if (listed == config.on_status.end() || !request.safe || !request.body_replayable) return {};
  return {true, true, false, status == 502 ? "502" : status == 503 ? "503" : "504"};  // S6
}

}  // namespace gatedrill::gateway
