// The replay's clients in virtual time: every planned send at its due time, one SendDone each.
#pragma once

#include <map>
#include <optional>

#include "gateway/core/event.hpp"
#include "replay/replay_source.hpp"
#include "scenarios/sim/event_queue.hpp"
#include "scenarios/sim/sim_gateway.hpp"

namespace gatedrill::scenarios {

class SimClient {
 public:
  SimClient(EventQueue& queue, EventSink& sink, NameId variant, SimGateway& gateway)
      : queue_(queue), sink_(sink), variant_(variant), gateway_(gateway) {}

  // `source` is walked as time passes; call once.
  void start(replay::ReplaySource source);

 private:
  void schedule_next();
  void send(const replay::PlannedSend& planned);
  void end(const replay::PlannedSend& planned, SendDone done, const SimOutcome& outcome);

  EventQueue& queue_;
  EventSink& sink_;
  NameId variant_;
  SimGateway& gateway_;
  std::optional<replay::ReplaySource> source_;
  std::map<replay::ConnectionKey, int> in_flight_;
  std::map<std::int64_t, std::string> exchange_texts_;
};

}  // namespace gatedrill::scenarios
