#include "reports/figures.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace gatedrill::reports {
namespace {

// At most `decimals` places, without zeros that say nothing.
std::string number_text(double value, int decimals) {
  std::array<char, 64> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  std::string text(buffer.data(), static_cast<std::size_t>(size));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

int decimals_for(double value) {
  return value >= 100 ? 0 : value >= 10 ? 1 : 2;
}

}  // namespace

std::string duration_text(double nanoseconds) {
  if (std::isinf(nanoseconds)) return "never";
  const double ms = nanoseconds / 1e6;
  if (ms == 0) return "0 s";
  if (ms < 1000) return number_text(ms, decimals_for(ms)) + " ms";
  const double seconds = ms / 1000;
  if (seconds < 300) return number_text(seconds, decimals_for(seconds)) + " s";
  return number_text(seconds / 60, 1) + " min";
}

std::string percent_text(double fraction) {
  const double percent = fraction * 100;
  for (int decimals = 1; decimals <= 6; ++decimals) {
    std::string text = number_text(percent, decimals);
    const bool hides_a_rest = (text == "100" && fraction < 1) || (text == "0" && fraction > 0);
    if (!hides_a_rest) return text + " %";
  }
  return fraction > 0.5 ? "just below 100 %" : "just above 0 %";
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  return percent_text(static_cast<double>(part) / static_cast<double>(whole)) + " (" +
         count_text(part) + " of " + count_text(whole) + ")";
}

std::string amplification_text(std::int64_t attempts, std::int64_t requests) {
  return number_text(static_cast<double>(attempts) / static_cast<double>(requests), 3);
}

std::string ratio_text(std::int64_t part, std::int64_t whole) {
  return amplification_text(part, whole) + " (" + count_text(part) + " for " + count_text(whole) +
         ")";
}

std::string count_text(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace gatedrill::reports
