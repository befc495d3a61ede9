// Whether a sanitizer watches the tests and the programs that they start. Two things cannot be
// tested then: how much memory is resident (freed memory is kept back), and what happens without
// any descriptor (the check of an object's type needs a pipe, and takes its absence for a fault).
#pragma once

namespace gatedrill::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace gatedrill::testing
