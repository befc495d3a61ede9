// How far the clocks of two recordings are apart, from the requests that both hold.
//
// A request reaches the upstream after it reached the gateway and its answer leaves the upstream
// before it leaves the gateway: each request that both hold bounds the shift from both sides.
#pragma once

#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/explain/explain.hpp"

namespace gatedrill::replay::explain {

struct ShiftBound {
  Duration at_least{0};
  Duration at_most{0};
};

// None is added if that fits, else the middle of what does.
[[nodiscard]] ClockShift shift_from(std::vector<ShiftBound> bounds);

[[nodiscard]] Result<ClockShift> compare_clocks(const std::string& client_leg,
                                                const std::string& upstream_leg);

}  // namespace gatedrill::replay::explain
