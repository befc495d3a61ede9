#include <cmath>

#include "reports/render.hpp"
#include "reports/report_document.hpp"

namespace gatedrill::reports {
namespace {

using nlohmann::ordered_json;

// A duration that is a fraction of a microsecond finer than it was measured says nothing.
double rounded(double ms) {
  return std::round(ms * 1000) / 1000;
}

ordered_json optional_ms(const std::optional<double>& ms) {
  return ms ? ordered_json(rounded(*ms)) : ordered_json(nullptr);
}

ordered_json latency_of(const LatencyFigures& latency) {
  return {{"p50_ms", rounded(latency.p50_ms)},
          {"p90_ms", rounded(latency.p90_ms)},
          {"p99_ms", rounded(latency.p99_ms)},
          {"p999_ms", rounded(latency.p999_ms)},
          {"max_ms", rounded(latency.max_ms)}};
}

ordered_json latency_per_second(const GatewayReport& gateway) {
  ordered_json p50 = ordered_json::array();
  ordered_json p90 = ordered_json::array();
  ordered_json p99 = ordered_json::array();
  ordered_json max = ordered_json::array();
  for (const std::optional<LatencyFigures>& second : gateway.latency_per_second) {
    p50.push_back(second ? ordered_json(rounded(second->p50_ms)) : nullptr);
    p90.push_back(second ? ordered_json(rounded(second->p90_ms)) : nullptr);
    p99.push_back(second ? ordered_json(rounded(second->p99_ms)) : nullptr);
    max.push_back(second ? ordered_json(rounded(second->max_ms)) : nullptr);
  }
  return {{"p50_ms", p50}, {"p90_ms", p90}, {"p99_ms", p99}, {"max_ms", max}};
}

ordered_json gateway_of(const GatewayReport& gateway) {
  ordered_json outcomes = ordered_json::array();
  for (const OutcomeSeries& series : gateway.outcomes) {
    outcomes.push_back({{"status", series.status},
                        {"cause", series.cause},
                        {"requests", series.requests},
                        {"per_second", series.per_second}});
  }
  ordered_json document{{"name", gateway.name},
                        {"ours", gateway.ours},
                        {"requests", gateway.requests},
                        {"upstream_attempts", gateway.upstream_attempts},
                        {"reached_upstream", gateway.reached},
                        {"retries", gateway.retries()},
                        {"latency", latency_of(gateway.latency)},
                        {"outcomes", outcomes},
                        {"latency_per_second", latency_per_second(gateway)},
                        {"client", nullptr},
                        {"origin", nullptr}};
  if (const auto& client = gateway.client) {
    document["client"] = {{"intended", client->intended},
                          {"missing", client->missing},
                          {"comparable", client->comparable},
                          {"as_recorded", client->as_recorded},
                          {"side_connections", client->side_connections}};
  }
  if (const auto& origin = gateway.origin) {
    document["origin"] = {{"executions", origin->executions},
                          {"repeated", origin->repeated},
                          {"repeated_posts", origin->repeated_posts}};
  }
  return document;
}

ordered_json verdict_of(const Verdict& verdict) {
  return {{"name", verdict.name},
          {"gateway", verdict.gateway},
          {"expression", verdict.expression},
          {"actual", verdict.actual},
          {"passed", verdict.passed ? ordered_json(*verdict.passed) : ordered_json(nullptr)},
          {"note", verdict.note}};
}

template <class Values, class Convert>
ordered_json array_of(const Values& values, Convert convert) {
  ordered_json array = ordered_json::array();
  for (const auto& value : values)
    array.push_back(convert(value));
  return array;
}

ordered_json timeline_of(const RunReport& report) {
  return {{"phases", array_of(report.phases,
                              [](const Phase& phase) {
                                return ordered_json{{"name", phase.name},
                                                    {"gateway", phase.gateway},
                                                    {"from_ms", rounded(phase.from_ms)},
                                                    {"until_ms", optional_ms(phase.until_ms)}};
                              })},
          {"faults", array_of(report.faults,
                              [](const FaultReport& fault) {
                                return ordered_json{{"gateway", fault.gateway},
                                                    {"name", fault.name},
                                                    {"kind", fault.kind},
                                                    {"target", fault.target},
                                                    {"from_ms", rounded(fault.from_ms)},
                                                    {"until_ms", optional_ms(fault.until_ms)},
                                                    {"hits", fault.hits}};
                              })},
          {"hits", array_of(report.hits,
                            [](const HitReport& hit) {
                              return ordered_json{{"gateway", hit.gateway},
                                                  {"fault", hit.fault},
                                                  {"planned", hit.planned},
                                                  {"observed", hit.observed},
                                                  {"hits", hit.hits},
                                                  {"first_ms", rounded(hit.first_ms)},
                                                  {"last_ms", rounded(hit.last_ms)}};
                            })},
          {"transitions", array_of(report.transitions,
                                   [](const TransitionReport& transition) {
                                     return ordered_json{{"gateway", transition.gateway},
                                                         {"at_ms", rounded(transition.at_ms)},
                                                         {"kind", transition.kind},
                                                         {"subject", transition.subject},
                                                         {"from_state", transition.from_state},
                                                         {"to_state", transition.to_state},
                                                         {"reason", transition.reason}};
                                   })},
          {"probes", array_of(report.probes, [](const ProbeReport& probe) {
             return ordered_json{{"gateway", probe.gateway},
                                 {"endpoint", probe.endpoint},
                                 {"verdict", probe.verdict},
                                 {"probes", probe.probes}};
           })}};
}

ordered_json run_of(const RunReport& report) {
  ordered_json facts = ordered_json::object();
  for (const auto& [key, value] : report.facts)
    facts[key] = value;
  ordered_json document{
      {"title", report.title()},
      {"valid", report.judgement.valid},
      {"invalid_because", report.judgement.invalid_because},
      {"exit_status", report.judgement.exit_status()},
      {"headline", headline(report.judgement)},
      {"duration_ms", rounded(report.duration_ms)},
      {"facts", facts},
      {"verdicts", array_of(report.judgement.verdicts, verdict_of)},
      {"gateways", array_of(report.gateways, gateway_of)},
      {"lost", array_of(report.losses, [](const LossReport& loss) {
         return ordered_json{{"place", loss.place}, {"count", loss.count}, {"reason", loss.reason}};
       })}};
  document.update(timeline_of(report));
  return document;
}

}  // namespace

nlohmann::ordered_json document_of(std::span<const RunReport> reports) {
  return {{"schema", 1}, {"runs", array_of(reports, run_of)}};
}

std::string render_json(std::span<const RunReport> reports) {
  return document_of(reports).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace gatedrill::reports
