#include "gateway/config/gateway_config_reader.hpp"

#include <algorithm>
#include <map>

#include "gateway/config/policy_config.hpp"
#include "gateway/core/json_path.hpp"
#include "gateway/http/trailers.hpp"

namespace gatedrill::gateway {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void read_head_limits(YamlReader& reader, http::h1::HeadLimits& limits) {
  reader.optional("max_header", as_size(limits.head_bytes), positive);
  reader.optional("max_header_line", as_size(limits.line_bytes), positive);
  reader.optional("max_header_fields", limits.fields, positive);
}

// IP addresses and networks: 10.0.0.1, 10.0.0.0/8, fd00::/8.
void read_networks(YamlReader& reader, std::vector<std::string>& networks) {
  networks.clear();
  reader.each_item([&](YamlReader& item) {
    std::string& network = networks.emplace_back();
    read_yaml(item, network);
    if (item.clean() && !is_ip_network(network)) {
      item.problem(
          "expected an IP address or network such as 10.0.0.1, 10.0.0.0/8 or fd00::/8, "
          "got '" +
          network + "'");
    }
  });
}

void read_client(YamlReader& reader, ClientConfig& config) {
  reader.optional("header_timeout", config.header_timeout, positive);
  reader.optional("body_timeout", config.body_timeout, positive);
  reader.optional("keep_alive", config.keep_alive, positive);
  reader.optional("max_requests", config.requests_max, at_least(0));
  reader.optional("max_connections", config.connections_max, at_least(0));
  reader.optional("max_connections_per_ip", config.connections_per_ip_max, at_least(0));
  reader.optional("min_body_rate", as_size(config.body_rate.bytes_per_second));
  reader.optional("min_read_rate", as_size(config.read_rate.bytes_per_second));
  if (reader.optional("min_rate_grace", config.body_rate.grace, positive)) {
    config.read_rate.grace = config.body_rate.grace;
  }
  reader.optional("max_body", as_size(config.body_bytes_max));
  read_head_limits(reader, config.head);
  reader.optional("max_uri", as_size(config.head.target_bytes), positive);
  using http::UnderscoreNames;
  reader.optional("underscore_names",
                  one_of(config.underscore_names,
                         {UnderscoreNames::drop, UnderscoreNames::pass, UnderscoreNames::refuse}));
  reader.optional("trusted_proxies",
                  [&](YamlReader& proxies) { read_networks(proxies, config.trusted_proxies); });
  reader.optional("proxy_protocol", [&](YamlReader& protocol) {
    protocol.required("from",
                      [&](YamlReader& from) { read_networks(from, config.proxy_protocol_from); });
  });
}

// One address or a list of them.
void read_listen(YamlReader& reader, std::vector<std::string>& listen) {
  std::vector<std::string> addresses;
  const auto read_one = [&](YamlReader& item) {
    Address address;
    read_yaml(item, address);
    addresses.push_back(to_text(address));
  };
  if (reader.is_list()) {
    reader.each_item(read_one);
    if (addresses.empty()) reader.problem("needs at least one address");
  } else {
    read_one(reader);
  }
  if (reader.clean()) listen = std::move(addresses);
}

// `access.log`, or {path: access.log, sample_ok: 100}.
void read_access_log(YamlReader& reader, AccessLogConfig& config) {
  if (!reader.is_map()) {
    read_yaml(reader, config.path);
    if (reader.clean() && config.path.empty()) reader.problem("must not be empty");
    return;
  }
  reader.required("path", config.path);
  reader.optional("sample_ok", config.sample_ok, at_least(1U));
}

// `allow` has names as well, the paths in it begin with '$'.
void read_json_paths(YamlReader& reader, std::vector<std::string>& paths, bool names_too) {
  paths.clear();
  reader.each_item([&](YamlReader& item) {
    std::string path;
    read_yaml(item, path);
    const bool named = names_too && !path.starts_with('$');
    if (item.clean() && !named) {
      if (const auto parsed = JsonPath::parse(path); !parsed) item.problem(parsed.error().message);
    }
    paths.push_back(std::move(path));
  });
}

// {fields: [x-user], params: [iban], json: ['$.user.name'], allow: [sid], key: shared.key}
void read_redact(YamlReader& reader, RedactionConfig& config) {
  reader.optional("fields", config.fields);
  reader.optional("params", config.params);
  reader.optional("json", [&](YamlReader& json) { read_json_paths(json, config.json, false); });
  reader.optional("allow", [&](YamlReader& allow) { read_json_paths(allow, config.allow, true); });
  reader.optional("key", as_path(config.key_file));
}

// `traffic.db`, or {traffic: traffic.db, keep_secrets: true, keep_numbers: true, redact: {...},
// buffer: 64MiB}.
void read_record(YamlReader& reader, RecordConfig& config) {
  if (!reader.is_map()) {
    read_yaml(reader, config.traffic);
    if (reader.clean() && config.traffic.empty()) reader.problem("must not be empty");
    return;
  }
  reader.required("traffic", config.traffic, not_empty);
  reader.optional("keep_secrets", config.redaction.keep_secrets);
  reader.optional("keep_numbers", config.redaction.keep_numbers);
  reader.optional("redact", [&](YamlReader& redact) { read_redact(redact, config.redaction); });
  if (config.redaction.keep_secrets && config.redaction.says_how()) {
    reader.problem_at("redact", "hides nothing while keep_secrets is true; leave one of them out");
  }
  constexpr std::uint64_t kBufferMin = std::uint64_t{1024} * 1024;
  reader.optional("buffer", as_size(config.buffer_bytes), at_least(kBufferMin));
}

// Targets of CONNECT, each with its port.
void read_targets(YamlReader& reader, std::vector<std::string>& targets) {
  targets.clear();
  reader.each_item([&](YamlReader& item) {
    Address target;
    read_yaml(item, target);
    if (item.clean() && target.port == 0) item.problem("needs a port to connect to, got 0");
    targets.push_back(to_text(target));
  });
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
  reader.optional("max_requests", config.max_requests, at_least(0));
  reader.optional("queue", config.queue);
  reader.optional("load_balancer", config.load_balancer);
  reader.optional("breaker", config.breaker);
  reader.optional("health", config.health);
  reader.optional("pool", config.pool);
  reader.optional("retry_budget", config.retry_budget);
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

void read_trailers(YamlReader& reader, std::vector<std::string>& names) {
  names.clear();
  reader.each_item([&](YamlReader& item) {
    std::string& name = names.emplace_back();
    read_yaml(item, name);
    if (item.clean() && !http::may_be_trailer(name)) {
      item.problem("cannot pass behind a body: '" + name +
                   "' frames, routes, authenticates or controls");
    }
  });
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
  reader.optional("trailers", [&](YamlReader& names) { read_trailers(names, route.trailers); });
  reader.optional("timeouts", route.timeouts);
  reader.optional("retry", route.retry);
  reader.optional("limits", route.rate_limit);
  reader.optional("upgrade", route.upgrade);
}

void read_routes(YamlReader& reader,
                 const RouteConfig& defaults,
                 std::vector<RouteConfig>& routes) {
  routes.clear();
  std::map<std::string, std::string> seen;  // host and prefix, or name → path of the first
  reader.each_item([&](YamlReader& item) {
    RouteConfig route = defaults;
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
    routes.push_back(std::move(route));
  });
  if (reader.clean() && routes.empty()) reader.problem("needs at least one route");
}

// Each thread has its share of the connections to an endpoint.
void check_pools(YamlReader& reader, const GatewayConfig& config) {
  for (const UpstreamConfig& upstream : config.upstreams) {
    const int connections = upstream.pool.max_connections;
    if (connections == 0 || connections >= config.threads) continue;
    reader.problem_at("threads", std::to_string(config.threads) + " share the " +
                                     std::to_string(connections) + " of " + upstream.name +
                                     "'s pool.max_connections, and each needs at least one");
  }
}

}  // namespace

const UpstreamConfig* find_upstream(const GatewayConfig& config, std::string_view name) {
  const auto found = std::find_if(config.upstreams.begin(), config.upstreams.end(),
                                  [&](const UpstreamConfig& each) { return each.name == name; });
  return found == config.upstreams.end() ? nullptr : &*found;
}

void read_yaml(YamlReader& reader, GatewayConfig& config) {
  reader.optional("name", config.name, not_empty);
  reader.optional("listen", [&](YamlReader& listen) { read_listen(listen, config.listen); });
  reader.optional("threads", config.threads, between(1, 64));
  reader.optional("client", [&](YamlReader& client) { read_client(client, config.client); });
  reader.optional("response",
                  [&](YamlReader& response) { read_head_limits(response, config.response_head); });
  reader.optional("replay_buffer", as_size(config.replay_buffer_bytes));
  reader.optional("resolve_interval", config.resolve_interval,
                  at_least(Duration{std::chrono::milliseconds{100}}));
  reader.optional("cause_header", config.cause_header);
  reader.optional("proxy_status", config.proxy_status);
  reader.optional("access_log", [&](YamlReader& log) { read_access_log(log, config.access_log); });
  reader.optional("record", [&](YamlReader& record) { read_record(record, config.record); });
  reader.optional("drain_timeout", config.drain_timeout);
  reader.optional("sample_ok", config.sample_ok, at_least(1U));
  // Before the routes, which begin with them.
  RouteConfig defaults;
  reader.optional("timeouts", defaults.timeouts);
  reader.optional("retry", defaults.retry);
  reader.optional("trailers", [&](YamlReader& names) { read_trailers(names, defaults.trailers); });
  config.connect.timeouts = defaults.timeouts;
  reader.optional("connect", [&](YamlReader& connect) {
    connect.required("allow",
                     [&](YamlReader& allow) { read_targets(allow, config.connect.allow); });
  });
  const auto upstreams = [&](YamlReader& all) { read_upstreams(all, config.upstreams); };
  if (config.upstreams.empty()) {
    reader.required("upstreams", upstreams);
  } else {
    for (const UpstreamConfig& known : config.upstreams)
      reader.defines("upstream", known.name);
    reader.optional("upstreams", upstreams);
  }
  check_pools(reader, config);
  reader.required("routes",
                  [&](YamlReader& routes) { read_routes(routes, defaults, config.routes); });
}

Result<GatewayConfig> load_gateway_config(const std::string& path,
                                          const std::vector<std::string>& assignments) {
  return load_yaml<GatewayConfig>(path, assignments);
}

std::string summary(const GatewayConfig& config) {
  std::size_t endpoints = 0;
  for (const UpstreamConfig& upstream : config.upstreams)
    endpoints += upstream.endpoints.size();
  std::string listens;
  for (const std::string& address : config.listen) {
    listens += (listens.empty() ? "" : ", ") + address;
  }
  return "listens on " + listens + "; " + counted(config.routes.size(), "route") + " to " +
         counted(config.upstreams.size(), "upstream") + " (" + counted(endpoints, "endpoint") + ")";
}

}  // namespace gatedrill::gateway
