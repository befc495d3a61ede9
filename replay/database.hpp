// SQLite, as recordings use it: prepared statements, and failures as Results. Private to replay.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace gatedrill::replay {

// In the name of a file that is not whole yet, behind the name that it will have.
inline constexpr std::string_view kUnfinishedSuffix = ".partial-";

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Parameters count from 1. Texts and blobs must outlive the next step.
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  void bind_text(int parameter, std::string_view value);
  void bind_blob(int parameter, std::string_view value);
  void bind_null(int parameter);

  // True while there is a row. At the end, or after a failure, the statement is reset.
  Result<bool> step();
  // For statements without rows.
  Result<void> run();
  void reset();

  // Columns count from 0. Views live until the next step.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string_view bytes(int column) const;

  [[nodiscard]] std::string text(int column) const { return std::string(bytes(column)); }

  [[nodiscard]] bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Mode { read, create };

  // To be read, a file that a killed process has left is first brought back to what it had saved,
  // which needs permission to write.
  static Result<Database> open(const std::string& path, Mode mode);

  Result<void> execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql) const;
  Result<std::int64_t> pragma(const std::string& name) const;
  [[nodiscard]] Result<bool> has_row(std::string_view query) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace gatedrill::replay
