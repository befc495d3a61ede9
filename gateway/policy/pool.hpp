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

#include "gateway/core/event.hpp"
#include "gateway/core/names.hpp"
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

  enum class Eviction {
    idle,            // idle_timeout, or below the upstream's own
    age,             // max_age
    requests,        // max_requests
    surplus,         // max_idle, or room for a new one
    peer_closed,     // the upstream closed it
    unsolicited,     // the upstream sent what nobody had asked for
    endpoint_down,   // by its health
    endpoint_moved,  // its name stands for another address
  };

  struct Evicted {
    ConnectionLease lease;
    Eviction reason = Eviction::idle;
  };

  // The names are for whoever reports its evictions.
  explicit Pool(const Config& config, NameId upstream = {}, NameId endpoint = {})
      : config_(config), upstream_(upstream), endpoint_(endpoint) {}

  [[nodiscard]] NameId upstream() const { return upstream_; }

  [[nodiscard]] NameId endpoint() const { return endpoint_; }

  // A kept connection, or nothing: open one (unless full). Check take_evicted() afterwards.
  [[nodiscard]] std::optional<ConnectionLease> take_idle(TimePoint now);

  // No connection may be opened: all are busy. An idle one makes room.
  [[nodiscard]] bool full() const {
    return config_.max_connections > 0 && busy_ >= config_.max_connections;
  }

  // A connection with that id is about to be opened. Requires !full(). Check take_evicted()
  // afterwards.
  [[nodiscard]] ConnectionLease open(TimePoint now, std::uint64_t id);

  // The request on it ended well. False: the pool does not want it, close it (if it was too old
  // or had carried enough, it is an evicted one too). `hint` is the
  // upstream's Keep-Alive timeout.
  [[nodiscard]] bool put(TimePoint now,
                         const ConnectionLease& lease,
                         std::optional<Duration> hint = std::nullopt);
  // A busy connection is gone, or its open failed.
  void closed(const ConnectionLease& lease);
  // The peer closed an idle connection or sent something on it (no effect if it is not idle).
  void lost(std::uint64_t id, Eviction reason);
  // The endpoint is down: nothing idle is worth keeping.
  void evict_all(Eviction reason = Eviction::endpoint_down);

  // Moves what is too old to the evicted ones.
  void expire(TimePoint now);
  [[nodiscard]] TimePoint next_wakeup() const;
  // What was given up since the last call: to be closed unless it is, and to be reported.
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
  NameId upstream_;
  NameId endpoint_;
  std::vector<Idle> idle_;  // the most recently used last
  int busy_ = 0;
  std::vector<Evicted> evicted_;
};

[[nodiscard]] std::string_view to_string(Pool::Eviction reason);

// For the recorder.
[[nodiscard]] Eviction eviction_of(const Pool& pool, const Pool::Evicted& evicted, TimePoint now);

}  // namespace gatedrill::gateway
