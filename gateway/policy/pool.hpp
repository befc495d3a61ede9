// Which kept connection to one endpoint carries the next request: the most recently used that is
// young enough (LIFO), or none. Knows connections by id only; net/connections maps ids to sockets,
// the simulation to simulated ones, so stale reuse exists in both.
//
//                take: open                     put
//   (nothing) ───────────────► busy ────────────────────────► idle ──┐ take: reuse
//                               ▲ │ closed                     │     │
//                               │ └──────► (gone)   expired,   │     │
//                               │                   closed     ▼     │
//                               │                           (gone)   │
//                               └────────────────────────────────────┘
//
// The side that sends requests must drop an idle connection first: idle_timeout belongs below the
// upstream's keep-alive timeout, and a `Keep-Alive: timeout` hint lowers it (gateway
// reference 2.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

// One use of a connection by one attempt; handed back with put or closed.
struct ConnectionLease {
  std::uint64_t id = 0;
  TimePoint opened_at;
  std::uint32_t ordinal = 1;  // which request on its connection this is

  [[nodiscard]] bool reused() const { return ordinal > 1; }
};

class Pool {
 public:
  struct Config {
    bool enabled = true;      // false: a new connection for every request
    int max_idle = 256;       // kept at once
    int max_connections = 0;  // idle and busy together; 0: no limit
    Duration idle_timeout = std::chrono::seconds{50};
    Duration max_age = std::chrono::minutes{10};  // less up to 10 % jitter by connection
    int max_requests = 1000;

    bool operator==(const Config&) const = default;
  };

  enum class Eviction { idle, age, requests, surplus, peer_closed, endpoint_down };

  struct Evicted {
    std::uint64_t id = 0;
    Eviction reason = Eviction::idle;
  };

  explicit Pool(const Config& config) : config_(config) {}

  // A kept connection, or nothing: open one (unless full). Check take_evicted() afterwards.
  [[nodiscard]] std::optional<ConnectionLease> take_idle(TimePoint now);

  // No connection may be opened: all are busy. An idle one makes room.
  [[nodiscard]] bool full() const {
    return config_.max_connections > 0 && busy_ >= config_.max_connections;
  }

  // A connection with that id is about to be opened. Requires !full(). Check take_evicted()
  // afterwards.
  [[nodiscard]] ConnectionLease open(TimePoint now, std::uint64_t id);

  // The request on it ended well. False: the pool does not want it, close it. `hint` is the
  // upstream's Keep-Alive timeout.
  [[nodiscard]] bool put(TimePoint now,
                         const ConnectionLease& lease,
                         std::optional<Duration> hint = std::nullopt);
  // A busy connection is gone, or its open failed.
  void closed(const ConnectionLease& lease);
  // The peer closed an idle connection (no effect if it is not idle).
  void closed_by_peer(std::uint64_t id);
  // The endpoint is down: nothing idle is worth keeping.
  void evict_all();

  // Moves what is too old to the evicted ones.
  void expire(TimePoint now);
  [[nodiscard]] TimePoint next_wakeup() const;
  // Connections to close, once each.
  [[nodiscard]] std::vector<Evicted> take_evicted();

  [[nodiscard]] std::size_t idle_count() const { return idle_.size(); }

  [[nodiscard]] int busy_count() const { return busy_; }

 private:
  struct Idle {
    ConnectionLease lease;
    TimePoint until;
    Eviction reason = Eviction::idle;
  };

  [[nodiscard]] Duration age_limit(std::uint64_t id) const;

  Config config_;
  std::vector<Idle> idle_;  // the most recently used last
  int busy_ = 0;
  std::vector<Evicted> evicted_;
};

[[nodiscard]] std::string_view to_string(Pool::Eviction reason);

}  // namespace gatedrill::gateway
