#include "gateway/policy/circuit_breaker.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gatedrill::gateway {

std::string_view to_string(CircuitBreaker::State state) {
  switch (state) {
    case CircuitBreaker::State::closed:
      return "closed";
    case CircuitBreaker::State::open:
      return "open";
    case CircuitBreaker::State::half_open:
      return "half_open";
  }
  return "closed";
}

CircuitBreaker::CircuitBreaker(const Config& config) : config_(config) {
  assert(config.window.count() >= kBuckets);
  assert(config.probes_max > 0 && config.successes_needed > 0);
}

TimePoint CircuitBreaker::latest(TimePoint now) {
  latest_ = std::max(latest_, now);
  return latest_;
}

std::int64_t CircuitBreaker::bucket_number(TimePoint now) const {
  return now.time_since_epoch() / (config_.window / kBuckets);
}

void CircuitBreaker::change(TimePoint now, State to, std::string_view reason) {
  changes_.push_back({now, state_, to, reason});
  state_ = to;
  ++generation_;
}

void CircuitBreaker::open(TimePoint now, std::string_view reason) {
  if (state_ == State::closed && now - closed_since_ >= last_open_) openings_ = 0;
  Duration length = config_.open_base;
  for (int k = 0; k < openings_ && length < config_.open_max; ++k)
    length *= 2;
  last_open_ = std::min(length, config_.open_max);
  open_until_ = now + last_open_;
  ++openings_;
  leases_.clear();
  change(now, State::open, reason);
}

// What time alone does: an open spell ends, a probe's lease runs out.
void CircuitBreaker::advance(TimePoint now) {
  if (state_ == State::half_open) {
    const auto lost = std::find_if(leases_.begin(), leases_.end(),
                                   [&](const Lease& lease) { return lease.until <= now; });
    if (lost != leases_.end()) open(lost->until, "probe_lost");
  }
  if (state_ == State::open && now >= open_until_) {
    probes_given_ = 0;
    probe_successes_ = 0;
    change(open_until_, State::half_open, "open_time_over");
  }
}

std::optional<CircuitBreaker::Permit> CircuitBreaker::try_acquire(TimePoint now) {
  if (!config_.enabled) return Permit{};
  now = latest(now);
  advance(now);
  switch (state_) {
    case State::closed:
      return Permit{generation_, 0};
    case State::open:
      return std::nullopt;
    case State::half_open:
      break;
  }
  if (probes_given_ >= static_cast<std::uint64_t>(config_.probes_max)) return std::nullopt;
  ++probes_given_;
  const std::uint64_t probe = next_probe_++;
  leases_.push_back({probe, now + config_.probe_timeout});
  return Permit{generation_, probe};
}

void CircuitBreaker::record(TimePoint now, Permit permit, bool success, Duration latency) {
  if (!config_.enabled) return;
  now = latest(now);
  advance(now);
  if (permit.generation != generation_) return;
  if (permit.probe != 0) {
    record_probe(now, permit, success);
  } else {
    record_closed(now, success, latency);
  }
}

void CircuitBreaker::cancel(TimePoint now, Permit permit) {
  if (!config_.enabled) return;
  now = latest(now);
  advance(now);
  if (permit.generation != generation_ || permit.probe == 0) return;
  // The probe is given back: another request may be one.
  const auto returned = std::find_if(leases_.begin(), leases_.end(), [&](const Lease& lease) {
    return lease.probe == permit.probe;
  });
  if (returned == leases_.end()) return;
  leases_.erase(returned);
  --probes_given_;
}

void CircuitBreaker::record_closed(TimePoint now, bool success, Duration latency) {
  const std::int64_t number = bucket_number(now);
  Bucket& bucket = buckets_[static_cast<std::size_t>(number % kBuckets)];
  if (bucket.number != number) bucket = Bucket{number, 0, 0, 0};
  ++bucket.calls;
  if (!success) ++bucket.failures;
  if (latency >= config_.slow_call) ++bucket.slow;
  consecutive_failures_ = success ? 0 : consecutive_failures_ + 1;
  if (const std::string_view reason = trip_reason(now); !reason.empty()) {
    open(now, reason);
    consecutive_failures_ = 0;
    buckets_ = {};
  }
}

std::string_view CircuitBreaker::trip_reason(TimePoint now) const {
  const std::int64_t oldest = bucket_number(now) - kBuckets + 1;
  std::int64_t calls = 0;
  std::int64_t failures = 0;
  std::int64_t slow = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.number < oldest) continue;
    calls += bucket.calls;
    failures += bucket.failures;
    slow += bucket.slow;
  }
  const bool enough = calls >= config_.min_calls;
  const bool by_rate = enough && failures * 100 >= config_.failure_rate_percent * calls;
  const bool by_row =
      config_.consecutive_failures > 0 && consecutive_failures_ >= config_.consecutive_failures;
  if (config_.mode == Mode::all) {
    if (by_rate && (by_row || config_.consecutive_failures == 0)) return "sustained_failure";
  } else {
    if (by_rate) return "failure_rate";
    if (by_row) return "consecutive_failures";
  }
  const bool by_slow =
      enough && config_.slow_rate_percent > 0 && slow * 100 >= config_.slow_rate_percent * calls;
  return by_slow ? "slow_rate" : "";
}

void CircuitBreaker::record_probe(TimePoint now, Permit permit, bool success) {
  const auto lease = std::find_if(leases_.begin(), leases_.end(),
                                  [&](const Lease& each) { return each.probe == permit.probe; });
  if (lease == leases_.end()) return;
  leases_.erase(lease);
  if (!success) {
    open(now, "probe_failed");
    return;
  }
  ++probe_successes_;
  if (probe_successes_ >= std::min(config_.successes_needed, config_.probes_max)) {
    change(now, State::closed, "probes_succeeded");
    closed_since_ = now;
    consecutive_failures_ = 0;
    buckets_ = {};
  }
}

Duration CircuitBreaker::remaining(TimePoint now) const {
  return state_ == State::open ? std::max(Duration{0}, open_until_ - now) : Duration{0};
}

std::vector<CircuitBreaker::Change> CircuitBreaker::take_changes() {
  return std::exchange(changes_, {});
}

}  // namespace gatedrill::gateway
