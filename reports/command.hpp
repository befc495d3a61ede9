// `gatedrill report run.db...`: renders finished runs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gatedrill::reports {

// What to write besides the summary; empty: not wanted, "-": to standard output, in place of it.
struct ReportOptions {
  std::vector<std::string> runs;
  std::string html;
  std::string json;
  std::string junit;
  std::string markdown;
  bool color = false;
};

// The exit status: 0 all held, 1 an expectation did not, 4 a run is no valid evidence; 2 and 3 if
// a file cannot be read or written.
int report_runs(const ReportOptions& options, std::ostream& out, std::ostream& errors);

// The callback sets exit_status. Both outlive the parsing.
void add_report_command(CLI::App& app, int& exit_status);

}  // namespace gatedrill::reports
