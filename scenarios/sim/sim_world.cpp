#include "scenarios/sim/sim_world.hpp"

#include <map>
#include <utility>
#include <vector>

#include "scenarios/sim/sim_client.hpp"
#include "scenarios/sim/sim_gateway.hpp"

namespace gatedrill::scenarios {
namespace {

// After the end nothing is sent any more; what is under way gets this long to end.
constexpr Duration kSettleTime = std::chrono::seconds{35};

class SimWorld {
 public:
  SimWorld(const SimOrder& order, chaos::FaultPlan plan)
      : order_(order),
        world_(order.variant->world),
        name_(intern(order.variant->name)),
        plan_(std::move(plan)),
        faults_(plan_),
        dependencies_(make_dependencies(world_, order.seed)) {
    for (const auto& [origin, spec] : world_.origins)
      make_links(origin, spec);
    gateway_ = std::make_unique<SimGateway>(world_.gateway, name_, Random(order.seed), queue_,
                                            *order.sink, links_by_upstream());
    client_ = std::make_unique<SimClient>(queue_, *order.sink, name_, *gateway_);
  }

  void play() {
    for (const FaultWindow& window : windows_of(world_, order_.duration)) {
      queue_.at(window.at, [this, window] { order_.sink->publish({name_, window}); });
    }
    for (const Operation& operation : operations_of(world_)) {
      queue_.at(operation.at, [this, operation] { operate(operation); });
    }
    client_->start(replay::ReplaySource(order_.traffic));
    queue_.run_until(TimePoint{order_.duration + kSettleTime});
  }

 private:
  void make_links(const std::string& origin, const OriginSpec& spec) {
    SimLink::Parts parts;
    parts.queue = &queue_;
    parts.sink = order_.sink;
    parts.gateway = name_;
    parts.answers = order_.answers->at(origin).get();
    parts.turns = &turns_[origin];
    parts.attempts_at_origins = &attempts_at_origins_;
    for (OriginConfig& config : make_origins(origin, spec, dependencies_, order_.seed)) {
      chaos::LinkModel::Settings settings;
      settings.name = {upstream_of(world_, origin), config.name};
      settings.to_origin = world_.link.delay;
      settings.to_gateway = world_.link.delay;
      links_[origin].push_back(
          std::make_unique<SimLink>(parts, std::move(settings), faults_, std::move(config)));
    }
  }

  std::vector<std::vector<SimLink*>> links_by_upstream() {
    std::vector<std::vector<SimLink*>> links;
    for (const gateway::UpstreamConfig& upstream : world_.gateway.upstreams) {
      std::vector<SimLink*>& endpoints = links.emplace_back();
      for (const auto& link : links_[world_.upstream_origins.at(upstream.name)]) {
        endpoints.push_back(link.get());
      }
    }
    return links;
  }

  void operate(const Operation& operation) {
    if (const auto* restart = std::get_if<RestartInstance>(&operation.what)) {
      links_.at(restart->origin)[restart->instance]->stop(restart->order);
    } else if (const auto* change = std::get_if<SwitchDependency>(&operation.what)) {
      const auto switched = dependencies_.at(change->dependency)->switch_to(change->state);
      assert(switched);  // the reader knows the states
    }
  }

  SimOrder order_;
  const World& world_;
  NameId name_;
  EventQueue queue_;
  chaos::FaultPlan plan_;
  chaos::FaultRun faults_;
  Dependencies dependencies_;
  std::map<std::string, AnswerBook::Turns> turns_;
  chaos::Sightings attempts_at_origins_;
  std::map<std::string, std::vector<std::unique_ptr<SimLink>>> links_;
  std::unique_ptr<SimGateway> gateway_;
  std::unique_ptr<SimClient> client_;
};

}  // namespace

Result<void> simulate(const SimOrder& order) {
  const Variant& variant = *order.variant;
  if (variant.world.external) {
    return evidence_error("variant " + variant.name +
                          " is an external gateway, which cannot be simulated");
  }
  auto plan = fault_plan_of(variant.world, order.seed);
  if (!plan) return plan.error();
  if (const auto names = plan->not_simulated(); !names.empty()) {
    return evidence_error("the fault '" + names.front() + "' cannot be simulated; play it live");
  }
  SimWorld world(order, std::move(*plan));
  world.play();
  return {};
}

}  // namespace gatedrill::scenarios
