#include "scenarios/spec/scenario_reader.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "chaos/fault/catalogue.hpp"
#include "gateway/config/gateway_config_reader.hpp"
#include "gateway/config/yaml_reader.hpp"
#include "reports/expectation/expression.hpp"
#include "scenarios/spec/origin_reader.hpp"

namespace gatedrill::scenarios {
namespace {

using gateway::YamlEntry;
using gateway::YamlNode;
using gateway::YamlReader;

// Takes a key out of a mapping.
std::optional<YamlNode> take(YamlNode& node, std::string_view key) {
  const auto found = std::find_if(node.entries.begin(), node.entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key == key; });
  if (found == node.entries.end()) return std::nullopt;
  YamlNode value = std::move(found->value);
  node.entries.erase(found);
  return value;
}

// Where `over` replaces a scalar of `under`: for the report's mapping of durations.
void collect_mapping(const YamlNode& under,
                     const YamlNode& over,
                     const std::string& path,
                     std::vector<Scenario::Mapping>& mapping) {
  if (over.kind == YamlNode::Kind::scalar) {
    const bool replaces = under.kind == YamlNode::Kind::scalar;
    if (!replaces || under.text != over.text) {
      mapping.push_back({path, replaces ? under.text : "", over.text});
    }
    return;
  }
  static const YamlNode kNothing;
  for (std::size_t i = 0; i < over.items.size(); ++i) {
    collect_mapping(i < under.items.size() ? under.items[i] : kNothing, over.items[i],
                    path + "[" + std::to_string(i) + "]", mapping);
  }
  for (const YamlEntry& entry : over.entries) {
    const YamlNode* below = under.find(entry.key);
    collect_mapping(below != nullptr ? *below : kNothing, entry.value,
                    path.empty() ? entry.key : path + "." + entry.key, mapping);
  }
}

YamlNode scalar(std::string text, const gateway::Place& place) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.place = place;
  node.text = std::move(text);
  return node;
}

std::size_t instances_of(const YamlNode& world, const std::string& origin) {
  const YamlNode* origins = world.find("origins");
  const YamlNode* spec = origins != nullptr ? origins->find(origin) : nullptr;
  const YamlNode* count = spec != nullptr ? spec->find("instances") : nullptr;
  if (count == nullptr) return 1;
  const auto digits = count->text.find_first_not_of("0123456789");
  if (digits != std::string::npos || count->text.empty() || count->text.size() > 3) return 1;
  return static_cast<std::size_t>(std::stoul(count->text));
}

// In a scenario an upstream names an origin instead of its endpoints: `origin: shop`. The gateway's
// own reader then finds the instances as endpoints.
void place_origins(YamlNode& world, std::map<std::string, std::string>& upstream_origins) {
  YamlNode* gateway = world.find("gateway");
  if (gateway == nullptr) return;
  if (gateway->find("listen") == nullptr) {
    gateway->entries.push_back({"listen", gateway->place, scalar("127.0.0.1:0", gateway->place)});
  }
  YamlNode* upstreams = gateway->find("upstreams");
  if (upstreams == nullptr) return;
  for (YamlEntry& upstream : upstreams->entries) {
    const std::optional<YamlNode> origin = take(upstream.value, "origin");
    if (!origin || origin->kind != YamlNode::Kind::scalar) continue;
    upstream_origins[upstream.key] = origin->text;
    if (upstream.value.find("endpoints") != nullptr) continue;
    YamlNode endpoints;
    endpoints.kind = YamlNode::Kind::list;
    endpoints.place = origin->place;
    for (const std::string& name :
         instance_names(origin->text, instances_of(world, origin->text))) {
      endpoints.items.push_back(scalar(name + ":80", origin->place));
    }
    upstream.value.entries.push_back({"endpoints", origin->place, std::move(endpoints)});
  }
}

void read_timeline_entry(YamlReader& reader, TimelineEntry& entry) {
  reader.required("at", [&](YamlReader& at) {
    Duration offset{0};
    read_yaml(at, offset);
    entry.at = TimePoint{offset};
  });
  reader.optional("for", entry.lasts);
  const std::string kind = reader.exactly_one_of({"restart", "dependency", "fault"});
  if (kind == "restart") {
    RestartAction action;
    reader.required(kind, [&](YamlReader& restart) {
      restart.required("origin", gateway::refers_to("origin", action.origin));
      restart.required("interval", action.interval);
    });
    entry.action = action;
  } else if (kind == "dependency") {
    DependencyAction action;
    reader.required(kind, [&](YamlReader& dependency) {
      dependency.required("name", gateway::refers_to("dependency", action.dependency));
      dependency.required("state", action.state);
    });
    entry.action = action;
  } else if (kind == "fault") {
    FaultAction action;
    reader.required(kind,
                    [&](YamlReader& fault) { chaos::read_placed_fault(fault, action.fault); });
    entry.action = std::move(action);
  }
  reader.optional("name", entry.name);
  if (auto* fault = std::get_if<FaultAction>(&entry.action)) {
    fault->fault.name = entry.name;
    if (entry.name.empty()) reader.problem("a fault needs a name, by which reports know it");
    fault->fault.at = entry.at;
    fault->fault.until = entry.lasts ? entry.at + *entry.lasts : kNever;
  }
}

void read_external(YamlReader& reader, ExternalGatewayConfig& external) {
  reader.required("command", external.command, gateway::not_empty);
  reader.optional("config", gateway::as_path(external.config_template));
}

void read_world(YamlReader& reader, World& world) {
  reader.optional("dependencies", [&](YamlReader& all) {
    all.each_entry([&](const std::string& name, YamlReader& one) {
      one.defines("dependency", name);
      read_dependency(one, world.dependencies[name]);
    });
  });
  reader.required("origins", [&](YamlReader& all) {
    all.each_entry([&](const std::string& name, YamlReader& one) {
      one.defines("origin", name);
      read_origin(one, world.origins[name]);
    });
  });
  reader.optional("link", [&](YamlReader& link) { link.optional("delay", world.link.delay); });
  if (reader.has("external")) {
    world.external.emplace();
    reader.optional("external",
                    [&](YamlReader& external) { read_external(external, *world.external); });
    // What ours would be is of no use to it.
    reader.optional("gateway", [&](YamlReader& gateway) {
      gateway::GatewayConfig unused;
      read_yaml(gateway, unused);
    });
  } else {
    reader.required("gateway", world.gateway);
  }
  reader.optional("timeline", [&](YamlReader& timeline) {
    timeline.each_item(
        [&](YamlReader& item) { read_timeline_entry(item, world.timeline.emplace_back()); });
  });
}

// Names that are only known once all of the world is read.
void check_world(const World& world, YamlReader& reader) {
  for (const auto& [upstream, origin] : world.upstream_origins) {
    if (!world.origins.contains(origin)) {
      reader.problem("the upstream '" + upstream + "' names an origin '" + origin +
                     "' that is not defined under world.origins");
    }
  }
  for (const TimelineEntry& entry : world.timeline) {
    const auto* action = std::get_if<DependencyAction>(&entry.action);
    if (action == nullptr) continue;
    const auto dependency = world.dependencies.find(action->dependency);
    if (dependency == world.dependencies.end() || action->state == "normal") continue;
    if (!dependency->second.states.contains(action->state)) {
      reader.problem("the timeline switches '" + action->dependency + "' to '" + action->state +
                     "', which is not among its states");
    }
  }
}

World read_variant(const YamlNode& base,
                   const YamlNode& over,
                   std::vector<gateway::Problem>& problems) {
  YamlNode tree = base;
  gateway::lay_over(tree, over);
  World world;
  place_origins(tree, world.upstream_origins);
  gateway::YamlDocument document = gateway::YamlDocument::from_node(std::move(tree));
  document.read([&](YamlReader& reader) {
    read_world(reader, world);
    if (reader.clean()) check_world(world, reader);
  });
  const auto found = document.problems();
  problems.insert(problems.end(), found.begin(), found.end());
  if (world.external) world.gateway = gateway::GatewayConfig{};
  for (gateway::UpstreamConfig& upstream : world.gateway.upstreams) {
    const auto origin = world.upstream_origins.find(upstream.name);
    if (origin == world.upstream_origins.end()) continue;
    const auto spec = world.origins.find(origin->second);
    if (spec == world.origins.end()) continue;
    upstream.endpoint_names = instance_names(spec->first, spec->second.instances);
  }
  return world;
}

void read_phases(YamlReader& reader, std::vector<Phase>& phases) {
  reader.each_entry([&](const std::string& name, YamlReader& one) {
    Duration from{0};
    Duration until{0};
    one.required("from", from);
    one.required("until", until);
    if (one.clean() && until <= from) one.problem("must end after it begins");
    phases.push_back({name, TimePoint{from}, TimePoint{until}});
  });
}

void read_expectations(YamlReader& reader, std::vector<ExpectationSpec>& expectations) {
  reader.each_item([&](YamlReader& item) {
    ExpectationSpec& expectation = expectations.emplace_back();
    if (item.is_scalar()) {
      read_yaml(item, expectation.text);
    } else {
      item.required("expect", expectation.text, gateway::not_empty);
      item.optional("variants", [&](YamlReader& variants) {
        variants.each_item([&](YamlReader& one) {
          read_yaml(one, gateway::refers_to("variant", expectation.variants.emplace_back()));
        });
      });
    }
    if (!item.clean()) return;
    if (const auto parsed = reports::parse_expression(expectation.text); !parsed) {
      item.problem(parsed.error().message);
    }
  });
}

// The named entries of the timeline are phases too, until the slowest variant is through.
void add_timeline_phases(Scenario& scenario) {
  for (const Variant& variant : scenario.variants) {
    for (const TimelineEntry& entry : variant.world.timeline) {
      if (entry.name.empty()) continue;
      const TimePoint until = end_of(entry, variant.world, scenario.duration);
      const auto known = std::find_if(scenario.phases.begin(), scenario.phases.end(),
                                      [&](const Phase& phase) { return phase.name == entry.name; });
      if (known == scenario.phases.end()) {
        scenario.phases.push_back({entry.name, entry.at, until});
      } else {
        known->until = std::max(known->until, until);
      }
    }
  }
}

}  // namespace

Result<ScenarioFile> read_scenario(const std::string& path,
                                   Durations durations,
                                   const std::vector<std::string>& assignments) {
  auto parsed = gateway::YamlDocument::from_file(path);
  if (!parsed) return parsed.error();
  ScenarioFile file;
  Scenario& scenario = file.scenario;
  file.problems = parsed->problems();
  if (!file.problems.empty()) return file;

  YamlNode root = parsed->root();
  if (root.kind != YamlNode::Kind::map) {
    file.problems.push_back({{intern(path), 0, 0}, "", "holds no scenario: see docs/drills.md"});
    return file;
  }
  if (const auto live = take(root, "live"); live && durations == Durations::live) {
    collect_mapping(root, *live, {}, scenario.live_mapping);
    gateway::lay_over(root, *live);
  }
  for (const std::string& assignment : assignments) {
    gateway::set_value(root, assignment, file.problems);
  }

  // A timeline of all variants stands beside the world, or is part of it.
  YamlNode world = take(root, "world").value_or(YamlNode{});
  const bool has_world = world.kind == YamlNode::Kind::map;
  if (auto timeline = take(root, "timeline"); timeline && world.find("timeline") == nullptr) {
    const gateway::Place place = timeline->place;
    world.entries.push_back({"timeline", place, std::move(*timeline)});
  }
  const YamlNode variants = take(root, "variants").value_or(YamlNode{});

  gateway::YamlDocument document = gateway::YamlDocument::from_node(std::move(root));
  document.read([&](YamlReader& reader) {
    if (!has_world) {
      reader.problem("needs a mapping `world` with the gateway and its origins");
    }
    if (variants.entries.empty()) {
      reader.problem("needs a mapping `variants` with at least one variant, such as as_was: {}");
    }
    for (const YamlEntry& variant : variants.entries)
      reader.defines("variant", variant.key);
    reader.required("name", scenario.name, gateway::not_empty);
    reader.optional("title", scenario.title);
    reader.optional("seed", scenario.seed);
    reader.required("duration", scenario.duration, gateway::positive);
    reader.required("traffic", [&](YamlReader& traffic) {
      traffic.required("recording", gateway::as_path(scenario.traffic.recording));
      traffic.optional("rate", scenario.traffic.rate);
    });
    reader.optional("phases", [&](YamlReader& phases) { read_phases(phases, scenario.phases); });
    reader.optional("expectations", [&](YamlReader& expectations) {
      read_expectations(expectations, scenario.expectations);
    });
  });
  const auto found = document.problems();
  file.problems.insert(file.problems.end(), found.begin(), found.end());
  if (has_world) {
    for (const YamlEntry& variant : variants.entries) {
      scenario.variants.push_back({variant.key, read_variant(world, variant.value, file.problems)});
    }
  }
  if (scenario.title.empty()) scenario.title = scenario.name;
  add_timeline_phases(scenario);
  gateway::put_in_order(file.problems);
  return file;
}

}  // namespace gatedrill::scenarios
