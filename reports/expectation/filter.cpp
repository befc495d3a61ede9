#include "reports/expectation/filter.hpp"

#include <algorithm>

namespace gatedrill::reports {
namespace {

using Subject = Condition::Subject;

// The column of a subject, empty where the source does not know it.
std::string_view column_of(Source source, Subject subject) {
  const bool attempts = source == Source::attempts;
  const bool requests = source == Source::requests;
  const bool sends = source == Source::sends;
  const bool counters = source == Source::counters;
  switch (subject) {
    case Subject::method:
      return counters ? "" : attempts ? "r.method" : "method";
    case Subject::path:
      return counters ? "" : attempts ? "r.path" : "path";
    case Subject::route:
      return sends ? "" : attempts ? "r.route" : "route";
    case Subject::upstream:
      return attempts ? "a.upstream" : requests ? "upstream" : "";
    case Subject::endpoint:
      return attempts ? "a.endpoint" : "";
    case Subject::source:
      return sends ? "source" : "";
    case Subject::cause:
      return sends ? "" : attempts ? "a.cause" : "cause";
    case Subject::status:
    case Subject::failed:
      return attempts ? "a.status" : "status";
  }
  return "";
}

}  // namespace

std::string_view from_clause(Source source) {
  switch (source) {
    case Source::counters:
      return " FROM t_per_second WHERE gateway IS ?";
    case Source::requests:
      return " FROM t_request WHERE gateway IS ?";
    case Source::attempts:
      return " FROM t_attempt a LEFT JOIN t_request r ON r.gateway IS a.gateway "
             "AND r.request_id = a.request_id WHERE a.gateway IS ?";
    case Source::sends:
      return " FROM t_send WHERE gateway IS ?";
  }
  return "";
}

std::string_view weight_column(Source source) {
  switch (source) {
    case Source::counters:
      return "requests";
    case Source::requests:
      return "weight";
    case Source::attempts:
      return "a.weight";
    case Source::sends:
      return "1";
  }
  return "1";
}

std::string_view time_column(Source source) {
  switch (source) {
    case Source::counters:
      return "second * 1000000000";
    case Source::requests:
      return "at_ns";
    case Source::attempts:
      return "a.at_ns";
    case Source::sends:
      return "intended_ns";
  }
  return "at_ns";
}

const Condition* unknown_to(Source source, std::span<const Condition> conditions) {
  const auto found = std::ranges::find_if(conditions, [source](const Condition& condition) {
    return column_of(source, condition.subject).empty();
  });
  return found == conditions.end() ? nullptr : &*found;
}

Filter& Filter::where(std::span<const Condition> conditions) {
  for (const Condition& condition : conditions)
    where(condition);
  return *this;
}

void Filter::where(const Condition& condition) {
  const std::string column(column_of(source_, condition.subject));
  const bool negated = condition.comparison == Comparison::not_equal;
  sql_ += negated ? " AND NOT (" : " AND (";
  if (condition.subject == Subject::failed) {
    sql_ += column + " IS NULL OR " + column + " >= 400";
  } else if (condition.subject == Subject::status) {
    if (condition.no_answer) {
      sql_ += column + " IS NULL";
    } else if (condition.comparison == Comparison::equal || negated) {
      sql_ += column + " IS NOT NULL AND " + column + " BETWEEN ? AND ?";
      values_.emplace_back(std::int64_t{condition.status_from});
      values_.emplace_back(std::int64_t{condition.status_until});
    } else {
      sql_ += column + " " + std::string(to_string(condition.comparison)) + " ?";
      values_.emplace_back(std::int64_t{condition.status_from});
    }
  } else if (condition.prefix) {
    sql_ += "instr(coalesce(" + column + ", ''), ?) = 1";
    values_.emplace_back(condition.text);
  } else {
    sql_ += "coalesce(" + column + ", '') = ?";
    values_.emplace_back(condition.text);
  }
  sql_ += ")";
}

Filter& Filter::when(const When& when, std::span<const Stretch> stretches) {
  using Relation = When::Relation;
  if (when.relation == Relation::whole) return *this;
  const std::string time(time_column(source_));
  std::int64_t first = INT64_MAX;
  std::int64_t last = 0;
  std::string inside;
  for (const Stretch& stretch : stretches) {
    first = std::min(first, stretch.from);
    last = std::max(last, stretch.until.value_or(INT64_MAX));
    inside += std::string(inside.empty() ? "" : " OR ") + "(" + time +
              " >= " + std::to_string(stretch.from) + " AND " + time + " < " +
              std::to_string(stretch.until.value_or(INT64_MAX)) + ")";
  }
  if (when.relation == Relation::during) sql_ += " AND (" + inside + ")";
  if (when.relation == Relation::outside) sql_ += " AND NOT (" + inside + ")";
  if (when.relation == Relation::before) sql_ += " AND " + time + " < " + std::to_string(first);
  if (when.relation == Relation::after) sql_ += " AND " + time + " >= " + std::to_string(last);
  return *this;
}

std::string Filter::select(std::string_view what) const {
  return "SELECT " + std::string(what) + std::string(from_clause(source_)) + sql_;
}

void Filter::bind(Statement& statement) const {
  statement.bind(1, std::string_view(gateway_));
  int index = 1;
  for (const Value& value : values_) {
    ++index;
    if (const auto* text = std::get_if<std::string>(&value)) {
      statement.bind(index, std::string_view(*text));
    } else {
      statement.bind(index, std::get<std::int64_t>(value));
    }
  }
}

}  // namespace gatedrill::reports
