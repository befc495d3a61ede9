// `traffic explain --json`.
#include <nlohmann/json.hpp>

#include "replay/explain/explain.hpp"
#include "replay/explain/words.hpp"

namespace gatedrill::replay::explain {
namespace {

using nlohmann::ordered_json;

template <class Optional, class Convert>
ordered_json or_null(const Optional& value, Convert convert) {
  if (!value) return nullptr;
  return convert(*value);
}

ordered_json ms_or_null(const std::optional<Duration>& value) {
  return or_null(value, [](Duration duration) { return to_ms(duration); });
}

ordered_json ns_or_null(const std::optional<UnixTime>& value) {
  return or_null(value, [](UnixTime time) { return time.ns; });
}

ordered_json cause_or_null(const std::optional<Cause>& cause) {
  return or_null(cause, [](Cause known) { return std::string(to_string(known)); });
}

ordered_json quantiles(const Histogram& histogram) {
  if (histogram.count() == 0) return nullptr;
  return {{"p50", to_ms(histogram.at_quantile(0.5))},
          {"p99", to_ms(histogram.at_quantile(0.99))},
          {"max", to_ms(histogram.max())}};
}

ordered_json side(const RecordedSide& side) {
  return {{"fin_ns", ns_or_null(side.fin)},
          {"rst_ns", ns_or_null(side.rst)},
          {"retransmissions", side.retransmissions},
          {"zero_windows", side.zero_windows}};
}

ordered_json chain_json(const Chain& chain) {
  const Hop& hop = chain.hop;
  ordered_json json = {{"recording", hop.recording},
                       {"exchange", hop.id},
                       {"connection", hop.connection.connection},
                       {"client", hop.client},
                       {"server", hop.server},
                       {"method", hop.method},
                       {"target", hop.target},
                       {"request_id", hop.request_id},
                       {"at_ns", hop.begin.ns}};
  json["status"] = or_null(hop.status, [](int status) { return status; });
  json["fate"] = name_of(chain.outcome.fate);
  json["waited_ms"] = ms_or_null(chain.outcome.waited);
  json["ordinal"] = hop.ordinal;
  json["connection_age_ms"] = ms_or_null(hop.age());
  json["idle_before_ms"] = ms_or_null(hop.idle_before);
  json["reused"] = or_null(chain.outcome.reused, [](bool reused) { return reused; });
  json["end_before_request_ms"] = ms_or_null(chain.outcome.end_before_request);
  json["request_acknowledged"] = or_null(
      hop.transport, [](const RecordedTransport& transport) { return transport.acknowledged; });
  json["reset_by"] =
      or_null(hop.reset, [](const RecordedReset& reset) { return std::string(reset.by()); });
  json["reset_ns"] =
      ns_or_null(hop.reset ? std::optional(hop.reset->at) : std::optional<UnixTime>());
  json["client_side"] = side(hop.connection.client_side);
  json["server_side"] = side(hop.connection.server_side);
  if (chain.repeats) json["repeats"] = *chain.repeats;
  if (chain.joined_by) {
    json["joined_by"] = to_string(*chain.joined_by);
    json["rivals"] = chain.rivals;
  }
  json["upstream"] = ordered_json::array();
  for (const Chain& child : chain.children)
    json["upstream"].push_back(chain_json(child));
  json["attempts"] = ordered_json::array();
  for (const Attempt& attempt : chain.attempts) {
    json["attempts"].push_back({{"connection", attempt.connection.connection},
                                {"server", attempt.connection.server},
                                {"at_ns", ns_or_null(attempt.connection.opened)},
                                {"connect", attempt.connection.connect},
                                {"syns", attempt.connection.syns},
                                {"rivals", attempt.rivals}});
  }
  return json;
}

ordered_json example_json(const Example& example) {
  const Verdict& verdict = example.verdict;
  ordered_json json = {{"answer", verdict.answer},
                       {"failed", verdict.failed},
                       {"cause", cause_or_null(verdict.cause)},
                       {"certainty", to_string(verdict.certainty)},
                       {"why", verdict.why},
                       {"may_have_run", verdict.may_have_run}};
  json["signs"] = ordered_json::array();
  for (const Sign sign : verdict.signs)
    json["signs"].push_back(name_of(sign));
  json["chain"] = chain_json(example.chain);
  return json;
}

ordered_json group_json(const Group& group) {
  ordered_json json = {{"count", group.count},
                       {"first_ns", group.first.ns},
                       {"last_ns", group.last.ns},
                       {"may_have_run", group.may_have_run},
                       {"kept_connections", group.reused},
                       {"fresh_connections", group.fresh},
                       {"waited_ms", quantiles(group.waited)},
                       {"idle_before_ms", quantiles(group.idle)},
                       {"connection_age_ms", quantiles(group.age)},
                       {"servers", group.servers}};
  for (const auto& [certainty, count] : group.certainty)
    json["certainty"][std::string(to_string(certainty))] = count;
  for (const auto& [fate, count] : group.fates)
    json["fates"][std::string(name_of(fate))] = count;
  json["examples"] = ordered_json::array();
  for (const Example& example : group.examples)
    json["examples"].push_back(example_json(example));
  return json;
}

ordered_json listener_json(const std::string& name, const Listener& listener) {
  ordered_json json = {{"listener", name},
                       {"requests", listener.requests},
                       {"failed", listener.failed()},
                       {"not_known", listener.open},
                       {"answers", listener.answers},
                       {"followed_upstream", listener.passed_on},
                       {"upstream_exchanges", listener.upstream_exchanges},
                       {"ambiguous", listener.ambiguous},
                       {"answered_ms", quantiles(listener.answered)}};
  json["failures"] = ordered_json::array();
  for (const auto& [key, group] : listener.groups) {
    ordered_json one = {{"answer", key.answer}, {"cause", cause_or_null(key.cause)}};
    one.update(group_json(group));
    json["failures"].push_back(std::move(one));
  }
  json["suspicious"] = ordered_json::array();
  for (const auto& [sign, group] : listener.signs) {
    ordered_json one = {{"sign", name_of(sign)}};
    one.update(group_json(group));
    json["suspicious"].push_back(std::move(one));
  }
  json["seconds"] = ordered_json::array();
  for (const auto& [second, counts] : listener.seconds) {
    json["seconds"].push_back({{"at_s", second},
                               {"requests", counts.requests},
                               {"bad_gateway", counts.bad_gateway},
                               {"timeouts", counts.timeouts}});
  }
  return json;
}

ordered_json cluster_json(const std::map<std::string, Cluster>& clusters) {
  ordered_json json = ordered_json::object();
  for (const auto& [server, cluster] : clusters) {
    json[server] = {{"from_ms", to_ms(cluster.low)},
                    {"to_ms", to_ms(cluster.high)},
                    {"count", cluster.count},
                    {"of", cluster.of}};
  }
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  ordered_json json;
  json["recordings"] = ordered_json::array();
  for (const Coverage& coverage : report.coverage) {
    json["recordings"].push_back({{"file", coverage.file},
                                  {"exchanges", coverage.exchanges},
                                  {"first_ns", coverage.first.ns},
                                  {"last_ns", coverage.last.ns},
                                  {"gap_bytes", coverage.gap_bytes},
                                  {"kernel_drops", coverage.kernel_drops},
                                  {"in_the_other_too", coverage.twice}});
  }
  json["clock_shift"] = nullptr;
  if (report.clock) {
    json["clock_shift"] = {{"added_ms", to_ms(report.clock->added)},
                           {"requests_compared", report.clock->pairs},
                           {"consistent", report.clock->consistent}};
  }
  json["calls"] = ordered_json::array();
  for (const auto& [callee, callers] : report.findings.topology().all()) {
    json["calls"].push_back({{"server", callee},
                             {"called_by", callers.servers},
                             {"known_by", to_string(callers.kind)}});
  }
  json["waits_that_failed"] = cluster_json(report.hints.waits);
  json["idle_closes_by_server"] = cluster_json(report.hints.keep_alive);
  json["incidents"] = ordered_json::array();
  for (const Likeness& like : report.incidents) {
    json["incidents"].push_back({{"incident", like.incident},
                                 {"title", like.title},
                                 {"listener", like.listener},
                                 {"likeness", to_string(like.degree)},
                                 {"evidence", like.evidence},
                                 {"counter_evidence", like.counter_evidence},
                                 {"not_shown", like.not_shown},
                                 {"next", like.next}});
  }
  json["listeners"] = ordered_json::array();
  for (const auto& [name, listener] : report.findings.listeners())
    json["listeners"].push_back(listener_json(name, listener));
  // Targets of a recording may hold any bytes.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace gatedrill::replay::explain
