// What a world's specification says about its backends, as the objects that live and simulated
// worlds are made of. Every variant draws from the same seed, so equal requests cost equal time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chaos/plan.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "scenarios/origin/answer_book.hpp"
#include "scenarios/origin/origin_model.hpp"
#include "scenarios/spec/scenario.hpp"

namespace gatedrill::scenarios {

// By origin name. Immutable, so that all worlds share it.
using AnswerBooks = std::map<std::string, std::shared_ptr<const AnswerBook>>;

using Dependencies = std::map<std::string, std::unique_ptr<Dependency>>;

[[nodiscard]] Dependencies make_dependencies(const World& world, std::uint64_t seed);

// One config for each instance of an origin, in order. The dependencies outlive the models made of
// it.
[[nodiscard]] std::vector<OriginConfig> make_origins(const std::string& name,
                                                     const OriginSpec& spec,
                                                     const Dependencies& dependencies,
                                                     std::uint64_t seed);

// What an operator does to the backends during the run, in the order of its time.
struct RestartInstance {
  std::string origin;
  std::size_t instance = 0;
  StopOrder order;
};

struct SwitchDependency {
  std::string dependency;
  std::string state;
};

struct Operation {
  TimePoint at;
  std::variant<RestartInstance, SwitchDependency> what;
};

[[nodiscard]] std::vector<Operation> operations_of(const World& world);

// The faults of the timeline. Fails (usage) as FaultPlan::make does.
[[nodiscard]] Result<chaos::FaultPlan> fault_plan_of(const World& world, std::uint64_t seed);

// The upstream whose endpoints are that origin's instances; empty if there is none.
[[nodiscard]] std::string upstream_of(const World& world, const std::string& origin);

// Every named entry of the timeline as a band for the report.
[[nodiscard]] std::vector<FaultWindow> windows_of(const World& world, Duration run);

}  // namespace gatedrill::scenarios
