#include "replay/formats/redaction_note.hpp"

#include <algorithm>
#include <vector>

namespace gatedrill::replay::formats {

Result<std::string> redaction_note(const Recording& recording) {
  auto ledger = recording.ledger();
  if (!ledger) return ledger.error();
  std::uint64_t replaced = 0;
  std::uint64_t dropped = 0;
  for (const LedgerLine& line : *ledger) {
    if (line.what == "redacted bodies dropped") {
      dropped += line.count;
    } else if (line.what.starts_with("redacted ") && line.what != "redacted bodies") {
      replaced += line.count;
    }
  }
  if (replaced == 0 && dropped == 0) return std::string();
  std::string text =
      "secrets in this traffic were replaced when it was recorded: " + std::to_string(replaced) +
      " values read redacted-...";
  if (dropped > 0) text += ", " + std::to_string(dropped) + " bodies are missing";
  return text;
}

}  // namespace gatedrill::replay::formats
