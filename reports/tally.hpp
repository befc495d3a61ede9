// The exact totals of a run: how many requests ended how, and how long they took, for each second,
// gateway and route. Every figure of a report comes from here; the rows of single requests are
// evidence, and may be sampled or lost.
//
// Tallies of parts of a run (threads, generators) merge without loss. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/core/cause.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/histogram.hpp"
#include "gateway/core/names.hpp"

namespace gatedrill::reports {

class Tally {
 public:
  struct OutcomeCount {
    std::uint64_t requests = 0;
    std::uint64_t upstream_attempts = 0;
    std::uint64_t reached = 0;  // requests with at least one attempt
  };

  struct Outcome {
    NameId gateway;
    std::int64_t second = 0;  // of the arrival
    NameId route;
    std::uint16_t status = 0;
    Cause cause = Cause::ok;
    OutcomeCount count;
  };

  struct Latency {
    NameId gateway;
    std::int64_t second = 0;
    NameId route;
    Histogram histogram;
  };

  void count(NameId gateway, const RequestDone& request);
  void merge(const Tally& other);

  // Packs the histograms of seconds well before the latest, so that a long run's memory stays
  // small. Nothing is lost: a late request is still counted.
  void compact();

  // In the order of gateway name, second, route name, status, cause: the same whatever was merged
  // first. The histograms are given one at a time because they are large.
  [[nodiscard]] std::vector<Outcome> outcomes() const;
  void for_each_latency(const std::function<void(const Latency&)>& use) const;

  [[nodiscard]] bool empty() const { return outcomes_.empty(); }

  // Of any request counted so far.
  [[nodiscard]] std::int64_t latest_second() const { return latest_second_; }

  // Takes out all seconds before this one. A request of theirs that ends later is counted anew.
  [[nodiscard]] Tally take_before(std::int64_t second);

 private:
  struct Place {
    NameId gateway;
    NameId route;
    std::int64_t second = 0;
    auto operator<=>(const Place&) const = default;
  };

  struct OutcomeKey {
    Place place;
    std::uint16_t status = 0;
    Cause cause = Cause::ok;
    auto operator<=>(const OutcomeKey&) const = default;
  };

  struct Hash {
    std::size_t operator()(const Place& place) const;
    std::size_t operator()(const OutcomeKey& key) const;
  };

  struct SecondLatency {
    Histogram open;
    std::string packed;  // what was recorded before the last compact()
    Duration packed_max{0};
    [[nodiscard]] Histogram all() const;
  };

  std::unordered_map<OutcomeKey, OutcomeCount, Hash> outcomes_;
  std::unordered_map<Place, SecondLatency, Hash> latencies_;
  std::int64_t latest_second_ = 0;
};

}  // namespace gatedrill::reports
