// How explain writes numbers and times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/core/time.hpp"

namespace gatedrill::replay::explain {

// "3.1 ms", "1.002 s", "2 min 5 s".
[[nodiscard]] std::string in_words(Duration duration);
// "12,345".
[[nodiscard]] std::string in_words(std::uint64_t number);
// "12 requests", "1 request".
[[nodiscard]] std::string count_of(std::uint64_t number, std::string_view thing);
// "12.3 %".
[[nodiscard]] std::string share_of(std::uint64_t part, std::uint64_t whole);
// "22:13:20.123"
[[nodiscard]] std::string time_of_day(UnixTime at);

}  // namespace gatedrill::replay::explain
