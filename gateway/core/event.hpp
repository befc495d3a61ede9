// What happened, as the recorder sees it: one flat, trivially copyable record for each fact. The
// gateway, the faults, the origins and the clients publish events; reports/ turns them into run.db
// (the columns of the stable views are these fields).
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "gateway/core/cause.hpp"
#include "gateway/core/fixed_text.hpp"
#include "gateway/core/names.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill {

// One client request, as the gateway saw it end. `at` is its arrival (head complete).
struct RequestDone {
  RequestId request_id;
  TimePoint at;
  Duration latency{0};
  NameId client;  // address without port
  NameId method;
  NameId path;  // without query
  NameId route;
  NameId upstream;
  std::uint16_t status = 0;
  Cause cause = Cause::ok;
  bool retries_exhausted = false;
  std::uint8_t attempts = 0;
  NameId limiter;
  NameId limiter_key;
};

// How long each phase of an attempt took, in HAR's words. The phase in which the attempt ended has
// its time up to there; one that was never begun has kNotBegun (`connect` on a kept connection).
struct PhaseTimes {
  static constexpr Duration kNotBegun{-1};

  Duration connect = kNotBegun;
  Duration send = kNotBegun;     // the request, its body included
  Duration wait = kNotBegun;     // for the answer's head
  Duration receive = kNotBegun;  // the answer's body

  bool operator==(const PhaseTimes&) const = default;
};

// One attempt of a request at one endpoint.
struct AttemptDone {
  RequestId request_id;
  std::uint8_t attempt = 1;
  TimePoint at;
  Duration latency{0};
  NameId upstream;
  NameId endpoint;
  bool reused = false;
  std::uint64_t connection_id = 0;  // 0: no connection was made
  Duration connection_age{0};
  std::uint32_t connection_ordinal = 0;  // which request on its connection, from 1
  std::uint16_t status = 0;
  Cause cause = Cause::ok;
  PhaseTimes phases;
  NameId why_retried;  // of the attempt that follows this one: the reason; empty for the last
};

// One request as the client (replay, load) saw it. Times that did not happen are kNever.
struct SendDone {
  RequestId request_id;
  NameId source;
  NameId method;
  NameId path;
  TimePoint intended;
  TimePoint sent = kNever;
  TimePoint done = kNever;
  std::uint16_t status = 0;  // 0: no answer
  bool body_complete = false;
  std::uint16_t status_expected = 0;  // as recorded; 0: nothing to compare with
  bool body_as_expected =
      false;                     // whole and equal to the recorded one (true if nothing to compare)
  bool side_connection = false;  // its recorded connection was busy
  NameId error;
};

// One request that an origin really executed.
struct Execution {
  RequestId request_id;
  FixedText<40> business_key;  // Idempotency-Key, or else the request id
  NameId endpoint;
  NameId method;
  NameId path;
  TimePoint at;
};

struct Transition {
  enum class Kind : std::uint8_t {
    breaker,
    health,
    ejection,
    limiter,
    level,
    config,
    canary,
    drain
  };
  TimePoint at;
  Kind kind = Kind::breaker;
  NameId subject;
  NameId from_state;
  NameId to_state;
  NameId reason;
};

[[nodiscard]] std::string_view to_string(Transition::Kind kind);

struct ProbeDone {
  TimePoint at;
  NameId prober;
  NameId endpoint;
  NameId verdict;  // "ok" or what was wrong: "timeout", "refused", "status 503", ...
  Duration latency{0};
};

// A kept connection to an endpoint that its pool gave up.
struct Eviction {
  TimePoint at;
  NameId upstream;
  NameId endpoint;
  std::uint64_t connection_id = 0;
  NameId reason;  // as Pool::Eviction says
  Duration age{0};
  std::uint32_t requests = 0;  // that it carried
};

// A fault of the timeline was switched on; its hits are counted from FaultHit events.
struct FaultWindow {
  TimePoint at;
  TimePoint until;
  NameId name;
  NameId kind;
  NameId target;
};

struct FaultHit {
  TimePoint at;
  NameId fault;
  NameId target;
  RequestId request_id;
  std::uint8_t attempt = 0;  // 0: not known on the wire
  FixedText<60> planned;
  FixedText<60> observed;
};

struct ResourceSample {
  TimePoint at;
  NameId process;
  Duration cpu{0};  // since the start of the run
  std::uint64_t rss_bytes = 0;
  std::uint32_t fds = 0;
  std::uint32_t client_connections = 0;
  std::uint32_t upstream_connections = 0;
  std::uint32_t time_wait = 0;
};

// Something that should have been recorded and was not.
struct Dropped {
  NameId place;
  NameId reason;
  std::uint64_t count = 0;
};

using EventBody = std::variant<RequestDone,
                               AttemptDone,
                               SendDone,
                               Execution,
                               Transition,
                               ProbeDone,
                               Eviction,
                               FaultWindow,
                               FaultHit,
                               ResourceSample,
                               Dropped>;

struct Event {
  NameId gateway;  // the variant's name
  EventBody body;
};

static_assert(std::is_trivially_copyable_v<Event>);

// Where events go. Never blocks, never throws; safe from any thread unless an implementation says
// otherwise. Outlives whoever publishes to it.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;
  virtual void publish(const Event& event) noexcept = 0;
};

// Events nobody asked for.
class NullSink final : public EventSink {
 public:
  void publish(const Event& /*event*/) noexcept override {}
};

}  // namespace gatedrill
