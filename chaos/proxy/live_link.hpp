// The link between a gateway and one origin instance, live: a TCP proxy on loopback that does what
// the LinkModel says. Bytes and closes arrive their one-way delay after they left, counted from
// when they came in, in order; RST stays RST and FIN stays FIN, half-closed connections included.
// Nothing is altered but what a message fault is there to alter.
//
// A TCP proxy accepts before it knows whether its target would. So the link follows its origin:
// tell it set_origin_listening, and it closes its own listening socket while the origin is down; a
// gateway's connection is then refused by the kernel, as the model says.
//
// Runs on the caller's io_context, which one thread runs. Clock, sink and FaultRun outlive it; what
// was started goes on until stop() or destruction, and needs the io_context to run to end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chaos/link_model.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"

namespace boost::asio {
class io_context;
}

namespace gatedrill::chaos {

class LiveLink {
 public:
  struct Settings {
    LinkModel::Settings link;
    std::string listen_address = "127.0.0.1";
    std::uint16_t listen_port = 0;  // 0: any free one
    std::string target_address = "127.0.0.1";
    std::uint16_t target_port = 0;
    NameId gateway;  // the variant, for events
  };

  LiveLink(boost::asio::io_context& io,
           const SteadyClock& clock,
           Settings settings,
           FaultRun& faults,
           EventSink& sink);
  LiveLink(const LiveLink&) = delete;
  LiveLink& operator=(const LiveLink&) = delete;
  ~LiveLink();

  // Takes the port and listens. Fails (outside) if the port cannot be had.
  Result<void> start();
  [[nodiscard]] std::uint16_t port() const;

  // Where the origin listens, if that is known only later than the link was made.
  void set_target_port(std::uint16_t port);
  // Follow the origin (a fresh link takes its to be listening).
  void set_origin_listening(bool listening);

  // Stops listening and drops all connections.
  void stop();

  struct Counts {
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;
    std::uint64_t bytes_to_origin = 0;
    std::uint64_t bytes_to_gateway = 0;
    std::uint64_t resets_sent = 0;
  };

  [[nodiscard]] Counts counts() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::chaos
