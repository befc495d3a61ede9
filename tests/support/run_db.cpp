#include "tests/support/run_db.hpp"

#include <stdexcept>

namespace gatedrill::testing {

std::vector<std::vector<std::string>> query(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    sqlite3_close(database);
    throw std::runtime_error("cannot open " + path);
  }
  std::vector<std::vector<std::string>> rows;
  const auto add_row = [](void* target, int count, char** values, char** /*names*/) {
    auto& row = static_cast<std::vector<std::vector<std::string>>*>(target)->emplace_back();
    for (int i = 0; i < count; ++i) row.emplace_back(values[i] != nullptr ? values[i] : "NULL");
    return 0;
  };
  char* message = nullptr;
  const int code = sqlite3_exec(database, sql.c_str(), add_row, &rows, &message);
  const std::string text = message != nullptr ? message : "";
  sqlite3_free(message);
  sqlite3_close(database);
  if (code != SQLITE_OK) throw std::runtime_error(sql + ": " + text);
  return rows;
}

std::string dump_views(const std::string& path) {
  std::string all;
  for (const auto& view : query(path, "select name from sqlite_master where type = 'view' "
                                      "order by name")) {
    all += "== " + view[0] + "\n";
    for (const auto& row : query(path, "select * from \"" + view[0] + "\"")) {
      for (const std::string& value : row) all += value + "|";
      all += "\n";
    }
  }
  return all;
}

}  // namespace gatedrill::testing
