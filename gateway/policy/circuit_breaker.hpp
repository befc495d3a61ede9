// Circuit breaker of one upstream: three states, a rate and a consecutive condition.
//
//              trip                        open time over
//   closed ───────────► open(k) ─────────────────────────────► half-open
//     ▲                   ▲                                        │
//     │                   └──── any probe fails or is lost: k+1 ───┤
//     └──────────────── success_needed probes succeed ─────────────┘
//
//   trip  <=>  calls >= min_calls and failures/calls >= failure_rate, or consecutive failures
//              (mode any; mode all wants both), or calls >= min_calls and slow/calls >= slow_rate
//
// Open time is open_base * 2^k, at most open_max; k goes back to zero after a closed spell as long
// as the last open time. The window is a ring of ten buckets (gateway reference 2.1).
//
// Exactly one `record` or `cancel` follows a permit. A permit carries the generation in which it
// was given, so that a slow answer from before an opening does not count as a probe's. A probe's
// lease ends by itself after probe_timeout and counts as a failure: half-open cannot wedge.
//
// A `now` before the latest seen counts as the latest: threads sample the time a little apart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill::gateway {

class CircuitBreaker {
 public:
  enum class Mode { any, all };
  enum class State { closed, open, half_open };

  struct Config {
    bool enabled = true;
    Mode mode = Mode::any;
    Duration window = std::chrono::seconds{5};
    int min_calls = 20;
    int failure_rate_percent = 50;
    int consecutive_failures = 10;  // 0: not a condition
    Duration slow_call = std::chrono::seconds{3};
    int slow_rate_percent = 80;  // 0: not a condition
    Duration open_base = std::chrono::seconds{5};
    Duration open_max = std::chrono::seconds{60};
    int probes_max = 3;
    int successes_needed = 3;
    Duration probe_timeout = std::chrono::seconds{10};

    bool operator==(const Config&) const = default;
  };

  struct Permit {
    std::uint64_t generation = 0;
    std::uint64_t probe = 0;  // 0: not a probe
  };

  // A change of state, for the recorder.
  struct Change {
    TimePoint at;
    State from;
    State to;
    std::string_view reason;
  };

  explicit CircuitBreaker(const Config& config);

  // A permit to send one attempt, or nothing: rejected.
  [[nodiscard]] std::optional<Permit> try_acquire(TimePoint now);
  void record(TimePoint now, Permit permit, bool success, Duration latency);
  // The attempt said nothing about the upstream (client gone, our own rejection).
  void cancel(TimePoint now, Permit permit);

  [[nodiscard]] State state() const { return state_; }

  // While open: the time left.
  [[nodiscard]] Duration remaining(TimePoint now) const;
  // Changes since the last call, in order.
  [[nodiscard]] std::vector<Change> take_changes();

 private:
  struct Bucket {
    std::int64_t number = -1;  // floor(time / bucket length)
    int calls = 0;
    int failures = 0;
    int slow = 0;
  };

  struct Lease {
    std::uint64_t probe = 0;
    TimePoint until;
  };

  TimePoint latest(TimePoint now);
  void change(TimePoint now, State to, std::string_view reason);
  void open(TimePoint now, std::string_view reason);
  void advance(TimePoint now);
  void record_closed(TimePoint now, bool success, Duration latency);
  void record_probe(TimePoint now, Permit permit, bool success);
  [[nodiscard]] std::string_view trip_reason(TimePoint now) const;
  [[nodiscard]] std::int64_t bucket_number(TimePoint now) const;

  static constexpr int kBuckets = 10;

  Config config_;
  TimePoint latest_{};
  State state_ = State::closed;
  std::uint64_t generation_ = 1;
  std::array<Bucket, kBuckets> buckets_{};
  int consecutive_failures_ = 0;
  int openings_ = 0;  // k
  TimePoint closed_since_{};
  Duration last_open_{0};
  TimePoint open_until_{};
  std::vector<Lease> leases_;
  std::uint64_t probes_given_ = 0;  // in this half-open spell
  std::uint64_t next_probe_ = 1;
  int probe_successes_ = 0;
  std::vector<Change> changes_;
};

[[nodiscard]] std::string_view to_string(CircuitBreaker::State state);

}  // namespace gatedrill::gateway
