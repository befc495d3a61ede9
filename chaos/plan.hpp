// Which fault acts when, on which link, on which share of its requests: the faults of one variant
// on its timeline. A plan is a value fixed before the run; what a run adds (how often each fault
// has hit, which request ids were seen) is in FaultRun, one for each variant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chaos/fault/draw.hpp"
#include "chaos/fault/fault.hpp"
#include "chaos/fault/sightings.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/names.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::chaos {

// Which links a fault is on.
struct Target {
  enum class Kind { all, upstream, endpoint };
  Kind kind = Kind::all;
  std::string name;  // of the upstream or the endpoint; empty for all

  // "all", "upstream shop", "endpoint shop-1": as run.db shows it.
  [[nodiscard]] std::string text() const;
};

// A link's name: the endpoint at its far end and the upstream that this belongs to.
struct LinkName {
  std::string upstream;
  std::string endpoint;
};

[[nodiscard]] bool covers(const Target& target, const LinkName& link);

// Which requests a fault asks about; probes stay healthy by leaving their path out.
struct RequestFilter {
  std::vector<std::string> methods;  // empty: all
  std::string path_prefix;           // empty: all
  std::string path_prefix_not;       // empty: none left out

  [[nodiscard]] bool passes(const RequestSight& sight) const;
};

struct PlacedFault {
  std::string name;  // unique in the plan
  FaultPointer fault;
  Target target;
  TimePoint at;
  TimePoint until = kNever;  // exclusive
  double share = 1.0;  // of the requests (of the connections, where no request is asked about)
  std::uint64_t hits_max = 0;  // 0: no limit. A count depends on order, unlike everything else here
  RequestFilter requests;

  [[nodiscard]] bool active(TimePoint now) const { return at <= now && now < until; }
};

class FaultPlan {
 public:
  // No faults.
  FaultPlan() = default;

  // Fails (usage) on a repeated name, an empty window, a share outside [0, 1].
  static Result<FaultPlan> make(std::uint64_t seed, std::vector<PlacedFault> faults);

  [[nodiscard]] const std::vector<PlacedFault>& faults() const { return faults_; }

  [[nodiscard]] const Draw& draw(std::size_t index) const { return draws_[index]; }

  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  // Those that act at that time.
  [[nodiscard]] std::vector<const PlacedFault*> active(TimePoint now) const;
  // The earliest begin or end after `now`; kNever if there is none.
  [[nodiscard]] TimePoint next_change(TimePoint now) const;
  // The windows that begin in (after, until]: whoever plays the plan publishes them as it gets
  // there.
  [[nodiscard]] std::vector<FaultWindow> windows_begun(TimePoint after, TimePoint until) const;
  // Names of the faults that a simulation cannot play.
  [[nodiscard]] std::vector<std::string> not_simulated() const;

 private:
  std::uint64_t seed_ = 0;
  std::vector<PlacedFault> faults_;
  std::vector<Draw> draws_;
};

// What one variant's run adds to the plan. Its links share it; not thread-safe. The plan outlives
// it.
class FaultRun {
 public:
  explicit FaultRun(const FaultPlan& plan);

  [[nodiscard]] const FaultPlan& plan() const { return *plan_; }

  Sightings& sightings() { return sightings_; }

  // Counts a hit of fault `index`; false once hits_max is reached, and then nothing is to happen.
  bool take_hit(std::size_t index);

  [[nodiscard]] std::uint64_t hits(std::size_t index) const { return hits_[index]; }

 private:
  const FaultPlan* plan_;
  std::vector<std::uint64_t> hits_;
  Sightings sightings_;
};

}  // namespace gatedrill::chaos
