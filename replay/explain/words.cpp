#include "replay/explain/words.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "replay/traffic_summary.hpp"

namespace gatedrill::replay::explain {
namespace {

std::string with_decimals(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

}  // namespace

std::string in_words(Duration duration) {
  const double ms = to_ms(duration);
  const double size = std::abs(ms);
  if (size < 10) return with_decimals(ms, 2) + " ms";
  if (size < 999.5) return with_decimals(ms, 0) + " ms";
  if (size < 10'000) return with_decimals(ms / 1000, 3) + " s";
  if (size < 120'000) return with_decimals(ms / 1000, 1) + " s";
  const auto seconds = static_cast<std::int64_t>(std::llround(ms / 1000));
  if (seconds < 7200) {
    return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
  }
  return std::to_string(seconds / 3600) + " h " + std::to_string(seconds / 60 % 60) + " min";
}

std::string in_words(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string count_of(std::uint64_t number, std::string_view thing) {
  std::string text = in_words(number) + " ";
  text.append(thing);
  if (number != 1) text.push_back('s');
  return text;
}

std::string share_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return with_decimals(percent, percent < 10 && percent > 0 ? 2 : 1) + " %";
}

std::string time_of_day(UnixTime at) {
  const std::string text = time_text(at);
  constexpr std::size_t kZone = 4;  // " UTC"
  const std::size_t day = text.find(' ') + 1;
  return text.substr(day, text.size() - kZone - day);
}

}  // namespace gatedrill::replay::explain
