// reports_sample DIR: leaves a made-up run.db and its reports in a folder, to look at.
#include <filesystem>
#include <iostream>

#include "reports/render.hpp"
#include "reports/run_report.hpp"
#include "reports/write_reports.hpp"
#include "tests/reports/sample_run.hpp"

int main(int arguments, char** argument) {
  namespace reports = gatedrill::reports;
  if (arguments != 2) {
    std::cerr << "usage: reports_sample DIR\n";
    return 2;
  }
  const std::filesystem::path folder(argument[1]);
  std::filesystem::create_directories(folder);
  const std::string run_db = folder / "run.db";
  reports::make_sample_run(run_db);
  if (const auto written = reports::write_reports(run_db, folder); !written) {
    std::cerr << written.error().message << "\n";
    return gatedrill::exit_status(written.error().code);
  }
  std::cout << reports::render_text(*reports::read_report(run_db),
                                    reports::TextStyle{.color = false});
  return 0;
}
