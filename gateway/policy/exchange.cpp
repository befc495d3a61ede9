#include "gateway/policy/exchange.hpp"

#include <algorithm>
#include <cassert>

namespace gatedrill::gateway {
namespace {

// Whether the upstream's breaker counts an answer's status as a failure (gateway reference 2.1).
bool counts_as_failure(int status) {
  return status >= 502 && status <= 504;
}

Duration backoff_limit(const RetryConfig& config, int retry) {
  const std::int64_t steps = (std::int64_t{1} << std::min(retry, 20)) - 1;
  return std::min(config.backoff_max, config.backoff_base * steps);
}

}  // namespace

Step Exchange::start(TimePoint now) {
  arrived_ = now;
  if (!request_.body_owed) on_request_received(now);
  if (const auto verdict = route_->rate_limit.take(now); !verdict.admitted) {
    limiter_ = route_->name;
    return reply(now, Cause::rate_limited, verdict.retry_after);
  }
  if (upstream_->full()) return park(now);
  upstream_->enter();
  return enter(now);
}

Step Exchange::park(TimePoint now) {
  ticket_ = upstream_->queue().join(pools_->shard());
  if (!ticket_) return reply(now, Cause::upstream_overflow);
  return Park{std::min(now + upstream_->config().queue.timeout, total_by_), *ticket_};
}

Step Exchange::on_place(TimePoint now) {
  assert(has_place());
  ticket_.reset();
  return enter(now);
}

// It has a place at the upstream.
Step Exchange::enter(TimePoint now) {
  entered_ = true;
  upstream_->retry_budget().on_request();
  if (now >= total_by_) return reply(now, Cause::total_timeout);
  return send(now, false);
}

Step Exchange::send(TimePoint now, bool fresh_connection) {
  const auto choice = upstream_->choose(tried());
  if (!choice) return reply(now, attempt_count_ == 0 ? Cause::no_healthy_upstream : last_failure_);
  permit_ = upstream_->breaker().try_acquire(now);
  if (!permit_) {
    if (attempt_count_ > 0) return reply(now, last_failure_);
    return reply(now, Cause::breaker_open,
                 std::max(upstream_->breaker().remaining(now), Duration{1}));
  }
  Pool& pool = pools_->pool(choice->endpoint);
  std::optional<ConnectionLease> kept;
  if (!fresh_connection) kept = pool.take_idle(now);
  if (!kept && pool.full()) {
    cancel_breaker(now);
    return reply(now, attempt_count_ == 0 ? Cause::upstream_overflow : last_failure_);
  }
  connection_ = kept ? *kept : pool.open(now, pools_->new_id());
  endpoint_ = choice->endpoint;
  panic_ = choice->panic;
  attempt_open_ = true;
  if (attempt_count_ > 0) current().why_retried = why_next_;
  tried_[static_cast<std::size_t>(attempt_count_)] = endpoint_;
  ++attempt_count_;
  AttemptDone& attempt = current();
  attempt = AttemptDone{};
  attempt.request_id = request_.id;
  attempt.attempt = static_cast<std::uint8_t>(attempt_count_);
  attempt.at = now;
  attempt.upstream = upstream_->name();
  attempt.endpoint = upstream_->endpoint_name(endpoint_);
  attempt.reused = connection_.reused();
  attempt.connection_id = connection_.id;
  attempt.connection_age = now - connection_.opened_at;
  attempt.connection_ordinal = connection_.ordinal;
  enter_phase(now, connection_.reused() ? Phase::request : Phase::connect);
  return Send{endpoint_, connection_};
}

void Exchange::enter_phase(TimePoint now, Phase phase) {
  phase_ = phase;
  phase_begun_ = now;
}

void Exchange::leave_phase(TimePoint now) {
  const Duration took = now - phase_begun_;
  PhaseTimes& times = current().phases;
  switch (phase_) {
    case Phase::connect:
      times.connect = took;
      break;
    case Phase::request:
      times.send = took;
      break;
    case Phase::response:
      times.wait = took;
      break;
    case Phase::body:
      times.receive = took;
      break;
  }
}

void Exchange::on_request_received(TimePoint now) {
  if (total_by_ == kNever) total_by_ = now + route_->config.timeouts.total;
}

void Exchange::on_connected(TimePoint now) {
  assert(attempt_open_ && phase_ == Phase::connect);
  leave_phase(now);
  enter_phase(now, Phase::request);
}

void Exchange::on_request_sent(TimePoint now) {
  if (!attempt_open_ || phase_ != Phase::request) return;  // the answer came first
  leave_phase(now);
  enter_phase(now, Phase::response);
}

Deadline Exchange::deadline(Phase phase, TimePoint now) const {
  const TimeoutConfig& timeouts = route_->config.timeouts;
  Deadline deadline;
  switch (phase) {
    case Phase::connect:
      deadline = {now + timeouts.connect, Cause::connect_timeout};
      break;
    case Phase::request:
      break;
    case Phase::response:
      deadline = {now + timeouts.response, Cause::response_timeout};
      break;
    case Phase::body:  // the total timeout ends with the answer's head
      return {now + timeouts.idle, Cause::body_idle_timeout};
  }
  if (timeouts.per_try.count() > 0 && phase != Phase::request) {
    const TimePoint by = attempts().back().at + timeouts.per_try;
    if (by < deadline.at) deadline.at = by;  // the cause stays the phase's
  }
  if (total_by_ < deadline.at) deadline = {total_by_, Cause::total_timeout};
  return deadline;
}

void Exchange::end_attempt(TimePoint now, Cause cause, int status) {
  leave_phase(now);
  AttemptDone& attempt = current();
  attempt.latency = now - attempt.at;
  attempt.cause = cause;
  attempt.status = static_cast<std::uint16_t>(status);
}

void Exchange::record_breaker(TimePoint now, bool success, Duration latency) {
  if (!permit_) return;
  upstream_->breaker().record(now, *permit_, success, latency);
  permit_.reset();
}

void Exchange::cancel_breaker(TimePoint now) {
  if (!permit_) return;
  upstream_->breaker().cancel(now, *permit_);
  permit_.reset();
}

Step Exchange::on_response_head(TimePoint now, int status, std::optional<Duration> retry_after) {
  assert(attempt_open_);
  record_breaker(now, !counts_as_failure(status), now - current().at);
  const RetryVerdict verdict = may_retry_status(route_->config.retry, request_.facts, status);
  const Duration pause = retry_after.value_or(Duration{0});
  if (verdict.retry && pause < total_by_ - now) {
    if (const auto again = retry(now, verdict, pause)) {
      pools_->pool(endpoint_).closed(connection_);
      attempt_open_ = false;
      end_attempt(now, Cause::upstream_status, status);
      last_failure_ = Cause::upstream_status;
      last_status_ = status;
      return *again;
    }
  }
  status_ = status;
  leave_phase(now);
  enter_phase(now, Phase::body);
  return Forward{};
}

Step Exchange::on_attempt_failed(TimePoint now, FailureFacts failure) {
  assert(attempt_open_);
  failure.reused = connection_.reused();
  const bool closed =
      failure.cause == Cause::upstream_closed || failure.cause == Cause::send_failed;
  if (closed && failure.reused && !failure.response_started) failure.cause = Cause::stale_reuse;
  pools_->pool(endpoint_).closed(connection_);
  attempt_open_ = false;
  end_attempt(now, failure.cause, 0);
  last_failure_ = failure.cause;

  const RetryVerdict verdict = may_retry(route_->config.retry, request_.facts, failure);
  // Neither an idle connection that died nor our own want of descriptors or memory says anything of
  // the upstream now.
  if ((verdict.retry && !verdict.charged) || failure.cause == Cause::internal) {
    cancel_breaker(now);
  } else {
    record_breaker(now, false, now - current().at);
  }
  if (!verdict.retry || now >= total_by_) return reply(now, failure.cause);
  if (const auto again = retry(now, verdict, Duration{0})) return *again;
  return reply(now, last_failure_);
}

std::optional<Step> Exchange::retry(TimePoint now,
                                    const RetryVerdict& verdict,
                                    Duration pause_min) {
  const bool used_up =
      verdict.charged ? retries_ >= route_->config.retry.max_retries : stale_retried_;
  if (used_up || attempt_count_ >= kAttemptsMax) {
    retries_exhausted_ = true;
    return std::nullopt;
  }
  why_next_ = intern(verdict.why);
  if (!verdict.charged) {
    // The server gave no sign of life on a kept connection; once more on a new one, at once.
    stale_retried_ = true;
    return send(now, verdict.fresh_connection);
  }
  if (in_budget_) upstream_->retry_budget().finish();
  in_budget_ = upstream_->retry_budget().try_start(upstream_->active());
  if (!in_budget_) {
    retries_exhausted_ = true;
    return std::nullopt;
  }
  ++retries_;
  fresh_next_ = verdict.fresh_connection;
  // Full jitter, by a hash of the request and the attempt: repeatable, and independent of the order
  // in which requests fail.
  const std::uint64_t draw =
      stable_hash(request_.id.view(), static_cast<std::uint64_t>(attempt_count_));
  const Duration limit = backoff_limit(route_->config.retry, retries_);
  const Duration pause{limit.count() > 0 ? static_cast<std::int64_t>(
                                               draw % static_cast<std::uint64_t>(limit.count()))
                                         : 0};
  return Wait{std::min(now + std::max(pause, pause_min), total_by_)};
}

Step Exchange::on_waited(TimePoint now) {
  if (has_place()) return on_place(now);  // both at once
  if (ticket_ && now < total_by_) return reply(now, Cause::upstream_overflow);
  if (now >= total_by_) return reply(now, Cause::total_timeout);
  return send(now, fresh_next_);
}

Step Exchange::on_response_end(TimePoint now,
                               Cause cause,
                               bool reusable,
                               std::optional<Duration> keep_alive_hint) {
  assert(attempt_open_);
  attempt_open_ = false;
  Pool& pool = pools_->pool(endpoint_);
  Done done;
  // An endpoint that went down in the meantime is not given its connection back.
  if (cause == Cause::ok && reusable && (upstream_->endpoint_up(endpoint_) || panic_)) {
    done.keep_connection = pool.put(now, connection_, keep_alive_hint);
  } else {
    pool.closed(connection_);
  }
  done.abort_client = cause != Cause::ok;
  if (cause == Cause::ok && status_ >= 400) cause = Cause::upstream_status;
  end_attempt(now, cause, status_);
  if (cause == Cause::ok && panic_) cause = Cause::panic;
  return finish(now, cause, done);
}

// Ends the current attempt, if there is one, through no fault of the upstream's.
void Exchange::drop_attempt(TimePoint now, Cause cause) {
  if (!attempt_open_) return;
  attempt_open_ = false;
  pools_->pool(endpoint_).closed(connection_);
  end_attempt(now, cause, status_);
}

Step Exchange::on_client_gone(TimePoint now) {
  const bool replying = !attempt_open_ && status_ != 0;
  if (replying) return finish(now, cause_, Done{false, true});  // why we replied stands
  drop_attempt(now, Cause::client_closed);
  if (status_ == 0) status_ = local_status(Cause::client_closed);
  return finish(now, Cause::client_closed, Done{false, true});
}

Step Exchange::on_request_failed(TimePoint now, Cause cause) {
  const bool answer_begun = attempt_open_ && status_ != 0;
  drop_attempt(now, cause);
  if (answer_begun) return finish(now, cause, Done{false, true});
  return reply(now, cause);
}

Step Exchange::reply(TimePoint now, Cause cause, Duration retry_after) {
  cause_ = cause;
  // An answer that was thrown away for a retry which could not be made is told by its status.
  status_ = cause == Cause::upstream_status ? last_status_ : local_status(cause);
  release(now);
  return LocalReply{cause, status_, retry_after};
}

Step Exchange::on_reply_sent(TimePoint now) {
  return finish(now, cause_, Done{});
}

// Gives back whatever the upstream counted for this request.
void Exchange::release(TimePoint now) {
  cancel_breaker(now);
  if (in_budget_) upstream_->retry_budget().finish();
  in_budget_ = false;
  if (ticket_ && !upstream_->queue().leave(*ticket_)) entered_ = true;  // a place had been given
  ticket_.reset();
  if (entered_) upstream_->leave();
  entered_ = false;
}

Step Exchange::finish(TimePoint now, Cause cause, Done done) {
  release(now);
  cause_ = cause;
  ended_ = now;
  return done;
}

void Exchange::report(NameId gateway, EventSink& sink) const {
  for (const AttemptDone& attempt : attempts())
    sink.publish({gateway, attempt});
  sink.publish({gateway, summary()});
}

RequestDone Exchange::summary() const {
  RequestDone done;
  done.request_id = request_.id;
  done.at = arrived_;
  done.latency = ended_ - arrived_;
  done.client = request_.client;
  done.method = request_.method;
  done.path = request_.path;
  done.route = route_->name;
  done.upstream = upstream_->name();
  done.status = static_cast<std::uint16_t>(status_);
  done.cause = cause_;
  done.retries_exhausted = retries_exhausted_;
  done.attempts = static_cast<std::uint8_t>(attempt_count_);
  done.limiter = limiter_;
  return done;
}

}  // namespace gatedrill::gateway
