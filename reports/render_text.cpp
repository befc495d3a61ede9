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

std::string verdict_lines(const Judgement& judgement, TextStyle style) {
  // What did not hold comes first.
  std::vector<Verdict> verdicts = judgement.verdicts;
  std::ranges::stable_sort(verdicts, {}, [](const Verdict& verdict) {
    return verdict.passed == false ? 0 : verdict.passed ? 2 : 1;
  });
  std::size_t gateway_width = 0;
  std::size_t name_width = 0;
  for (const Verdict& verdict : verdicts) {
    gateway_width = std::max(gateway_width, width_of(verdict.gateway));
    name_width = std::max(name_width, std::min<std::size_t>(width_of(verdict.expression), 52));
  }
  std::string text;
  for (const Verdict& verdict : verdicts) {
    const std::string mark = !verdict.passed ? "no data" : *verdict.passed ? "held" : "FAILED";
    const Paint paint = !verdict.passed ? Paint::doubt : *verdict.passed ? Paint::good : Paint::bad;
    text += "  " + painted(padded(mark, 7), paint, style) + "  " +
            padded(verdict.gateway, gateway_width) + "  " + padded(verdict.expression, name_width) +
            "  " + (verdict.passed ? verdict.actual : "");
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
    if (verdict.name != verdict.expression) {
      text += std::string(13 + gateway_width, ' ') +
              painted("  " + verdict.name, Paint::faint, style) + "\n";
    }
    if (!verdict.note.empty()) {
      text += std::string(13 + gateway_width, ' ') +
              painted("  " + verdict.note, Paint::faint, style) + "\n";
    }
  }
  return text;
}

std::string milliseconds(double ms) {
  return duration_text(ms * 1e6);
}

std::string variants_table(const RunReport& report) {
  std::vector<std::vector<std::string>> rows{{"variant", "requests", "answered", "4xx", "5xx",
                                              "p50", "p99", "max", "amplification", "retries"}};
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

std::string faults_table(const RunReport& report) {
  std::vector<std::vector<std::string>> rows{{"fault", "kind", "from", "until", "hits"}};
  for (const FaultReport& fault : report.faults) {
    rows.push_back({fault.gateway + "  " + fault.name, fault.kind, milliseconds(fault.from_ms),
                    fault.until_ms ? milliseconds(*fault.until_ms) : "the end",
                    count_text(fault.hits)});
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
