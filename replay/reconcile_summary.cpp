#include "replay/reconcile_summary.hpp"

#include <cstdio>
#include <sstream>

#include <nlohmann/json.hpp>

namespace gatedrill::replay {
namespace {

// 19999 of 20000 must not read as all: cut off, not rounded.
std::string percent(std::optional<double> share) {
  if (!share) return "n/a";
  char text[32];
  const double cut = static_cast<double>(static_cast<std::int64_t>(*share * 1e6)) / 1e4;
  std::snprintf(text, sizeof text, "%.4f %%", cut);
  return text;
}

std::string described(const ReconciledExchange& exchange) {
  std::string text = "#" + std::to_string(exchange.id) + " ";
  text += exchange.method.empty() ? "(request not seen)" : exchange.method + " " + exchange.target;
  text += ", " + exchange.client + " to " + exchange.server + ", ";
  text += exchange.status ? std::to_string(*exchange.status) : "no answer";
  return text;
}

void render_side(std::ostream& out,
                 char name,
                 char other,
                 const ReconciledSide& side,
                 const ReconciledSide& others) {
  out << "only in " << name << ": " << side.only;
  if (side.only_outside > 0) {
    out << ", " << side.only_outside << " of them before " << other << "'s first or after its last";
  }
  if (side.only_elsewhere > 0) {
    out << ", " << side.only_elsewhere << " of them with servers that " << other
        << " never names (--port narrows both)";
  }
  out << "\n";
  for (const ReconciledExchange& exchange : side.first_only)
    out << "  " << described(exchange) << "\n";
  if (side.only > side.first_only.size()) {
    out << "  and " << side.only - side.first_only.size() << " more\n";
  }
  out << "losses in " << other << "'s ledger:" << (others.losses.empty() ? " none\n" : "\n");
  for (const LedgerLine& line : others.losses) {
    out << "  " << line.what << ": " << line.count << ", " << line.bytes << " bytes\n";
  }
}

nlohmann::ordered_json or_null(bool null, const std::string& text) {
  return null ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

nlohmann::ordered_json json_of(const ReconciledExchange& exchange) {
  nlohmann::ordered_json json;
  json["id"] = exchange.id;
  json["at_ns"] = exchange.at.ns;
  json["client"] = exchange.client;
  json["server"] = exchange.server;
  json["method"] = or_null(exchange.method.empty(), exchange.method);
  json["target"] = or_null(exchange.method.empty(), exchange.target);
  json["status"] =
      exchange.status ? nlohmann::ordered_json(*exchange.status) : nlohmann::ordered_json();
  return json;
}

nlohmann::ordered_json json_of(const ReconciledSide& side, std::optional<double> completeness) {
  nlohmann::ordered_json json;
  json["recording"] = side.path;
  json["exchanges"] = side.exchanges;
  json["completeness"] =
      completeness ? nlohmann::ordered_json(*completeness) : nlohmann::ordered_json();
  json["only_here"] = side.only;
  json["only_here_outside_the_others_time"] = side.only_outside;
  json["only_here_with_unknown_servers"] = side.only_elsewhere;
  json["first_only_here"] = nlohmann::ordered_json::array();
  for (const ReconciledExchange& exchange : side.first_only)
    json["first_only_here"].push_back(json_of(exchange));
  json["losses"] = nlohmann::ordered_json::array();
  for (const LedgerLine& line : side.losses) {
    json["losses"].push_back({{"what", line.what}, {"count", line.count}, {"bytes", line.bytes}});
  }
  return json;
}

}  // namespace

std::string render(const Reconciliation& result) {
  std::ostringstream out;
  out << "A  " << result.a.path << ": " << result.a.exchanges << " exchanges\n"
      << "B  " << result.b.path << ": " << result.b.exchanges << " exchanges\n\n";
  out << "matched: " << result.matched;
  for (std::size_t i = 0; i < kMatchedByCount; ++i) {
    if (result.matched_by[i] == 0) continue;
    out << ", " << result.matched_by[i] << " by " << to_string(static_cast<MatchedBy>(i));
  }
  out << "\nof these differing: " << result.differing << "\n";
  for (std::size_t i = 0; i < kDifferenceCount; ++i) {
    if (result.differences[i] == 0) continue;
    out << "  " << to_string(static_cast<Difference>(i)) << ": " << result.differences[i] << "\n";
  }
  for (const ReconciledPair& pair : result.first_differing) {
    out << "  A " << described(pair.a) << "\n  B " << described(pair.b) << "\n   ";
    for (const Difference difference : pair.differences)
      out << " " << to_string(difference);
    out << "\n";
  }
  if (result.heads_not_compared + result.bodies_not_compared > 0) {
    out << "not compared, since secrets in them were replaced: " << result.heads_not_compared
        << " heads, " << result.bodies_not_compared
        << " bodies; recordings that hide the same with one --redact-key can be compared\n";
  }
  render_side(out, 'A', 'B', result.a, result.b);
  render_side(out, 'B', 'A', result.b, result.a);
  out << "\nA holds " << percent(result.completeness_of_a()) << " of B: " << result.matched
      << " of " << result.b.exchanges << "\nB holds " << percent(result.completeness_of_b())
      << " of A: " << result.matched << " of " << result.a.exchanges << "\n";
  return out.str();
}

std::string render_json(const Reconciliation& result) {
  nlohmann::ordered_json json;
  json["a"] = json_of(result.a, result.completeness_of_a());
  json["b"] = json_of(result.b, result.completeness_of_b());
  json["matched"] = result.matched;
  for (std::size_t i = 0; i < kMatchedByCount; ++i)
    json["matched_by"][std::string(to_string(static_cast<MatchedBy>(i)))] = result.matched_by[i];
  json["differing"] = result.differing;
  for (std::size_t i = 0; i < kDifferenceCount; ++i)
    json["differences"][std::string(to_string(static_cast<Difference>(i)))] = result.differences[i];
  json["heads_not_compared"] = result.heads_not_compared;
  json["bodies_not_compared"] = result.bodies_not_compared;
  json["first_differing"] = nlohmann::ordered_json::array();
  for (const ReconciledPair& pair : result.first_differing) {
    nlohmann::ordered_json one{{"a", json_of(pair.a)}, {"b", json_of(pair.b)}};
    for (const Difference difference : pair.differences)
      one["differences"].push_back(to_string(difference));
    json["first_differing"].push_back(std::move(one));
  }
  json["equal"] = result.equal();
  return json.dump(2) + "\n";
}

}  // namespace gatedrill::replay
