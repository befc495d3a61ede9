// Text for HTML and XML, whatever bytes it holds. Private to reports/.
#pragma once

#include <string>
#include <string_view>

namespace gatedrill::reports {

// Entities for & < > and quotation marks; U+FFFD for bytes that are not UTF-8 and for control
// characters, which XML has no place for. Line feeds and tabs stay.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace gatedrill::reports
