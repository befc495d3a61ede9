// Reads gateway.yaml into a GatewayConfig, and says what it understood.
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

#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/gateway_config.hpp"
#include "gateway/config/yaml_reader.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::gateway {

// Reads over what is there: upstreams of the same name are changed, the list of routes is replaced.
void read_yaml(YamlReader& reader, GatewayConfig& config);

[[nodiscard]] Result<GatewayConfig> load_gateway_config(
    const std::string& path, const std::vector<std::string>& assignments = {});

// What was understood, in one line: "listens on 127.0.0.1:8080; 1 route to 1 upstream (1
// endpoint)".
[[nodiscard]] std::string summary(const GatewayConfig& config);

// The limits that hold for each route and which of them wins, for an operator to read.
[[nodiscard]] std::string explanation(const GatewayConfig& config);
[[nodiscard]] std::string explanation(const GatewayConfig& config, const RouteConfig& route);

// Null if there is none of that name.
[[nodiscard]] const UpstreamConfig* find_upstream(const GatewayConfig& config,
                                                  std::string_view name);

}  // namespace gatedrill::gateway
