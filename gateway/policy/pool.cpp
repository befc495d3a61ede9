#include "gateway/policy/pool.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gatedrill::gateway {

std::string_view to_string(Pool::Eviction reason) {
  switch (reason) {
    case Pool::Eviction::idle:
      return "idle";
    case Pool::Eviction::age:
      return "age";
    case Pool::Eviction::requests:
      return "requests";
    case Pool::Eviction::surplus:
      return "surplus";
    case Pool::Eviction::peer_closed:
      return "peer_closed";
    case Pool::Eviction::unsolicited:
      return "unsolicited";
    case Pool::Eviction::endpoint_down:
      return "endpoint_down";
    case Pool::Eviction::endpoint_moved:
      return "endpoint_moved";
  }
  return "idle";
}

Eviction eviction_of(const Pool& pool, const Pool::Evicted& evicted, TimePoint now) {
  return {now,
          pool.upstream(),
          pool.endpoint(),
          evicted.lease.id,
          intern(to_string(evicted.reason)),
          now - evicted.lease.opened_at,
          evicted.lease.ordinal};
}

// Up to 10 % less by a hash of the id (Knuth's multiplicative one), so that connections opened
// together do not end together.
Duration Pool::age_limit(std::uint64_t id) const {
  const auto permille = static_cast<std::int64_t>((id * 2654435761U >> 8U) % 101);
  return config_.max_age - config_.max_age * permille / 1000;
}

std::optional<ConnectionLease> Pool::take_idle(TimePoint now) {
  while (!idle_.empty()) {
    const Idle last = idle_.back();
    idle_.pop_back();
    if (last.until > now) {
      ++busy_;
      ConnectionLease lease = last.lease;
      ++lease.ordinal;
      return lease;
    }
    evicted_.push_back({last.lease, last.reason});
  }
  return std::nullopt;
}

ConnectionLease Pool::open(TimePoint now, std::uint64_t id) {
  assert(!full());
  ++busy_;
  if (config_.max_connections > 0 && !idle_.empty() &&
      busy_ + static_cast<int>(idle_.size()) > config_.max_connections) {
    evicted_.push_back({idle_.front().lease, Eviction::surplus});
    idle_.erase(idle_.begin());
  }
  return ConnectionLease{id, now, 1};
}

bool Pool::put(TimePoint now, const ConnectionLease& lease, std::optional<Duration> hint) {
  assert(busy_ > 0);
  --busy_;
  if (!config_.enabled) return false;
  if (lease.ordinal >= static_cast<std::uint32_t>(config_.max_requests)) {
    evicted_.push_back({lease, Eviction::requests});
    return false;
  }
  const TimePoint too_old = lease.opened_at + age_limit(lease.id);
  if (too_old <= now) {
    evicted_.push_back({lease, Eviction::age});
    return false;
  }
  Duration idle_timeout = config_.idle_timeout;
  if (hint) {
    idle_timeout = std::min(idle_timeout, std::max(Duration{0}, *hint - std::chrono::seconds{1}));
  }
  if (idle_timeout.count() <= 0 || config_.max_idle <= 0) return false;
  Idle idle{lease, now + idle_timeout, Eviction::idle};
  if (too_old < idle.until) {
    idle.until = too_old;
    idle.reason = Eviction::age;
  }
  if (idle_.size() >= static_cast<std::size_t>(config_.max_idle)) {
    evicted_.push_back({idle_.front().lease, Eviction::surplus});
    idle_.erase(idle_.begin());
  }
  idle_.push_back(idle);
  return true;
}

void Pool::closed(const ConnectionLease& /*lease*/) {
  assert(busy_ > 0);
  --busy_;
}

void Pool::lost(std::uint64_t id, Eviction reason) {
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                  [&](const Idle& idle) { return idle.lease.id == id; });
  if (found == idle_.rend()) return;
  evicted_.push_back({found->lease, reason});
  idle_.erase(std::next(found).base());
}

void Pool::evict_all(Eviction reason) {
  for (const Idle& idle : idle_)
    evicted_.push_back({idle.lease, reason});
  idle_.clear();
}

void Pool::expire(TimePoint now) {
  const auto alive = std::stable_partition(idle_.begin(), idle_.end(),
                                           [&](const Idle& idle) { return idle.until <= now; });
  for (auto each = idle_.begin(); each != alive; ++each) {
    evicted_.push_back({each->lease, each->reason});
  }
  idle_.erase(idle_.begin(), alive);
}

TimePoint Pool::next_wakeup() const {
  TimePoint next = kNever;
  for (const Idle& idle : idle_)
    next = std::min(next, idle.until);
  return next;
}

std::vector<Pool::Evicted> Pool::take_evicted() {
  return std::exchange(evicted_, {});
}

}  // namespace gatedrill::gateway
