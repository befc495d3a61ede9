#include "reports/expectation/expression.hpp"

namespace gatedrill::reports {

std::string_view to_string(Comparison comparison) {
  switch (comparison) {
    case Comparison::equal:
      return "==";
    case Comparison::not_equal:
      return "!=";
    case Comparison::less:
      return "<";
    case Comparison::less_or_equal:
      return "<=";
    case Comparison::greater:
      return ">";
    case Comparison::greater_or_equal:
      return ">=";
  }
  return "==";
}

std::string_view to_string(Condition::Subject subject) {
  switch (subject) {
    case Condition::Subject::method:
      return "method";
    case Condition::Subject::path:
      return "path";
    case Condition::Subject::route:
      return "route";
    case Condition::Subject::upstream:
      return "upstream";
    case Condition::Subject::endpoint:
      return "endpoint";
    case Condition::Subject::source:
      return "source";
    case Condition::Subject::cause:
      return "cause";
    case Condition::Subject::status:
      return "status";
    case Condition::Subject::failed:
      return "failed";
  }
  return "status";
}

std::string_view to_string(When::Relation relation) {
  switch (relation) {
    case When::Relation::whole:
      return "in the whole run";
    case When::Relation::during:
      return "during";
    case When::Relation::after:
      return "after";
    case When::Relation::before:
      return "before";
    case When::Relation::outside:
      return "outside";
  }
  return "during";
}

bool When::matches(std::string_view name) const {
  return prefix ? name.starts_with(phase) : name == phase;
}

Expression::Unit Expression::unit() const {
  switch (measure) {
    case Measure::share:
    case Measure::answered_as_recorded:
      return Unit::fraction;
    case Measure::quantile:
    case Measure::mean:
    case Measure::recovery:
      return Unit::duration;
    case Measure::count:
    case Measure::amplification:
    case Measure::duplicates:
    case Measure::missing:
    case Measure::sql:
      return Unit::plain;
  }
  return Unit::plain;
}

std::vector<When> phases_of(const Expression& expression) {
  std::vector<When> named;
  if (expression.when.relation != When::Relation::whole) named.push_back(expression.when);
  if (expression.measure == Expression::Measure::recovery) {
    named.push_back(expression.recovered_from);
  }
  return named;
}

}  // namespace gatedrill::reports
