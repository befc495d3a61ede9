#include "chaos/plan.hpp"

#include <algorithm>
#include <set>

#include "gateway/http/head.hpp"

namespace gatedrill::chaos {

std::string Target::text() const {
  switch (kind) {
    case Kind::all:
      return "all";
    case Kind::upstream:
      return "upstream " + name;
    case Kind::endpoint:
      return "endpoint " + name;
  }
  return {};
}

bool covers(const Target& target, const LinkName& link) {
  switch (target.kind) {
    case Target::Kind::all:
      return true;
    case Target::Kind::upstream:
      return target.name == link.upstream;
    case Target::Kind::endpoint:
      return target.name == link.endpoint;
  }
  return false;
}

bool RequestFilter::passes(const RequestSight& sight) const {
  if (!methods.empty() &&
      std::find(methods.begin(), methods.end(), sight.method) == methods.end()) {
    return false;
  }
  const std::string_view path = http::path_of(sight.target);
  if (!path.starts_with(path_prefix)) return false;
  return path_prefix_not.empty() || !path.starts_with(path_prefix_not);
}

Result<FaultPlan> FaultPlan::make(std::uint64_t seed, std::vector<PlacedFault> faults) {
  std::set<std::string_view> names;
  for (const PlacedFault& placed : faults) {
    if (!names.insert(placed.name).second) {
      return usage_error("fault '" + placed.name +
                         "' is there twice; give each fault its own name");
    }
    if (placed.until <= placed.at) {
      return usage_error("fault '" + placed.name +
                         "' ends before it begins; give it a longer time");
    }
    if (!(placed.share >= 0.0 && placed.share <= 1.0)) {
      return usage_error("fault '" + placed.name + "' has a share outside 0% to 100%");
    }
  }
  FaultPlan plan;
  plan.seed_ = seed;
  for (const PlacedFault& placed : faults)
    plan.draws_.emplace_back(seed, placed.name);
  plan.faults_ = std::move(faults);
  return plan;
}

std::vector<const PlacedFault*> FaultPlan::active(TimePoint now) const {
  std::vector<const PlacedFault*> found;
  for (const PlacedFault& placed : faults_) {
    if (placed.active(now)) found.push_back(&placed);
  }
  return found;
}

TimePoint FaultPlan::next_change(TimePoint now) const {
  TimePoint next = kNever;
  for (const PlacedFault& placed : faults_) {
    if (placed.at > now) next = std::min(next, placed.at);
    if (placed.until > now) next = std::min(next, placed.until);
  }
  return next;
}

std::vector<FaultWindow> FaultPlan::windows_begun(TimePoint after, TimePoint until) const {
  std::vector<FaultWindow> windows;
  for (const PlacedFault& placed : faults_) {
    if (placed.at <= after || placed.at > until) continue;
    windows.push_back({.at = placed.at,
                       .until = placed.until,
                       .name = intern(placed.name),
                       .kind = intern(placed.fault->kind()),
                       .target = intern(placed.target.text())});
  }
  return windows;
}

std::vector<std::string> FaultPlan::not_simulated() const {
  std::vector<std::string> names;
  for (const PlacedFault& placed : faults_) {
    if (placed.fault->in_simulation() == InSimulation::no) names.push_back(placed.name);
  }
  return names;
}

FaultRun::FaultRun(const FaultPlan& plan) : plan_(&plan), hits_(plan.faults().size()) {}

bool FaultRun::take_hit(std::size_t index) {
  const std::uint64_t limit = plan_->faults()[index].hits_max;
  if (limit != 0 && hits_[index] >= limit) return false;
  ++hits_[index];
  return true;
}

}  // namespace gatedrill::chaos
