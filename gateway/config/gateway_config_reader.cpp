#include "gateway/config/gateway_config_reader.hpp"

#include <algorithm>
#include <map>

#include "gateway/config/policy_config.hpp"

namespace gatedrill::gateway {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void read_client(YamlReader& reader, ClientConfig& config) {
  reader.optional("header_timeout", config.header_timeout, positive);
  reader.optional("body_timeout", config.body_timeout, positive);
  reader.optional("keep_alive", config.keep_alive, positive);
  reader.optional("max_requests", config.max_requests, at_least(1));
  reader.optional("max_header", as_size(config.head.head_bytes), positive);
  reader.optional("max_header_line", as_size(config.head.line_bytes), positive);
  reader.optional("max_header_fields", config.head.fields, positive);
  reader.optional("max_uri", as_size(config.head.target_bytes), positive);
  reader.optional("max_body", as_size(config.body_bytes));
}

// `127.0.0.1:9001`, or {address: 127.0.0.1:9001, name: shop-1} for a name of its own in reports.
void read_endpoint(YamlReader& reader, std::string& address_text, std::string& name) {
  Address address;
  if (reader.is_map()) {
    const bool has_address = reader.required("address", address);
    reader.optional("name", name, not_empty);
    if (!has_address) return;
  } else {
    read_yaml(reader, address);
    if (!reader.clean()) return;
  }
  address_text = to_text(address);
  if (address.port == 0) reader.problem("needs a port to connect to, got 0");
  if (name.empty()) name = address_text;
}

void read_endpoints(YamlReader& reader, UpstreamConfig& config) {
  config.endpoints.clear();
  config.endpoint_names.clear();
  reader.each_item([&](YamlReader& item) {
    std::string address;
    std::string name;
    read_endpoint(item, address, name);
    if (!item.clean()) return;
    const auto& known = config.endpoints;
    if (std::find(known.begin(), known.end(), address) != known.end()) {
      item.problem("is listed twice: " + address);
      return;
    }
    config.endpoints.push_back(std::move(address));
    config.endpoint_names.push_back(std::move(name));
  });
  if (reader.clean() && config.endpoints.empty()) reader.problem("needs at least one address");
}

void read_upstream(YamlReader& reader, UpstreamConfig& config) {
  const auto endpoints = [&](YamlReader& list) { read_endpoints(list, config); };
  if (config.endpoints.empty()) {
    reader.required("endpoints", endpoints);
  } else {
    reader.optional("endpoints", endpoints);  // read over a base that has some
  }
  read_upstream_settings(reader, config);
}

void read_upstreams(YamlReader& reader, std::vector<UpstreamConfig>& upstreams) {
  for (const UpstreamConfig& upstream : upstreams)
    reader.defines("upstream", upstream.name);
  reader.each_entry([&](const std::string& name, YamlReader& entry) {
    entry.defines("upstream", name);
    auto upstream = std::find_if(upstreams.begin(), upstreams.end(),
                                 [&](const UpstreamConfig& known) { return known.name == name; });
    if (upstream == upstreams.end()) {
      upstream = upstreams.emplace(upstreams.end());
      upstream->name = name;
    }
    read_upstream(entry, *upstream);
  });
  if (reader.clean() && upstreams.empty()) reader.problem("needs at least one upstream");
}

void read_match(YamlReader& reader, RouteConfig::Match& match) {
  reader.optional("host", match.host, [](const std::string& host) -> std::string {
    if (host.empty()) return "must not be empty; leave it out to match every host";
    if (host.find_first_of(":/ ") != std::string::npos) {
      return "expected a host name without scheme or port, got '" + host + "'";
    }
    return {};
  });
  reader.optional("path_prefix", match.path_prefix, starts_with_slash);
}

void read_route(YamlReader& reader, RouteConfig& route) {
  reader.optional("name", route.name, not_empty);
  reader.optional("match", [&](YamlReader& match) { read_match(match, route.match); });
  reader.required("upstream", refers_to("upstream", route.upstream));
  reader.optional("strip_prefix", route.strip_prefix, starts_with_slash);
  reader.optional("timeouts", route.timeouts);
  reader.optional("retry", route.retry);
  reader.optional("limits", route.rate_limit);
}

void read_routes(YamlReader& reader, GatewayConfig& config) {
  config.routes.clear();
  std::map<std::string, std::string> seen;  // host and prefix, or name → path of the first
  reader.each_item([&](YamlReader& item) {
    RouteConfig route;
    route.timeouts = config.timeouts;
    route.retry = config.retry;
    read_route(item, route);
    if (!item.clean()) return;
    const auto [same_match, match_is_new] =
        seen.emplace("match " + route.match.host + " " + route.match.path_prefix, item.path());
    if (!match_is_new) {
      item.problem("is never taken: " + same_match->second + " matches the same requests");
    } else if (const auto [same_name, name_is_new] =
                   seen.emplace("name " + route_name(route), item.path());
               !name_is_new) {
      item.problem("has the same name as " + same_name->second + ": " + route_name(route));
    }
    config.routes.push_back(std::move(route));
  });
  if (reader.clean() && config.routes.empty()) reader.problem("needs at least one route");
}

}  // namespace

const UpstreamConfig* GatewayConfig::upstream(std::string_view name) const {
  const auto found = std::find_if(upstreams.begin(), upstreams.end(),
                                  [&](const UpstreamConfig& each) { return each.name == name; });
  return found == upstreams.end() ? nullptr : &*found;
}

void read_upstream_settings(YamlReader& reader, UpstreamConfig& config) {
  reader.optional("max_requests", config.max_requests, at_least(0));
  reader.optional("load_balancer", config.load_balancer);
  reader.optional("breaker", config.breaker);
  reader.optional("health", config.health);
  reader.optional("pool", config.pool);
  reader.optional("retry_budget", config.retry_budget);
}

void read_gateway_settings(YamlReader& reader, GatewayConfig& config) {
  constexpr int kMostThreads = 256;
  reader.optional("threads", config.threads, between(1, kMostThreads));
  reader.optional("drain_timeout", config.drain_timeout);
  reader.optional("replay_buffer", as_size(config.replay_buffer));
  reader.optional("client", [&](YamlReader& client) { read_client(client, config.client); });
  // Before the routes, which begin with them.
  reader.optional("timeouts", config.timeouts);
  reader.optional("retry", config.retry);
  reader.required("routes", [&](YamlReader& routes) { read_routes(routes, config); });
}

void read_yaml(YamlReader& reader, GatewayConfig& config) {
  reader.required("listen", config.listen);
  reader.required("upstreams", [&](YamlReader& all) { read_upstreams(all, config.upstreams); });
  read_gateway_settings(reader, config);
}

Result<GatewayConfig> load_gateway_config(const std::string& path,
                                          const std::vector<std::string>& assignments) {
  return load_yaml<GatewayConfig>(path, assignments);
}

std::string summary(const GatewayConfig& config) {
  std::size_t endpoints = 0;
  for (const UpstreamConfig& upstream : config.upstreams)
    endpoints += upstream.endpoints.size();
  return "listens on " + to_text(config.listen) + "; " + counted(config.routes.size(), "route") +
         " to " + counted(config.upstreams.size(), "upstream") + " (" +
         counted(endpoints, "endpoint") + ")";
}

}  // namespace gatedrill::gateway
