// How replay's commands end: what they say then, and with which exit status.
#pragma once

#include <iostream>
#include <string>

#include "gateway/core/result.hpp"

namespace gatedrill::replay {

inline constexpr int kNotEvidence = exit_status(ErrorCode::evidence);

// Says what was wrong; returns the exit status for it. `command` as users type it.
inline int fail(const char* command, const Error& error) {
  std::cerr << "gatedrill " << command << ": " << error.message << "\n";
  return exit_status(error.code);
}

}  // namespace gatedrill::replay
