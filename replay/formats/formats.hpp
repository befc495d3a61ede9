// The formats that this program knows, and what to say about files of the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

// In the order in which users see them.
[[nodiscard]] const std::vector<Format>& all_formats();

enum class Direction { read, write };

// By its name. Fails (usage) with the one that was probably meant.
[[nodiscard]] Result<const Format*> find_format(std::string_view name, Direction direction);

// What a file that begins so seems to be, as advice: "it looks like a HAR: import har"; nothing if
// it looks like nothing known, or like `expected`.
[[nodiscard]] std::string advice_about(std::string_view beginning, const Format& expected);

}  // namespace gatedrill::replay::formats
