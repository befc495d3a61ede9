#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "reports/figures.hpp"
#include "reports/render.hpp"

namespace gatedrill::reports {
namespace {

enum class Paint { none, good, bad, doubt, faint };

std::string painted(const std::string& text, Paint paint, TextStyle style) {
  if (!style.color || paint == Paint::none) return text;
  const char* code = "0";
  if (paint == Paint::good) code = "1;32";
  if (paint == Paint::bad) code = "1;31";
  if (paint == Paint::doubt) code = "1;33";
  if (paint == Paint::faint) code = "2";
  return std::string("\x1b[") + code + "m" + text + "\x1b[0m";
}

// Code points, near enough for what is printed here.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t width, bool right = false) {
  const std::size_t have = width_of(text);
  const std::string spaces(have < width ? width - have : 0, ' ');
  return right ? spaces + text : text + spaces;
}

// The first column is text, the others are figures.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += (i > 0 ? "  " : "") + padded(row[i], widths[i], i > 0);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

// Variants of which the same can be said of the same expectation.
struct VerdictGroup {
  const Verdict* first = nullptr;
  std::vector<std::string> outcomes;  // "as_was: 0"
};

std::vector<VerdictGroup> groups_of(const std::vector<Verdict>& verdicts) {
  std::vector<VerdictGroup> groups;
  for (const Verdict& verdict : verdicts) {
    auto group = std::ranges::find_if(groups, [&verdict](const VerdictGroup& known) {
      return known.first->name == verdict.name && known.first->expression == verdict.expression &&
             known.first->passed == verdict.passed;
    });
    if (group == groups.end()) group = groups.insert(group, VerdictGroup{&verdict, {}});
    const std::string figure = verdict.passed ? verdict.actual : verdict.note;
    group->outcomes.push_back(verdict.gateway.empty() ? figure : verdict.gateway + ": " + figure);
  }
  // What did not hold comes first.
  std::ranges::stable_sort(groups, {}, [](const VerdictGroup& group) {
    return group.first->passed == false ? 0 : group.first->passed ? 2 : 1;
  });
  return groups;
}

std::string verdict_lines(const Judgement& judgement, TextStyle style) {
  std::string text;
  for (const VerdictGroup& group : groups_of(judgement.verdicts)) {
    const Verdict& verdict = *group.first;
    const std::string mark = !verdict.passed ? "no data" : *verdict.passed ? "held" : "FAILED";
    const Paint paint = !verdict.passed ? Paint::doubt : *verdict.passed ? Paint::good : Paint::bad;
    text += "  " + painted(padded(mark, 7), paint, style) + "  " + verdict.expression;
    if (verdict.name != verdict.expression) {
      text += painted("  " + verdict.name, Paint::faint, style);
    }
    text += "\n";
    std::string line;
    for (const std::string& outcome : group.outcomes) {
      if (!line.empty() && width_of(line) + width_of(outcome) > 84) {
        text += "             " + line + "\n";
        line.clear();
      }
      line += (line.empty() ? "" : ",  ") + outcome;
    }
    text += "             " + line + "\n";
  }
  return text;
}

std::string milliseconds(double ms) {
  return duration_text(ms * 1e6);
}

std::string variants_table(const RunReport& report) {
  std::vector<std::vector<std::string>> rows{
      {"variant", "requests", "ok", "4xx", "5xx", "p50", "p99", "max", "amplification", "retries"}};
  for (const GatewayReport& gateway : report.gateways) {
    const std::int64_t good = gateway.with_status(100, 399);
    rows.push_back(
        {gateway.name, count_text(gateway.requests), count_text(good),
         count_text(gateway.with_status(400, 499)), count_text(gateway.with_status(500, 599)),
         milliseconds(gateway.latency.p50_ms), milliseconds(gateway.latency.p99_ms),
         milliseconds(gateway.latency.max_ms),
         gateway.reached > 0 ? amplification_text(gateway.upstream_attempts, gateway.reached) : "-",
         gateway.ours ? count_text(gateway.retries()) : "-"});
    for (const OutcomeSeries& series : gateway.outcomes) {
      if (series.status >= 100 && series.status < 500 && series.cause == "ok") continue;
      if (series.status >= 100 && series.status < 400) continue;
      const std::string status = series.status == 0 ? "no answer" : std::to_string(series.status);
      std::vector<std::string> row{"  " + status + " " + series.cause, count_text(series.requests)};
      rows.push_back(row);
    }
  }
  return table(rows);
}

std::string client_table(const RunReport& report) {
  std::vector<std::vector<std::string>> rows{
      {"as its client saw it", "intended", "answered", "missing", "as recorded", "repeated POSTs"}};
  for (const GatewayReport& gateway : report.gateways) {
    if (!gateway.client) continue;
    const ClientFigures& client = *gateway.client;
    rows.push_back({gateway.name, count_text(client.intended),
                    count_text(client.intended - client.missing), count_text(client.missing),
                    client.comparable > 0 ? share_text(client.as_recorded, client.comparable) : "-",
                    gateway.origin ? count_text(gateway.origin->repeated_posts) : "-"});
  }
  return rows.size() > 1 ? "\n" + table(rows) : "";
}

// A fault's windows together; the page has each.
std::string faults_table(const RunReport& report) {
  struct Row {
    const FaultReport* fault = nullptr;
    int windows = 0;
    std::int64_t hits = 0;
  };

  std::vector<Row> found;
  for (const FaultReport& fault : report.faults) {
    auto row = std::ranges::find_if(found, [&fault](const Row& known) {
      return known.fault->name == fault.name && known.fault->gateway == fault.gateway;
    });
    if (row == found.end()) row = found.insert(row, Row{&fault});
    row->windows += 1;
    row->hits += fault.hits;
  }
  std::ranges::stable_sort(found, {}, [](const Row& row) { return row.fault->name; });
  std::vector<std::vector<std::string>> rows{{"fault", "variant", "times on", "hits"}};
  for (const Row& row : found) {
    rows.push_back({row.fault->name + " (" + row.fault->kind + ")", row.fault->gateway,
                    count_text(row.windows), count_text(row.hits)});
  }
  return rows.size() > 1 ? "\n" + table(rows) : "";
}

}  // namespace

std::string headline(const Judgement& judgement) {
  const auto total = judgement.verdicts.size();
  const auto failed = static_cast<std::size_t>(std::ranges::count_if(
      judgement.verdicts, [](const Verdict& verdict) { return verdict.passed == false; }));
  const auto unknown = static_cast<std::size_t>(std::ranges::count_if(
      judgement.verdicts, [](const Verdict& verdict) { return !verdict.passed; }));
  if (total == 0) return "nothing was expected";
  std::string text;
  if (failed > 0) {
    text = std::to_string(failed) + " of " + std::to_string(total) + " expectations did not hold";
  }
  if (unknown > 0) {
    text += (text.empty() ? "" : ", ") + std::to_string(unknown) +
            (text.empty() ? " of " + std::to_string(total) + " expectations" : "") + " had no data";
  }
  if (!text.empty()) return text;
  if (total == 1) return "the one expectation held";
  return "all " + std::to_string(total) + " expectations held";
}

std::string render_text(const RunReport& report, TextStyle style) {
  const Judgement& judgement = report.judgement;
  std::string text;
  if (!judgement.valid) {
    text += painted("NOT VALID EVIDENCE", Paint::bad, style) + "  " + report.title() + "\n";
    for (const std::string& reason : judgement.invalid_because)
      text += "  " + reason + "\n";
    if (!judgement.verdicts.empty()) text += "  otherwise: " + headline(judgement) + "\n";
  } else {
    const bool held = judgement.exit_status() == 0;
    const bool expected = !judgement.verdicts.empty();
    text += painted(!expected ? "DONE"
                    : held    ? "HELD"
                              : "FAILED",
                    held ? Paint::good : Paint::bad, style) +
            "  " + report.title() + ": " + headline(judgement) + "\n";
  }
  if (!judgement.verdicts.empty()) text += "\n" + verdict_lines(judgement, style);
  if (!report.gateways.empty()) text += "\n" + variants_table(report) + client_table(report);
  text += faults_table(report);
  for (const LossReport& loss : report.losses) {
    text += "\n  " + painted("lost", Paint::bad, style) + " at " + loss.place + ": " +
            count_text(loss.count) + " (" + loss.reason + ")\n";
  }
  return text;
}

}  // namespace gatedrill::reports
