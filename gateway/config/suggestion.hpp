// "did you mean ...?": the word that a misspelt one was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gatedrill::gateway {

// The candidate nearest to `word` by edits (insert, delete, replace, swap neighbours), if it is
// near enough to be a slip: at most a third of the letters, or one is the beginning of the other.
// Empty if none is. Among equals the first.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

// "; did you mean X?", or the choices if none is near ("; known here: a, b"), or nothing without
// any.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);

}  // namespace gatedrill::gateway
