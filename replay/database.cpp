#include "replay/database.hpp"

#include <algorithm>

#include <sqlite3.h>
#include <sys/stat.h>

namespace gatedrill::replay {
namespace {

// SQLite's own words, with what to do about the cases a user meets.
Error error_of(sqlite3* database) {
  const int code = sqlite3_errcode(database) & 0xff;
  const char* file = sqlite3_db_filename(database, "main");
  std::string path = file == nullptr ? "database" : file;
  path.resize(std::min(path.find(kUnfinishedSuffix), path.size()));  // as its user calls it
  switch (code) {
    case SQLITE_FULL:
      return outside_error(path + ": no space left on the disk; free some or write elsewhere");
    case SQLITE_READONLY:
      return outside_error(path + ": was left unfinished; open it once where it can be written");
    case SQLITE_BUSY:
      return outside_error(path + ": is still being written by another process");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return usage_error(path + ": is not a recording, or a damaged one");
    default:
      return outside_error(path + ": " + sqlite3_errmsg(database));
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
}

void Statement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter, value);
}

void Statement::bind_text(int parameter, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), parameter, value.data() == nullptr ? "" : value.data(),
                      value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind_blob(int parameter, std::string_view value) {
  sqlite3_bind_blob64(statement_.get(), parameter, value.data() == nullptr ? "" : value.data(),
                      value.size(), SQLITE_STATIC);
}

void Statement::bind_null(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  Error error = error_of(sqlite3_db_handle(statement_.get()));
  sqlite3_reset(statement_.get());
  return error;
}

Result<void> Statement::run() {
  auto row = step();
  if (!row) return row.error();
  if (*row) reset();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  if (data == nullptr) return {};
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  sqlite3* handle = nullptr;

  struct stat journal {};

  const bool left = stat((path + "-journal").c_str(), &journal) == 0 && journal.st_size > 0;
  const int flags = mode == Mode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                    : left               ? SQLITE_OPEN_READWRITE
                                         : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) {
    return outside_error(path + ": " + (handle == nullptr ? "no memory" : sqlite3_errmsg(handle)));
  }
  return database;
}

Result<bool> Database::has_row(std::string_view query) const {
  auto statement = prepare(query);
  if (!statement) return statement.error();
  return statement->step();
}

Result<void> Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error_of(database_.get());
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error_of(database_.get());
  return Statement(statement);
}

Result<std::int64_t> Database::pragma(const std::string& name) const {
  auto statement = prepare("PRAGMA " + name);
  if (!statement) return statement.error();
  auto row = statement->step();
  if (!row) return row.error();
  return *row ? statement->integer(0) : 0;
}

}  // namespace gatedrill::replay
