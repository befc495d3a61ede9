// Figures as people read them. Private to reports/.
#pragma once

#include <cstdint>
#include <string>

namespace gatedrill::reports {

// "187 ms", "1.25 s", "0.4 ms", "3 min"
[[nodiscard]] std::string duration_text(double nanoseconds);
// "83.3 %"; never rounded up to 100 % or down to 0 %.
[[nodiscard]] std::string percent_text(double fraction);
// "83.3 % (10 of 12)"
[[nodiscard]] std::string share_text(std::int64_t part, std::int64_t whole);
// "1.05 (105 for 100)"
[[nodiscard]] std::string ratio_text(std::int64_t part, std::int64_t whole);
// "1.05", of the attempts for each request
[[nodiscard]] std::string amplification_text(std::int64_t attempts, std::int64_t requests);
// "12,345"
[[nodiscard]] std::string count_text(std::int64_t count);

}  // namespace gatedrill::reports
