#include "reports/run_facts.hpp"

#include <algorithm>
#include <ctime>

namespace gatedrill::reports {

std::string iso_time(UnixTime at) {
  const auto seconds = static_cast<std::time_t>(at.ns / 1'000'000'000);
  std::tm calendar{};
  gmtime_r(&seconds, &calendar);
  std::string text(20, '\0');
  std::strftime(text.data(), text.size() + 1, "%Y-%m-%dT%H:%M:%SZ", &calendar);
  return text;
}

std::vector<std::string> variants_in(std::string_view fact) {
  std::vector<std::string> variants;
  for (std::size_t at = 0; at < fact.size();) {
    const std::size_t end = std::min(fact.find(',', at), fact.size());
    variants.emplace_back(fact.substr(at, end - at));
    at = end + 1;
  }
  return variants;
}

std::size_t place_among(const std::vector<std::string>& variants, std::string_view gateway) {
  return static_cast<std::size_t>(std::ranges::find(variants, gateway) - variants.begin());
}

}  // namespace gatedrill::reports
