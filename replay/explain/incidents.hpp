// Which of the known incidents a recording looks like. Pure.
//
// Each incident is a signature of several marks. A mark that is there is evidence, one that could
// be there and is not is counter-evidence, and one that this recording cannot show is said to be
// missing. The degree is what the marks add up to, never more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/explain/findings.hpp"

namespace gatedrill::replay::explain {

enum class Degree : std::uint8_t {
  strong,   // every mark that makes it this incident
  partial,  // some of them
};

[[nodiscard]] std::string_view to_string(Degree degree);

struct Likeness {
  std::string incident{};  // "INC-1"
  std::string title{};
  std::string listener{};
  Degree degree = Degree::partial;
  std::vector<std::string> evidence{};
  std::vector<std::string> counter_evidence{};
  std::vector<std::string> not_shown{};  // what this recording cannot say
  std::vector<std::string> next{};       // what to do
};

// The most alike first. Listeners that were asked nothing that failed are left out.
[[nodiscard]] std::vector<Likeness> known_incidents(const Findings& findings, const Hints& hints);

// One each; empty degree where nothing speaks for it.
struct Signature {
  const Findings& findings;
  const Hints& hints;
  const std::string& name;
  const Listener& listener;
};

using Match = std::vector<Likeness> (*)(const Signature&);

[[nodiscard]] std::vector<Likeness> rolling_upgrade(const Signature& signature);    // INC-1
[[nodiscard]] std::vector<Likeness> health_flapping(const Signature& signature);    // INC-2
[[nodiscard]] std::vector<Likeness> retry_avalanche(const Signature& signature);    // INC-3a
[[nodiscard]] std::vector<Likeness> limiter_dimension(const Signature& signature);  // INC-3b
[[nodiscard]] std::vector<Likeness> no_keep_alive(const Signature& signature);      // INC-3c
[[nodiscard]] std::vector<Likeness> header_bloat(const Signature& signature);       // INC-3d

}  // namespace gatedrill::replay::explain
