#include "reports/run_facts.hpp"

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

}  // namespace gatedrill::reports
