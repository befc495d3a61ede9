// When a failed attempt may be sent again: the table S0 to S7 of the gateway reference (2.2), from
// facts alone (S1 is HTTP/2's). RFC 9110 9.2.2: a proxy must not retry a non-idempotent request that may have been
// processed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/cause.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

struct RetryConfig {
  int max_retries = 1;                 // stale reuse is not charged
  bool on_connect = true;              // S0: nothing was written; any method
  bool on_stale_reuse = true;          // S2: reused connection, no answer byte; idempotent only
  bool on_reset = false;               // S3: fresh connection, no answer byte; idempotent only
  bool on_timeout = false;             // S4: no answer in time; safe methods only
  std::vector<int> on_status;          // S6: these answers, of 502, 503, 504; safe methods only
  std::string idempotency_key_header;  // a request that carries it counts as idempotent for S2
  Duration backoff_base = std::chrono::milliseconds{25};
  Duration backoff_max = std::chrono::milliseconds{250};

  bool operator==(const RetryConfig&) const = default;
};

// What is known of a request before its first attempt.
struct RequestFacts {
  bool safe = true;
  bool idempotent = true;
  bool has_idempotency_key = false;
  bool body_replayable = true;  // no body, or all of it is still in the replay buffer
};

// What is known of an attempt that failed.
struct FailureFacts {
  Cause cause = Cause::upstream_closed;
  bool request_started = false;   // at least one byte was written
  bool response_started = false;  // at least one byte came back
  bool reused = false;
};

struct RetryVerdict {
  bool retry = false;
  bool charged = true;            // counts against max_retries and the budget, and for the breaker
  bool fresh_connection = false;  // not a kept one again
  std::string_view why;  // HAProxy's words: conn-failure, empty-response, response-timeout,
                         // or the status: 503
};

[[nodiscard]] RetryVerdict may_retry(const RetryConfig& config,
                                     const RequestFacts& request,
                                     const FailureFacts& failure);

// The same for an attempt that was answered, whole and well, with this status.
[[nodiscard]] RetryVerdict may_retry_status(const RetryConfig& config,
                                            const RequestFacts& request,
                                            int status);

}  // namespace gatedrill::gateway
