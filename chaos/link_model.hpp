// The link between the gateway and one origin instance, as a pure model: the live TCP proxy
// (chaos/proxy/live_link.hpp) and the simulation ask it the same questions at the same moments and
// do what it says.
//
//             gateway                 link                       origin
//   t         connect        ──►  accepts(t)? refused at once, or connected at once at both ends
//             (a kernel answers on the link's behalf: connecting itself takes no time)
//   t         request sent   ──►  on_request(t, sight)
//   t + to_origin                                          ──►  request arrives
//   a                        ◄──                                 answer (any byte of it) leaves
//   a + to_gateway  answer arrives, its head larger by head_growth
//   c                        ◄──                                 origin closes (FIN or RST)
//   c + close_delay(to_gateway)  the gateway's pool learns of it; what it sends until then is lost:
//             a request that reaches the origin after c was never read there
//   t         gateway closes ──►  the origin learns of it at t + close_delay(to_origin)
//
// Within one direction of a connection nothing overtakes: deliver at InOrder::at(arrival + delay).
//
//   reset = before_origin   the origin does not see the request; at t + to_origin its end of the
//                           connection is reset, at t + to_origin + to_gateway the gateway's is
//   reset = after_origin    the request arrives at t + to_origin and is executed; when its answer
//                           leaves at time a, the gateway is reset at a + to_gateway instead
//
// reset_due says when a connection is to be reset without a request's doing: from that time on
// nothing that is sent passes; each end learns of it its close_delay later.
//
// A driver publishes one FaultHit for each PlannedHit, with what it observed; FaultWindow events
// come from FaultPlan::windows_begun. Not thread-safe; the FaultRun outlives the model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "chaos/fault/fault.hpp"
#include "chaos/plan.hpp"
#include "gateway/core/distribution.hpp"
#include "gateway/core/event.hpp"

namespace gatedrill::chaos {

enum class FaultEffect { reset, delay, head_growth };

// A fault that acts now, in the plan's words.
struct PlannedHit {
  NameId fault;
  FaultEffect effect = FaultEffect::reset;
  FixedText<60> planned;  // such as "RST on request 3 before_origin", "+35.2ms to_gateway"
};

struct RequestVerdict {
  std::uint32_t attempt = 1;  // by sightings of the request id
  Duration to_origin{0};
  Duration to_gateway{0};
  std::optional<ResetMoment> reset;
  std::size_t head_growth = 0;  // bytes
  std::vector<PlannedHit> hits;
};

struct ConnectVerdict {
  std::optional<PlannedHit> reset;  // as soon as it is accepted
};

struct ResetDue {
  TimePoint at;
  PlannedHit hit;
  std::size_t fault = 0;  // index in the plan
};

// The order of one direction of one connection.
class InOrder {
 public:
  // When something due at that time really arrives.
  TimePoint at(TimePoint due) { return last_ = std::max(last_, due); }

 private:
  TimePoint last_{};
};

class LinkModel {
 public:
  struct Settings {
    LinkName name;
    // The network's own one-way delays, there from start to end and not a fault. Drawn once a
    // message (or close) and direction.
    Distribution to_origin;
    Distribution to_gateway;
  };

  LinkModel(Settings settings, FaultRun& run);

  [[nodiscard]] const LinkName& name() const { return settings_.name; }

  [[nodiscard]] NameId target() const { return target_; }  // the endpoint, for FaultHit

  [[nodiscard]] const FaultPlan& plan() const { return run_->plan(); }

  // The origin instance listens or not: a link follows its origin. A fresh link's does.
  void set_origin_listening(bool listening) { origin_listening_ = listening; }

  // Whether a connection attempt at that time succeeds; a refused one is refused at once.
  [[nodiscard]] bool accepts(TimePoint now) const;
  // The fault that refuses at that time, if it is one.
  [[nodiscard]] std::optional<NameId> refusing_fault(TimePoint now) const;

  // A connection was accepted. Numbers come from the driver: 1, 2, ... on this link.
  ConnectVerdict on_connect(TimePoint now, std::uint64_t connection);

  // A request's head is complete (live), or it is sent (simulated). `sight.attempt` is filled in
  // here.
  RequestVerdict on_request(TimePoint now, RequestSight sight);

  // The one-way delay of a FIN or RST that leaves at that time.
  [[nodiscard]] Duration close_delay(TimePoint now,
                                     Direction direction,
                                     std::uint64_t connection) const;

  // When this connection is to be reset by itself, as things stand: the earliest time, not before
  // `now`, at which a fault resets all connections, or (if it has carried a request and is idle
  // since `idle_since`) the idle ones. Call take_reset when that time has come; ask again after a
  // request.
  [[nodiscard]] std::optional<ResetDue> reset_due(TimePoint now,
                                                  std::uint64_t connection,
                                                  std::optional<TimePoint> idle_since) const;

  // Counts it as a hit; false if the fault may hit no more.
  bool take_reset(const ResetDue& due) { return run_->take_hit(due.fault); }

  // The earliest time after `now` at which an answer of this model may change by itself.
  [[nodiscard]] TimePoint next_change(TimePoint now) const { return plan().next_change(now); }

 private:
  struct Mine {
    const PlacedFault* placed;
    std::size_t index;  // in the plan
    NameId name;
  };

  [[nodiscard]] bool rolled(const Mine& mine, const RequestSight& sight) const;
  [[nodiscard]] bool rolled(const Mine& mine, std::uint64_t connection) const;
  void add_reset(const Mine& mine, const RequestSight& sight, RequestVerdict& verdict);
  void add_delay(const Mine& mine, const RequestSight& sight, RequestVerdict& verdict);
  void add_growth(const Mine& mine, RequestVerdict& verdict);

  Settings settings_;
  FaultRun* run_;
  std::vector<Mine> mine_;  // the plan's faults on this link
  Draw base_;
  NameId target_;
  bool origin_listening_ = true;
};

}  // namespace gatedrill::chaos
