// One gateway: listens, proxies, checks its upstreams' health, publishes events. No globals: as
// many as wanted run in one process, each on an io_context that the caller owns and runs on one
// thread (made with a concurrency hint of 1, it is spared its locks' contention). With
// `config.threads` above 1 it runs the other ones itself; the sink is then published to from all.
//
//   GatewayServer gateway(config, clock, sink, context);
//   if (auto started = gateway.start(); !started) return started.error();
//   ... gateway.port(), context.run() on some thread ...
//   asio::post(context, [&] { gateway.drain([&] { context.stop(); }); });
//   ... join the thread, then destroy the gateway, then the context
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/config/gateway_config.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "gateway/core/traffic_tap.hpp"

namespace boost::asio {
class io_context;
}

namespace gatedrill::gateway {

class GatewayServer {
 public:
  // Events carry `config.name` as the gateway. `clock`, `sink` and `context` outlive it.
  GatewayServer(const GatewayConfig& config,
                const SteadyClock& clock,
                EventSink& sink,
                boost::asio::io_context& context);
  // On the context's thread, or when the context is not running any more.
  ~GatewayServer();
  GatewayServer(const GatewayServer&) = delete;
  GatewayServer& operator=(const GatewayServer&) = delete;

  // Binds, listens and begins to serve as soon as the context runs. Call it before that or on the
  // context's thread. Errors: a port in use, a listening address that cannot be looked up.
  Result<void> start();

  // Before start: the addresses of a name (none: it cannot be looked up), if not as the system
  // looks names up. May block; called on a thread of its own once the gateway runs.
  void look_up_with(std::function<std::vector<std::string>(const std::string& name)> look_up);

  // Before start: has the bytes of all its connections recorded. Outlives it.
  void record_traffic(TrafficRecorder& recorder);

  // After start: names of endpoints that could not be looked up. Requests for them end in
  // dns_failure until they can be.
  [[nodiscard]] const std::vector<std::string>& unknown_names() const;

  // Valid after start: where it listens, in the order of config.listen, with the real ports.
  [[nodiscard]] const std::vector<std::string>& addresses() const;
  [[nodiscard]] std::uint16_t port() const;  // of the first address

  // On the context's thread: accepts no more, lets running requests end (for drain_timeout at
  // most), then calls `done`.
  void drain(std::function<void()> done);
  // On the context's thread, or when the context is not running any more: ends everything now. What
  // is unanswered is answered with 503 `draining`.
  void stop();

  // From any thread. The access log was renamed: what follows goes to a new file.
  void reopen_log();
  // From any thread: what the access log could not write, for the operator; empty: nothing.
  [[nodiscard]] std::string log_trouble() const;

  struct Counts {
    std::size_t client_connections = 0;
    std::size_t upstream_connections = 0;
    // Since the start. What was begun and neither answered nor left by its client is in flight.
    std::uint64_t connections_accepted = 0;
    std::uint64_t requests_begun = 0;
    std::uint64_t requests_answered = 0;
    std::uint64_t requests_client_closed = 0;
  };

  // On the context's thread, or when the context is not running any more.
  [[nodiscard]] Counts counts() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Explains a routing decision: `request` is "GET /path" or "GET http://host/path".
[[nodiscard]] Result<std::string> which_route(const GatewayConfig& config,
                                              const std::string& request);

}  // namespace gatedrill::gateway
