#include "replay/explain/clock_shift.hpp"

#include <algorithm>
#include <unordered_map>

#include "replay/explain/hop_reader.hpp"

namespace gatedrill::replay::explain {
namespace {

constexpr std::size_t kComparedMax = 100'000;
constexpr std::size_t kPairsMin = 3;
// The share of requests that a bound may contradict: ids that came twice, packets out of order.
constexpr std::size_t kContradictingShare = 50;

struct Passage {
  UnixTime begin{};
  UnixTime answer{};
  int status = 0;
  bool twice = false;
};

}  // namespace

ClockShift shift_from(std::vector<ShiftBound> bounds) {
  ClockShift shift{.pairs = bounds.size()};
  if (bounds.size() < kPairsMin) return shift;
  std::vector<Duration> least;
  std::vector<Duration> most;
  for (const ShiftBound& bound : bounds) {
    least.push_back(bound.at_least);
    most.push_back(bound.at_most);
  }
  std::sort(least.begin(), least.end());
  std::sort(most.begin(), most.end());
  const std::size_t skipped = bounds.size() / kContradictingShare;
  const Duration low = least[least.size() - 1 - skipped];
  const Duration high = most[skipped];
  shift.consistent = low <= high;
  if (low <= Duration{0} && Duration{0} <= high) return shift;
  shift.added = (low + high) / 2;
  return shift;
}

Result<ClockShift> compare_clocks(const std::string& client_leg, const std::string& upstream_leg) {
  std::unordered_map<std::uint64_t, Passage> known;
  auto client = HopReader::open(client_leg, 0, Duration{0});
  if (!client) return client.error();
  Hop hop;
  while (known.size() < kComparedMax) {
    auto found = client->next(hop);
    if (!found) return found.error();
    if (!*found) break;
    for (const JoinKey& key : hop.keys) {
      if (key.kind == KeyKind::content || !hop.answer_begin) continue;
      auto [passage, fresh] =
          known.try_emplace(key.hash, Passage{.begin = hop.begin,
                                              .answer = *hop.answer_begin,
                                              .status = hop.status.value_or(0)});
      if (!fresh) passage->second.twice = true;
    }
  }
  auto upstream = HopReader::open(upstream_leg, 1, Duration{0});
  if (!upstream) return upstream.error();
  std::vector<ShiftBound> bounds;
  while (bounds.size() < kComparedMax) {
    auto found = upstream->next(hop);
    if (!found) return found.error();
    if (!*found) break;
    for (const JoinKey& key : hop.keys) {
      const auto passage = known.find(key.hash);
      if (passage == known.end() || passage->second.twice || !hop.answer_begin) continue;
      // An answer that was not passed on may come at any time.
      if (hop.status != passage->second.status) continue;
      bounds.push_back({.at_least = Duration{passage->second.begin.ns - hop.begin.ns},
                        .at_most = Duration{passage->second.answer.ns - hop.answer_begin->ns}});
      break;
    }
  }
  return shift_from(std::move(bounds));
}

}  // namespace gatedrill::replay::explain
