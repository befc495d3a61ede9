// One origin instance, live: an HTTP/1.1 server on loopback that does what its OriginModel says and
// answers from an AnswerBook. Requests of one connection are handled one after another; bodies are
// read whole and dropped. Every request whose work begins is published as an Execution.
//
// Runs on the caller's io_context, which one thread runs. Everything it is given outlives it; what
// was started goes on until shut_down() or destruction, and needs the io_context to run to end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "chaos/fault/sightings.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "scenarios/origin/answer_book.hpp"
#include "scenarios/origin/origin_model.hpp"

namespace boost::asio {
class io_context;
}

namespace gatedrill::scenarios {

// What the origins of one variant share.
struct OriginWorld {
  const AnswerBook& answers;
  AnswerBook::Turns turns = {};
  chaos::Sightings sightings = chaos::Sightings();
};

class LiveOrigin {
 public:
  struct Settings {
    OriginConfig origin;
    std::string listen_address = "127.0.0.1";
    std::uint16_t listen_port = 0;  // 0: any free one
    NameId gateway;                 // the variant, for events
  };

  LiveOrigin(boost::asio::io_context& io,
             const SteadyClock& clock,
             Settings settings,
             OriginWorld& world,
             EventSink& sink);
  LiveOrigin(const LiveOrigin&) = delete;
  LiveOrigin& operator=(const LiveOrigin&) = delete;
  ~LiveOrigin();

  // Takes the port, which stays the same through every restart. Fails (outside) if it cannot be
  // had.
  Result<void> start();
  [[nodiscard]] std::uint16_t port() const;

  // Called when it begins or ends to listen: the link in front of it follows.
  void on_listening(std::function<void(bool)> follow);
  // Called when its state has changed. Each change is also published as a Transition of kind drain.
  void on_state(std::function<void(OriginState, TimePoint)> tell);

  // The operator's actions.
  void stop(const StopOrder& order);
  void start_again();

  [[nodiscard]] const OriginModel& model() const;

  // Ends everything at once; nothing is published any more.
  void shut_down();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::scenarios
