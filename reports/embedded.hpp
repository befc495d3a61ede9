// Text files of this folder, compiled in by embed.cmake.
#pragma once

#include <string_view>

namespace gatedrill::reports::embedded {

extern const std::string_view schema_sql;

}  // namespace gatedrill::reports::embedded
