// How facts about a run are spelled in the `run` view.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill::reports {

// 2024-03-01T09:30:00Z, for `started_at`. Only a live run has one.
[[nodiscard]] std::string iso_time(UnixTime at);

// The fact `variants`: the gateways in the order in which a report shows them, "as_was,as_fixed".
// Without it they come in the order of their names.
inline constexpr std::string_view kVariantsFact = "variants";
[[nodiscard]] std::vector<std::string> variants_in(std::string_view fact);

// The place of a gateway in that order; those that are not in it come last.
[[nodiscard]] std::size_t place_among(const std::vector<std::string>& variants,
                                      std::string_view gateway);

}  // namespace gatedrill::reports
