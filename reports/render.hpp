// A report in the forms that people and machines read. Each is a pure function of the values; what
// they have in common is that the verdict comes first.
#pragma once

#include <span>
#include <string>

#include "reports/run_report.hpp"

namespace gatedrill::reports {

struct TextStyle {
  bool color = false;
};

// A summary for a terminal, of at most about 100 columns.
[[nodiscard]] std::string render_text(const RunReport& report, TextStyle style);

// One document, with the timelines; `schema` says which form it has.
[[nodiscard]] std::string render_json(std::span<const RunReport> reports);

// One self-contained page: no network, light and dark, wide and narrow.
[[nodiscard]] std::string render_html(std::span<const RunReport> reports);

// One testcase for each expectation and gateway, and one that the run is valid.
[[nodiscard]] std::string render_junit(std::span<const RunReport> reports);

// Tables, for a pull request or a job summary.
[[nodiscard]] std::string render_markdown(std::span<const RunReport> reports);

// "3 of 14 expectations did not hold": the verdict in one line, without the run's name.
[[nodiscard]] std::string headline(const Judgement& judgement);

}  // namespace gatedrill::reports
