#include "reports/tally.hpp"

#include <algorithm>
#include <tuple>

#include "reports/hdr_codec.hpp"

namespace gatedrill::reports {
namespace {

// Requests are counted in the second of their arrival when they end, so recent seconds still grow.
constexpr std::int64_t kOpenSeconds = 15;

std::int64_t second_of(TimePoint at) {
  return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
}

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

std::size_t Tally::Hash::operator()(const Place& place) const {
  const std::uint64_t names =
      (std::uint64_t{place.gateway.value} << 32U) | std::uint64_t{place.route.value};
  return mix(mix(names) + static_cast<std::uint64_t>(place.second));
}

std::size_t Tally::Hash::operator()(const OutcomeKey& key) const {
  const std::uint64_t outcome =
      (std::uint64_t{key.status} << 8U) | static_cast<std::uint64_t>(key.cause);
  return mix((*this)(key.place) + outcome);
}

Histogram Tally::SecondLatency::all() const {
  if (packed.empty()) return open;
  // What this process packed itself cannot fail to unpack.
  Result<Histogram> unpacked = decode_hdr(packed);
  Histogram histogram = Histogram::from_counts(unpacked.value().counts(), packed_max);
  histogram.merge(open);
  return histogram;
}

void Tally::count(NameId gateway, const RequestDone& request) {
  const Place place{gateway, request.route, second_of(request.at)};
  latest_second_ = std::max(latest_second_, place.second);
  OutcomeCount& count = outcomes_[OutcomeKey{place, request.status, request.cause}];
  count.requests += 1;
  count.upstream_attempts += request.attempts;
  count.reached += request.attempts > 0 ? 1 : 0;
  latencies_[place].open.record(request.latency);
}

void Tally::merge(const Tally& other) {
  latest_second_ = std::max(latest_second_, other.latest_second_);
  for (const auto& [key, theirs] : other.outcomes_) {
    OutcomeCount& count = outcomes_[key];
    count.requests += theirs.requests;
    count.upstream_attempts += theirs.upstream_attempts;
    count.reached += theirs.reached;
  }
  for (const auto& [place, latency] : other.latencies_) {
    latencies_[place].open.merge(latency.all());
  }
}

void Tally::compact() {
  for (auto& [place, latency] : latencies_) {
    if (place.second > latest_second_ - kOpenSeconds || latency.open.count() == 0) continue;
    const Histogram all = latency.all();
    latency = SecondLatency{Histogram(), encode_hdr(all), all.max()};
  }
}

Tally Tally::take_before(std::int64_t second) {
  Tally taken;
  taken.latest_second_ = latest_second_;
  std::erase_if(outcomes_, [&](const auto& entry) {
    if (entry.first.place.second >= second) return false;
    taken.outcomes_.insert(entry);
    return true;
  });
  std::erase_if(latencies_, [&](auto& entry) {
    if (entry.first.second >= second) return false;
    taken.latencies_.emplace(entry.first, std::move(entry.second));
    return true;
  });
  return taken;
}

std::vector<Tally::Outcome> Tally::outcomes() const {
  std::vector<Outcome> all;
  all.reserve(outcomes_.size());
  for (const auto& [key, count] : outcomes_) {
    all.push_back(Outcome{key.place.gateway, key.place.second, key.place.route, key.status,
                          key.cause, count});
  }
  const auto order = [](const Outcome& outcome) {
    return std::tuple(name_of(outcome.gateway), outcome.second, name_of(outcome.route),
                      outcome.status, to_string(outcome.cause));
  };
  std::ranges::sort(all, {}, order);
  return all;
}

void Tally::for_each_latency(const std::function<void(const Latency&)>& use) const {
  std::vector<Place> places;
  places.reserve(latencies_.size());
  for (const auto& [place, latency] : latencies_)
    places.push_back(place);
  std::ranges::sort(places, {}, [](const Place& place) {
    return std::tuple(name_of(place.gateway), place.second, name_of(place.route));
  });
  for (const Place& place : places) {
    use(Latency{place.gateway, place.second, place.route, latencies_.at(place).all()});
  }
}

}  // namespace gatedrill::reports
