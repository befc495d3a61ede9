#include "gateway/proxy/shard.hpp"

#include <algorithm>
#include <cassert>

#include "gateway/http/head_writer.hpp"
#include "gateway/proxy/session.hpp"

namespace gatedrill::gateway {
namespace {

// Differs from start to start, from gateway to gateway and from shard to shard: ids are not to be
// repeated.
std::uint64_t id_seed(const std::string& name, std::size_t index, const SteadyClock& clock) {
  const UnixTime now = clock.unix_time(clock.now());
  return stable_hash(name, static_cast<std::uint64_t>(now.ns) + index);
}

}  // namespace

Shard::Shard(Shared& shared,
             std::size_t index,
             boost::asio::io_context& context,
             const SteadyClock& clock,
             EventSink& sink)
    : shared_(shared),
      context_(context),
      clock_(clock),
      sink_(sink),
      name_(intern(shared.config().name)),
      via_(http::via_name(shared.config().name)),
      request_ids_(id_seed(shared.config().name, index, clock)),
      router_(shared.config().routes),
      next_connection_id_(1 + index),
      reactor_(context),
      connections_(reactor_) {
  connections_.on_evicted = [this](const Pool& pool, const Pool::Evicted& evicted) {
    sink_.publish({name_, eviction_of(pool, evicted, clock_.now())});
  };
  const ShardPlace place{index, shared.shard_count()};
  for (const auto& upstream : shared.upstreams()) {
    upstreams_.push_back(std::make_unique<ShardUpstream>(*upstream, next_connection_id_, place));
  }
  for (const auto& each : shared.routes())
    routes_.push_back(ShardRoute{each->route, *upstreams_[each->upstream]});
}

Shard::~Shard() {
  sessions_.clear();
}

void Shard::accept(int descriptor, const TcpEndpoint& peer) {
  ++ledger_.connections;
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
  while (!sessions_.empty())
    remove(*sessions_.begin()->first);
}

void Shard::settle(SharedUpstream& upstream) {
  std::vector<RequestQueue::Grant> granted;
  {
    // Published inside the gate, so that they stay in order.
    const Gate::Pass pass = upstream.gate.pass();
    for (const Transition& transition : upstream.upstream.take_transitions())
      sink_.publish({name_, transition});
    granted = upstream.upstream.queue().take_granted();
  }
  for (const RequestQueue::Grant& grant : granted)
    upstream.on_granted(grant);
}

void Shard::on_granted(std::size_t upstream, RequestQueue::Ticket ticket) {
  const auto& parked = upstreams_[upstream]->parked;
  if (const auto found = parked.find(ticket); found != parked.end()) found->second->on_place();
}

bool Shard::logs(const RequestDone& request) const {
  const std::uint32_t one_in = config().access_log.sample_ok;
  return one_in <= 1 || request.cause != Cause::ok || request.attempts > 1 ||
         stable_hash(request.request_id.view()) % one_in == 0;
}

ShardRoute* Shard::match(std::string_view host, std::string_view path) {
  const auto index = router_.match(host, path);
  return index ? &routes_[*index] : nullptr;
}

ShardRoute* Shard::match_connect(std::string_view target) {
  const auto index = router_.match_connect(target);
  return index ? &routes_[*index] : nullptr;
}

}  // namespace gatedrill::gateway
