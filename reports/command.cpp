#include "reports/command.hpp"

#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "reports/render.hpp"
#include "reports/run_report.hpp"
#include "reports/write_reports.hpp"

namespace gatedrill::reports {
namespace {

int fail(const Error& error, std::ostream& errors) {
  errors << "gatedrill report: " << error.message << "\n";
  return exit_status(error.code);
}

// Invalid evidence outweighs an expectation that did not hold: what was judged means nothing.
int worst_of(const std::vector<RunReport>& reports) {
  int status = 0;
  for (const RunReport& report : reports) {
    status = std::max(status, report.judgement.exit_status());
  }
  return status;
}

}  // namespace

int report_runs(const ReportOptions& options, std::ostream& out, std::ostream& errors) {
  std::vector<RunReport> reports;
  for (const std::string& path : options.runs) {
    Result<RunReport> report = read_report(path);
    if (!report) return fail(report.error(), errors);
    reports.push_back(std::move(*report));
  }

  struct Output {
    const std::string& path;
    std::function<std::string(std::span<const RunReport>)> render;
  };

  const std::array<Output, 4> outputs{{{options.html, render_html},
                                       {options.json, render_json},
                                       {options.junit, render_junit},
                                       {options.markdown, render_markdown}}};
  bool document_on_out = false;
  for (const Output& output : outputs) {
    if (output.path.empty()) continue;
    const std::string content = output.render(reports);
    if (output.path == "-") {
      out << content;
      document_on_out = true;
    } else if (Result<void> written = write_file(output.path, content); !written) {
      return fail(written.error(), errors);
    }
  }
  for (const RunReport& report : reports) {
    if (document_on_out) break;
    if (&report != reports.data()) out << "\n";
    out << render_text(report, TextStyle{options.color});
  }
  out.flush();
  if (!out) return fail(outside_error("cannot write to standard output"), errors);
  return worst_of(reports);
}

void add_report_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Render finished runs: verdict, figures, page");
  command->add_option("run.db", options->runs, "What `run`, `load` or `-o run.db` left")
      ->required()
      ->type_name("FILE");
  command->add_option("--html", options->html, "Write a self-contained page")->type_name("FILE");
  command->add_option("--json", options->json, "Write a JSON document; - for standard output")
      ->type_name("FILE");
  command->add_option("--junit", options->junit, "Write JUnit XML for a CI")->type_name("FILE");
  command->add_option("--markdown", options->markdown, "Write tables for a pull request")
      ->type_name("FILE");
  command->footer(
      "Example: gatedrill report out/run.db --html report.html --junit junit.xml\n"
      "Exit status: 0 all held, 1 an expectation did not, 4 no valid evidence");
  command->callback([options, &exit_status] {
    options->color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    exit_status = report_runs(*options, std::cout, std::cerr);
  });
}

}  // namespace gatedrill::reports
