#include "gateway/proxy/shared.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gatedrill::gateway {
namespace {

// Each target of CONNECT as an upstream of its own with one route to it: so it has a breaker, a
// limit, timeouts and causes like any other.
GatewayConfig with_connect_targets(GatewayConfig config) {
  for (const std::string& target : config.connect.allow) {
    UpstreamConfig upstream;
    upstream.name = "connect " + target;
    upstream.endpoints = {target};
    upstream.pool.enabled = false;
    upstream.health.enabled = false;
    RouteConfig route;
    route.name = upstream.name;
    route.match.connect = target;
    route.upstream = upstream.name;
    route.timeouts = config.connect.timeouts;
    config.upstreams.push_back(std::move(upstream));
    config.routes.push_back(std::move(route));
  }
  return config;
}

}  // namespace

Shared::Shared(const GatewayConfig& config)
    : config_(with_connect_targets(config)), clients_(config.client.connections_per_ip_max) {
  const Random random(stable_hash(config.name));
  for (const UpstreamConfig& upstream : config_.upstreams) {
    upstreams_.push_back(
        std::make_unique<SharedUpstream>(upstream, random.fork(upstream.name), shard_count() > 1));
  }
  for (const RouteConfig& route : config_.routes) {
    const auto found = std::find_if(
        config_.upstreams.begin(), config_.upstreams.end(),
        [&](const UpstreamConfig& upstream) { return upstream.name == route.upstream; });
    assert(found != config_.upstreams.end());
    const auto index = static_cast<std::size_t>(found - config_.upstreams.begin());
    routes_.push_back(std::make_unique<SharedRoute>(
        SharedRoute{Route{route, intern(route_name(route)), &upstreams_[index]->upstream,
                          TokenBucket(route.rate_limit)},
                    index}));
  }
}

Result<void> Shared::read_addresses() {
  auto trusted = AddressSet::parse(config_.client.trusted_proxies);
  if (!trusted) return trusted.error();
  trusted_proxies_ = *trusted;
  auto proxied = AddressSet::parse(config_.client.proxy_protocol_from);
  if (!proxied) return proxied.error();
  proxy_header_from_ = *proxied;
  for (const auto& each : upstreams_) {
    const UpstreamConfig& config = each->upstream.config();
    if (auto read = each->addresses->configure(config.endpoints); !read) {
      return Error{read.error().code, "upstream " + config.name + ": " + read.error().message};
    }
  }
  return {};
}

}  // namespace gatedrill::gateway
