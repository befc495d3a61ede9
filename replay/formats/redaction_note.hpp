// What an export says of a recording whose secrets were replaced.
#pragma once

#include <string>

#include "gateway/core/result.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay::formats {

// One sentence, or nothing if no secret was replaced.
[[nodiscard]] Result<std::string> redaction_note(const Recording& recording);

}  // namespace gatedrill::replay::formats
