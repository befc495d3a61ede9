// The gateway's configuration, gateway.yaml, as one value.
//
//   listen: 127.0.0.1:8080
//   upstreams:
//     shop:
//       endpoints: [127.0.0.1:9001]
//   routes:
//     - match: { path_prefix: / }
//       upstream: shop
//
// Everything else has a default, in the struct of what it sets. `timeouts` and `retry` at the top
// hold for every route that does not set them itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gateway/config/units.hpp"
#include "gateway/config/yaml_reader.hpp"
#include "gateway/http/h1/head_parser.hpp"
#include "gateway/policy/router.hpp"
#include "gateway/policy/upstream.hpp"

namespace gatedrill::gateway {

// What a client may do, and for how long.
struct ClientConfig {
  Duration header_timeout = std::chrono::seconds{10};  // for the whole head of a request
  Duration body_timeout = std::chrono::seconds{15};    // between two reads of its body
  Duration keep_alive = std::chrono::seconds{60};      // between two requests
  int max_requests = 1000;                             // on one connection
  http::h1::HeadLimits head;
  std::uint64_t body_bytes = 10'000'000;
};

struct GatewayConfig {
  Address listen;
  int threads = 1;
  Duration drain_timeout = std::chrono::seconds{10};  // for requests in flight when told to stop
  std::size_t replay_buffer = 64 * 1024;  // of a request's body; a longer one is never sent again
  ClientConfig client;
  TimeoutConfig timeouts;  // of routes that do not say otherwise
  RetryConfig retry;
  std::vector<UpstreamConfig> upstreams;
  std::vector<RouteConfig> routes;

  // Null if there is none of that name.
  [[nodiscard]] const UpstreamConfig* upstream(std::string_view name) const;
};

// Reads over what is there: upstreams of the same name are changed, the list of routes is replaced.
void read_yaml(YamlReader& reader, GatewayConfig& config);

// The parts, for a file that says in another way where upstreams are or what to listen on (a
// scenario): all of an upstream but `endpoints`; all of a gateway but `listen` and `upstreams`.
void read_upstream_settings(YamlReader& reader, UpstreamConfig& config);
void read_gateway_settings(YamlReader& reader, GatewayConfig& config);

[[nodiscard]] Result<GatewayConfig> load_gateway_config(
    const std::string& path, const std::vector<std::string>& assignments = {});

// What was understood, in one line: "listens on 127.0.0.1:8080; 1 route to 1 upstream (1
// endpoint)".
[[nodiscard]] std::string summary(const GatewayConfig& config);

// The limits that hold for each route and which of them wins, for an operator to read.
[[nodiscard]] std::string explanation(const GatewayConfig& config);
[[nodiscard]] std::string explanation(const GatewayConfig& config, const RouteConfig& route);

}  // namespace gatedrill::gateway
