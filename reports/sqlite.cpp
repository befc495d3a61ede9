#include "reports/sqlite.hpp"

#include <utility>

#include <sqlite3.h>

namespace gatedrill::reports {

Statement::Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

void Statement::bind_null(int index) {
  sqlite3_bind_null(handle_, index);
}

void Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(handle_, index, value);
}

void Statement::bind(int index, double value) {
  sqlite3_bind_double(handle_, index, value);
}

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL, and an empty view may hold one.
  const char* data = text.empty() ? "" : text.data();
  sqlite3_bind_text(handle_, index, data, static_cast<int>(text.size()), SQLITE_STATIC);
}

void Statement::bind_blob(int index, std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  sqlite3_bind_blob(handle_, index, data, static_cast<int>(bytes.size()), SQLITE_STATIC);
}

int Statement::parameter(const char* name) const {
  return sqlite3_bind_parameter_index(handle_, name);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

bool Statement::is_number(int column) const {
  const int type = sqlite3_column_type(handle_, column);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(handle_, column);
}

std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(handle_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::string_view Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

int Statement::columns() const {
  return sqlite3_column_count(handle_);
}

bool Statement::read_only() const {
  return sqlite3_stmt_readonly(handle_) != 0;
}

int Statement::step() {
  return sqlite3_step(handle_);
}

int Statement::run() {
  const int code = sqlite3_step(handle_);
  sqlite3_reset(handle_);
  return code;
}

void Statement::reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)),
      handle_(std::exchange(other.handle_, nullptr)),
      mode_(other.mode_) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  std::swap(mode_, other.mode_);
  return *this;
}

Database::~Database() {
  sqlite3_close_v2(handle_);
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  int flags = SQLITE_OPEN_READONLY;
  if (mode == Mode::write) flags = SQLITE_OPEN_READWRITE;
  if (mode == Mode::create) flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(path, handle, mode);
  if (code != SQLITE_OK) return database.error(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 5000);
  return database;
}

Result<void> Database::execute(std::string_view sql) {
  const int code = sqlite3_exec(handle_, std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code == SQLITE_ERROR) return usage_error(sqlite3_errmsg(handle_));
  if (code != SQLITE_OK) return error(code);
  if (statement == nullptr) return usage_error("there is no SQL statement");
  return Statement(statement);
}

Result<std::optional<std::int64_t>> Database::integer(std::string_view sql) {
  Result<Statement> query = prepare(sql);
  if (!query) return query.error();
  const int code = query->step();
  if (code == SQLITE_DONE) return std::optional<std::int64_t>();
  if (code != SQLITE_ROW) return error(code);
  if (query->is_null(0)) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(query->integer(0));
}

Error Database::error(int code) const {
  const std::string doing = mode_ == Mode::read ? "cannot read " : "cannot write ";
  switch (code & 0xff) {
    case SQLITE_FULL:
      return outside_error(doing + path_ +
                           ": the disk is full; free some space or choose another place");
    case SQLITE_IOERR:
      return outside_error(doing + path_ + ": the disk fails or is full (" + sqlite3_errstr(code) +
                           "); free some space or choose another place");
    case SQLITE_CANTOPEN:
      return outside_error(
          doing + path_ + ": it cannot be opened; does its folder exist, and may " + "you use it?");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return outside_error(doing + path_ + ": no permission; choose another place");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return outside_error(doing + path_ + ": another program is using it; close that first");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return usage_error(path_ + " is not a run.db, or is damaged: " + sqlite3_errstr(code));
    default:
      return outside_error(doing + path_ + ": " +
                           (handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code)));
  }
}

}  // namespace gatedrill::reports
