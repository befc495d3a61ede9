#include "reports/expectation/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <sqlite3.h>

#include "reports/expectation/filter.hpp"
#include "reports/figures.hpp"
#include "reports/hdr_codec.hpp"

namespace gatedrill::reports {
namespace {

using Measure = Expression::Measure;

// Of a gateway that is not ours, which records nothing itself.
constexpr const char* kSeenFromOutside = "as its client saw it";

bool needs_rows(std::span<const Condition> conditions) {
  return unknown_to(Source::counters, conditions) != nullptr;
}

bool asks_for_endpoints(std::span<const Condition> conditions) {
  return std::ranges::any_of(conditions, [](const Condition& condition) {
    return condition.subject == Condition::Subject::endpoint;
  });
}

bool asks_for_routes_only(std::span<const Condition> conditions) {
  return std::ranges::all_of(conditions, [](const Condition& condition) {
    return condition.subject == Condition::Subject::route;
  });
}

std::string join(std::string left, std::string_view right) {
  if (right.empty()) return left;
  if (!left.empty()) left += "; ";
  return left + std::string(right);
}

// One expression for one gateway. Reading errors are kept in error_ and reported once.
class Evaluation {
 public:
  Evaluation(Database& database, const Expression& expression, const std::string& gateway)
      : database_(database), expression_(expression), gateway_(gateway) {}

  Result<Figure> figure() {
    Figure figure = measured();
    if (error_) return *error_;
    return figure;
  }

 private:
  Figure measured();
  Figure count();
  Figure share();
  Figure quantile();
  Figure mean();
  Figure amplification();
  Figure amplification_from_outside();
  Figure duplicates();
  Figure recovery();
  Figure answered_as_recorded();
  Figure missing();
  Figure sql();

  Figure no_data(std::string why) const { return Figure{std::nullopt, "no data", std::move(why)}; }

  // Chooses the source of the expression's conditions; a figure without data if none knows them.
  std::optional<Figure> choose(std::span<const Condition> all_conditions);
  bool has_rows(const char* table);
  bool sampled();

  Filter filter(Source source) const {
    Filter made(source, gateway_);
    made.when(expression_.when, stretches_);
    return made;
  }

  // The sum of a whole-number column over a filter.
  std::int64_t sum(const Filter& filter, const std::string& what);
  Histogram histogram();
  std::vector<std::pair<std::int64_t, std::int64_t>> latencies(Source source);  // ns, weight
  std::vector<Stretch> stretches_of(const When& when);

  // Reads rows until the use is done with them or there are none left.
  template <class Use>
  void rows(const Filter& filter, const std::string& what, Use use);

  Database& database_;
  const Expression& expression_;
  const std::string& gateway_;
  std::vector<Stretch> stretches_;
  Source source_ = Source::counters;
  std::string note_;
  std::optional<Error> error_;
};

template <class Use>
void Evaluation::rows(const Filter& filter, const std::string& what, Use use) {
  if (error_) return;
  Result<Statement> query = database_.prepare(filter.select(what));
  if (!query) {
    error_ = query.error();
    return;
  }
  filter.bind(*query);
  int code = query->step();
  for (; code == SQLITE_ROW; code = query->step())
    use(*query);
  if (code != SQLITE_DONE) error_ = database_.error(code);
}

std::int64_t Evaluation::sum(const Filter& filter, const std::string& what) {
  std::int64_t value = 0;
  rows(filter, "coalesce(sum(" + what + "), 0)",
       [&value](const Statement& row) { value = row.integer(0); });
  return value;
}

bool Evaluation::has_rows(const char* table) {
  if (error_) return false;
  Result<Statement> query =
      database_.prepare(std::string("SELECT 1 FROM ") + table + " WHERE gateway IS ? LIMIT 1");
  if (!query) {
    error_ = query.error();
    return false;
  }
  query->bind(1, std::string_view(gateway_));
  return query->step() == SQLITE_ROW;
}

bool Evaluation::sampled() {
  bool found = false;
  rows(Filter(Source::requests, gateway_), "max(weight) > 1",
       [&found](const Statement& row) { found = row.integer(0) != 0; });
  return found;
}

std::vector<Stretch> Evaluation::stretches_of(const When& when) {
  std::vector<Stretch> found;
  Result<Statement> query = database_.prepare(
      "SELECT name, from_ns, until_ns FROM t_phase WHERE gateway IS NULL OR gateway = ? "
      "ORDER BY from_ns, rowid");
  if (!query) {
    error_ = query.error();
    return found;
  }
  query->bind(1, std::string_view(gateway_));
  while (query->step() == SQLITE_ROW) {
    Stretch stretch{query->text(0), query->integer(1), std::nullopt};
    if (!query->is_null(2)) stretch.until = query->integer(2);
    if (when.matches(stretch.name)) found.push_back(std::move(stretch));
  }
  return found;
}

std::optional<Figure> Evaluation::choose(std::span<const Condition> all_conditions) {
  if (has_rows("t_per_second")) {
    const bool rows_wanted =
        needs_rows(all_conditions) || expression_.when.relation != When::Relation::whole;
    source_ = rows_wanted ? Source::requests : Source::counters;
    if (asks_for_endpoints(all_conditions)) {
      source_ = Source::attempts;
      note_ = "attempts are counted, not requests";
    }
    if (source_ != Source::counters && sampled()) {
      note_ = join(note_, "from sampled rows and their weights");
    }
  } else if (has_rows("t_send")) {
    source_ = Source::sends;
    note_ = kSeenFromOutside;
  } else {
    return no_data("nothing was recorded of this gateway");
  }
  if (const Condition* unknown = unknown_to(source_, all_conditions)) {
    const std::string subject(to_string(unknown->subject));
    return no_data(source_ == Source::sends
                       ? "no " + subject + " is known: this gateway is seen from outside only"
                       : "no " + subject + " is recorded there");
  }
  return std::nullopt;
}

Figure Evaluation::measured() {
  if (expression_.when.relation != When::Relation::whole) {
    stretches_ = stretches_of(expression_.when);
    if (stretches_.empty()) {
      return no_data("the run has no phase " + expression_.when.phase +
                     (expression_.when.prefix ? "*" : ""));
    }
  }
  switch (expression_.measure) {
    case Measure::count:
      return count();
    case Measure::share:
      return share();
    case Measure::quantile:
      return quantile();
    case Measure::mean:
      return mean();
    case Measure::amplification:
      return amplification();
    case Measure::duplicates:
      return duplicates();
    case Measure::recovery:
      return recovery();
    case Measure::answered_as_recorded:
      return answered_as_recorded();
    case Measure::missing:
      return missing();
    case Measure::sql:
      return sql();
  }
  return no_data("");
}

// That nothing matched is a figure only if there was something that could have.
Figure Evaluation::count() {
  if (std::optional<Figure> none = choose(expression_.conditions)) return *none;
  const std::string weight(weight_column(source_));
  if (sum(filter(source_), weight) == 0) return no_data("there were no requests then");
  const std::int64_t found = sum(filter(source_).where(expression_.conditions), weight);
  return Figure{static_cast<double>(found), count_text(found), note_};
}

Figure Evaluation::share() {
  std::vector<Condition> all = expression_.of;
  all.insert(all.end(), expression_.conditions.begin(), expression_.conditions.end());
  if (std::optional<Figure> none = choose(all)) return *none;
  const std::string weight(weight_column(source_));
  const std::int64_t of = sum(filter(source_).where(expression_.of), weight);
  if (of == 0) return no_data("there were no such requests then");
  const std::int64_t found = sum(filter(source_).where(all), weight);
  return Figure{static_cast<double>(found) / static_cast<double>(of), share_text(found, of), note_};
}

// Merged histograms where they can tell it; rows where the question is finer than they are.
Histogram Evaluation::histogram() {
  Histogram merged;
  std::string sql = "SELECT histogram, max_ns FROM t_latency WHERE gateway IS ?";
  for (const Stretch& stretch : stretches_) {
    sql += &stretch == stretches_.data() ? " AND (" : " OR ";
    sql += "(second >= " + std::to_string(stretch.from / 1'000'000'000) +
           " AND second * 1000000000 < " + std::to_string(stretch.until.value_or(INT64_MAX)) + ")";
  }
  if (!stretches_.empty()) sql += ")";
  for (const Condition& condition : expression_.conditions) {
    sql += condition.comparison == Comparison::equal ? " AND " : " AND NOT ";
    sql += condition.prefix ? "instr(coalesce(route, ''), ?) = 1" : "coalesce(route, '') = ?";
  }
  Result<Statement> query = database_.prepare(sql);
  if (!query) {
    error_ = query.error();
    return merged;
  }
  query->bind(1, std::string_view(gateway_));
  int index = 1;
  for (const Condition& condition : expression_.conditions) {
    query->bind(++index, std::string_view(condition.text));
  }
  while (query->step() == SQLITE_ROW) {
    const Result<Histogram> second = decode_hdr(query->blob(0));
    if (!second) {
      error_ = second.error();
      return merged;
    }
    merged.merge(Histogram::from_counts(second->counts(), Duration{query->integer(1)}));
  }
  return merged;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Evaluation::latencies(Source source) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  const bool sends = source == Source::sends;
  const std::string latency = sends                        ? "done_ns - sent_ns"
                              : source == Source::attempts ? "a.latency_ns"
                                                           : "latency_ns";
  rows(filter(source).where(expression_.conditions),
       latency + ", " + std::string(weight_column(source)), [&all](const Statement& row) {
         if (!row.is_null(0)) all.emplace_back(row.integer(0), row.integer(1));
       });
  std::ranges::sort(all);
  return all;
}

Figure Evaluation::quantile() {
  if (std::optional<Figure> none = choose(expression_.conditions)) return *none;
  const bool whole = expression_.when.relation == When::Relation::whole;
  const bool by_second = whole || expression_.when.relation == When::Relation::during;
  if (source_ != Source::sends && asks_for_routes_only(expression_.conditions) && by_second &&
      (whole || sampled())) {
    const Histogram merged = histogram();
    if (merged.count() == 0) return no_data("there were no such requests then");
    const Duration value =
        expression_.quantile >= 1 ? merged.max() : merged.at_quantile(expression_.quantile);
    const auto nanoseconds = static_cast<double>(value.count());
    return Figure{nanoseconds, duration_text(nanoseconds), whole ? "" : "by whole seconds"};
  }
  if (source_ == Source::counters) source_ = Source::requests;
  const auto all = latencies(source_);
  std::int64_t total = 0;
  for (const auto& [latency, weight] : all)
    total += weight;
  if (total == 0) return no_data("there were no such requests then");
  const auto wanted = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(expression_.quantile * static_cast<double>(total))));
  std::int64_t seen = 0;
  std::int64_t value = all.back().first;
  for (const auto& [latency, weight] : all) {
    seen += weight;
    if (seen >= wanted) {
      value = latency;
      break;
    }
  }
  return Figure{static_cast<double>(value), duration_text(static_cast<double>(value)), note_};
}

Figure Evaluation::mean() {
  if (std::optional<Figure> none = choose(expression_.conditions)) return *none;
  if (source_ == Source::counters) source_ = Source::requests;
  double total = 0;
  double weights = 0;
  for (const auto& [latency, weight] : latencies(source_)) {
    total += static_cast<double>(latency) * static_cast<double>(weight);
    weights += static_cast<double>(weight);
  }
  if (weights == 0) return no_data("there were no such requests then");
  return Figure{total / weights, duration_text(total / weights), note_};
}

Figure Evaluation::amplification() {
  if (std::optional<Figure> none = choose(expression_.conditions)) return *none;
  if (source_ == Source::sends) return amplification_from_outside();
  if (source_ == Source::attempts) return no_data("amplification is not told by endpoint");
  const Filter which = filter(source_).where(expression_.conditions);
  const bool counters = source_ == Source::counters;
  const std::int64_t attempts = sum(which, counters ? "upstream_attempts" : "attempts * weight");
  const std::int64_t reached =
      sum(which, counters ? "reached" : "CASE WHEN attempts > 0 THEN weight ELSE 0 END");
  if (reached == 0) return no_data("no request was sent upstream then");
  const double value = static_cast<double>(attempts) / static_cast<double>(reached);
  return Figure{value, ratio_text(attempts, reached), note_};
}

// Of a gateway that is not ours: what the origins executed for what the client sent.
Figure Evaluation::amplification_from_outside() {
  if (!expression_.conditions.empty()) {
    return no_data("of a gateway seen from outside, amplification takes no conditions");
  }
  const std::int64_t sent = sum(filter(Source::sends), "sent_ns IS NOT NULL");
  if (sent == 0 || !has_rows("t_execution")) return no_data("its origins recorded nothing");
  std::int64_t executed = 0;
  // Executions have their own time; the phase's clause is the same on it.
  std::string sql = filter(Source::requests).select("count(*)");
  sql.replace(sql.find("t_request"), 9, "t_execution");
  Result<Statement> query = database_.prepare(sql);
  if (!query) {
    error_ = query.error();
    return {};
  }
  query->bind(1, std::string_view(gateway_));
  if (query->step() == SQLITE_ROW) executed = query->integer(0);
  return Figure{static_cast<double>(executed) / static_cast<double>(sent),
                ratio_text(executed, sent), "executions at the origins for each request sent"};
}

Figure Evaluation::duplicates() {
  if (!has_rows("t_execution")) return no_data("its origins recorded no executions");
  std::string sql = filter(Source::requests)
                        .select(
                            "coalesce(business_key, request_id) AS k, "
                            "count(*) AS n");
  sql.replace(sql.find("t_request"), 9, "t_execution");
  if (!expression_.method.empty()) sql += " AND method = ?2";
  Result<Statement> query =
      database_.prepare("SELECT coalesce(sum(n - 1), 0), coalesce(sum(n > 1), 0), count(*) FROM (" +
                        sql + " GROUP BY k)");
  if (!query) {
    error_ = query.error();
    return {};
  }
  query->bind(1, std::string_view(gateway_));
  if (!expression_.method.empty()) query->bind(2, std::string_view(expression_.method));
  if (const int code = query->step(); code != SQLITE_ROW) {
    error_ = database_.error(code);
    return {};
  }
  const std::int64_t repeated = query->integer(0);
  std::string shown = std::to_string(repeated);
  if (repeated > 0) shown += " (of " + std::to_string(query->integer(1)) + " requests)";
  const bool any = query->integer(2) > 0;
  const std::string method = expression_.method.empty() ? "request" : expression_.method;
  return Figure{static_cast<double>(repeated), shown, any ? "" : "no " + method + " was executed"};
}

// Failure shares second by second, counted from the phase's end, against the share before it.
Figure Evaluation::recovery() {
  const std::vector<Stretch> stretches = stretches_of(expression_.recovered_from);
  if (stretches.empty()) {
    return no_data("the run has no phase " + expression_.recovered_from.phase);
  }
  if (std::optional<Figure> none = choose({})) return *none;
  if (source_ == Source::counters) source_ = Source::requests;
  const std::int64_t start = stretches.front().from;
  std::int64_t end = 0;
  for (const Stretch& stretch : stretches)
    end = std::max(end, stretch.until.value_or(INT64_MAX));

  struct Second {
    std::int64_t requests = 0;
    std::int64_t failures = 0;

    [[nodiscard]] double share() const {
      return static_cast<double>(failures) / static_cast<double>(requests);
    }
  };

  Second before;
  std::vector<Second> after;
  rows(Filter(source_, gateway_),
       std::string(time_column(source_)) + ", status IS NULL OR status >= 500, " +
           std::string(weight_column(source_)),
       [&](const Statement& row) {
         const std::int64_t at = row.integer(0);
         Second* second = nullptr;
         if (at < start) second = &before;
         if (at >= end) {
           const auto index = static_cast<std::size_t>((at - end) / 1'000'000'000);
           if (index >= after.size()) after.resize(index + 1);
           second = &after[index];
         }
         if (second == nullptr) return;
         second->requests += row.integer(2);
         second->failures += row.integer(1) != 0 ? row.integer(2) : 0;
       });
  if (before.requests == 0) return no_data("there were no requests before it to compare with");
  if (after.empty()) return no_data("there were no requests after it");
  const auto recovered = std::ranges::find_if(after, [&before](const Second& second) {
    return second.requests > 0 && second.share() <= before.share();
  });
  note_ = join(note_, percent_text(before.share()) + " failed before it");
  const double seconds = static_cast<double>(recovered - after.begin());
  if (recovered == after.end()) {
    return Figure{std::numeric_limits<double>::infinity(),
                  "not within the " + duration_text(seconds * 1e9) + " that followed", note_};
  }
  return Figure{seconds * 1e9, duration_text(seconds * 1e9), note_};
}

Figure Evaluation::answered_as_recorded() {
  if (const Condition* unknown = unknown_to(Source::sends, expression_.conditions)) {
    return no_data("the client knows no " + std::string(to_string(unknown->subject)));
  }
  const Filter which = filter(Source::sends).where(expression_.conditions);
  const std::int64_t intended = sum(which, "1");
  if (intended == 0) return no_data("nothing was to be sent then");
  const std::int64_t comparable = sum(which, "status_expected IS NOT NULL");
  if (comparable == 0) return no_data("the recording has no answers to compare with");
  const std::int64_t right =
      sum(which,
          "status IS NOT NULL AND done_ns IS NOT NULL AND body_complete AND body_as_expected AND "
          "(status_expected IS NULL OR status = status_expected)");
  std::string note;
  if (comparable < intended) {
    note = std::to_string(intended - comparable) +
           " had no recorded answer and count if answered whole";
  }
  return Figure{static_cast<double>(right) / static_cast<double>(intended),
                share_text(right, intended), note};
}

Figure Evaluation::missing() {
  if (const Condition* unknown = unknown_to(Source::sends, expression_.conditions)) {
    return no_data("the client knows no " + std::string(to_string(unknown->subject)));
  }
  const Filter which = filter(Source::sends).where(expression_.conditions);
  if (sum(which, "1") == 0) return no_data("nothing was to be sent then");
  const std::int64_t unanswered = sum(which, "status IS NULL OR done_ns IS NULL");
  return Figure{static_cast<double>(unanswered), count_text(unanswered), ""};
}

Figure Evaluation::sql() {
  Result<Statement> query = database_.prepare(expression_.sql);
  if (!query) {
    error_ = usage_error("the query is wrong: " + query.error().message);
    return {};
  }
  if (!query->read_only() || query->columns() != 1) {
    error_ = usage_error("the query must be a SELECT of one column");
    return {};
  }
  if (const int index = query->parameter(":gateway")) {
    query->bind(index, std::string_view(gateway_));
  }
  for (const Stretch& stretch : stretches_) {
    if (const int index = query->parameter(":from_ms")) {
      query->bind(index, static_cast<double>(stretch.from) / 1e6);
    }
    if (const int index = query->parameter(":until_ms"); index != 0 && stretch.until) {
      query->bind(index, static_cast<double>(*stretch.until) / 1e6);
    }
  }
  const int code = query->step();
  if (code == SQLITE_DONE) return no_data("the query gave no row");
  if (code != SQLITE_ROW) {
    error_ = database_.error(code);
    return {};
  }
  if (!query->is_number(0)) {
    return no_data(query->is_null(0) ? "the query gave NULL" : "the query gave no number");
  }
  return Figure{query->real(0), query->text(0), ""};
}

}  // namespace

Result<Figure> evaluate(Database& database,
                        const Expression& expression,
                        const std::string& gateway) {
  return Evaluation(database, expression, gateway).figure();
}

bool holds(const Expression& expression, double value) {
  switch (expression.comparison) {
    case Comparison::equal:
      return value == expression.limit;
    case Comparison::not_equal:
      return value != expression.limit;
    case Comparison::less:
      return value < expression.limit;
    case Comparison::less_or_equal:
      return value <= expression.limit;
    case Comparison::greater:
      return value > expression.limit;
    case Comparison::greater_or_equal:
      return value >= expression.limit;
  }
  return false;
}

}  // namespace gatedrill::reports
