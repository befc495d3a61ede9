// The known word that a wrong one was probably meant to be. Private to reports/.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gatedrill::reports {

// "; did you mean X?", or nothing if none is near.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     std::span<const std::string_view> known);

}  // namespace gatedrill::reports
