#include "gateway/proxy/shard.hpp"

#include <algorithm>
#include <cassert>

#include "gateway/proxy/session.hpp"

namespace gatedrill::gateway {
namespace {

// Differs from start to start and from gateway to gateway: ids are not to be repeated.
std::uint64_t id_seed(const GatewayConfig& config, const SteadyClock& clock) {
  const UnixTime now = clock.unix_time(clock.now());
  return stable_hash(config.name, static_cast<std::uint64_t>(now.ns));
}

}  // namespace

Shard::Shard(const GatewayConfig& config,
             boost::asio::io_context& context,
             const SteadyClock& clock,
             EventSink& sink,
             ClientConnections& clients)
    : config_(config),
      context_(context),
      clock_(clock),
      sink_(sink),
      clients_(clients),
      name_(intern(config.name)),
      request_ids_(id_seed(config, clock)),
      router_(config.routes),
      reactor_(context),
      connections_(reactor_) {
  connections_.on_evicted = [this](const Pool& pool, const Pool::Evicted& evicted) {
    sink_.publish({name_, eviction_of(pool, evicted, clock_.now())});
  };
  const Random random(stable_hash(config.name));
  for (const UpstreamConfig& upstream : config_.upstreams) {
    upstreams_.push_back(
        std::make_unique<ShardUpstream>(upstream, random.fork(upstream.name), next_connection_id_));
  }
  for (const RouteConfig& route : config_.routes) {
    const auto found = std::find_if(
        config_.upstreams.begin(), config_.upstreams.end(),
        [&](const UpstreamConfig& upstream) { return upstream.name == route.upstream; });
    assert(found != config_.upstreams.end());
    ShardUpstream& upstream =
        *upstreams_[static_cast<std::size_t>(found - config_.upstreams.begin())];
    routes_.push_back(std::make_unique<ShardRoute>(ShardRoute{
        Route{route, intern(route_name(route)), &upstream.upstream, TokenBucket(route.rate_limit)},
        &upstream}));
  }
}

Shard::~Shard() {
  sessions_.clear();
}

Result<void> Shard::resolve_addresses() {
  auto trusted = AddressSet::parse(config_.client.trusted_proxies);
  if (!trusted) return trusted.error();
  trusted_proxies_ = *trusted;
  auto proxied = AddressSet::parse(config_.client.proxy_protocol_from);
  if (!proxied) return proxied.error();
  proxy_header_from_ = *proxied;
  for (const auto& each : upstreams_) {
    each->addresses.clear();
    for (const std::string& endpoint : each->upstream.config().endpoints) {
      auto address = resolve(endpoint);
      if (!address) {
        return Error{address.error().code,
                     "upstream " + each->upstream.config().name + ": " + address.error().message};
      }
      each->addresses.push_back(*address);
    }
  }
  return {};
}

void Shard::accept(int descriptor, const TcpEndpoint& peer) {
  auto client = std::make_shared<Connection>(reactor_, 0, descriptor);
  auto session = std::make_unique<Session>(*this, std::move(client), peer.address());
  Session& started = *session;
  sessions_.emplace(&started, std::move(session));
  started.start();
}

void Shard::remove(Session& session) {
  sessions_.erase(&session);
  if (on_session_ended) on_session_ended();
}

void Shard::drain() {
  draining_ = true;
  std::vector<Session*> sessions;
  for (const auto& [session, owned] : sessions_)
    sessions.push_back(session);
  for (Session* session : sessions)
    session->drain();
}

void Shard::stop() {
  draining_ = true;
  std::vector<Session*> sessions;
  for (const auto& [session, owned] : sessions_)
    sessions.push_back(session);
  for (Session* session : sessions)
    session->stop();
  sessions_.clear();
}

void Shard::publish_transitions(Upstream& upstream) {
  for (const Transition& transition : upstream.take_transitions()) {
    sink_.publish({name_, transition});
  }
}

bool Shard::logs(const RequestDone& request) const {
  const std::uint32_t one_in = config_.access_log.sample_ok;
  return one_in <= 1 || request.cause != Cause::ok || request.attempts > 1 ||
         stable_hash(request.request_id.view()) % one_in == 0;
}

ShardRoute* Shard::match(std::string_view host, std::string_view path) {
  const auto index = router_.match(host, path);
  return index ? routes_[*index].get() : nullptr;
}

}  // namespace gatedrill::gateway
