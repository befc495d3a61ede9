// One variant of a scenario, live: its origins, the links before them, its gateway (ours or an
// external one) and the clients that replay the traffic, all on one io_context and one thread, so
// that variants share nothing but the machine.
//
//   clients ──► gateway ──► link ──► origin     (a link and an origin for each instance)
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "replay/replay_driver.hpp"
#include "scenarios/spec/backends.hpp"
#include "scenarios/spec/traffic.hpp"

namespace gatedrill::scenarios {

struct LiveOrder {
  const Variant* variant = nullptr;
  const Traffic* traffic = nullptr;
  const AnswerBooks* answers = nullptr;
  const SteadyClock* clock = nullptr;  // restarted when all worlds are set up
  EventSink* sink = nullptr;
  std::uint64_t seed = 1;
  Duration duration{0};
  std::string directory;  // of this variant; exists
};

class LiveWorld {
 public:
  // Everything listens afterwards; nothing has begun. Fails (outside) if something cannot be had.
  static Result<std::unique_ptr<LiveWorld>> make(const LiveOrder& order);

  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;
  ~LiveWorld();

  // Plays, on the calling thread, until every send has ended.
  void run();
  // From any thread: nothing more is sent, and run() returns once what is under way has ended.
  void stop();

  // After run().
  [[nodiscard]] const replay::ReplayFigures& figures() const;
  // Why this world's play is no valid evidence; empty if it is.
  [[nodiscard]] std::string invalid_reason() const;

 private:
  struct State;
  explicit LiveWorld(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::scenarios
