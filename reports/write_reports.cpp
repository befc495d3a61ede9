#include "reports/write_reports.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "reports/render.hpp"
#include "reports/run_report.hpp"

namespace gatedrill::reports {

Result<void> write_file(const std::string& path, const std::string& content) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    return usage_error(path + " is a folder; name a file in it");
  }
  // A device or a pipe is written to, not replaced.
  const bool special =
      std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed);
  const std::string target = special ? path : path + ".partial";
  errno = 0;
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) {
    const std::string why = errno != 0 ? std::strerror(errno) : "it cannot be written";
    if (!special) std::filesystem::remove(target, failed);
    return outside_error("cannot write " + path + ": " + why);
  }
  if (special) return {};
  std::filesystem::rename(target, path, failed);
  if (failed) return outside_error("cannot write " + path + ": " + failed.message());
  return {};
}

Result<void> write_reports(const std::string& run_db, const std::string& folder) {
  const Result<RunReport> report = read_report(run_db);
  if (!report) return report.error();
  const std::span<const RunReport> one(&*report, 1);
  const std::filesystem::path place(folder);
  if (Result<void> html = write_file(place / "report.html", render_html(one)); !html) return html;
  return write_file(place / "junit.xml", render_junit(one));
}

}  // namespace gatedrill::reports
