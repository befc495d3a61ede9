// A scenario file as values: what is played, against which gateways, and what is expected. Read by
// read_scenario (spec/scenario_reader.hpp); played live (live/) or in virtual time (sim/).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chaos/plan.hpp"
#include "gateway/config/gateway_config.hpp"
#include "gateway/config/units.hpp"
#include "scenarios/live/external_gateway.hpp"
#include "scenarios/origin/origin_model.hpp"

namespace gatedrill::scenarios {

struct TrafficSpec {
  std::string recording;              // a traffic.db, or a capture (pcap, pcapng)
  std::optional<gateway::Rate> rate;  // none: as recorded, once
};

struct DependencySpec {
  Distribution latency;  // its mode "normal"
  std::map<std::string, Distribution> states;
};

struct CallSpec {
  std::string dependency;
  bool cached = false;
};

struct VersionSpec {
  std::string name;
  std::optional<Distribution> latency;  // none: the origin's
  std::vector<CallSpec> calls;
};

struct AnswerSpec {
  bool from_recording = false;
  int status = 200;
  std::size_t body_bytes = 1024;
};

// A simulated service: `instances` equal ones, named NAME-1, NAME-2, ...
struct OriginSpec {
  std::size_t instances = 1;
  AnswerSpec answers;
  Distribution latency;
  std::vector<VersionSpec> versions;  // empty: one that calls nothing
  std::size_t workers = 16;
  std::size_t queue_max = 1000;
  Duration keep_alive = std::chrono::seconds{75};
  std::uint32_t requests_per_connection_max = 0;
  std::string readiness_path = "/ready";
  std::string liveness_path = "/live";
  Distribution health_latency;
  std::vector<std::string> health_calls;  // at most one dependency, called by each probe
  std::vector<HealthFlap> flaps;
  StopOrder stop;
};

struct LinkSpec {
  Distribution delay;  // each way
};

// The service's instances stop one after another, each `interval` after the one before, and come
// back as the next version: a rolling upgrade, at times that are the same in every variant.
struct RestartAction {
  std::string origin;
  Duration interval{0};
};

// A dependency changes its mode, and back to normal at the end of the entry.
struct DependencyAction {
  std::string dependency;
  std::string state;
};

struct FaultAction {
  chaos::PlacedFault fault;
};

struct TimelineEntry {
  std::string name;
  TimePoint at;
  std::optional<Duration> lasts;
  std::variant<RestartAction, DependencyAction, FaultAction> action;
};

// All that one variant is made of.
struct World {
  gateway::GatewayConfig gateway;
  // Which origin an upstream's endpoints are, by the upstream's name.
  std::map<std::string, std::string> upstream_origins;
  std::optional<ExternalGatewayConfig> external;
  std::map<std::string, OriginSpec> origins;
  std::map<std::string, DependencySpec> dependencies;
  LinkSpec link;
  std::vector<TimelineEntry> timeline;
};

struct Variant {
  std::string name;
  World world;
};

struct Phase {
  std::string name;
  TimePoint from;
  TimePoint until;
};

struct ExpectationSpec {
  std::string text;
  std::vector<std::string> variants;  // empty: each of them
};

struct Scenario {
  std::string name;
  std::string title;
  std::uint64_t seed = 1;
  Duration duration = std::chrono::seconds{30};
  TrafficSpec traffic;
  std::vector<Variant> variants;
  std::vector<Phase> phases;
  std::vector<ExpectationSpec> expectations;

  // What the section `live` replaced: path, the incident's value, the live one. Empty if the
  // incident's durations are played.
  struct Mapping {
    std::string path;
    std::string incident;
    std::string live;
  };

  std::vector<Mapping> live_mapping;
};

// When an entry of the timeline is over: as long as `for` says, until a restart's last instance is
// up again (a graceful one's drain aside), or with the run.
[[nodiscard]] TimePoint end_of(const TimelineEntry& entry, const World& world, Duration run);

// The instances' names of a service.
[[nodiscard]] std::vector<std::string> instance_names(const std::string& origin,
                                                      std::size_t instances);

}  // namespace gatedrill::scenarios
