#include "gateway/proxy/health_probe.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio.hpp>

#include "gateway/net/http_client.hpp"

namespace gatedrill::gateway {

namespace asio = boost::asio;

namespace {

struct Verdict {
  bool healthy = false;
  std::string text;
};

Verdict failed(ClientError error) {
  switch (error) {
    case ClientError::connect_refused:
      return {false, "refused"};
    case ClientError::connect_timeout:
    case ClientError::response_timeout:
    case ClientError::body_timeout:
      return {false, "timeout"};
    default:
      return {false, std::string(to_string(error))};
  }
}

// 2xx and 3xx are healthy, as HAProxy has it.
Verdict judge(const ClientAnswer& answer) {
  if (answer.error != ClientError::none) return failed(answer.error);
  if (answer.status >= 200 && answer.status < 400) return {true, "ok"};
  return {false, "status " + std::to_string(answer.status)};
}

}  // namespace

struct HealthProbe::State : std::enable_shared_from_this<State> {
  State(Shard& its_shard,
        SharedUpstream& its_upstream,
        std::size_t its_endpoint,
        OnDown its_on_down)
      : shard(its_shard),
        upstream(its_upstream),
        endpoint(its_endpoint),
        on_down(std::move(its_on_down)),
        timer(its_shard.context()),
        client(its_shard.context(), its_shard.clock()),
        timeout(its_upstream.upstream.config().health.timeout) {
    head = "GET " + upstream.upstream.config().health.path +
           " HTTP/1.1\r\nhost: " + upstream.upstream.config().endpoints[endpoint] +
           "\r\nuser-agent: gatedrill-health\r\nconnection: close\r\n\r\n";
  }

  void schedule() {
    const TimePoint due = probed->next_probe(endpoint);
    if (due == kNever) return;
    timer.expires_at(shard.clock().steady(std::max(due, shard.clock().now())));
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error || self->stopped) return;
      asio::co_spawn(self->shard.context(), run(self), asio::detached);
    });
  }

  static ClientTask<void> run(std::shared_ptr<State> self) {
    const TimePoint began = self->shard.clock().now();
    self->probed->on_probe_started(self->endpoint);
    const TimePoint deadline = began + self->timeout;
    Verdict verdict;
    ClientConnect connected;
    if (const auto address = self->upstream.addresses->at(self->endpoint)) {
      HttpPeer peer{address->address().to_string(), address->port()};
      connected = co_await self->client.connect(std::move(peer), deadline);
      if (self->stopped) co_return;
    } else {
      connected.error = ClientError::dns_failure;
    }
    if (connected.error != ClientError::none) {
      verdict = failed(connected.error);
    } else {
      ClientRequest request;
      request.method = "GET";
      request.head = self->head;
      request.keep = KeepBody::digest;
      const ClientAnswer answer = co_await self->client.exchange(request, deadline);
      if (self->stopped) co_return;
      verdict = judge(answer);
    }
    self->client.close();
    self->done(began, verdict);
    self->schedule();
  }

  void done(TimePoint began, const Verdict& verdict) {
    const TimePoint now = shard.clock().now();
    const bool changed = probed->on_probe_done(now, endpoint, verdict.healthy, verdict.text);
    ProbeDone event;
    event.at = began;
    event.prober = shard.name();
    event.endpoint = upstream.upstream.endpoint_name(endpoint);
    event.verdict = intern(verdict.text);
    event.latency = now - began;
    shard.sink().publish({shard.name(), event});
    shard.settle(upstream);
    if (changed && !verdict.healthy) on_down();
  }

  Shard& shard;
  SharedUpstream& upstream;
  std::size_t endpoint;
  OnDown on_down;
  Guarded<Upstream> probed{upstream.upstream, upstream.gate};
  asio::steady_timer timer;
  HttpClient client;
  Duration timeout;
  std::string head;
  bool stopped = false;  // the shard may be gone
};

HealthProbe::HealthProbe(Shard& shard,
                         SharedUpstream& upstream,
                         std::size_t endpoint,
                         OnDown on_down)
    : state_(std::make_shared<State>(shard, upstream, endpoint, std::move(on_down))) {}

HealthProbe::~HealthProbe() {
  state_->stopped = true;
  state_->timer.cancel();
  state_->client.close();
}

void HealthProbe::start() {
  state_->schedule();
}

}  // namespace gatedrill::gateway
