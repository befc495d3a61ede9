// Failures counted by what the client saw: evidence names each number that it adds up.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gatedrill::replay::explain {

using AnswerCounts = std::map<std::string, std::uint64_t>;  // "502", "closed without an answer"

[[nodiscard]] std::uint64_t total(const AnswerCounts& counts);
// "4 502, 35 503 and 50 closed without an answer"; "nothing" if there is none. `first` is named
// first.
[[nodiscard]] std::string words(const AnswerCounts& first, const AnswerCounts& then = {});

}  // namespace gatedrill::replay::explain
