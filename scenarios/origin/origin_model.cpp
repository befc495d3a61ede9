#include "scenarios/origin/origin_model.hpp"

#include <algorithm>
#include <cassert>

#include "gateway/http/head.hpp"

namespace gatedrill::scenarios {

std::string_view to_string(OriginState state) {
  switch (state) {
    case OriginState::ready:
      return "ready";
    case OriginState::leaving:
      return "leaving";
    case OriginState::draining:
      return "draining";
    case OriginState::stopped:
      return "stopped";
    case OriginState::starting:
      return "starting";
  }
  return "";
}

std::string_view to_string(StopStyle style) {
  switch (style) {
    case StopStyle::graceful:
      return "graceful";
    case StopStyle::abrupt:
      return "abrupt";
  }
  return "";
}

std::vector<HealthFlap> repeated(const HealthFlap& flap, Duration period, Duration failing) {
  assert(period.count() > 0 && flap.until != kNever);
  std::vector<HealthFlap> flaps;
  for (TimePoint from = flap.from; from < flap.until; from += period) {
    HealthFlap one = flap;
    one.from = from;
    one.until = std::min(from + failing, flap.until);
    flaps.push_back(one);
  }
  return flaps;
}

OriginModel::OriginModel(OriginConfig config)
    : config_(std::move(config)), draw_(config_.seed, "origin") {
  assert(!config_.versions.empty() && config_.workers > 0);
}

bool OriginModel::listening() const {
  return state_ == OriginState::ready || state_ == OriginState::leaving;
}

bool OriginModel::is_health_path(std::string_view target) const {
  return health_endpoint(target) != nullptr;
}

const HealthEndpoint* OriginModel::health_endpoint(std::string_view target) const {
  const std::string_view path = http::path_of(target);
  if (path == config_.readiness.path) return &config_.readiness;
  if (path == config_.liveness.path) return &config_.liveness;
  return nullptr;
}

const HealthFlap* OriginModel::flap_on(const HealthEndpoint& endpoint, TimePoint now) const {
  const bool liveness = &endpoint == &config_.liveness;
  for (const HealthFlap& flap : config_.flaps) {
    if (flap.liveness == liveness && flap.from <= now && now < flap.until) return &flap;
  }
  return nullptr;
}

void OriginModel::on_connect(OriginConnection connection, TimePoint now) {
  wake(now);
  if (!listening()) {
    // It stopped at this very moment: what the kernel has accepted is reset.
    steps_.push_back({now, CloseConnection{connection, true}});
    return;
  }
  const auto [entry, added] = connections_.try_emplace(connection);
  assert(added);
  become_idle(connection, entry->second, now);
}

void OriginModel::on_bytes(OriginConnection connection, TimePoint now) {
  wake(now);
  const auto entry = connections_.find(connection);
  if (entry != connections_.end()) become_busy(connection, entry->second);
}

OriginTicket OriginModel::on_request(OriginConnection connection,
                                     const OriginRequest& request,
                                     TimePoint now) {
  wake(now);
  const auto entry = connections_.find(connection);
  if (entry == connections_.end()) return 0;
  Connection& peer = entry->second;
  assert(peer.owed == 0);
  become_busy(connection, peer);
  Work work;
  work.ticket = ++last_ticket_;
  work.connection = connection;
  work.request_id = request.request_id;
  work.attempt = request.attempt;
  work.ordinal = ++peer.requests;
  work.health = health_endpoint(request.target);
  peer.owed = work.ticket;
  if (work.health != nullptr) {
    on_probe(std::move(work), now);
  } else {
    queue_or_refuse(std::move(work), now);
  }
  const OriginTicket ticket = last_ticket_;
  wake(now);  // work without duration is done at once
  return ticket;
}

void OriginModel::on_probe(Work work, TimePoint now) {
  const bool readiness = work.health == &config_.readiness;
  work.status = readiness && state_ != OriginState::ready ? 503 : 200;
  if (const HealthFlap* flap = flap_on(*work.health, now)) {
    switch (flap->verdict) {
      case HealthFlap::Verdict::status:
        work.status = flap->status;
        break;
      case HealthFlap::Verdict::delay:
        work.extra = flap->delay;
        break;
      case HealthFlap::Verdict::drop:
        steps_.push_back({now, DropWork{work.ticket}});
        return;  // its connection stays as it is until the prober gives up
    }
  }
  if (work.health->uses_worker) {
    queue_or_refuse(std::move(work), now);
  } else {
    run(std::move(work), now);
  }
}

void OriginModel::queue_or_refuse(Work work, TimePoint now) {
  if (workers_busy_ >= config_.workers && queue_.size() >= config_.queue_max) {
    answer(work, SendAnswer::Source::queue_full, 503, now);
    return;
  }
  work.has_worker = true;
  queue_.push_back(std::move(work));
  start_queued(now);
}

void OriginModel::start_queued(TimePoint now) {
  while (!queue_.empty() && workers_busy_ < config_.workers) {
    Work work = std::move(queue_.front());
    queue_.pop_front();
    ++workers_busy_;
    if (work.health == nullptr) steps_.push_back({now, BeginWork{work.ticket, work.connection}});
    run(std::move(work), now);
  }
}

void OriginModel::run(Work work, TimePoint now) {
  const TimePoint done = now + service_time(work);
  const OriginTicket ticket = work.ticket;
  running_.emplace(std::pair(done, ticket), std::move(work));
}

Duration OriginModel::service_time(const Work& work) const {
  chaos::RequestSight sight;
  sight.request_id = work.request_id;
  sight.attempt = work.attempt;
  sight.connection = work.connection;
  sight.ordinal = work.ordinal;
  if (work.health != nullptr) {
    Duration time = work.health->latency.at(draw_.of_request(config_.name, sight, "health"));
    if (work.health->dependency != nullptr) time += work.health->dependency->call(sight);
    return time + work.extra;
  }
  Duration time = version().latency.at(draw_.of_request(config_.name, sight, "service"));
  for (const DependencyUse& use : version().dependencies) {
    if (!use.cached) time += use.dependency->call(sight);
  }
  return time;
}

void OriginModel::finish(TimePoint now) {
  const auto first = running_.begin();
  const Work work = std::move(first->second);
  running_.erase(first);
  if (work.has_worker) --workers_busy_;
  const auto source =
      work.health != nullptr ? SendAnswer::Source::health : SendAnswer::Source::service;
  answer(work, source, work.status, now);
  start_queued(now);
  end_if_drained(now);
}

void OriginModel::answer(const Work& work, SendAnswer::Source source, int status, TimePoint now) {
  const auto entry = connections_.find(work.connection);
  if (entry == connections_.end() || entry->second.owed != work.ticket) {
    steps_.push_back({now, DropWork{work.ticket}});  // its client has gone
    return;
  }
  Connection& connection = entry->second;
  const bool used_up = config_.requests_per_connection_max != 0 &&
                       connection.requests >= config_.requests_per_connection_max;
  const bool close = state_ == OriginState::draining || used_up;
  steps_.push_back({now, SendAnswer{work.ticket, work.connection, source, status, close}});
  connection.owed = 0;
  if (close) {
    forget(entry);
  } else {
    become_idle(work.connection, connection, now);
  }
}

void OriginModel::become_idle(OriginConnection id, Connection& connection, TimePoint now) {
  connection.idle = true;
  connection.idle_until = now + config_.keep_alive;
  idle_.emplace(connection.idle_until, id);
}

void OriginModel::become_busy(OriginConnection id, Connection& connection) {
  if (!connection.idle) return;
  idle_.erase({connection.idle_until, id});
  connection.idle = false;
}

void OriginModel::forget(std::map<OriginConnection, Connection>::iterator connection) {
  become_busy(connection->first, connection->second);
  connections_.erase(connection);
}

void OriginModel::on_peer_closed(OriginConnection connection, TimePoint now) {
  wake(now);
  const auto entry = connections_.find(connection);
  if (entry == connections_.end()) return;
  forget(entry);
  end_if_drained(now);
}

void OriginModel::stop(const StopOrder& order, TimePoint now) {
  wake(now);
  if (state_ != OriginState::ready) return;
  assert(order.version < config_.versions.size());
  order_ = order;
  change_state(OriginState::leaving, now);
  phase_until_ = now + order.removal_wait;
  wake(now);
}

void OriginModel::start(TimePoint now) {
  wake(now);
  if (state_ != OriginState::stopped) return;
  order_.start_again = true;
  go_down(now);
}

TimePoint OriginModel::next_wakeup() const {
  TimePoint next = phase_until_;
  if (!running_.empty()) next = std::min(next, running_.begin()->first.first);
  if (!idle_.empty()) next = std::min(next, idle_.begin()->first);
  return next;
}

void OriginModel::wake(TimePoint now) {
  // One thing at a time, each at the time it was due; answers before the stop that would cut them
  // off.
  for (TimePoint due = next_wakeup(); due <= now && due != kNever; due = next_wakeup()) {
    if (!running_.empty() && running_.begin()->first.first == due) {
      finish(due);
    } else if (phase_until_ == due) {
      on_phase_end(due);
    } else {
      close_idle_due(due);
    }
  }
}

void OriginModel::close_idle_due(TimePoint now) {
  const OriginConnection id = idle_.begin()->second;
  steps_.push_back({now, CloseConnection{id, false}});
  forget(connections_.find(id));
}

void OriginModel::on_phase_end(TimePoint now) {
  phase_until_ = kNever;
  switch (state_) {
    case OriginState::leaving:
      begin_stop(now);
      return;
    case OriginState::draining:
      close_all(false, now);
      go_down(now);
      return;
    case OriginState::starting:
      version_ = order_.version;
      change_state(OriginState::ready, now);
      steps_.push_back({now, SetListening{true}});
      return;
    case OriginState::ready:
    case OriginState::stopped:
      return;
  }
}

void OriginModel::begin_stop(TimePoint now) {
  steps_.push_back({now, SetListening{false}});
  if (order_.style == StopStyle::abrupt) {
    close_all(false, now);
    go_down(now);
    return;
  }
  change_state(OriginState::draining, now);
  phase_until_ = now + order_.drain_max;
  close_all(true, now);
  end_if_drained(now);
}

void OriginModel::close_all(bool only_idle, TimePoint now) {
  for (auto entry = connections_.begin(); entry != connections_.end();) {
    const auto current = entry++;
    if (only_idle && !current->second.idle) continue;
    const bool owes = current->second.owed != 0;
    steps_.push_back({now, CloseConnection{current->first, owes}});
    forget(current);
  }
}

void OriginModel::end_if_drained(TimePoint now) {
  if (state_ == OriginState::draining && connections_.empty() && running_.empty() &&
      queue_.empty()) {
    go_down(now);
  }
}

void OriginModel::go_down(TimePoint now) {
  queue_.clear();
  running_.clear();
  workers_busy_ = 0;
  if (!order_.start_again) {
    phase_until_ = kNever;
    change_state(OriginState::stopped, now);
    return;
  }
  change_state(OriginState::starting, now);
  ++starts_;
  Duration fill{0};
  for (const DependencyUse& use : config_.versions[order_.version].dependencies) {
    if (use.cached) fill = std::max(fill, use.dependency->call_at_start(config_.name, starts_));
  }
  phase_until_ = now + order_.start_time + fill;
}

void OriginModel::change_state(OriginState to, TimePoint now) {
  steps_.push_back({now, ChangeState{state_, to}});
  state_ = to;
}

}  // namespace gatedrill::scenarios
