#include <algorithm>

#include "reports/escape.hpp"
#include "reports/render.hpp"

namespace gatedrill::reports {
namespace {

// An attribute's line feeds would be read as spaces.
std::string attribute(const std::string& text) {
  std::string out;
  for (const char character : escaped(text)) {
    if (character == '\n') {
      out += "&#10;";
    } else {
      out += character;
    }
  }
  return out;
}

std::string testcase(const RunReport& report,
                     const std::string& group,
                     const std::string& name,
                     const std::string& failure) {
  const std::string classname = report.title() + (group.empty() ? "" : "." + group);
  std::string text =
      "    <testcase classname=\"" + attribute(classname) + "\" name=\"" + attribute(name) + "\"";
  if (failure.empty()) return text + "/>\n";
  return text + ">\n      <failure message=\"" + attribute(failure) + "\"/>\n    </testcase>\n";
}

std::string failure_of(const Verdict& verdict) {
  if (verdict.passed == true) return "";
  std::string text = "expected " + verdict.expression + ", got " + verdict.actual;
  if (!verdict.note.empty()) text += " (" + verdict.note + ")";
  return text;
}

std::string suite(const RunReport& report) {
  const Judgement& judgement = report.judgement;
  const auto failed = std::ranges::count_if(
      judgement.verdicts, [](const Verdict& verdict) { return verdict.passed != true; });
  const auto failures = failed + (judgement.valid ? 0 : 1);
  std::string reasons;
  for (const std::string& reason : judgement.invalid_because) {
    reasons += (reasons.empty() ? "" : "\n") + reason;
  }
  if (!judgement.valid && reasons.empty()) reasons = "the run says so";
  std::string text = "  <testsuite name=\"" + attribute(report.title()) + "\" tests=\"" +
                     std::to_string(judgement.verdicts.size() + 1) + "\" failures=\"" +
                     std::to_string(failures) + "\" time=\"" +
                     std::to_string(report.duration_ms / 1000) + "\">\n";
  text += testcase(report, "", "the run is valid evidence", judgement.valid ? "" : reasons);
  for (const Verdict& verdict : judgement.verdicts) {
    text += testcase(report, verdict.gateway, verdict.name, failure_of(verdict));
  }
  return text + "  </testsuite>\n";
}

}  // namespace

std::string render_junit(std::span<const RunReport> reports) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const RunReport& report : reports)
    text += suite(report);
  return text + "</testsuites>\n";
}

}  // namespace gatedrill::reports
