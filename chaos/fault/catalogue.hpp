// Every fault by the name it has in YAML:
//
//   {kind: latency, to_gateway: {p50: 40ms, p99: 2s}}     {kind: refuse}      {kind: reset_all}
//   {kind: reset_on_request, request: 2}                  {kind: reset_idle, after: 2s}
//   {kind: response_header, bytes: 16KiB}
#pragma once

#include "chaos/fault/fault.hpp"
#include "chaos/plan.hpp"
#include "gateway/config/yaml_reader.hpp"

namespace gatedrill::chaos {

// The fault of a mapping with `kind`; the mapping may hold other keys that are the caller's.
void read_fault(gateway::YamlReader& reader, FaultPointer& fault);

// A fault with its target and share; name and window are the caller's:
// {kind: ..., target: all | {upstream: shop} | {endpoint: shop-1}, share: 5%, hits_max: 10,
//  requests: {methods: [POST], path_prefix: /cart, path_prefix_not: /ready}}
void read_placed_fault(gateway::YamlReader& reader, PlacedFault& placed);

}  // namespace gatedrill::chaos
