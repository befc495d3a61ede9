// The way from the simulated gateway to one simulated origin instance and back: connections, the
// network's delays, the faults, and the origin's answers. What the live link and the live origin do
// with sockets happens here at the times that the same models give.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "chaos/link_model.hpp"
#include "gateway/core/event.hpp"
#include "scenarios/origin/answer_book.hpp"
#include "scenarios/origin/origin_model.hpp"
#include "scenarios/sim/event_queue.hpp"

namespace gatedrill::scenarios {

// A request as the gateway sends it. Texts live as long as the run.
struct SimRequest {
  RequestId request_id;
  FixedText<40> business_key;
  std::string_view method;
  std::string_view target;
  std::string_view exchange;  // the recorded exchange's id, as text
  NameId method_name;
  NameId path_name;
};

// An answer as the gateway receives it, whole.
struct SimAnswer {
  int status = 0;
  const Answer* answer = nullptr;  // of the book; null for the origin's own (health, queue full)
  bool close = false;              // Connection: close
  std::size_t head_growth = 0;     // by a fault: one field line of so many bytes
};

class SimLink {
 public:
  // What the gateway is told. `closed`: FIN or RST reached it; the connection is gone.
  struct Ends {
    std::function<void(std::uint64_t connection, const SimAnswer& answer)> answered;
    std::function<void(std::uint64_t connection)> closed;
  };

  struct Parts {
    EventQueue* queue = nullptr;
    EventSink* sink = nullptr;
    NameId gateway;
    const AnswerBook* answers = nullptr;
    AnswerBook::Turns* turns = nullptr;               // of the variant
    chaos::Sightings* attempts_at_origins = nullptr;  // of the variant
  };

  SimLink(const Parts& parts,
          chaos::LinkModel::Settings settings,
          chaos::FaultRun& faults,
          OriginConfig origin);

  void set_ends(Ends ends) { ends_ = std::move(ends); }

  // False: refused. `connection` is unique for the run.
  [[nodiscard]] bool connect(std::uint64_t connection);
  void send(std::uint64_t connection, const SimRequest& request);
  // The gateway closes it and wants to hear no more of it. Unknown connections are ignored.
  void close(std::uint64_t connection);

  // An operator's restart of the instance.
  void stop(const StopOrder& order);

 private:
  struct Connection {
    std::uint64_t number = 0;  // on this link, from 1
    std::uint32_t ordinal = 0;
    bool open_at_gateway = true;
    bool open_at_origin = true;
    bool busy = false;
    TimePoint idle_since;
    chaos::InOrder to_origin;
    chaos::InOrder to_gateway;
    // The request under way.
    SimRequest request;
    chaos::RequestVerdict verdict;
  };

  void arrive(std::uint64_t connection);
  void take_origin_steps();
  void take(const OriginStep& step);
  void answer(TimePoint at, const SendAnswer& step);
  void deliver_close(std::uint64_t connection, TimePoint at);
  void reset_both(std::uint64_t connection);
  void watch_resets(std::uint64_t connection);
  void publish_hits(const Connection& connection, const chaos::RequestVerdict& verdict);
  void forget_if_closed(std::uint64_t connection);

  Parts parts_;
  chaos::LinkModel model_;
  OriginModel origin_;
  Wakeup origin_wakeup_;
  Ends ends_;
  std::uint64_t connections_made_ = 0;
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::unordered_map<OriginTicket, SimRequest> not_begun_;
};

}  // namespace gatedrill::scenarios
