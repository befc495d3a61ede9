#include "scenarios/spec/scenario.hpp"

namespace gatedrill::scenarios {

TimePoint end_of(const TimelineEntry& entry, const World& world, Duration run) {
  if (entry.lasts) return entry.at + *entry.lasts;
  const auto* restart = std::get_if<RestartAction>(&entry.action);
  if (restart == nullptr) return TimePoint{run};
  const auto origin = world.origins.find(restart->origin);
  if (origin == world.origins.end()) return entry.at;
  const OriginSpec& spec = origin->second;
  const auto others = static_cast<std::int64_t>(spec.instances) - 1;
  return entry.at + restart->interval * others + spec.stop.removal_wait + spec.stop.start_time;
}

std::vector<std::string> instance_names(const std::string& origin, std::size_t instances) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= instances; ++i)
    names.push_back(origin + "-" + std::to_string(i));
  return names;
}

}  // namespace gatedrill::scenarios
