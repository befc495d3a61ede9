// chaos.yaml: links in front of anything that speaks TCP, and what happens on them when.
//
//   seed: 7
//   links:
//     shop-1: {listen: 127.0.0.1:9101, to: 127.0.0.1:9001, upstream: shop, delay: 2ms}
//   faults:
//     - {name: cut, at: 5s, for: 20s, kind: reset_on_request, request: 2, share: 5%}
//     - {name: slow, target: {endpoint: shop-1}, kind: latency, to_gateway: {p50: 40ms, p99: 2s}}
//
// Times count from the start. Without `at` a fault is there from the beginning, without `for` until
// the end. The fault kinds are chaos/fault/catalogue.hpp's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chaos/plan.hpp"
#include "gateway/config/file_check.hpp"
#include "gateway/config/units.hpp"
#include "gateway/config/yaml_reader.hpp"
#include "gateway/core/distribution.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::chaos {

struct LinkConfig {
  std::string name;
  std::string upstream;     // a name that faults may target; may be empty
  gateway::Address listen;  // IPv4
  gateway::Address to;      // IPv4
  Distribution delay;       // each way
};

struct ChaosConfig {
  std::uint64_t seed = 1;
  std::vector<LinkConfig> links;
  std::vector<PlacedFault> faults;
};

void read_yaml(gateway::YamlReader& reader, ChaosConfig& config);

// For `gatedrill check`.
[[nodiscard]] gateway::FileKind chaos_file_kind();

}  // namespace gatedrill::chaos
