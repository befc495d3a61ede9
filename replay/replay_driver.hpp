// Plays planned sends to a live target, each at its due time.
//
//   one timer walks the list ──due──► lane of its connection ── idle ──► its connection
//                                                            └─ busy ──► a side connection
//
// The schedule is open: a slow answer never delays a later send. One client connection is kept for
// each recorded one (opened at its first request, closed after its last); when it is still busy
// with an earlier request at the due time, the send goes out on a side connection of its own, which
// is counted. A connection that the target closed while idle is replaced before the send; a close
// that races with the send is that request's error, and nothing is ever sent twice.
//
// For each send one SendDone event: intended, sent, done, and how the answer compares with the
// recorded one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "gateway/core/event.hpp"
#include "gateway/core/histogram.hpp"
#include "gateway/core/time.hpp"
#include "gateway/net/http_client.hpp"
#include "replay/replay_source.hpp"

namespace gatedrill::replay {

struct ReplayDriverConfig {
  gateway::HttpPeer target;  // a name is resolved once for each connection: give an address
  NameId gateway;            // the variant's name in the events
  NameId source = intern("replay");
  Duration timeout = std::chrono::seconds{30};  // of each request, from when it is begun
  Duration late_bound = std::chrono::milliseconds{50};
};

// The figures of a replay, valid while it runs as well.
struct ReplayFigures {
  std::uint64_t due = 0;       // sends whose time has come
  std::uint64_t answered = 0;  // with a whole answer
  std::uint64_t failed = 0;    // with an error
  std::uint64_t in_flight = 0;
  std::uint64_t unsent = 0;    // left out because the replay was stopped
  std::uint64_t compared = 0;  // had a recorded answer
  std::uint64_t status_differs = 0;
  std::uint64_t body_differs = 0;  // of those with the recorded status
  std::uint64_t connections = 0;   // opened, side connections included
  std::uint64_t side_connections = 0;
  std::uint64_t replaced_connections = 0;  // closed by the target while idle
  std::uint64_t local_failures = 0;        // this machine's: no port, no file descriptor
  std::map<std::string, std::uint64_t, std::less<>> errors;  // by name
  // begun - intended: the client's own lateness.
  Histogram begun_late;
  std::uint64_t begun_too_late = 0;  // beyond the bound
  // sent - intended: with the time that connecting took.
  Histogram sent_late;
  // done - intended, of answered requests.
  Histogram response;

  // Differences from the recording, errors included.
  [[nodiscard]] std::uint64_t differences() const;
};

class ReplayDriver {
 public:
  using Done = std::function<void()>;

  // The context, clock and sink outlive the driver, which lives until `done` was called or the
  // context runs no more. Everything happens on the one thread that runs the context; all calls are
  // made there, or before it runs.
  ReplayDriver(boost::asio::io_context& context,
               const SteadyClock& clock,
               EventSink& sink,
               ReplayDriverConfig config);
  ReplayDriver(const ReplayDriver&) = delete;
  ReplayDriver& operator=(const ReplayDriver&) = delete;
  ~ReplayDriver();

  // Plays `source`; its time 0 is `begin`. `done` is called once, when every send has ended. The
  // first send goes out on `connected`, a connection to the target that is open already, if any.
  void start(ReplaySource source,
             TimePoint begin,
             Done done,
             std::unique_ptr<gateway::HttpClient> connected = nullptr);

  // Sends nothing more; what is under way ends in its own time, by the timeout at the latest.
  void stop();
  // Ends what is under way as well, each with the error `cancelled`.
  void abandon();

  [[nodiscard]] const ReplayFigures& figures() const;

  // Empty while the client kept its schedule; otherwise why this replay is no valid evidence.
  [[nodiscard]] std::string invalid_reason() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::replay
