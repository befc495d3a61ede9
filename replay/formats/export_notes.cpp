#include <algorithm>

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {
namespace {

constexpr std::size_t kShownMax = 10;

}  // namespace

void ExportNotes::add(std::string_view what, std::int64_t exchange) {
  auto at = std::find_if(notes_.begin(), notes_.end(),
                         [what](const Note& note) { return note.what == what; });
  if (at == notes_.end()) {
    notes_.push_back({std::string(what), 0, {}});
    at = std::prev(notes_.end());
  }
  ++at->count;
  if (at->first.size() < kShownMax) at->first.push_back(exchange);
}

std::vector<std::string> ExportNotes::lines() const {
  std::vector<std::string> lines;
  for (const Note& note : notes_) {
    std::string line = std::to_string(note.count) + " " + note.what + ": exchange";
    for (const std::int64_t exchange : note.first)
      line += " " + std::to_string(exchange);
    if (note.count > note.first.size()) line += " ...";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace gatedrill::replay::formats
