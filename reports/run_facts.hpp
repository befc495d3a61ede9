// How facts about a run are spelled in the `run` view.
#pragma once

#include <string>

#include "gateway/core/time.hpp"

namespace gatedrill::reports {

// 2024-03-01T09:30:00Z, for `started_at`. Only a live run has one.
[[nodiscard]] std::string iso_time(UnixTime at);

}  // namespace gatedrill::reports
