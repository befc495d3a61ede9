// The expectation language, as scenarios, load thresholds and reports speak it:
//
//   expectation  measure [phase] comparison value [phase]
//   measure      count(conditions)                    requests; attempts, if an endpoint is asked
//   for
//                share(conditions [, of = 5xx])       of all requests, or of those
//                p50|p90|p99.9|max|mean(latency [, conditions])
//                amplification[(conditions)]          attempts for each request sent upstream
//                duplicates(METHOD)                   executions beyond the first of one business
//                key recovery(after = PHASE)              until failures are no more than before it
//                answered_as_recorded[(conditions)]   share answered whole, as the recording has it
//                missing[(conditions)]                intended requests that were never answered
//                sql("select ...")                    one number; :gateway, :from_ms, :until_ms
//   conditions   condition {and condition}
//   condition    method|path|route|upstream|endpoint|source|cause|status (=|!=) value, or failed
//                (a path may end in *; a status is 504, 5xx or none, and knows < <= > >= too)
//   phase        (during|after|before|outside) NAME   NAME may end in * for several
//   value        a number; with % for shares; with us, ms, s, m, h for times
//
// k6's `http_req_failed: rate<0.01`, `http_req_duration: p(95)<200` and `http_reqs: count>100` mean
// the same here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"

namespace gatedrill::reports {

enum class Comparison { equal, not_equal, less, less_or_equal, greater, greater_or_equal };

[[nodiscard]] std::string_view to_string(Comparison comparison);

struct Condition {
  enum class Subject { method, path, route, upstream, endpoint, source, cause, status, failed };
  Subject subject = Subject::status;
  Comparison comparison = Comparison::equal;
  std::string text{};      // all but status
  bool prefix = false;     // the text was followed by *
  bool no_answer = false;  // status = none
  int status_from = 0;     // 5xx is 500 to 599
  int status_until = 0;
};

[[nodiscard]] std::string_view to_string(Condition::Subject subject);

// Which part of the run counts.
struct When {
  enum class Relation { whole, during, after, before, outside };
  Relation relation = Relation::whole;
  std::string phase;
  bool prefix = false;

  [[nodiscard]] bool matches(std::string_view name) const;
};

[[nodiscard]] std::string_view to_string(When::Relation relation);

struct Expression {
  enum class Measure {
    count,
    share,
    quantile,
    mean,
    amplification,
    duplicates,
    recovery,
    answered_as_recorded,
    missing,
    sql,
  };
  enum class Unit { plain, fraction, duration };  // duration: in nanoseconds

  Measure measure = Measure::count;
  std::vector<Condition> conditions;
  std::vector<Condition> of;  // share: empty for all requests
  double quantile = 0;        // 1 for max
  std::string method;         // duplicates: empty for any
  When recovered_from;        // recovery
  std::string sql;
  Comparison comparison = Comparison::equal;
  double limit = 0;
  When when;

  [[nodiscard]] Unit unit() const;
};

// Fails (usage) with the column and, where one is near, the word that was probably meant.
Result<Expression> parse_expression(std::string_view text);

// The phases that an expression names, for a check that they exist.
[[nodiscard]] std::vector<When> phases_of(const Expression& expression);

}  // namespace gatedrill::reports
