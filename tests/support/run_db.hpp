// Reads run.db in tests, as its users do: through the views.
#pragma once

#include <string>
#include <vector>

#include <sqlite3.h>

namespace gatedrill::testing {

// Rows of a query, every value as text ("NULL" for none). Throws on a wrong query.
std::vector<std::vector<std::string>> query(const std::string& path, const std::string& sql);

// All rows of all stable views, as one text.
std::string dump_views(const std::string& path);

}  // namespace gatedrill::testing
