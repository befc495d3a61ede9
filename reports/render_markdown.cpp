#include <string_view>

#include "reports/escape.hpp"
#include "reports/figures.hpp"
#include "reports/render.hpp"

namespace gatedrill::reports {
namespace {

std::string cell(const std::string& text) {
  std::string out;
  for (const char character : escaped(text)) {
    if (std::string_view("|`*_[\\").find(character) != std::string_view::npos) out += '\\';
    out += character == '\n' ? ' ' : character;
  }
  return out;
}

std::string milliseconds(double ms) {
  return duration_text(ms * 1e6);
}

std::string verdicts(const Judgement& judgement) {
  std::string text = "| | variant | expected | got |\n| --- | --- | --- | --- |\n";
  for (const Verdict& verdict : judgement.verdicts) {
    const char* mark = !verdict.passed ? "no data" : *verdict.passed ? "held" : "**failed**";
    text += std::string("| ") + mark + " | " + cell(verdict.gateway) + " | " +
            cell(verdict.expression) + " | " + cell(verdict.actual) +
            (verdict.note.empty() ? "" : " (" + cell(verdict.note) + ")") + " |\n";
  }
  return text;
}

std::string variants(const RunReport& report) {
  std::string text =
      "| variant | requests | answered | 5xx, by status and cause | p50 | p99 | amplification |\n"
      "| --- | ---: | ---: | --- | ---: | ---: | ---: |\n";
  for (const GatewayReport& gateway : report.gateways) {
    std::string failures;
    for (const OutcomeSeries& series : gateway.outcomes) {
      if (series.status != 0 && series.status < 500) continue;
      failures += (failures.empty() ? "" : ", ") + count_text(series.requests) + " " +
                  (series.status == 0 ? "no answer" : std::to_string(series.status)) + " " +
                  cell(series.cause);
    }
    text += "| " + cell(gateway.name) + " | " + count_text(gateway.requests) + " | " +
            count_text(gateway.with_status(100, 399)) + " | " + failures + " | " +
            milliseconds(gateway.latency.p50_ms) + " | " + milliseconds(gateway.latency.p99_ms) +
            " | " +
            (gateway.reached > 0 ? amplification_text(gateway.upstream_attempts, gateway.reached)
                                 : "") +
            " |\n";
  }
  return text;
}

}  // namespace

std::string render_markdown(std::span<const RunReport> reports) {
  std::string text;
  for (const RunReport& report : reports) {
    const Judgement& judgement = report.judgement;
    if (!text.empty()) text += "\n";
    text += "## " + cell(report.title()) + ": " +
            (judgement.valid ? headline(judgement) : "not valid evidence") + "\n\n";
    for (const std::string& reason : judgement.invalid_because)
      text += "- " + cell(reason) + "\n";
    if (!judgement.invalid_because.empty()) text += "\n";
    if (!judgement.verdicts.empty()) text += verdicts(judgement) + "\n";
    if (!report.gateways.empty()) text += variants(report);
  }
  return text;
}

}  // namespace gatedrill::reports
