// Conditions and phases as the WHERE of a query. Private to reports/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "reports/expectation/evaluate.hpp"
#include "reports/expectation/expression.hpp"
#include "reports/sqlite.hpp"

namespace gatedrill::reports {

// Where the rows come from:
//   counters  t_per_second: exact, but knows only route, status and cause, by whole seconds
//   requests  t_request: the gateway's own view
//   attempts  t_attempt, with its request: for what is asked of endpoints
//   sends     t_send: the client's view, the only one of a gateway that is not ours
enum class Source { counters, requests, attempts, sends };

// "FROM ... " with the gateway bound first, as every query of a source begins.
[[nodiscard]] std::string_view from_clause(Source source);
// How many requests a row stands for, and when it was.
[[nodiscard]] std::string_view weight_column(Source source);
[[nodiscard]] std::string_view time_column(Source source);

// The first subject that the source cannot tell, if any.
[[nodiscard]] const Condition* unknown_to(Source source, std::span<const Condition> conditions);

class Filter {
 public:
  Filter(Source source, std::string gateway) : source_(source), gateway_(std::move(gateway)) {}

  Filter& where(std::span<const Condition> conditions);
  // A row's time lies in the part of the run that is meant.
  Filter& when(const When& when, std::span<const Stretch> stretches);

  // SELECT what FROM source WHERE ..., to be bound with bind().
  [[nodiscard]] std::string select(std::string_view what) const;
  void bind(Statement& statement) const;

 private:
  using Value = std::variant<std::int64_t, std::string>;
  void where(const Condition& condition);

  Source source_;
  std::string gateway_;
  std::string sql_;
  std::vector<Value> values_;
};

}  // namespace gatedrill::reports
