// A fault on the link between gateway and origin, as a value that answers questions. It holds
// settings only: no clock, no socket, no state, so one object serves every link, live or simulated,
// at once. Where and when it acts, and on which share of the requests, is the plan's business
// (chaos/plan.hpp); asking the right question at the right moment is the link's
// (chaos/link_model.hpp).
//
//   shape        questions it answers
//   connection   refuses, resets_at_once, idle_limit, on_request
//   bytes        delay
//   message      head_growth
//
// To add a fault: one small file here, a class that says its kind, shape and in_simulation and
// overrides the question it is about; a row in read_fault (chaos/fault/catalogue.cpp); a test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/time.hpp"

namespace gatedrill::chaos {

enum class FaultShape { connection, bytes, message };

// How a fault acts in a simulated run.
enum class InSimulation {
  exact,    // the same event at the same time
  outcome,  // what the gateway makes of it, without the bytes
  no,       // cannot be played: a simulated run that needs it is not valid
};

// Which way bytes travel.
enum class Direction { to_origin, to_gateway };

// When a connection is reset that carries a request.
enum class ResetMoment {
  before_origin,  // as the request reaches the far end, which never reads it: not executed
  after_origin,   // the origin executes it; the reset takes the place of its answer
};

[[nodiscard]] std::string_view to_string(FaultShape shape);
[[nodiscard]] std::string_view to_string(InSimulation how);
[[nodiscard]] std::string_view to_string(Direction direction);
[[nodiscard]] std::string_view to_string(ResetMoment moment);

// A request as a link sees it when its head is complete. Texts live as long as the call.
struct RequestSight {
  std::string_view request_id;  // the x-request-id field; may be empty
  std::uint32_t attempt =
      1;  // how often this request id was seen on the variant's links, with this
  std::string_view method;
  std::string_view target;
  std::uint64_t connection = 0;  // number of the connection on its link, from 1
  std::uint32_t ordinal = 1;     // which request on its connection, from 1
  Duration idle{0};              // since the answer before it ended; zero for the first
};

class Fault {
 public:
  Fault() = default;
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  virtual ~Fault() = default;

  // As it is spelled in YAML and in run.db, such as "reset_on_request".
  [[nodiscard]] virtual std::string_view kind() const = 0;
  [[nodiscard]] virtual FaultShape shape() const = 0;
  [[nodiscard]] virtual InSimulation in_simulation() const = 0;

  // New connections are refused while it is active; live ones stay.
  [[nodiscard]] virtual bool refuses() const { return false; }

  // Live connections are reset when it becomes active, new ones as soon as they are accepted.
  [[nodiscard]] virtual bool resets_at_once() const { return false; }

  // A connection that has carried no request for that long is reset. The first request of a
  // connection is waited for without limit.
  [[nodiscard]] virtual std::optional<Duration> idle_limit() const { return std::nullopt; }

  // Whether this request's connection is reset, and when.
  [[nodiscard]] virtual std::optional<ResetMoment> on_request(const RequestSight& /*sight*/) const {
    return std::nullopt;
  }

  // Added to the one-way delay of a message. `draw` in [0, 1) is this message's own.
  [[nodiscard]] virtual Duration delay(Direction /*direction*/, double /*draw*/) const {
    return Duration{0};
  }

  // By how many bytes the answer's head grows.
  [[nodiscard]] virtual std::size_t head_growth() const { return 0; }
};

using FaultPointer = std::shared_ptr<const Fault>;

}  // namespace gatedrill::chaos
