#include "scenarios/sim/sim_gateway.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "gateway/http/head.hpp"

namespace gatedrill::scenarios {

using gateway::Done;
using gateway::Forward;
using gateway::LocalReply;
using gateway::Park;
using gateway::Send;
using gateway::Step;
using gateway::Wait;

namespace {

gateway::RequestFacts facts_of(const SimGateway::Arrival& arrival,
                               const gateway::RetryConfig& retry) {
  gateway::RequestFacts facts;
  facts.safe = http::is_safe(arrival.request.method);
  facts.idempotent = http::is_idempotent(arrival.request.method);
  facts.has_idempotency_key =
      arrival.fields != nullptr && !retry.idempotency_key_header.empty() &&
      !replay::value_of(*arrival.fields, retry.idempotency_key_header).empty();
  return facts;
}

}  // namespace

SimGateway::SimGateway(const gateway::GatewayConfig& config,
                       NameId name,
                       const Random& random,
                       EventQueue& queue,
                       EventSink& sink,
                       std::vector<std::vector<SimLink*>> links)
    : config_(config), name_(name), queue_(queue), sink_(sink), router_(config.routes) {
  assert(links.size() == config.upstreams.size());
  upstreams_.reserve(links.size());
  for (std::size_t u = 0; u < links.size(); ++u) {
    Upstream& upstream = upstreams_.emplace_back();
    upstream.policy = std::make_unique<gateway::Upstream>(config.upstreams[u], random);
    upstream.pools =
        std::make_unique<gateway::UpstreamPools>(config.upstreams[u], next_connection_);
    upstream.links = std::move(links[u]);
    upstream.expiry = std::make_unique<Wakeup>(
        queue_,
        [this, u] {
          TimePoint next = kNever;
          for (std::size_t e = 0; e < upstreams_[u].links.size(); ++e) {
            next = std::min(next, upstreams_[u].pools->pool(e).next_wakeup());
          }
          return next;
        },
        [this, u] {
          for (std::size_t e = 0; e < upstreams_[u].links.size(); ++e) {
            upstreams_[u].pools->pool(e).expire(queue_.now());
          }
          settle(u);
        });
    for (std::size_t e = 0; e < upstream.links.size(); ++e) {
      upstream.links[e]->set_ends(
          {[this](std::uint64_t connection, const SimAnswer& answer) {
             on_answered(connection, answer);
           },
           [this, u, e](std::uint64_t connection) { on_closed(u, e, connection); }});
      upstream.probes.push_back(std::make_unique<Wakeup>(
          queue_, [this, u, e] { return upstreams_[u].policy->next_probe(e); },
          [this, u, e] { start_probe(u, e); }));
      upstream.probes.back()->arm();
    }
  }
  for (const gateway::RouteConfig& route : config.routes) {
    const auto upstream = std::find_if(
        config.upstreams.begin(), config.upstreams.end(),
        [&](const gateway::UpstreamConfig& each) { return each.name == route.upstream; });
    assert(upstream != config.upstreams.end());
    const auto index = static_cast<std::size_t>(upstream - config.upstreams.begin());
    route_upstreams_.push_back(index);
    routes_.push_back({route, intern(route_name(route)), upstreams_[index].policy.get(),
                       gateway::TokenBucket(route.rate_limit)});
  }
}

std::uint64_t SimGateway::receive(const Arrival& arrival, Ended ended) {
  const std::uint64_t number = next_number_++;
  const auto route = router_.match(arrival.host, http::path_of(arrival.request.target));
  if (!route) {
    RequestDone done;
    done.request_id = arrival.request.request_id;
    done.at = queue_.now();
    done.method = arrival.request.method_name;
    done.path = arrival.request.path_name;
    done.cause = Cause::no_route;
    done.status = static_cast<std::uint16_t>(local_status(Cause::no_route));
    done.client = intern("127.0.0.1");
    sink_.publish({name_, done});
    ended({local_status(Cause::no_route), nullptr});
    return number;
  }
  gateway::Exchange::Request request;
  request.id = arrival.request.request_id;
  request.client = intern("127.0.0.1");
  request.method = arrival.request.method_name;
  request.path = arrival.request.path_name;
  request.facts = facts_of(arrival, routes_[*route].config.retry);
  request.facts.body_replayable = arrival.body_bytes <= config_.replay_buffer_bytes;
  const std::size_t upstream = route_upstreams_[*route];
  const auto [made, inserted] = active_.emplace(
      number, Active{gateway::Exchange(routes_[*route], *upstreams_[upstream].pools, request),
                     arrival.request,
                     std::move(ended),
                     upstream,
                     0,
                     0,
                     0,
                     0,
                     {}});
  assert(inserted);
  take(number, made->second.exchange.start(queue_.now()));
  return number;
}

void SimGateway::abandon(std::uint64_t number) {
  const auto found = active_.find(number);
  if (found == active_.end()) return;
  Active& active = found->second;
  if (active.connection != 0) {
    busy_.erase(active.connection);
    upstreams_[active.upstream].links[active.endpoint]->close(active.connection);
    active.connection = 0;
  }
  take(number, active.exchange.on_client_gone(queue_.now()));
}

void SimGateway::take(std::uint64_t number, const Step& step) {
  Active& active = active_.at(number);
  const std::size_t upstream = active.upstream;
  ++active.deadline;
  if (active.ticket != 0) upstreams_[upstream].parked.erase(std::exchange(active.ticket, 0));
  if (const auto* sending = std::get_if<Send>(&step)) {
    send(number, active, *sending);
  } else if (const auto* waiting = std::get_if<Wait>(&step)) {
    at(waiting->until, number, &gateway::Exchange::on_waited);
  } else if (const auto* parking = std::get_if<Park>(&step)) {
    active.ticket = parking->ticket;
    upstreams_[upstream].parked.emplace(parking->ticket, number);
    at(parking->until, number, &gateway::Exchange::on_waited);
  } else if (const auto* reply = std::get_if<LocalReply>(&step)) {
    active.outcome = {reply->status, nullptr};
    take(number, active.exchange.on_reply_sent(queue_.now()));
    return;
  } else if (std::holds_alternative<Done>(step)) {
    finish(number);
  }
  settle(upstream);
}

// Unless another event comes first.
void SimGateway::at(TimePoint when,
                    std::uint64_t number,
                    Step (gateway::Exchange::*event)(TimePoint)) {
  const std::uint64_t generation = active_.at(number).deadline;
  queue_.at(when, [this, number, generation, event] {
    const auto found = active_.find(number);
    if (found == active_.end() || found->second.deadline != generation) return;
    take(number, (found->second.exchange.*event)(queue_.now()));
  });
}

void SimGateway::send(std::uint64_t number, Active& active, const Send& send) {
  SimLink& link = *upstreams_[active.upstream].links[send.endpoint];
  active.endpoint = send.endpoint;
  if (!send.connection.reused() && !link.connect(send.connection.id)) {
    active.connection = 0;
    gateway::FailureFacts failure;
    failure.cause = Cause::connect_refused;
    take(number, active.exchange.on_attempt_failed(queue_.now(), failure));
    return;
  }
  if (!send.connection.reused()) active.exchange.on_connected(queue_.now());
  active.exchange.on_request_sent(queue_.now());
  active.connection = send.connection.id;
  busy_[send.connection.id] = number;
  link.send(send.connection.id, active.request);
  arm_deadline(number, active);
}

void SimGateway::arm_deadline(std::uint64_t number, Active& active) {
  const gateway::Deadline deadline =
      active.exchange.deadline(gateway::Phase::response, queue_.now());
  const std::uint64_t generation = active.deadline;
  queue_.at(deadline.at, [this, number, generation, cause = deadline.cause] {
    const auto found = active_.find(number);
    if (found == active_.end() || found->second.deadline != generation) return;
    Active& late = found->second;
    busy_.erase(late.connection);
    upstreams_[late.upstream].links[late.endpoint]->close(late.connection);
    late.connection = 0;
    gateway::FailureFacts failure;
    failure.cause = cause;
    failure.request_started = true;
    take(number, late.exchange.on_attempt_failed(queue_.now(), failure));
  });
}

void SimGateway::on_answered(std::uint64_t connection, const SimAnswer& answer) {
  if (probing_.contains(connection)) {
    const bool success = answer.status / 100 == 2;
    end_probe(connection, success, success ? "ok" : "status " + std::to_string(answer.status));
    return;
  }
  const auto busy = busy_.find(connection);
  if (busy == busy_.end()) return;
  const std::uint64_t number = busy->second;
  busy_.erase(busy);
  Active& active = active_.at(number);
  active.connection = 0;
  const TimePoint now = queue_.now();
  if (is_too_large(answer, active.request.method)) {
    upstreams_[active.upstream].links[active.endpoint]->close(connection);
    gateway::FailureFacts failure;
    failure.cause = Cause::response_header_too_large;
    failure.request_started = true;
    failure.response_started = true;
    take(number, active.exchange.on_attempt_failed(now, failure));
    return;
  }
  if (const Step again = active.exchange.on_response_head(now, answer.status);
      !std::holds_alternative<Forward>(again)) {
    upstreams_[active.upstream].links[active.endpoint]->close(connection);
    take(number, again);
    return;
  }
  active.outcome = {answer.status, answer.answer};
  const Step step = active.exchange.on_response_end(now, Cause::ok, !answer.close);
  const auto* done = std::get_if<Done>(&step);
  if (done != nullptr && !done->keep_connection) {
    upstreams_[active.upstream].links[active.endpoint]->close(connection);
  }
  take(number, step);
}

// The head that a fault made larger, against the gateway's limits.
bool SimGateway::is_too_large(const SimAnswer& answer, std::string_view method) const {
  if (answer.head_growth == 0) return false;
  const std::size_t head =
      answer.answer != nullptr ? answer.answer->head(method, answer.close).size() : 0;
  return answer.head_growth > config_.response_head.line_bytes ||
         head + answer.head_growth > config_.response_head.head_bytes;
}

void SimGateway::on_closed(std::size_t upstream, std::size_t endpoint, std::uint64_t connection) {
  if (probing_.contains(connection)) {
    end_probe(connection, false, "closed");
    return;
  }
  const auto busy = busy_.find(connection);
  if (busy == busy_.end()) {
    upstreams_[upstream].pools->pool(endpoint).lost(connection,
                                                    gateway::Pool::Eviction::peer_closed);
    settle(upstream);
    return;
  }
  const std::uint64_t number = busy->second;
  busy_.erase(busy);
  Active& active = active_.at(number);
  active.connection = 0;
  gateway::FailureFacts failure;
  failure.cause = Cause::upstream_closed;
  failure.request_started = true;
  take(number, active.exchange.on_attempt_failed(queue_.now(), failure));
}

void SimGateway::finish(std::uint64_t number) {
  auto node = active_.extract(number);
  Active& active = node.mapped();
  active.exchange.report(name_, sink_);
  active.ended(active.outcome);
}

// What every event leaves to do: evicted connections are closed, transitions recorded, and who was
// given a place is told.
void SimGateway::settle(std::size_t index) {
  Upstream& upstream = upstreams_[index];
  for (std::size_t e = 0; e < upstream.links.size(); ++e) {
    gateway::Pool& pool = upstream.pools->pool(e);
    for (const gateway::Pool::Evicted& evicted : pool.take_evicted()) {
      sink_.publish({name_, gateway::eviction_of(pool, evicted, queue_.now())});
      upstream.links[e]->close(evicted.lease.id);
    }
  }
  for (const Transition& transition : upstream.policy->take_transitions()) {
    sink_.publish({name_, transition});
  }
  for (const gateway::RequestQueue::Grant& grant : upstream.policy->queue().take_granted()) {
    const auto parked = upstream.parked.find(grant.ticket);
    if (parked == upstream.parked.end()) continue;  // gone in the meantime
    at(queue_.now(), parked->second, &gateway::Exchange::on_place);
  }
  // A connection that goes idle later is hardly ever due earlier; one that is, is not reused
  // either.
  if (!upstream.expiry->armed()) upstream.expiry->arm();
}

void SimGateway::start_probe(std::size_t upstream, std::size_t endpoint) {
  upstreams_[upstream].policy->on_probe_started(endpoint);
  const std::uint64_t connection = upstreams_[upstream].pools->new_id();
  probing_[connection] = {upstream, endpoint, queue_.now()};
  SimLink& link = *upstreams_[upstream].links[endpoint];
  const gateway::Health::Config& health = config_.upstreams[upstream].health;
  if (!link.connect(connection)) {
    end_probe(connection, false, "refused");
    return;
  }
  SimRequest request;
  request.method = "GET";
  request.target = health.path;
  link.send(connection, request);
  queue_.at(queue_.now() + health.timeout, [this, connection] {
    if (probing_.contains(connection)) end_probe(connection, false, "timeout");
  });
}

void SimGateway::end_probe(std::uint64_t connection, bool success, std::string_view verdict) {
  const Probe probe = probing_.extract(connection).mapped();
  Upstream& upstream = upstreams_[probe.upstream];
  upstream.links[probe.endpoint]->close(connection);
  ProbeDone done;
  done.at = probe.begun;
  done.prober = name_;
  done.endpoint = upstream.policy->endpoint_name(probe.endpoint);
  done.verdict = intern(verdict);
  done.latency = queue_.now() - probe.begun;
  sink_.publish({name_, done});
  if (upstream.policy->on_probe_done(queue_.now(), probe.endpoint, success, verdict) &&
      !upstream.policy->endpoint_up(probe.endpoint)) {
    upstream.pools->pool(probe.endpoint).evict_all();
  }
  settle(probe.upstream);
  upstream.probes[probe.endpoint]->arm();
}

}  // namespace gatedrill::scenarios
