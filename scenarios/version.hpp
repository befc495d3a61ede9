// The version of this program, as `gatedrill --version` and every run.db say it.
#pragma once

#include <string_view>

namespace gatedrill {

inline constexpr std::string_view kVersion = GD_VERSION;

}  // namespace gatedrill
