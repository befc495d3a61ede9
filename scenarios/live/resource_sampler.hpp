// What a gateway costs while a drill is played, from the kernel's accounting: once a second, one
// ResourceSample for each variant. Ours runs on a thread of this process, so its processor time is
// the thread's (with its origins and clients) and memory is the whole process's; an external one is
// a group of processes of its own.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

#include "gateway/core/event.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::scenarios {

// The calling thread's processor time so far.
[[nodiscard]] Duration thread_cpu();

// This process's memory and open files; cpu is left zero.
[[nodiscard]] ResourceSample sample_self();

// The sum over a process group; nothing once it has gone.
[[nodiscard]] std::optional<ResourceSample> sample_group(pid_t group);

}  // namespace gatedrill::scenarios
