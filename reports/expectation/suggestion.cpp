#include "reports/expectation/suggestion.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace gatedrill::reports {
namespace {

// Levenshtein's distance.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t change = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t nearest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t away = distance(word, candidate);
    if (away < nearest) {
      nearest = away;
      best = candidate;
    }
  }
  return best.empty() ? "" : "; did you mean " + std::string(best) + "?";
}

}  // namespace gatedrill::reports
