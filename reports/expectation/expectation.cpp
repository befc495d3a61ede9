#include "reports/expectation/expectation.hpp"

#include <algorithm>

#include <sqlite3.h>

#include "reports/expectation/evaluate.hpp"
#include "reports/expectation/expression.hpp"
#include "reports/run_facts.hpp"
#include "reports/run_file.hpp"

namespace gatedrill::reports {
namespace {

std::optional<std::string> fact(Database& database, std::string_view key) {
  Result<Statement> query = database.prepare("SELECT value FROM t_run WHERE key = ?");
  if (!query) return std::nullopt;
  query->bind(1, key);
  if (query->step() != SQLITE_ROW) return std::nullopt;
  return query->text(0);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

Judgement validity_of(Database& database) {
  Judgement judgement;
  const std::optional<std::string> valid = fact(database, "valid");
  judgement.valid = valid == "1";
  judgement.invalid_because = lines_of(fact(database, "invalid_because").value_or(""));
  if (!valid) {
    judgement.invalid_because.emplace_back(
        "the run was not finished: it was killed, or its disk was full");
  }
  return judgement;
}

// Every gateway that anything was recorded of, in the order of the report.
std::vector<std::string> gateways_of(Database& database) {
  std::vector<std::string> names;
  Result<Statement> query = database.prepare(
      "SELECT DISTINCT gateway FROM (SELECT gateway FROM t_per_second UNION "
      "SELECT gateway FROM t_send) WHERE gateway IS NOT NULL ORDER BY gateway");
  if (!query) return names;
  while (query->step() == SQLITE_ROW)
    names.push_back(query->text(0));
  const std::vector<std::string> variants = variants_in(fact(database, kVariantsFact).value_or(""));
  std::ranges::stable_sort(
      names, {}, [&variants](const std::string& name) { return place_among(variants, name); });
  return names;
}

Result<Verdict> verdict_on(Database& database,
                           const Expectation& expectation,
                           const Expression& expression,
                           const std::string& gateway) {
  Result<Figure> figure = evaluate(database, expression, gateway);
  if (!figure) return Error{figure.error().code, expectation.text + ": " + figure.error().message};
  Verdict verdict{expectation.name.empty() ? expectation.text : expectation.name,
                  gateway,
                  expectation.text,
                  figure->shown,
                  std::nullopt,
                  figure->note};
  if (figure->value) verdict.passed = holds(expression, *figure->value);
  return verdict;
}

Result<void> write_verdicts(Database& database, std::span<const Verdict> verdicts) {
  if (Result<void> begun = database.execute("BEGIN; DELETE FROM t_verdict"); !begun) return begun;
  Result<Statement> insert = database.prepare("INSERT INTO t_verdict VALUES(?, ?, ?, ?, ?, ?)");
  if (!insert) return insert.error();
  for (const Verdict& verdict : verdicts) {
    insert->bind(1, std::string_view(verdict.name));
    insert->bind_null(2);
    if (!verdict.gateway.empty()) insert->bind(2, std::string_view(verdict.gateway));
    insert->bind(3, std::string_view(verdict.expression));
    insert->bind(4, std::string_view(verdict.actual));
    insert->bind_null(5);
    if (verdict.passed) insert->bind(5, std::int64_t{*verdict.passed ? 1 : 0});
    insert->bind_null(6);
    if (!verdict.note.empty()) insert->bind(6, std::string_view(verdict.note));
    if (const int code = insert->run(); code != SQLITE_DONE) return database.error(code);
  }
  return database.execute("COMMIT");
}

}  // namespace

int Judgement::exit_status() const {
  if (!valid) return gatedrill::exit_status(ErrorCode::evidence);
  const bool held =
      std::ranges::all_of(verdicts, [](const Verdict& verdict) { return verdict.passed == true; });
  return held ? 0 : 1;
}

Result<Judgement> judge(const std::string& path, std::span<const Expectation> expectations) {
  std::vector<Expression> expressions;
  for (const Expectation& expectation : expectations) {
    Result<Expression> expression = parse_expression(expectation.text);
    if (!expression) {
      return usage_error("expectation '" + expectation.text + "': " + expression.error().message);
    }
    expressions.push_back(std::move(*expression));
  }
  Result<Database> database = open_run_file(path, Database::Mode::write);
  if (!database) return database.error();
  Judgement judgement = validity_of(*database);
  const std::vector<std::string> everyone = gateways_of(*database);
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const Expectation& expectation = expectations[i];
    const bool about_none = expressions[i].measure == Expression::Measure::sql &&
                            expressions[i].sql.find(":gateway") == std::string::npos;
    std::vector<std::string> whom = expectation.gateways.empty() ? everyone : expectation.gateways;
    // An expectation that nobody is there to meet still needs a verdict.
    if (about_none || whom.empty()) whom = {""};
    for (const std::string& gateway : whom) {
      Result<Verdict> verdict = verdict_on(*database, expectation, expressions[i], gateway);
      if (!verdict) return verdict.error();
      judgement.verdicts.push_back(std::move(*verdict));
    }
  }
  if (Result<void> written = write_verdicts(*database, judgement.verdicts); !written) {
    return written.error();
  }
  return judgement;
}

Result<Judgement> read_judgement(const std::string& path) {
  Result<Database> database = open_run_file(path, Database::Mode::read);
  if (!database) return database.error();
  Judgement judgement = validity_of(*database);
  Result<Statement> query =
      database->prepare("SELECT name, gateway, expression, actual, passed, note FROM t_verdict");
  if (!query) return query.error();
  int code = query->step();
  for (; code == SQLITE_ROW; code = query->step()) {
    Verdict verdict{query->text(0), query->text(1), query->text(2),
                    query->text(3), std::nullopt,   query->text(5)};
    if (!query->is_null(4)) verdict.passed = query->integer(4) != 0;
    judgement.verdicts.push_back(std::move(verdict));
  }
  if (code != SQLITE_DONE) return database->error(code);
  return judgement;
}

}  // namespace gatedrill::reports
