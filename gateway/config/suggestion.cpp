#include "gateway/config/suggestion.hpp"

#include <algorithm>

namespace gatedrill::gateway {
namespace {

// Optimal string alignment distance, three rows at a time.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kShortestBeginning = 4;
  std::string best;
  std::size_t best_edits = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edits(word, candidate);
    if (distance < best_edits && distance < candidate.size()) {
      best = candidate;
      best_edits = distance;
    }
  }
  if (!best.empty() || word.size() < kShortestBeginning) return best;
  for (const std::string& candidate : candidates) {
    const bool begins = candidate.starts_with(word) ||
                        (candidate.size() >= kShortestBeginning && word.starts_with(candidate));
    if (begins) return candidate;
  }
  return {};
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kMostListed = 16;
  if (candidates.empty()) return {};
  if (const std::string near = nearest(word, candidates); !near.empty()) {
    return "; did you mean " + near + "?";
  }
  std::string listed;
  for (std::size_t i = 0; i < std::min(candidates.size(), kMostListed); ++i) {
    listed += (i == 0 ? "" : ", ") + candidates[i];
  }
  return "; known here: " + listed + (candidates.size() > kMostListed ? ", ..." : "");
}

}  // namespace gatedrill::gateway
