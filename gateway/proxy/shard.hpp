// What all sessions of one gateway share on one thread: the connections to its upstreams and the
// sessions themselves, beside what is shared with other threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio.hpp>

#include "gateway/core/event.hpp"
#include "gateway/core/names.hpp"
#include "gateway/core/time.hpp"
#include "gateway/http/date.hpp"
#include "gateway/net/connections.hpp"
#include "gateway/policy/router.hpp"
#include "gateway/policy/upstream.hpp"
#include "gateway/proxy/desk.hpp"
#include "gateway/proxy/request_ids.hpp"
#include "gateway/proxy/shared.hpp"

namespace gatedrill::gateway {

class AccessLog;
class Session;

// One upstream as this shard sees it: what all shards share, and its own connections.
struct ShardUpstream {
  ShardUpstream(SharedUpstream& its_shared, std::uint64_t& next_id, ShardPlace place)
      : shared(its_shared),
        pools(its_shared.upstream.config(), next_id, place),
        moves_seen(its_shared.upstream.config().endpoints.size()) {}

  // The endpoint has another address since the last call: connections to the old one go.
  [[nodiscard]] bool moved(std::size_t endpoint) {
    const std::uint32_t moves = shared.addresses->moves(endpoint);
    return moves != std::exchange(moves_seen[endpoint], moves);
  }

  SharedUpstream& shared;
  UpstreamPools pools;
  std::vector<std::uint32_t> moves_seen;
  std::unordered_map<RequestQueue::Ticket, Session*> parked;  // who waits for a place
};

struct ShardRoute {
  Route& route;  // its rate limit only through the upstream's gate
  ShardUpstream& upstream;
};

class Shard {
 public:
  // `shared`, `clock`, `sink` and `context` outlive it. `index` is its place among the shards.
  Shard(Shared& shared,
        std::size_t index,
        boost::asio::io_context& context,
        const SteadyClock& clock,
        EventSink& sink);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Takes over the descriptor.
  void accept(int descriptor, const TcpEndpoint& peer);
  // The session has ended; it is destroyed.
  void remove(Session& session);

  // Since the start. Each request that was begun ends as one of the other two; what is neither yet
  // is in flight.
  struct Ledger {
    std::uint64_t connections = 0;
    std::uint64_t requests_begun = 0;
    std::uint64_t requests_answered = 0;
    std::uint64_t requests_client_closed = 0;
  };

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

  void on_request_begun() { ++ledger_.requests_begun; }

  void on_request_ended(Cause cause) {
    ++(cause == Cause::client_closed ? ledger_.requests_client_closed : ledger_.requests_answered);
  }

  [[nodiscard]] std::size_t session_count() const { return sessions_.size(); }

  // No keep-alive any more: idle sessions end now, the others with their request.
  void drain();

  [[nodiscard]] bool draining() const { return draining_; }

  // Ends every session: what is unanswered is answered with `draining`.
  void stop();

  // What every event at the upstream leaves to do: what changed state is published, and who was
  // given a place is told.
  void settle(SharedUpstream& upstream);

  // A request of ours was given a place there. Nothing if it has gone in the meantime.
  void on_granted(std::size_t upstream, RequestQueue::Ticket ticket);

  [[nodiscard]] ShardRoute* match(std::string_view host, std::string_view path);
  [[nodiscard]] ShardRoute* match_connect(std::string_view target);

  [[nodiscard]] const GatewayConfig& config() const { return shared_.config(); }

  [[nodiscard]] boost::asio::io_context& context() { return context_; }

  [[nodiscard]] Reactor& reactor() { return reactor_; }

  [[nodiscard]] const SteadyClock& clock() const { return clock_; }

  [[nodiscard]] EventSink& sink() { return sink_; }

  [[nodiscard]] NameId name() const { return name_; }

  // The name in Via fields.
  [[nodiscard]] const std::string& via() const { return via_; }

  [[nodiscard]] Connections& connections() { return connections_; }

  // Null: there is none.
  [[nodiscard]] AccessLog* access_log() { return access_log_; }

  // Outlives it.
  void log_to(AccessLog* log) { access_log_ = log; }

  // Whether this request has a line: of the ok ones only a sample may.
  [[nodiscard]] bool logs(const RequestDone& request) const;

  // To compose a line in; kept for its memory.
  [[nodiscard]] std::string& log_line() { return log_line_; }

  [[nodiscard]] RequestIds& request_ids() { return request_ids_; }

  [[nodiscard]] Desks& desks() { return desks_; }

  [[nodiscard]] ClientConnections& clients() { return shared_.clients(); }

  // Whether this client's X-Forwarded-* fields are believed.
  [[nodiscard]] bool trusts(const boost::asio::ip::address& client) const {
    return shared_.trusted_proxies().contains(client);
  }

  // Whether connections from there begin with a PROXY protocol header.
  [[nodiscard]] bool sends_proxy_header(const boost::asio::ip::address& peer) const {
    return shared_.proxy_header_from().contains(peer);
  }

  // The Date field's text for that moment. The view lives until the next call.
  [[nodiscard]] std::string_view date(TimePoint now) { return date_.at(clock_.unix_time(now)); }

  [[nodiscard]] std::vector<std::unique_ptr<ShardUpstream>>& upstreams() { return upstreams_; }

  // Told whenever a session has ended.
  std::function<void()> on_session_ended;

 private:
  Shared& shared_;
  boost::asio::io_context& context_;
  const SteadyClock& clock_;
  EventSink& sink_;
  NameId name_;
  std::string via_;
  RequestIds request_ids_;
  http::DateText date_;
  Router router_;
  std::uint64_t next_connection_id_;
  std::vector<std::unique_ptr<ShardUpstream>> upstreams_;
  std::vector<ShardRoute> routes_;
  Reactor reactor_;
  Connections connections_;
  Desks desks_;
  std::unordered_map<Session*, std::unique_ptr<Session>> sessions_;
  bool draining_ = false;
  AccessLog* access_log_ = nullptr;
  Ledger ledger_;
  std::string log_line_;
};

}  // namespace gatedrill::gateway
