// `traffic explain`: who broke which connection, and why the gateway answered 502 or 504.
//
//   recording(s) ─► HopReader ─┬─► 1st pass: Topology, waits, idle closes ─► Hints
//                              └─► 2nd pass: Joiner ─► Chain ─► judge ─► Findings ─► incidents
//
// Both passes stream. What it holds is what goes on at one time, and the findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/explain/findings.hpp"
#include "replay/explain/incidents.hpp"
#include "replay/explain/verdict.hpp"

namespace gatedrill::replay::explain {

struct Options {
  std::optional<std::string> upstream_leg{};  // another recording
  std::vector<Timeout> timeouts{};            // of the gateway, as the user knows them
  std::size_t examples = 3;                   // kept of each kind
};

// What was captured, and what was not: a hole may hide anything.
struct Coverage {
  std::string file{};
  std::uint64_t exchanges = 0;
  UnixTime first{};
  UnixTime last{};
  std::uint64_t gap_bytes = 0;
  std::uint64_t kernel_drops = 0;
  std::uint64_t twice = 0;  // exchanges that the other recording holds too
};

// How far the clock of the second recording was from that of the first.
struct ClockShift {
  Duration added{0};        // to the times of the second
  std::uint64_t pairs = 0;  // requests that both hold and that were compared
  bool consistent = true;   // one shift fits nearly all of them
};

struct Report {
  std::vector<Coverage> coverage{};
  std::optional<ClockShift> clock{};
  Hints hints{};
  Findings findings;
  std::vector<Likeness> incidents{};
};

[[nodiscard]] Result<Report> explain(const std::string& path, const Options& options);

// One exchange with its other legs, from what happened around it. Nothing if its chain was not
// found.
struct Explained {
  Chain chain{};
  Verdict verdict{};  // `broken` is null
};

[[nodiscard]] Result<std::optional<Explained>> explain_one(const std::string& path,
                                                           const RecordedExchange& exchange);

// A page for a person: what failed, why, what it looks like, and the chains, of so many listeners.
[[nodiscard]] std::string render(const Report& report, std::size_t top);
// The chain of one exchange, indented by leg.
[[nodiscard]] std::string render(const Chain& chain, const Verdict& verdict);
// The same as one JSON document.
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace gatedrill::replay::explain
