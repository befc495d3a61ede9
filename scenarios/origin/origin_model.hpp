// One instance of a simulated service, as a pure state machine: events with `now` go in, steps come
// out, next_wakeup says when it has more to do by itself. The live origin (live_origin.hpp) and the
// simulation drive the same object.
//
//            stop(order)          removal_wait            graceful: all answered, or drain_max
//   ready ───────────────► leaving ──────────► draining ─────────────────────────┐
//     ▲        readiness fails,   │            no listening socket, idle          │
//     │        else as before     │ abrupt     connections closed, answers        │
//     │                           │            carry Connection: close            ▼
//     │                           └───────────────────────────────► stopped or starting
//     └──────────────────── start_time (and its caches filled) ────────────┘  (as the next version)
//
// Requests take a worker each; those that find none wait in one queue, and beyond its limit they
// are answered 503 at once. A worker is held for the version's own latency plus that of the
// dependencies it calls. The server does not notice that a client has gone: work begun or queued is
// done anyway.
//
// An abrupt stop closes every connection at once, as a process that ignores what it owes: FIN where
// nothing is owed (a kernel closing an idle socket), RST where a request is unanswered (its unread
// or unanswered bytes make the kernel reset it, and INC-1 saw resets). A graceful one answers
// first.
//
// Service times depend on the seed and the request (id, attempt) only, not on instance or order, so
// live and simulated runs and all variants draw alike.
//
// A driver calls wake(now) at next_wakeup() (later is allowed: steps carry the time they were due,
// and work that follows is timed from there), and takes the steps after every call. One request at
// a time per connection. Not thread-safe; dependencies outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chaos/fault/draw.hpp"
#include "gateway/core/distribution.hpp"
#include "gateway/core/time.hpp"
#include "scenarios/origin/dependency.hpp"

namespace gatedrill::scenarios {

using OriginConnection = std::uint64_t;  // the driver's number, unique for the life of the model
using OriginTicket = std::uint64_t;      // one request's; 0 is none

enum class OriginState { ready, leaving, draining, stopped, starting };
[[nodiscard]] std::string_view to_string(OriginState state);

struct DependencyUse {
  const Dependency* dependency = nullptr;
  // Answers come from a local cache, which is filled before the instance is ready and refreshed
  // beside the requests: none of them waits for it. Otherwise every request calls.
  bool cached = false;
};

struct OriginVersion {
  std::string name;
  Distribution latency;  // its own part of the service time
  std::vector<DependencyUse> dependencies;
};

struct HealthEndpoint {
  std::string path;
  Distribution latency;
  const Dependency* dependency = nullptr;  // called by each probe
  bool uses_worker = false;                // waits in the queue like any request
};

// What the health endpoint does for a while, whatever the instance's state.
struct HealthFlap {
  enum class Verdict { status, delay, drop };  // drop: never answered
  TimePoint from;
  TimePoint until;
  Verdict verdict = Verdict::status;
  int status = 503;
  Duration delay{0};
  bool liveness = false;  // on the liveness path instead of the readiness path
};

// `period` long cycles from `from` to `until`, failing in the first `failing` of each.
[[nodiscard]] std::vector<HealthFlap> repeated(const HealthFlap& flap,
                                               Duration period,
                                               Duration failing);

enum class StopStyle { graceful, abrupt };
[[nodiscard]] std::string_view to_string(StopStyle style);

struct StopOrder {
  StopStyle style = StopStyle::graceful;
  Duration removal_wait{0};
  Duration drain_max = std::chrono::seconds(30);  // graceful: then what is left is reset
  bool start_again = true;
  Duration start_time = std::chrono::seconds(1);
  std::size_t version = 0;  // index of the version it starts again as
};

struct OriginConfig {
  std::string name;
  std::vector<OriginVersion> versions;  // one at least; starts as the first
  std::size_t workers = 16;
  std::size_t queue_max = 1000;
  Duration keep_alive = std::chrono::seconds(75);  // idle connections are closed after it
  std::uint32_t requests_per_connection_max = 0;   // 0: no limit
  HealthEndpoint readiness{"/ready", {}, nullptr, false};
  HealthEndpoint liveness{"/live", {}, nullptr, false};
  std::vector<HealthFlap> flaps;
  std::uint64_t seed = 0;
};

struct OriginRequest {
  std::string_view request_id;  // may be empty
  std::uint32_t attempt = 1;    // chaos::Sightings of the variant's origins
  std::string_view method;
  std::string_view target;
};

// What the driver is to do. Work begins: the request is executed from here on.
struct BeginWork {
  OriginTicket ticket = 0;
  OriginConnection connection = 0;
};

struct SendAnswer {
  enum class Source { service, queue_full, health };
  OriginTicket ticket = 0;
  OriginConnection connection = 0;
  Source source = Source::service;
  int status = 200;  // of queue_full and health; the service's is the answer book's
  bool close =
      false;  // Connection: close, and a FIN after it; the model has forgotten the connection
};

// Nothing more will come of this ticket: its client went away, or its probe is not to be answered.
struct DropWork {
  OriginTicket ticket = 0;
};

struct CloseConnection {
  OriginConnection connection = 0;
  bool reset = false;  // RST, otherwise FIN
};

struct SetListening {
  bool listening = false;
};

struct ChangeState {
  OriginState from = OriginState::ready;
  OriginState to = OriginState::ready;
};

struct OriginStep {
  TimePoint at;  // when it was due
  std::variant<BeginWork, SendAnswer, DropWork, CloseConnection, SetListening, ChangeState> body;
};

class OriginModel {
 public:
  explicit OriginModel(OriginConfig config);

  // Reset at once if it is not listening any more.
  void on_connect(OriginConnection connection, TimePoint now);
  // Bytes of a request came that is not whole yet: the connection is not idle any more.
  void on_bytes(OriginConnection connection, TimePoint now);
  // A whole request. Returns 0 if the connection is not there any more: nothing will come of it.
  OriginTicket on_request(OriginConnection connection, const OriginRequest& request, TimePoint now);
  // The peer closed or reset it. Unknown connections are ignored.
  void on_peer_closed(OriginConnection connection, TimePoint now);
  // An operator's stop (or restart). Ignored unless ready.
  void stop(const StopOrder& order, TimePoint now);
  // Starts a stopped instance again, ready after its order's start_time.
  void start(TimePoint now);

  void wake(TimePoint now);
  // When wake has something to do; kNever if nothing.
  [[nodiscard]] TimePoint next_wakeup() const;

  // Moves out what is to be done, in order.
  [[nodiscard]] std::vector<OriginStep> take_steps() { return std::exchange(steps_, {}); }

  [[nodiscard]] const std::string& name() const { return config_.name; }

  [[nodiscard]] OriginState state() const { return state_; }

  [[nodiscard]] bool listening() const;

  [[nodiscard]] const OriginVersion& version() const { return config_.versions[version_]; }

  [[nodiscard]] std::size_t workers_busy() const { return workers_busy_; }

  [[nodiscard]] std::size_t queued() const { return queue_.size(); }

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

  // Whether a request to that target is a probe, and so not an execution.
  [[nodiscard]] bool is_health_path(std::string_view target) const;

 private:
  struct Connection {
    OriginTicket owed = 0;  // the request being served
    std::uint32_t requests = 0;
    bool idle = true;
    TimePoint idle_until;
  };

  struct Work {
    OriginTicket ticket = 0;
    OriginConnection connection = 0;
    std::string request_id;
    std::uint32_t attempt = 1;
    std::uint32_t ordinal = 1;
    const HealthEndpoint* health = nullptr;  // null: a service request
    int status = 200;                        // of a probe
    Duration extra{0};                       // a flap's delay
    bool has_worker = false;
  };

  [[nodiscard]] const HealthEndpoint* health_endpoint(std::string_view target) const;
  [[nodiscard]] const HealthFlap* flap_on(const HealthEndpoint& endpoint, TimePoint now) const;
  [[nodiscard]] Duration service_time(const Work& work) const;
  void on_probe(Work work, TimePoint now);
  void queue_or_refuse(Work work, TimePoint now);
  void start_queued(TimePoint now);
  void run(Work work, TimePoint now);
  void finish(TimePoint now);
  void answer(const Work& work, SendAnswer::Source source, int status, TimePoint now);
  void become_idle(OriginConnection id, Connection& connection, TimePoint now);
  void become_busy(OriginConnection id, Connection& connection);
  void forget(std::map<OriginConnection, Connection>::iterator connection);
  void close_idle_due(TimePoint now);
  void close_all(bool only_idle, TimePoint now);
  void on_phase_end(TimePoint now);
  void begin_stop(TimePoint now);
  void end_if_drained(TimePoint now);
  void go_down(TimePoint now);
  void change_state(OriginState to, TimePoint now);

  OriginConfig config_;
  chaos::Draw draw_;
  OriginState state_ = OriginState::ready;
  std::size_t version_ = 0;
  std::uint64_t starts_ = 0;
  StopOrder order_;
  TimePoint phase_until_ = kNever;

  OriginTicket last_ticket_ = 0;
  std::size_t workers_busy_ = 0;
  std::deque<Work> queue_;
  std::map<std::pair<TimePoint, OriginTicket>, Work> running_;  // by when it is done
  std::map<OriginConnection, Connection> connections_;
  std::set<std::pair<TimePoint, OriginConnection>> idle_;
  std::vector<OriginStep> steps_;
};

}  // namespace gatedrill::scenarios
