// The figure that an expression asks for, from one run.db and for one gateway. Private to reports/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "reports/expectation/expression.hpp"
#include "reports/sqlite.hpp"

namespace gatedrill::reports {

// A figure, or no data and why.
struct Figure {
  std::optional<double> value;  // a plain number, a fraction, or nanoseconds
  std::string shown = "no data";
  std::string note;
};

// A stretch of the run, in nanoseconds; without an end it lasts until the end of the run.
struct Stretch {
  std::string name;
  std::int64_t from = 0;
  std::optional<std::int64_t> until;
};

// Fails (usage) if an escape-hatch query is wrong, (outside) if the file cannot be read.
Result<Figure> evaluate(Database& database,
                        const Expression& expression,
                        const std::string& gateway);

[[nodiscard]] bool holds(const Expression& expression, double value);

}  // namespace gatedrill::reports
