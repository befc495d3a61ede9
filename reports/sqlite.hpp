// SQLite as this folder uses it: a database and its statements, with failures as one clear line
// about the file. Private to reports/.
//
// A Statement must not outlive its Database. Neither is thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace gatedrill::reports {

class Statement {
 public:
  Statement() = default;

  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // Parameters count from 1. Texts and blobs must live until the next step or reset.
  void bind_null(int index);
  void bind(int index, std::int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view text);
  void bind_blob(int index, std::string_view bytes);
  // The index of a named parameter, 0 if the statement has none of that name.
  [[nodiscard]] int parameter(const char* name) const;

  // Columns count from 0 and are valid until the next step or reset.
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_number(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::string_view blob(int column) const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] bool read_only() const;

  // One step: SQLITE_ROW, SQLITE_DONE or an error code. `run` is for a statement without rows.
  int step();
  int run();
  void reset();

 private:
  sqlite3_stmt* handle_ = nullptr;
};

class Database {
 public:
  enum class Mode { read, write, create };

  // Read and write want an existing, whole database file.
  static Result<Database> open(const std::string& path, Mode mode);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  // All statements of a text.
  Result<void> execute(std::string_view sql);
  // The first statement of a text; fails (usage) if the SQL is wrong.
  Result<Statement> prepare(std::string_view sql);
  // The single number a query gives; nothing when it gives no row or NULL.
  Result<std::optional<std::int64_t>> integer(std::string_view sql);

  // What a failed step means to the user.
  [[nodiscard]] Error error(int code) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Database(std::string path, sqlite3* handle, Mode mode)
      : path_(std::move(path)), handle_(handle), mode_(mode) {}

  std::string path_;
  sqlite3* handle_ = nullptr;
  Mode mode_ = Mode::read;
};

}  // namespace gatedrill::reports
