#include "scenarios/sim/sim_link.hpp"

#include <utility>

namespace gatedrill::scenarios {

SimLink::SimLink(const Parts& parts,
                 chaos::LinkModel::Settings settings,
                 chaos::FaultRun& faults,
                 OriginConfig origin)
    : parts_(parts),
      model_(std::move(settings), faults),
      origin_(std::move(origin)),
      origin_wakeup_(
          *parts.queue,
          [this] { return origin_.next_wakeup(); },
          [this] {
            origin_.wake(parts_.queue->now());
            take_origin_steps();
          }) {
  take_origin_steps();
}

bool SimLink::connect(std::uint64_t connection) {
  const TimePoint now = parts_.queue->now();
  if (!model_.accepts(now)) {
    if (const auto fault = model_.refusing_fault(now)) {
      FaultHit hit;
      hit.at = now;
      hit.fault = *fault;
      hit.target = model_.target();
      hit.planned = "connection refused";
      hit.observed = "connection refused";
      parts_.sink->publish({parts_.gateway, hit});
    }
    return false;
  }
  Connection& made = connections_[connection];
  made.number = ++connections_made_;
  made.idle_since = now;
  origin_.on_connect(connection, now);
  take_origin_steps();
  if (const auto verdict = model_.on_connect(now, made.number); verdict.reset) {
    chaos::RequestVerdict hits;
    hits.hits.push_back(*verdict.reset);
    publish_hits(made, hits);
    parts_.queue->at(now, [this, connection] { reset_both(connection); });
  }
  watch_resets(connection);
  return true;
}

void SimLink::send(std::uint64_t id, const SimRequest& request) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  const TimePoint now = parts_.queue->now();
  ++connection.ordinal;
  connection.busy = true;
  connection.request = request;
  chaos::RequestSight sight;
  sight.request_id = request.request_id.view();
  sight.method = request.method;
  sight.target = request.target;
  sight.connection = connection.number;
  sight.ordinal = connection.ordinal;
  sight.idle = connection.ordinal == 1 ? Duration{0} : now - connection.idle_since;
  connection.verdict = model_.on_request(now, sight);
  publish_hits(connection, connection.verdict);
  const TimePoint arrival = connection.to_origin.at(now + connection.verdict.to_origin);
  if (connection.verdict.reset == chaos::ResetMoment::before_origin) {
    parts_.queue->at(arrival, [this, id] { reset_both(id); });
    return;
  }
  parts_.queue->at(arrival, [this, id] { arrive(id); });
}

// The request is at the origin, unless the origin has closed in the meantime: then it is lost, and
// the news of the close is on its way to the gateway already.
void SimLink::arrive(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || !found->second.open_at_origin) return;
  const Connection& connection = found->second;
  OriginRequest request;
  request.request_id = connection.request.request_id.view();
  const bool probe = origin_.is_health_path(connection.request.target);
  if (!probe) request.attempt = parts_.attempts_at_origins->see(request.request_id);
  request.method = connection.request.method;
  request.target = connection.request.target;
  const OriginTicket ticket = origin_.on_request(id, request, parts_.queue->now());
  if (ticket != 0 && !probe) not_begun_[ticket] = connection.request;
  take_origin_steps();
}

void SimLink::close(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || !found->second.open_at_gateway) return;
  Connection& connection = found->second;
  connection.open_at_gateway = false;
  const TimePoint now = parts_.queue->now();
  const Duration delay = model_.close_delay(now, chaos::Direction::to_origin, connection.number);
  parts_.queue->at(connection.to_origin.at(now + delay), [this, id] {
    const auto closing = connections_.find(id);
    if (closing == connections_.end()) return;
    if (closing->second.open_at_origin) {
      closing->second.open_at_origin = false;
      origin_.on_peer_closed(id, parts_.queue->now());
      take_origin_steps();
    }
    forget_if_closed(id);
  });
}

void SimLink::stop(const StopOrder& order) {
  origin_.stop(order, parts_.queue->now());
  take_origin_steps();
}

void SimLink::take_origin_steps() {
  for (const OriginStep& step : origin_.take_steps())
    take(step);
  origin_wakeup_.arm();
}

void SimLink::take(const OriginStep& step) {
  if (const auto* begin = std::get_if<BeginWork>(&step.body)) {
    // The work is done whether or not its client is still there.
    const auto begun = not_begun_.extract(begin->ticket);
    if (begun.empty()) return;
    const SimRequest& request = begun.mapped();
    Execution execution;
    execution.request_id = request.request_id;
    execution.business_key =
        request.business_key.empty() ? request.request_id.view() : request.business_key;
    execution.endpoint = intern(origin_.name());
    execution.method = request.method_name;
    execution.path = request.path_name;
    execution.at = step.at;
    parts_.sink->publish({parts_.gateway, execution});
  } else if (const auto* send_answer = std::get_if<SendAnswer>(&step.body)) {
    answer(step.at, *send_answer);
  } else if (const auto* closing = std::get_if<CloseConnection>(&step.body)) {
    const auto found = connections_.find(closing->connection);
    if (found == connections_.end()) return;
    found->second.open_at_origin = false;
    deliver_close(closing->connection, step.at);
  } else if (const auto* listening = std::get_if<SetListening>(&step.body)) {
    model_.set_origin_listening(listening->listening);
  } else if (const auto* change = std::get_if<ChangeState>(&step.body)) {
    Transition transition;
    transition.at = step.at;
    transition.kind = Transition::Kind::drain;
    transition.subject = intern(origin_.name());
    transition.from_state = intern(to_string(change->from));
    transition.to_state = intern(to_string(change->to));
    transition.reason = intern(origin_.version().name);
    parts_.sink->publish({parts_.gateway, transition});
  }
}

void SimLink::answer(TimePoint at, const SendAnswer& step) {
  const auto found = connections_.find(step.connection);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (step.close) connection.open_at_origin = false;
  SimAnswer answer;
  answer.status = step.status;
  answer.close = step.close;
  answer.head_growth = connection.verdict.head_growth;
  if (step.source == SendAnswer::Source::service) {
    answer.answer = &parts_.answers->choose(connection.request.method, connection.request.target,
                                            connection.request.exchange, *parts_.turns);
    answer.status = answer.answer->status;
  }
  const std::uint64_t id = step.connection;
  if (connection.verdict.reset == chaos::ResetMoment::after_origin) {
    parts_.queue->at(at, [this, id] { reset_both(id); });
    return;
  }
  const TimePoint arrival = connection.to_gateway.at(at + connection.verdict.to_gateway);
  parts_.queue->at(arrival, [this, id, answer] {
    const auto arriving = connections_.find(id);
    if (arriving == connections_.end() || !arriving->second.open_at_gateway) return;
    arriving->second.busy = false;
    arriving->second.idle_since = parts_.queue->now();
    ends_.answered(id, answer);
    watch_resets(id);
  });
  if (step.close) deliver_close(id, at);
}

// FIN or RST left the origin at that time.
void SimLink::deliver_close(std::uint64_t id, TimePoint at) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  const Duration delay = model_.close_delay(at, chaos::Direction::to_gateway, connection.number);
  parts_.queue->at(connection.to_gateway.at(at + delay), [this, id] {
    const auto closing = connections_.find(id);
    if (closing == connections_.end()) return;
    const bool tell = std::exchange(closing->second.open_at_gateway, false);
    forget_if_closed(id);
    if (tell) ends_.closed(id);
  });
}

// The link itself resets the connection: the origin's end now, the gateway's one way later.
void SimLink::reset_both(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (std::exchange(found->second.open_at_origin, false)) {
    origin_.on_peer_closed(id, parts_.queue->now());
    take_origin_steps();
  }
  deliver_close(id, parts_.queue->now());
}

void SimLink::watch_resets(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const Connection& connection = found->second;
  const auto idle_since = connection.busy || connection.ordinal == 0
                              ? std::nullopt
                              : std::optional<TimePoint>{connection.idle_since};
  const auto due = model_.reset_due(parts_.queue->now(), connection.number, idle_since);
  if (!due) return;
  const std::uint32_t ordinal = connection.ordinal;
  parts_.queue->at(due->at, [this, id, ordinal, reset = *due] {
    const auto watched = connections_.find(id);
    if (watched == connections_.end() || !watched->second.open_at_gateway) return;
    // An idle limit is void once another request has come; what hits all connections is not.
    const bool same = watched->second.ordinal == ordinal;
    if (!same) return watch_resets(id);
    if (!model_.take_reset(reset)) return;
    chaos::RequestVerdict hits;
    hits.hits.push_back(reset.hit);
    publish_hits(watched->second, hits);
    reset_both(id);
  });
}

void SimLink::publish_hits(const Connection& connection, const chaos::RequestVerdict& verdict) {
  for (const chaos::PlannedHit& planned : verdict.hits) {
    FaultHit hit;
    hit.at = parts_.queue->now();
    hit.fault = planned.fault;
    hit.target = model_.target();
    hit.request_id = connection.request.request_id;
    hit.attempt = static_cast<std::uint8_t>(verdict.attempt);
    hit.planned = planned.planned;
    hit.observed = "as planned (simulated)";
    parts_.sink->publish({parts_.gateway, hit});
  }
}

void SimLink::forget_if_closed(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (!found->second.open_at_gateway && !found->second.open_at_origin) connections_.erase(found);
}

}  // namespace gatedrill::scenarios
