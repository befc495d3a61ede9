// The life of one client request, from its head to its end: the one place where it is decided what
// happens to a request. No bytes, no sockets, no clock, no protocol version. A driver (live:
// proxy/drive, simulated: scenarios/sim) does each step and reports what came of it:
//
//   start ─► Send ─► on_response_head ─► Forward ─► on_response_end ─► Done
//     │       ▲ │           └───────────┐ (a status to be retried)
//     │       │ └──► on_attempt_failed ─┼─► Wait ─► on_waited ─┐
//     │       └─────────────────────────┼──────────────────────┘
//     │                                 ├─► LocalReply ─► on_reply_sent ─► Done
//     ├─────────────────────────────────┘
//     └─► Park ─► on_place ─► Send, or on_waited ─► LocalReply (Park: the upstream is full)
//   on_client_gone ─► Done, on_request_failed ─► LocalReply | Done, at any time
//
// A step is valid until the next event. After every event the driver publishes the upstream's
// transitions and closes the connections that pools evicted. At Done, `report` publishes the
// request and its attempts.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "gateway/core/event.hpp"
#include "gateway/policy/router.hpp"
#include "gateway/policy/upstream.hpp"

namespace gatedrill::gateway {

// A route as requests use it; outlives its exchanges.
struct Route {
  RouteConfig config;
  NameId name;
  Upstream* upstream = nullptr;
  TokenBucket rate_limit;
};

// Send the request to this endpoint, over the kept connection or a new one. The deadlines of the
// attempt come from Exchange::deadline.
struct Send {
  std::size_t endpoint = 0;
  ConnectionLease connection;  // connection.reused(): a kept one; else open one under this id
};

// Stream the answer to the client.
struct Forward {};

// Call on_waited at that time.
struct Wait {
  TimePoint until;
};

// Wait for a place at the upstream: call on_place once has_place, or on_waited at that time.
struct Park {
  TimePoint until;
  RequestQueue::Ticket ticket = 0;  // as Upstream::queue grants it
};

// Answer the client ourselves, then call on_reply_sent.
struct LocalReply {
  Cause cause = Cause::internal;
  int status = 500;
  Duration retry_after{0};  // 0: no Retry-After field
};

// Nothing more to do. With an answer that was cut short (`abort_client`) the client's connection
// must be closed so that it notices.
struct Done {
  bool keep_connection = false;  // the attempt's connection went back to its pool
  bool abort_client = false;
};

using Step = std::variant<Send, Forward, Wait, Park, LocalReply, Done>;

// `request` is while the client still sends its body: no timeout of the upstream's counts then.
enum class Phase { connect, request, response, body };

struct Deadline {
  TimePoint at = kNever;
  Cause cause = Cause::total_timeout;  // of the attempt if it passes
};

class Exchange {
 public:
  // What the client's side knows of the request.
  struct Request {
    RequestId id;
    NameId client;
    NameId method;
    NameId path;
    RequestFacts facts;
    bool body_owed = false;  // the client still sends its body: tell on_request_received
  };

  // `route` and `pools` (the shard's, of the route's upstream) outlive the exchange.
  Exchange(Route& route, UpstreamPools& pools, const Request& request)
      : route_(&route), upstream_(route.upstream), pools_(&pools), request_(request) {}

  Step start(TimePoint now);
  // The client has sent its whole body: the total timeout begins. How long a client takes is its
  // own affair (client.body_timeout, min_body_rate), and no sign of a slow upstream.
  void on_request_received(TimePoint now);
  // The attempt's new connection stands; its whole request is written. For the phases' times.
  void on_connected(TimePoint now);
  void on_request_sent(TimePoint now);
  // Forward, or Wait if the answer is to be thrown away with its connection and the request sent
  // again. `retry_after` is the answer's own.
  Step on_response_head(TimePoint now,
                        int status,
                        std::optional<Duration> retry_after = std::nullopt);
  // `failure.cause` as the driver saw it (upstream_closed, connect_refused, a deadline's cause,
  // ...); failure.reused is filled in here.
  Step on_attempt_failed(TimePoint now, FailureFacts failure);
  // The answer's body ended: Cause::ok, body_truncated, body_idle_timeout. `reusable`: the upstream
  // left the connection fit for another request; `keep_alive_hint` is its Keep-Alive timeout.
  Step on_response_end(TimePoint now,
                       Cause cause,
                       bool reusable,
                       std::optional<Duration> keep_alive_hint = std::nullopt);
  Step on_waited(TimePoint now);
  Step on_place(TimePoint now);
  Step on_reply_sent(TimePoint now);
  // A status that was sent, and the cause of a reply of our own, stand; otherwise it is 499.
  Step on_client_gone(TimePoint now);
  // The request cannot go on, and no upstream is to blame: Cause::client_body_timeout,
  // request_body_too_large, malformed_request (its body's framing), draining. Not counted by the
  // breaker, not retried. Answered unless the answer has begun.
  Step on_request_failed(TimePoint now, Cause cause);

  // The request's bytes are no longer in the replay buffer: it cannot be sent again.
  void on_body_not_replayable() { request_.facts.body_replayable = false; }

  // When the current attempt must be through a phase that begins now.
  [[nodiscard]] Deadline deadline(Phase phase, TimePoint now) const;

  // Parked, and its turn has come.
  [[nodiscard]] bool has_place() const { return ticket_ && !upstream_->queue().waits(*ticket_); }

  [[nodiscard]] const Route& route() const { return *route_; }

  [[nodiscard]] Upstream& upstream() { return *upstream_; }

  [[nodiscard]] UpstreamPools& pools() { return *pools_; }

  // The number of the current attempt, from 1.
  [[nodiscard]] int attempt() const { return attempt_count_; }

  [[nodiscard]] const Request& request() const { return request_; }

  // At Done: the finished request and its attempts.
  [[nodiscard]] RequestDone summary() const;

  [[nodiscard]] std::span<const AttemptDone> attempts() const {
    return {attempts_.data(), static_cast<std::size_t>(attempt_count_)};
  }

  // Publishes both under the gateway's name. Call once, at Done.
  void report(NameId gateway, EventSink& sink) const;

 private:
  static constexpr int kAttemptsMax = 8;

  Step park(TimePoint now);
  Step enter(TimePoint now);
  Step send(TimePoint now, bool fresh_connection);
  Step reply(TimePoint now, Cause cause, Duration retry_after = Duration{0});
  Step finish(TimePoint now, Cause cause, Done done);
  // Nothing if the request may not be sent again after all.
  std::optional<Step> retry(TimePoint now, const RetryVerdict& verdict, Duration pause_min);
  void enter_phase(TimePoint now, Phase phase);
  void leave_phase(TimePoint now);
  void end_attempt(TimePoint now, Cause cause, int status);
  void drop_attempt(TimePoint now, Cause cause);
  void record_breaker(TimePoint now, bool success, Duration latency);
  void cancel_breaker(TimePoint now);
  void release(TimePoint now);

  [[nodiscard]] AttemptDone& current() {
    return attempts_[static_cast<std::size_t>(attempt_count_ - 1)];
  }

  [[nodiscard]] std::span<const std::size_t> tried() const {
    return {tried_.data(), static_cast<std::size_t>(attempt_count_)};
  }

  Route* route_;
  Upstream* upstream_;
  UpstreamPools* pools_;
  Request request_;

  TimePoint arrived_{};
  TimePoint ended_{};
  TimePoint total_by_ = kNever;
  std::optional<RequestQueue::Ticket> ticket_;  // while parked
  bool entered_ = false;
  bool in_budget_ = false;
  std::optional<CircuitBreaker::Permit> permit_;
  ConnectionLease connection_;
  bool attempt_open_ = false;
  Phase phase_ = Phase::connect;
  TimePoint phase_begun_{};
  std::size_t endpoint_ = 0;
  int retries_ = 0;  // charged ones
  bool stale_retried_ = false;
  bool fresh_next_ = false;
  NameId why_next_;  // why the next attempt is made
  Cause last_failure_ = Cause::internal;
  int last_status_ = 0;  // of an answer that was to be retried
  bool panic_ = false;

  int attempt_count_ = 0;
  std::array<AttemptDone, kAttemptsMax> attempts_;
  std::array<std::size_t, kAttemptsMax> tried_{};

  Cause cause_ = Cause::internal;
  int status_ = 0;
  bool retries_exhausted_ = false;
  NameId limiter_;
};

}  // namespace gatedrill::gateway
