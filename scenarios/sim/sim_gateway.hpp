// The gateway in virtual time: the same router, exchange and policies as the live one, driven by an
// event queue instead of sockets. Only what HTTP/1 parsing and socket errors would add is left out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "gateway/config/gateway_config.hpp"
#include "gateway/policy/exchange.hpp"
#include "replay/recording.hpp"
#include "scenarios/sim/sim_link.hpp"

namespace gatedrill::scenarios {

// How a request ended for its client. A status without a book's answer is the gateway's own.
struct SimOutcome {
  int status = 0;
  const Answer* answer = nullptr;
};

class SimGateway {
 public:
  using Ended = std::function<void(const SimOutcome& outcome)>;

  // `links`: for each upstream of the config, one for each endpoint, in order; outlive the gateway.
  SimGateway(const gateway::GatewayConfig& config,
             NameId name,
             const Random& random,
             EventQueue& queue,
             EventSink& sink,
             std::vector<std::vector<SimLink*>> links);

  struct Arrival {
    SimRequest request;
    std::string_view host;
    const std::vector<replay::RecordedField>* fields = nullptr;  // null: none
    std::uint64_t body_bytes = 0;
  };

  // A request of a client, whole. `ended` is called once. Returns a number for `abandon`.
  std::uint64_t receive(const Arrival& arrival, Ended ended);
  // The client closed its connection.
  void abandon(std::uint64_t number);

 private:
  struct Active {
    gateway::Exchange exchange;
    SimRequest request;
    Ended ended;
    std::size_t upstream = 0;
    std::uint64_t connection = 0;
    std::size_t endpoint = 0;
    std::uint64_t deadline = 0;                // generation: an earlier deadline does not count
    gateway::RequestQueue::Ticket ticket = 0;  // while parked
    SimOutcome outcome;
  };

  struct Probe {
    std::size_t upstream = 0;
    std::size_t endpoint = 0;
    TimePoint begun;
  };

  void take(std::uint64_t number, const gateway::Step& step);
  void send(std::uint64_t number, Active& active, const gateway::Send& send);
  void arm_deadline(std::uint64_t number, Active& active);
  void finish(std::uint64_t number);
  void on_answered(std::uint64_t connection, const SimAnswer& answer);
  [[nodiscard]] bool is_too_large(const SimAnswer& answer, std::string_view method) const;
  void on_closed(std::size_t upstream, std::size_t endpoint, std::uint64_t connection);
  void settle(std::size_t upstream);
  void at(TimePoint when,
          std::uint64_t number,
          gateway::Step (gateway::Exchange::*event)(TimePoint));
  void start_probe(std::size_t upstream, std::size_t endpoint);
  void end_probe(std::uint64_t connection, bool success, std::string_view verdict);

  struct Upstream {
    std::unique_ptr<gateway::Upstream> policy;
    std::unique_ptr<gateway::UpstreamPools> pools;
    std::vector<SimLink*> links;
    std::unique_ptr<Wakeup> expiry;
    std::vector<std::unique_ptr<Wakeup>> probes;
    std::unordered_map<gateway::RequestQueue::Ticket, std::uint64_t> parked;  // → request number
  };

  gateway::GatewayConfig config_;
  NameId name_;
  EventQueue& queue_;
  EventSink& sink_;
  gateway::Router router_;
  std::vector<Upstream> upstreams_;
  std::vector<gateway::Route> routes_;
  std::vector<std::size_t> route_upstreams_;
  std::uint64_t next_connection_ = 1;
  std::uint64_t next_number_ = 1;
  std::unordered_map<std::uint64_t, Active> active_;
  std::unordered_map<std::uint64_t, std::uint64_t> busy_;  // connection → request number
  std::unordered_map<std::uint64_t, Probe> probing_;       // connection → probe
};

}  // namespace gatedrill::scenarios
