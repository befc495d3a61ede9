#include "chaos/chaos_config.hpp"

#include <algorithm>

#include "chaos/fault/catalogue.hpp"

namespace gatedrill::chaos {
namespace {

using gateway::YamlReader;

void read_ipv4(YamlReader& reader, gateway::Address& address) {
  read_yaml(reader, address);
  const bool ipv4 =
      gateway::is_ip_address(address.host) && address.host.find(':') == std::string::npos;
  if (reader.clean() && !ipv4) {
    reader.problem("expected an IPv4 address and a port such as 127.0.0.1:9101, got '" +
                   to_text(address) + "'");
  }
}

void read_link(YamlReader& reader, LinkConfig& link) {
  reader.required("listen", [&](YamlReader& value) { read_ipv4(value, link.listen); });
  reader.required("to", [&](YamlReader& value) { read_ipv4(value, link.to); });
  reader.optional("upstream", link.upstream);
  reader.optional("delay", link.delay);
}

void read_placed(YamlReader& reader, PlacedFault& placed) {
  reader.required("name", placed.name, gateway::not_empty);
  Duration at{0};
  reader.optional("at", at);
  placed.at = TimePoint{at};
  std::optional<Duration> lasts;
  reader.optional("for", lasts);
  if (lasts) placed.until = placed.at + *lasts;
  read_placed_fault(reader, placed);
}

// A target that no link has would never be hit, silently.
void check_target(const ChaosConfig& config, YamlReader& reader, const PlacedFault& placed) {
  const auto covered = [&](const LinkConfig& link) {
    return covers(placed.target, LinkName{link.upstream, link.name});
  };
  if (std::any_of(config.links.begin(), config.links.end(), covered)) return;
  reader.problem_at("target", "no link is '" + placed.target.text() + "'");
}

}  // namespace

void read_yaml(YamlReader& reader, ChaosConfig& config) {
  reader.optional("seed", config.seed);
  reader.required("links", [&](YamlReader& links) {
    links.each_entry([&](const std::string& name, YamlReader& one) {
      LinkConfig& link = config.links.emplace_back();
      link.name = name;
      read_link(one, link);
    });
    if (links.clean() && config.links.empty()) links.problem("must have one link at least");
  });
  reader.optional("faults", [&](YamlReader& faults) {
    faults.each_item([&](YamlReader& one) {
      PlacedFault placed;
      read_placed(one, placed);
      if (!one.clean()) return;
      check_target(config, one, placed);
      config.faults.push_back(std::move(placed));
    });
    if (!faults.clean()) return;
    const auto plan = FaultPlan::make(config.seed, config.faults);
    if (!plan) faults.problem(plan.error().message);
  });
}

gateway::FileKind chaos_file_kind() {
  gateway::FileKind kind;
  kind.name = "chaos configuration";
  kind.recognises = [](const gateway::YamlNode& root) { return root.find("links") != nullptr; };
  kind.check = [](const std::string& path,
                  const std::vector<std::string>& assignments) -> Result<gateway::Checked> {
    Result<gateway::YamlDocument> document = gateway::YamlDocument::from_file(path);
    if (!document) return document.error();
    for (const std::string& assignment : assignments)
      document->set(assignment);
    ChaosConfig config;
    document->read(config);
    gateway::Checked checked;
    checked.problems = document->problems();
    checked.summary = "links: " + std::to_string(config.links.size()) +
                      ", faults: " + std::to_string(config.faults.size());
    return checked;
  };
  return kind;
}

}  // namespace gatedrill::chaos
