// Why a request ended as it did, from its chain. Pure. A verdict is never stronger than what the
// capture shows: `seen` is written in the packets, `likely` fits them better than anything else,
// and where neither holds the cause stays open and the sentence says what is missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/cause.hpp"
#include "replay/explain/chain.hpp"
#include "replay/explain/signs.hpp"
#include "replay/explain/timeouts.hpp"

namespace gatedrill::replay::explain {

enum class Certainty : std::uint8_t { seen, likely, open };

[[nodiscard]] std::string_view to_string(Certainty certainty);

struct Verdict {
  std::string answer{};  // as the client saw it: "502", "none", "cut", "gave up", "request cut"
  bool failed = false;
  std::optional<Cause> cause{};
  Certainty certainty = Certainty::open;
  std::string why{};
  bool may_have_run = false;      // the upstream had a request whose answer never came
  const Chain* broken = nullptr;  // where it went wrong, in the chain
  std::vector<Sign> signs{};

  [[nodiscard]] bool worth_telling() const { return failed || !signs.empty(); }
};

[[nodiscard]] Verdict judge(const Chain& chain, const Topology& topology, const Hints& hints);

}  // namespace gatedrill::replay::explain
