// What a fuzz target promises: broken, it ends the program, so that the input is kept.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace gatedrill::fuzz {

inline void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace gatedrill::fuzz
