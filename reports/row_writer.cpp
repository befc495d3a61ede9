#include "reports/row_writer.hpp"

#include <algorithm>
#include <string>

#include <sqlite3.h>

#include "reports/hdr_codec.hpp"

namespace gatedrill::reports {
namespace {

// A statement's parameters, in order.
class Row {
 public:
  explicit Row(Statement& statement) : statement_(statement) {}

  Row& name(NameId id) { return text(name_of(id)); }

  // Everything is told by gateway, so one without a name gets one.
  Row& gateway(NameId id) { return text(id ? name_of(id) : "gateway"); }

  Row& text(std::string_view value) {
    ++index_;
    if (value.empty()) {
      statement_.bind_null(index_);
    } else {
      statement_.bind(index_, value);
    }
    return *this;
  }

  Row& time(TimePoint at) {
    ++index_;
    if (at == kNever) {
      statement_.bind_null(index_);
    } else {
      statement_.bind(index_, std::int64_t{at.time_since_epoch().count()});
    }
    return *this;
  }

  Row& duration(Duration value) { return number(value.count()); }

  Row& phase(Duration value) {
    if (value != PhaseTimes::kNotBegun) return duration(value);
    statement_.bind_null(++index_);
    return *this;
  }

  template <class Integer>
  Row& number(Integer value) {
    statement_.bind(++index_, static_cast<std::int64_t>(value));
    return *this;
  }

  // Zero says that there is none.
  template <class Integer>
  Row& number_if_any(Integer value) {
    if (value != 0) return number(value);
    statement_.bind_null(++index_);
    return *this;
  }

  Row& blob(std::string_view bytes) {
    statement_.bind_blob(++index_, bytes);
    return *this;
  }

  int write() { return statement_.run(); }

 private:
  Statement& statement_;
  int index_ = 0;
};

TimePoint end_of(const RequestDone& event) {
  return event.at + event.latency;
}

TimePoint end_of(const AttemptDone& event) {
  return event.at + event.latency;
}

TimePoint end_of(const SendDone& event) {
  if (event.done != kNever) return event.done;
  return event.sent != kNever ? event.sent : event.intended;
}

TimePoint end_of(const Execution& event) {
  return event.at;
}

TimePoint end_of(const Transition& event) {
  return event.at;
}

TimePoint end_of(const ProbeDone& event) {
  return event.at + event.latency;
}

TimePoint end_of(const Eviction& event) {
  return event.at;
}

TimePoint end_of(const FaultWindow& event) {
  return event.at;
}

TimePoint end_of(const FaultHit& event) {
  return event.at;
}

TimePoint end_of(const ResourceSample& event) {
  return event.at;
}

TimePoint end_of(const Dropped& /*event*/) {
  return TimePoint{};
}

}  // namespace

Result<RowWriter> RowWriter::prepare(Database& database) {
  struct Table {
    Statement& statement;
    const char* name;
    int columns;
    const char* verb = "INSERT INTO";
    const char* conflict = "";
  };

  constexpr const char* kAdd =
      " ON CONFLICT(second, coalesce(gateway, ''), coalesce(route, ''), coalesce(status, 0), "
      "cause) "
      "DO UPDATE SET requests = requests + excluded.requests, "
      "upstream_attempts = upstream_attempts + excluded.upstream_attempts, "
      "reached = reached + excluded.reached";

  RowWriter writer;
  for (const Table& table :
       {Table{writer.request_, "t_request", 16}, Table{writer.attempt_, "t_attempt", 19},
        Table{writer.send_, "t_send", 14}, Table{writer.execution_, "t_execution", 7},
        Table{writer.transition_, "t_transition", 7}, Table{writer.probe_, "t_probe", 6},
        Table{writer.eviction_, "t_eviction", 8}, Table{writer.fault_, "t_fault", 6},
        Table{writer.fault_hit_, "t_fault_hit", 8}, Table{writer.resource_, "t_resource", 9},
        Table{writer.dropped_, "t_dropped", 3},
        Table{writer.outcome_, "t_per_second", 8, "INSERT INTO", kAdd},
        Table{writer.latency_, "t_latency", 10, "INSERT OR REPLACE INTO"},
        Table{writer.phase_, "t_phase", 4}}) {
    std::string sql = std::string(table.verb) + " " + table.name + " VALUES(?";
    for (int i = 1; i < table.columns; ++i)
      sql += ",?";
    Result<Statement> statement = database.prepare(sql + ")" + table.conflict);
    if (!statement) return statement.error();
    table.statement = std::move(*statement);
  }
  Result<Statement> known = database.prepare(
      "SELECT histogram, max_ns FROM t_latency WHERE second = ? AND coalesce(gateway, '') = ? AND "
      "coalesce(route, '') = ?");
  if (!known) return known.error();
  writer.known_latency_ = std::move(*known);
  return writer;
}

int RowWriter::write(const Event& event, std::uint32_t weight) {
  return std::visit([&](const auto& body) { return insert(event.gateway, body, weight); },
                    event.body);
}

TimePoint RowWriter::time_of(const Event& event) {
  return std::visit([](const auto& body) { return end_of(body); }, event.body);
}

int RowWriter::insert(NameId gateway, const RequestDone& event, std::uint32_t weight) {
  return Row(request_)
      .gateway(gateway)
      .text(event.request_id.view())
      .time(event.at)
      .name(event.client)
      .name(event.method)
      .name(event.path)
      .name(event.route)
      .name(event.upstream)
      .number_if_any(event.status)
      .text(to_string(event.cause))
      .number(event.retries_exhausted)
      .duration(event.latency)
      .number(event.attempts)
      .name(event.limiter)
      .name(event.limiter_key)
      .number(weight)
      .write();
}

int RowWriter::insert(NameId gateway, const AttemptDone& event, std::uint32_t weight) {
  return Row(attempt_)
      .gateway(gateway)
      .text(event.request_id.view())
      .number(event.attempt)
      .time(event.at)
      .name(event.upstream)
      .name(event.endpoint)
      .number(event.reused)
      .number_if_any(event.connection_id)
      .duration(event.connection_age)
      .number(event.connection_ordinal)
      .number_if_any(event.status)
      .text(to_string(event.cause))
      .duration(event.latency)
      .name(event.why_retried)
      .number(weight)
      .phase(event.phases.connect)
      .phase(event.phases.send)
      .phase(event.phases.wait)
      .phase(event.phases.receive)
      .write();
}

int RowWriter::insert(NameId gateway, const SendDone& event, std::uint32_t /*weight*/) {
  return Row(send_)
      .gateway(gateway)
      .text(event.request_id.view())
      .name(event.source)
      .time(event.intended)
      .time(event.sent)
      .time(event.done)
      .number_if_any(event.status)
      .number(event.body_complete)
      .name(event.error)
      .name(event.method)
      .name(event.path)
      .number_if_any(event.status_expected)
      .number(event.body_as_expected)
      .number(event.side_connection)
      .write();
}

int RowWriter::insert(NameId gateway, const Execution& event, std::uint32_t /*weight*/) {
  return Row(execution_)
      .gateway(gateway)
      .text(event.request_id.view())
      .text(event.business_key.view())
      .name(event.endpoint)
      .time(event.at)
      .name(event.method)
      .name(event.path)
      .write();
}

int RowWriter::insert(NameId gateway, const Transition& event, std::uint32_t /*weight*/) {
  return Row(transition_)
      .gateway(gateway)
      .time(event.at)
      .text(to_string(event.kind))
      .name(event.subject)
      .name(event.from_state)
      .name(event.to_state)
      .name(event.reason)
      .write();
}

int RowWriter::insert(NameId gateway, const ProbeDone& event, std::uint32_t /*weight*/) {
  return Row(probe_)
      .gateway(gateway)
      .time(event.at)
      .name(event.prober)
      .name(event.endpoint)
      .name(event.verdict)
      .duration(event.latency)
      .write();
}

int RowWriter::insert(NameId gateway, const Eviction& event, std::uint32_t /*weight*/) {
  return Row(eviction_)
      .gateway(gateway)
      .time(event.at)
      .name(event.upstream)
      .name(event.endpoint)
      .number_if_any(event.connection_id)
      .name(event.reason)
      .duration(event.age)
      .number(event.requests)
      .write();
}

int RowWriter::insert(NameId gateway, const FaultWindow& event, std::uint32_t /*weight*/) {
  return Row(fault_)
      .gateway(gateway)
      .time(event.at)
      .time(event.until)
      .name(event.name)
      .name(event.kind)
      .name(event.target)
      .write();
}

int RowWriter::insert(NameId gateway, const FaultHit& event, std::uint32_t /*weight*/) {
  return Row(fault_hit_)
      .gateway(gateway)
      .time(event.at)
      .name(event.fault)
      .name(event.target)
      .text(event.request_id.view())
      .number_if_any(event.attempt)
      .text(event.planned.view())
      .text(event.observed.view())
      .write();
}

int RowWriter::insert(NameId gateway, const ResourceSample& event, std::uint32_t /*weight*/) {
  return Row(resource_)
      .gateway(gateway)
      .time(event.at)
      .name(event.process)
      .duration(event.cpu)
      .number(event.rss_bytes)
      .number(event.fds)
      .number(event.client_connections)
      .number(event.upstream_connections)
      .number(event.time_wait)
      .write();
}

int RowWriter::insert(NameId /*gateway*/, const Dropped& event, std::uint32_t /*weight*/) {
  const std::string_view place = name_of(event.place);
  return Row(dropped_)
      .text(place.empty() ? "unknown" : place)
      .number(event.count)
      .name(event.reason)
      .write();
}

int RowWriter::write(const Tally::Outcome& outcome) {
  return Row(outcome_)
      .gateway(outcome.gateway)
      .number(outcome.second)
      .name(outcome.route)
      .number_if_any(outcome.status)
      .text(to_string(outcome.cause))
      .number(outcome.count.requests)
      .number(outcome.count.upstream_attempts)
      .number(outcome.count.reached)
      .write();
}

// What this second was given before, if anything.
void RowWriter::merge_known(const Tally::Latency& latency, Histogram& histogram) {
  known_latency_.bind(1, latency.second);
  known_latency_.bind(2, name_of(latency.gateway));
  known_latency_.bind(3, name_of(latency.route));
  if (known_latency_.step() == SQLITE_ROW) {
    if (const Result<Histogram> known = decode_hdr(known_latency_.blob(0))) {
      histogram.merge(Histogram::from_counts(known->counts(), Duration{known_latency_.integer(1)}));
    }
  }
  known_latency_.reset();
}

int RowWriter::write(const Tally::Latency& latency) {
  Histogram histogram = latency.histogram;
  merge_known(latency, histogram);
  const std::string bytes = encode_hdr(histogram);
  return Row(latency_)
      .gateway(latency.gateway)
      .number(latency.second)
      .name(latency.route)
      .duration(histogram.at_quantile(0.5))
      .duration(histogram.at_quantile(0.9))
      .duration(histogram.at_quantile(0.99))
      .duration(histogram.at_quantile(0.999))
      .duration(histogram.max())
      .number(histogram.count())
      .blob(bytes)
      .write();
}

int RowWriter::write_phase(std::string_view name, TimePoint from, TimePoint until, NameId gateway) {
  return Row(phase_).text(name).name(gateway).time(from).time(until).write();
}

}  // namespace gatedrill::reports
