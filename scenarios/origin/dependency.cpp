#include "scenarios/origin/dependency.hpp"

#include <cassert>

namespace gatedrill::scenarios {

Dependency::Dependency(std::string name, std::vector<Mode> modes, std::uint64_t seed)
    : name_(std::move(name)), modes_(std::move(modes)), draw_(seed, "dependency " + name_) {
  assert(!modes_.empty());
}

Result<void> Dependency::switch_to(std::string_view mode) {
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    if (modes_[i].name != mode) continue;
    current_ = i;
    return {};
  }
  std::string known;
  for (const Mode& each : modes_)
    known += (known.empty() ? "" : ", ") + each.name;
  return usage_error("dependency '" + name_ + "' has no mode '" + std::string(mode) +
                     "'; it has: " + known);
}

Duration Dependency::call(const chaos::RequestSight& request) const {
  return modes_[current_].latency.at(draw_.of_request(name_, request, "call"));
}

Duration Dependency::call_at_start(std::string_view instance, std::uint64_t start) const {
  return modes_[current_].latency.at(draw_.of_connection(instance, start, "start"));
}

}  // namespace gatedrill::scenarios
