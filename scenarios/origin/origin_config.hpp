// origin.yaml: simulated backends to run by themselves.
//
//   recording: traffic.db                     # for origins with `answers: recording`
//   dependencies: {stock: {latency: {p50: 5ms, p99: 40ms}}}
//   origins:
//     shop: {listen: 127.0.0.1:9001, instances: 2, answers: recording, latency: 20ms,
//            versions: [{name: v1, calls: [stock]}], workers: 8}
//
// The instances of an origin take the ports from `listen` on. The other keys are those of a
// scenario's origins and dependencies.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gateway/config/file_check.hpp"
#include "gateway/config/units.hpp"
#include "gateway/config/yaml_reader.hpp"
#include "scenarios/spec/scenario.hpp"

namespace gatedrill::scenarios {

struct OriginFile {
  std::uint64_t seed = 1;
  std::string recording;
  World world;                                     // its origins and dependencies
  std::map<std::string, gateway::Address> listen;  // by origin
};

void read_yaml(gateway::YamlReader& reader, OriginFile& file);

// For `gatedrill check`.
[[nodiscard]] gateway::FileKind origin_file_kind();

}  // namespace gatedrill::scenarios
