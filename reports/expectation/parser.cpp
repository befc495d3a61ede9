#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "gateway/core/cause.hpp"
#include "reports/expectation/expression.hpp"
#include "reports/expectation/lexer.hpp"
#include "reports/expectation/suggestion.hpp"

namespace gatedrill::reports {
namespace {

using Measure = Expression::Measure;
using Subject = Condition::Subject;

constexpr std::array<std::string_view, 14> kMeasures{"count",
                                                     "share",
                                                     "p50",
                                                     "p90",
                                                     "p95",
                                                     "p99",
                                                     "p99.9",
                                                     "max",
                                                     "mean",
                                                     "amplification",
                                                     "duplicates",
                                                     "recovery",
                                                     "answered_as_recorded",
                                                     "missing"};
constexpr std::array<Subject, 9> kSubjects{Subject::method,   Subject::path,     Subject::route,
                                           Subject::upstream, Subject::endpoint, Subject::source,
                                           Subject::cause,    Subject::status,   Subject::failed};
constexpr std::array<When::Relation, 4> kRelations{When::Relation::during, When::Relation::after,
                                                   When::Relation::before, When::Relation::outside};

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The number before a unit, and the unit.
struct Quantity {
  double number = 0;
  std::string_view unit;
};

std::optional<Quantity> quantity_of(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc()) return std::nullopt;
  return Quantity{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::optional<double> nanoseconds_in(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  if (unit == "m") return 60e9;
  if (unit == "h") return 3600e9;
  return std::nullopt;
}

// A recursive-descent parser. The first error is kept in error_, and everything after it is moot.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Expression> expectation() {
    measure();
    when();
    comparison(expression_.comparison);
    limit();
    when();
    expect_end();
    return result();
  }

  // What follows `metric:` in k6's thresholds.
  Result<Expression> k6_threshold(std::string_view metric, std::size_t column) {
    const std::array<std::string_view, 3> known{"http_req_failed", "http_req_duration",
                                                "http_reqs"};
    if (metric == "http_req_failed") {
      word("rate");
      expression_.measure = Measure::share;
      expression_.conditions.push_back(Condition{.subject = Subject::failed});
    } else if (metric == "http_req_duration") {
      k6_trend();
    } else if (metric == "http_reqs") {
      word("count");
      expression_.measure = Measure::count;
    } else {
      fail_at(column, "'" + std::string(metric) + "' is not a k6 metric that is known here" +
                          suggestion(metric, known));
    }
    comparison(expression_.comparison);
    k6_milliseconds_ = true;
    limit();
    expect_end();
    return result();
  }

 private:
  const Token& peek() const { return tokens_[at_]; }

  Token next() {
    Token token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }

  void fail(const Token& token, const std::string& message) { fail_at(token.column, message); }

  void fail_at(std::size_t column, const std::string& message) {
    if (!error_) error_ = usage_error("column " + std::to_string(column) + ": " + message);
  }

  static std::string shown(const Token& token) {
    return token.kind == Token::Kind::end ? "the end" : "'" + token.text + "'";
  }

  Result<Expression> result() {
    if (error_) return *error_;
    return expression_;
  }

  void sign(std::string_view wanted) {
    const Token token = next();
    if (!token.is(wanted)) {
      fail(token, "expected '" + std::string(wanted) + "', got " + shown(token));
    }
  }

  void word(std::string_view wanted) {
    const Token token = next();
    if (!token.is_word(wanted)) {
      fail(token, "expected " + std::string(wanted) + ", got " + shown(token));
    }
  }

  void expect_end() {
    if (peek().kind == Token::Kind::end) return;
    const std::array<std::string_view, 5> known{"during", "after", "before", "outside", "and"};
    fail(peek(), "did not expect " + shown(peek()) + " here" + suggestion(peek().text, known));
  }

  void measure();
  void latency(double quantile);
  void k6_trend();
  void optional_conditions();
  void conditions(std::vector<Condition>& into);
  void condition(std::vector<Condition>& into);
  void status_value(Condition& condition, const Token& token);
  void share_of();
  void comparison(Comparison& into);
  void limit();
  void when();
  void phase(When& into);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  bool k6_milliseconds_ = false;
  Expression expression_;
  std::optional<Error> error_;
};

void Parser::measure() {
  const Token name = next();
  const std::string& text = name.text;
  if (name.kind != Token::Kind::word) {
    fail(name, "expected what to measure, such as count(status = 504), got " + shown(name));
    return;
  }
  if (text == "count") {
    expression_.measure = Measure::count;
    sign("(");
    if (!peek().is(")")) conditions(expression_.conditions);
    sign(")");
  } else if (text == "share") {
    expression_.measure = Measure::share;
    sign("(");
    conditions(expression_.conditions);
    if (peek().is(",")) share_of();
    sign(")");
  } else if (text == "max") {
    latency(1);
  } else if (text == "mean") {
    latency(0);
    expression_.measure = Measure::mean;
  } else if (text.size() > 1 && text[0] == 'p' && number_of(text.substr(1))) {
    const double percent = *number_of(text.substr(1));
    if (percent <= 0 || percent >= 100) fail(name, "a percentile lies between p0 and p100");
    latency(percent / 100);
  } else if (text == "amplification") {
    expression_.measure = Measure::amplification;
    optional_conditions();
  } else if (text == "missing") {
    expression_.measure = Measure::missing;
    optional_conditions();
  } else if (text == "answered_as_recorded") {
    expression_.measure = Measure::answered_as_recorded;
    optional_conditions();
  } else if (text == "duplicates") {
    expression_.measure = Measure::duplicates;
    sign("(");
    const Token method = next();
    if (method.kind != Token::Kind::word) fail(method, "expected a method such as POST, or *");
    if (method.text != "*") expression_.method = method.text;
    sign(")");
  } else if (text == "recovery") {
    expression_.measure = Measure::recovery;
    sign("(");
    word("after");
    sign("=");
    phase(expression_.recovered_from);
    sign(")");
  } else if (text == "sql") {
    expression_.measure = Measure::sql;
    sign("(");
    const Token query = next();
    if (query.kind != Token::Kind::quoted) fail(query, "expected a query in quotation marks");
    expression_.sql = query.text;
    sign(")");
  } else {
    fail(name, "'" + text + "' is not something to measure" + suggestion(text, kMeasures));
  }
}

void Parser::latency(double quantile) {
  expression_.measure = Measure::quantile;
  expression_.quantile = quantile;
  sign("(");
  word("latency");
  if (peek().is(",")) {
    next();
    conditions(expression_.conditions);
  }
  sign(")");
}

void Parser::k6_trend() {
  const Token name = next();
  expression_.measure = Measure::quantile;
  if (name.is_word("p")) {
    sign("(");
    const Token percent = next();
    const std::optional<double> value = number_of(percent.text);
    if (!value || *value <= 0 || *value >= 100) {
      fail(percent, "expected a percentile such as 95, got " + shown(percent));
    }
    expression_.quantile = value.value_or(50) / 100;
    sign(")");
  } else if (name.is_word("med")) {
    expression_.quantile = 0.5;
  } else if (name.is_word("max")) {
    expression_.quantile = 1;
  } else if (name.is_word("avg")) {
    expression_.measure = Measure::mean;
  } else {
    fail(name, "expected p(95), med, max or avg, got " + shown(name));
  }
}

void Parser::optional_conditions() {
  if (!peek().is("(")) return;
  next();
  if (!peek().is(")")) conditions(expression_.conditions);
  sign(")");
}

void Parser::conditions(std::vector<Condition>& into) {
  condition(into);
  while (!error_ && peek().is_word("and")) {
    next();
    condition(into);
  }
}

void Parser::condition(std::vector<Condition>& into) {
  const Token name = next();
  const auto found = std::ranges::find_if(kSubjects, [&name](Subject subject) {
    return name.kind == Token::Kind::word && to_string(subject) == name.text;
  });
  if (found == kSubjects.end()) {
    std::vector<std::string_view> known;
    for (const Subject subject : kSubjects)
      known.push_back(to_string(subject));
    const std::string known_list =
        "method, path, route, upstream, endpoint, source, cause, status or failed";
    const std::string near = suggestion(name.text, known);
    fail(name, "expected a condition on " + known_list + ", got " + shown(name) + near);
    return;
  }
  Condition condition{.subject = *found};
  if (condition.subject != Subject::failed) {
    const Token operation = peek();
    comparison(condition.comparison);
    const Token value = next();
    if (value.kind != Token::Kind::word && value.kind != Token::Kind::quoted) {
      fail(value, "expected a value, got " + shown(value));
      return;
    }
    const bool equality =
        condition.comparison == Comparison::equal || condition.comparison == Comparison::not_equal;
    if (!equality && condition.subject != Subject::status) {
      fail(operation, "only a status can be compared with '" + operation.text + "'");
    }
    if (condition.subject == Subject::status) {
      status_value(condition, value);
    } else {
      condition.text = value.text;
      if (condition.text.ends_with('*') && value.kind == Token::Kind::word) {
        condition.prefix = true;
        condition.text.pop_back();
      }
    }
    if (condition.subject == Subject::cause && !condition.prefix &&
        !cause_from_string(condition.text)) {
      std::vector<std::string_view> known;
      for (int i = 0; i < kCauseCount; ++i)
        known.push_back(to_string(static_cast<Cause>(i)));
      fail(value, shown(value) + " is not a cause" + suggestion(value.text, known));
    }
  }
  into.push_back(condition);
}

void Parser::status_value(Condition& condition, const Token& token) {
  const std::string& text = token.text;
  const bool range = text.size() == 3 && text.ends_with("xx") && text[0] >= '1' && text[0] <= '5';
  const std::optional<double> number = number_of(text);
  if (text == "none") {
    condition.no_answer = true;
  } else if (range) {
    condition.status_from = (text[0] - '0') * 100;
    condition.status_until = condition.status_from + 99;
  } else if (number && *number >= 100 && *number <= 599 && std::floor(*number) == *number) {
    condition.status_from = condition.status_until = static_cast<int>(*number);
  } else {
    fail(token, "expected a status such as 504, 5xx or none, got " + shown(token));
  }
  const bool equality =
      condition.comparison == Comparison::equal || condition.comparison == Comparison::not_equal;
  if (!equality && condition.status_from != condition.status_until) {
    fail(token, shown(token) + " is a range: compare it with = or !=");
  }
  if (!equality && condition.no_answer) fail(token, "compare none with = or !=");
}

void Parser::share_of() {
  sign(",");
  word("of");
  const Token equals = next();
  if (!equals.is("=") && !equals.is("==")) fail(equals, "expected '=', got " + shown(equals));
  if (peek().is("(")) {
    next();
    conditions(expression_.of);
    sign(")");
    return;
  }
  if (peek().is_word("all")) {
    next();
    return;
  }
  if (peek().is_word("failed")) {
    condition(expression_.of);
    return;
  }
  Condition status;
  status_value(status, next());
  expression_.of.push_back(status);
}

void Parser::comparison(Comparison& into) {
  const Token token = next();
  if (token.is("==") || token.is("=")) {
    into = Comparison::equal;
  } else if (token.is("!=")) {
    into = Comparison::not_equal;
  } else if (token.is("<")) {
    into = Comparison::less;
  } else if (token.is("<=")) {
    into = Comparison::less_or_equal;
  } else if (token.is(">")) {
    into = Comparison::greater;
  } else if (token.is(">=")) {
    into = Comparison::greater_or_equal;
  } else {
    fail(token, "expected a comparison (== != < <= > >=), got " + shown(token));
  }
}

void Parser::limit() {
  const Token token = next();
  const std::optional<Quantity> quantity = quantity_of(token.text);
  if (token.kind != Token::Kind::word || !quantity) {
    fail(token, "expected a number, got " + shown(token));
    return;
  }
  const std::string_view unit = quantity->unit;
  expression_.limit = quantity->number;
  switch (expression_.unit()) {
    case Expression::Unit::plain:
      if (!unit.empty()) fail(token, "expected a number without a unit, got " + shown(token));
      break;
    case Expression::Unit::fraction:
      if (unit == "%") {
        expression_.limit /= 100;
      } else if (!unit.empty() || expression_.limit > 1) {
        fail(token, "expected a share such as 80% or 0.8, got " + shown(token));
      }
      break;
    case Expression::Unit::duration: {
      const std::optional<double> scale =
          nanoseconds_in(k6_milliseconds_ && unit.empty() ? "ms" : unit);
      if (!scale) {
        fail(token, "expected a duration such as 250ms or 2s, got " + shown(token));
      }
      expression_.limit *= scale.value_or(1);
      break;
    }
  }
}

void Parser::when() {
  const auto found = std::ranges::find_if(
      kRelations, [this](When::Relation relation) { return peek().is_word(to_string(relation)); });
  if (found == kRelations.end()) return;
  const Token relation = next();
  if (expression_.when.relation != When::Relation::whole) {
    fail(relation, "a phase was already named");
  }
  expression_.when.relation = *found;
  phase(expression_.when);
}

void Parser::phase(When& into) {
  const Token name = next();
  if (name.kind != Token::Kind::word && name.kind != Token::Kind::quoted) {
    fail(name, "expected the name of a phase, got " + shown(name));
    return;
  }
  into.phase = name.text;
  if (into.phase.ends_with('*') && name.kind == Token::Kind::word) {
    into.prefix = true;
    into.phase.pop_back();
  }
}

}  // namespace

Result<Expression> parse_expression(std::string_view text) {
  // k6: a metric, a colon, a threshold.
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  const std::string_view rest = text.substr(start);
  const std::string_view metric = rest.substr(0, rest.find_first_of(" \t:("));
  const std::size_t colon = text.find_first_not_of(" \t", start + metric.size());
  if (metric.starts_with("http_") && colon != std::string_view::npos && text[colon] == ':') {
    Result<std::vector<Token>> tokens = tokens_of(text.substr(colon + 1), colon + 2);
    if (!tokens) return tokens.error();
    return Parser(std::move(*tokens)).k6_threshold(metric, start + 1);
  }
  Result<std::vector<Token>> tokens = tokens_of(text);
  if (!tokens) return tokens.error();
  return Parser(std::move(*tokens)).expectation();
}

}  // namespace gatedrill::reports
