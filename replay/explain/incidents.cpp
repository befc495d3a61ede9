#include "replay/explain/incidents.hpp"

#include <algorithm>
#include <array>

namespace gatedrill::replay::explain {

std::string_view to_string(Degree degree) {
  switch (degree) {
    case Degree::strong:
      return "strong";
    case Degree::partial:
      return "partial";
  }
  return "partial";
}

std::vector<Likeness> known_incidents(const Findings& findings, const Hints& hints) {
  constexpr std::array<Match, 6> kKnown = {rolling_upgrade,   health_flapping, retry_avalanche,
                                           limiter_dimension, no_keep_alive,   header_bloat};
  std::vector<Likeness> all;
  for (const auto& [name, listener] : findings.listeners()) {
    // What reached an upstream past its gateway is not what its gateway's clients saw.
    if (findings.topology().is_callee(name)) continue;
    for (const Match match : kKnown) {
      auto found = match({findings, hints, name, listener});
      std::move(found.begin(), found.end(), std::back_inserter(all));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Likeness& a, const Likeness& b) { return a.degree < b.degree; });
  return all;
}

}  // namespace gatedrill::replay::explain
