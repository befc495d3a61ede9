#include "scenarios/spec/backends.hpp"

#include <algorithm>
#include <cassert>

namespace gatedrill::scenarios {
namespace {

constexpr const char* kNormal = "normal";

HealthEndpoint health_endpoint(const std::string& path,
                               const OriginSpec& spec,
                               const Dependencies& dependencies) {
  HealthEndpoint endpoint{path, spec.health_latency, nullptr, false};
  if (!spec.health_calls.empty()) {
    endpoint.dependency = dependencies.at(spec.health_calls.front()).get();
  }
  return endpoint;
}

}  // namespace

Dependencies make_dependencies(const World& world, std::uint64_t seed) {
  Dependencies made;
  for (const auto& [name, spec] : world.dependencies) {
    std::vector<Dependency::Mode> modes{{kNormal, spec.latency}};
    for (const auto& [state, latency] : spec.states)
      modes.push_back({state, latency});
    made[name] = std::make_unique<Dependency>(name, std::move(modes), seed);
  }
  return made;
}

std::vector<OriginConfig> make_origins(const std::string& name,
                                       const OriginSpec& spec,
                                       const Dependencies& dependencies,
                                       std::uint64_t seed) {
  OriginConfig config;
  for (const VersionSpec& version : spec.versions) {
    OriginVersion& made = config.versions.emplace_back();
    made.name = version.name;
    made.latency = version.latency.value_or(spec.latency);
    for (const CallSpec& call : version.calls) {
      made.dependencies.push_back({dependencies.at(call.dependency).get(), call.cached});
    }
  }
  if (config.versions.empty()) config.versions.push_back({"v1", spec.latency, {}});
  config.workers = spec.workers;
  config.queue_max = spec.queue_max;
  config.keep_alive = spec.keep_alive;
  config.requests_per_connection_max = spec.requests_per_connection_max;
  config.readiness = health_endpoint(spec.readiness_path, spec, dependencies);
  config.liveness = {spec.liveness_path, spec.health_latency, nullptr, false};
  config.flaps = spec.flaps;
  config.seed = seed;
  std::vector<OriginConfig> configs;
  for (const std::string& instance : instance_names(name, spec.instances)) {
    config.name = instance;
    configs.push_back(config);
  }
  return configs;
}

std::vector<Operation> operations_of(const World& world) {
  std::vector<Operation> operations;
  for (const TimelineEntry& entry : world.timeline) {
    if (const auto* restart = std::get_if<RestartAction>(&entry.action)) {
      const OriginSpec& spec = world.origins.at(restart->origin);
      StopOrder order = spec.stop;
      order.start_again = true;
      order.version = spec.versions.size() > 1 ? 1 : 0;
      for (std::size_t i = 0; i < spec.instances; ++i) {
        operations.push_back({entry.at + restart->interval * static_cast<std::int64_t>(i),
                              RestartInstance{restart->origin, i, order}});
      }
    } else if (const auto* change = std::get_if<DependencyAction>(&entry.action)) {
      operations.push_back({entry.at, SwitchDependency{change->dependency, change->state}});
      if (entry.lasts) {
        operations.push_back(
            {entry.at + *entry.lasts, SwitchDependency{change->dependency, kNormal}});
      }
    }
  }
  std::stable_sort(operations.begin(), operations.end(),
                   [](const Operation& a, const Operation& b) { return a.at < b.at; });
  return operations;
}

Result<chaos::FaultPlan> fault_plan_of(const World& world, std::uint64_t seed) {
  std::vector<chaos::PlacedFault> faults;
  for (const TimelineEntry& entry : world.timeline) {
    if (const auto* fault = std::get_if<FaultAction>(&entry.action)) faults.push_back(fault->fault);
  }
  return chaos::FaultPlan::make(seed, std::move(faults));
}

std::string upstream_of(const World& world, const std::string& origin) {
  for (const auto& [upstream, name] : world.upstream_origins) {
    if (name == origin) return upstream;
  }
  return {};
}

std::vector<FaultWindow> windows_of(const World& world, Duration run) {
  std::vector<FaultWindow> windows;
  for (const TimelineEntry& entry : world.timeline) {
    FaultWindow window;
    window.at = entry.at;
    window.until = end_of(entry, world, run);
    window.name = intern(entry.name);
    if (const auto* restart = std::get_if<RestartAction>(&entry.action)) {
      window.kind = intern("restart");
      window.target = intern("origin " + restart->origin);
      if (entry.name.empty()) window.name = window.kind;
    } else if (const auto* change = std::get_if<DependencyAction>(&entry.action)) {
      window.kind = intern("dependency");
      window.target = intern(change->dependency + " " + change->state);
      if (entry.name.empty()) window.name = window.kind;
    } else if (const auto* fault = std::get_if<FaultAction>(&entry.action)) {
      window.kind = intern(fault->fault.fault->kind());
      window.target = intern(fault->fault.target.text());
    }
    windows.push_back(window);
  }
  return windows;
}

}  // namespace gatedrill::scenarios
