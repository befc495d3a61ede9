#include "reports/run_file.hpp"

#include <filesystem>

namespace gatedrill::reports {
namespace {

std::int64_t application_id(Database& database) {
  const auto id = database.integer("PRAGMA application_id");
  return id && *id ? **id : 0;
}

}  // namespace

bool is_run_file(const std::string& path) {
  Result<Database> database = Database::open(path, Database::Mode::read);
  return database && application_id(*database) == kRunApplicationId;
}

Result<Database> open_run_file(const std::string& path, Database::Mode mode) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (status.type() == std::filesystem::file_type::not_found) {
    return outside_error("there is no file " + path +
                         "; `gatedrill run` and `-o run.db` write one");
  }
  if (failed) return outside_error("cannot read " + path + ": " + failed.message());
  if (status.type() == std::filesystem::file_type::directory) {
    return usage_error(path + " is a folder; name the run.db in it");
  }
  if (status.type() == std::filesystem::file_type::regular &&
      std::filesystem::file_size(path, failed) == 0 && !failed) {
    return usage_error(path + " is empty: nothing was ever recorded in it");
  }
  Result<Database> database = Database::open(path, mode);
  if (!database) return database.error();
  // Reading anything tells whether it is a database, and whether it may be read.
  const auto id = database->integer("PRAGMA application_id");
  if (!id) return id.error();
  const auto readable = database->integer("SELECT count(*) FROM sqlite_schema");
  if (!readable) return readable.error();
  if (*id != kRunApplicationId) {
    return usage_error(path + " is a database, but not a run.db");
  }
  const auto version = database->integer("PRAGMA user_version");
  if (!version) return version.error();
  if (version->value_or(0) > kRunSchemaVersion) {
    return usage_error(path + " was written by a newer gatedrill; use that one to read it");
  }
  return std::move(*database);
}

}  // namespace gatedrill::reports
