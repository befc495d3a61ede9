#include "chaos/fault/catalogue.hpp"

#include <array>
#include <string>
#include <vector>

#include "chaos/fault/latency.hpp"
#include "chaos/fault/refuse.hpp"
#include "chaos/fault/reset_all.hpp"
#include "chaos/fault/reset_idle.hpp"
#include "chaos/fault/reset_on_request.hpp"
#include "chaos/fault/response_header.hpp"

namespace gatedrill::chaos {
namespace {

using gateway::YamlReader;

FaultPointer read_latency(YamlReader& reader) {
  Latency::Settings settings;
  if (!reader.has("to_origin") && !reader.has("to_gateway")) {
    reader.problem("needs to_origin or to_gateway, the latency of one way");
  }
  reader.optional("to_origin", settings.to_origin);
  reader.optional("to_gateway", settings.to_gateway);
  return std::make_shared<Latency>(settings);
}

FaultPointer read_refuse(YamlReader& /*reader*/) {
  return std::make_shared<Refuse>();
}

FaultPointer read_reset_all(YamlReader& /*reader*/) {
  return std::make_shared<ResetAll>();
}

FaultPointer read_reset_idle(YamlReader& reader) {
  Duration after{0};
  reader.required("after", after, gateway::positive);
  return std::make_shared<ResetIdle>(after);
}

FaultPointer read_reset_on_request(YamlReader& reader) {
  ResetOnRequest::Settings settings;
  reader.at_most_one_of({"request", "request_from"});
  if (reader.optional("request", settings.ordinal_min, gateway::at_least(1U))) {
    settings.ordinal_max = settings.ordinal_min;
  }
  reader.optional("request_from", settings.ordinal_min, gateway::at_least(1U));
  reader.optional("idle", settings.idle_min);
  reader.optional("moment", gateway::one_of(settings.moment, {ResetMoment::before_origin,
                                                              ResetMoment::after_origin}));
  return std::make_shared<ResetOnRequest>(settings);
}

FaultPointer read_response_header(YamlReader& reader) {
  std::size_t bytes = 0;
  reader.required("bytes", gateway::as_size(bytes), gateway::at_least(ResponseHeader::kBytesMin));
  return bytes < ResponseHeader::kBytesMin ? nullptr : std::make_shared<ResponseHeader>(bytes);
}

struct Row {
  const char* kind;
  FaultPointer (*read)(YamlReader&);
};

constexpr std::array kCatalogue = {
    Row{"latency", read_latency},
    Row{"refuse", read_refuse},
    Row{"reset_all", read_reset_all},
    Row{"reset_idle", read_reset_idle},
    Row{"reset_on_request", read_reset_on_request},
    Row{"response_header", read_response_header},
};

void read_target(YamlReader& reader, Target& target) {
  if (reader.is_scalar()) {
    reader.choice({"all"});
    return;
  }
  const std::string kind = reader.exactly_one_of({"upstream", "endpoint"});
  if (kind.empty()) return;
  target.kind = kind == "upstream" ? Target::Kind::upstream : Target::Kind::endpoint;
  reader.optional(kind, target.name, gateway::not_empty);
}

}  // namespace

void read_fault(YamlReader& reader, FaultPointer& fault) {
  std::size_t row = kCatalogue.size();
  reader.required("kind", [&](YamlReader& kind) {
    std::vector<std::string> kinds;
    for (const Row& each : kCatalogue)
      kinds.emplace_back(each.kind);
    row = kind.choice(kinds).value_or(kCatalogue.size());
  });
  if (row < kCatalogue.size()) fault = kCatalogue[row].read(reader);
}

void read_placed_fault(YamlReader& reader, PlacedFault& placed) {
  read_fault(reader, placed.fault);
  reader.optional("target", [&](YamlReader& target) { read_target(target, placed.target); });
  reader.optional("share", gateway::as_percent(placed.share));
  reader.optional("hits_max", placed.hits_max);
  reader.optional("requests", [&](YamlReader& requests) {
    requests.optional("methods", placed.requests.methods);
    requests.optional("path_prefix", placed.requests.path_prefix);
    requests.optional("path_prefix_not", placed.requests.path_prefix_not);
  });
}

}  // namespace gatedrill::chaos
