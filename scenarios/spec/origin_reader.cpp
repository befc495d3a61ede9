#include "scenarios/spec/origin_reader.hpp"

namespace gatedrill::scenarios {
namespace {

using gateway::YamlReader;

void read_call(YamlReader& reader, CallSpec& call) {
  if (reader.is_scalar()) {
    read_yaml(reader, gateway::refers_to("dependency", call.dependency));
    return;
  }
  reader.required("dependency", gateway::refers_to("dependency", call.dependency));
  reader.optional("cached", call.cached);
}

void read_version(YamlReader& reader, VersionSpec& version) {
  reader.required("name", version.name, gateway::not_empty);
  reader.optional("latency", version.latency);
  reader.optional("calls", [&](YamlReader& calls) {
    calls.each_item([&](YamlReader& item) { read_call(item, version.calls.emplace_back()); });
  });
}

void read_answers(YamlReader& reader, AnswerSpec& answers) {
  if (reader.is_scalar()) {
    if (reader.choice({"recording"})) answers.from_recording = true;
    return;
  }
  reader.optional("status", answers.status, gateway::between(200, 599));
  reader.optional("body_bytes", gateway::as_size(answers.body_bytes));
}

void read_health(YamlReader& reader, OriginSpec& spec) {
  reader.optional("readiness_path", spec.readiness_path, gateway::not_empty);
  reader.optional("liveness_path", spec.liveness_path, gateway::not_empty);
  reader.optional("latency", spec.health_latency);
  reader.optional("calls", [&](YamlReader& calls) {
    calls.each_item([&](YamlReader& item) {
      read_yaml(item, gateway::refers_to("dependency", spec.health_calls.emplace_back()));
    });
    if (spec.health_calls.size() > 1)
      calls.problem("a health endpoint calls one dependency at most");
  });
  reader.optional("flaps", [&](YamlReader& flaps) {
    flaps.each_item([&](YamlReader& item) {
      HealthFlap& flap = spec.flaps.emplace_back();
      Duration from{0};
      Duration until{0};
      item.required("from", from);
      item.required("until", until);
      flap.from = TimePoint{from};
      flap.until = TimePoint{until};
      const std::string kind = item.exactly_one_of({"status", "delay", "drop"});
      if (kind == "status") item.optional("status", flap.status, gateway::between(200, 599));
      if (kind == "delay") {
        flap.verdict = HealthFlap::Verdict::delay;
        item.optional("delay", flap.delay);
      }
      if (kind == "drop") {
        bool drop = true;
        item.optional("drop", drop);
        flap.verdict = HealthFlap::Verdict::drop;
      }
    });
  });
}

}  // namespace

void read_dependency(YamlReader& reader, DependencySpec& spec) {
  reader.required("latency", spec.latency);
  reader.optional("states", spec.states);
}

void read_origin(YamlReader& reader, OriginSpec& spec) {
  reader.optional("instances", spec.instances, gateway::between(std::size_t{1}, std::size_t{256}));
  reader.optional("answers", [&](YamlReader& answers) { read_answers(answers, spec.answers); });
  reader.optional("latency", spec.latency);
  reader.optional("versions", [&](YamlReader& versions) {
    versions.each_item([&](YamlReader& item) { read_version(item, spec.versions.emplace_back()); });
  });
  reader.optional("workers", spec.workers, gateway::at_least(std::size_t{1}));
  reader.optional("queue", spec.queue_max);
  reader.optional("keep_alive", spec.keep_alive);
  reader.optional("requests_per_connection", spec.requests_per_connection_max);
  reader.optional("health", [&](YamlReader& health) { read_health(health, spec); });
  reader.optional("stop",
                  gateway::one_of(spec.stop.style, {StopStyle::graceful, StopStyle::abrupt}));
  reader.optional("removal_wait", spec.stop.removal_wait);
  reader.optional("drain_max", spec.stop.drain_max);
  reader.optional("start_time", spec.stop.start_time);
}

}  // namespace gatedrill::scenarios
