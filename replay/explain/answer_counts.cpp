#include "replay/explain/answer_counts.hpp"

#include <vector>

#include "replay/explain/words.hpp"

namespace gatedrill::replay::explain {

std::uint64_t total(const AnswerCounts& counts) {
  std::uint64_t sum = 0;
  for (const auto& [answer, count] : counts)
    sum += count;
  return sum;
}

std::string words(const AnswerCounts& first, const AnswerCounts& then) {
  std::vector<std::string> parts;
  for (const AnswerCounts* counts : {&first, &then}) {
    for (const auto& [answer, count] : *counts)
      parts.push_back(in_words(count) + " " + answer);
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace gatedrill::replay::explain
