#include "replay/explain/findings.hpp"

#include <algorithm>

namespace gatedrill::replay::explain {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kClientsMax = 10'000;
constexpr std::size_t kDirectMax = 100;
constexpr std::size_t kServersMax = 1000;

constexpr int kBadRequest = 400;
constexpr int kTooManyRequests = 429;
constexpr int kHeadTooLarge = 431;
constexpr int kServerError = 500;
constexpr int kBadGateway = 502;
constexpr int kUnavailable = 503;
constexpr int kGatewayTimeout = 504;

std::uint64_t hops_of(const Chain& chain) {
  std::uint64_t count = 1;
  for (const Chain& child : chain.children)
    count += hops_of(child);
  return count;
}

template <class Map, class Key>
typename Map::mapped_type* bounded(Map& map, const Key& key, std::size_t max) {
  const auto found = map.find(key);
  if (found != map.end()) return &found->second;
  return map.size() < max ? &map[key] : nullptr;
}

}  // namespace

void Group::add(const Chain& chain, const Verdict& verdict, std::size_t examples_max) {
  const Hop& hop = chain.hop;
  if (count == 0 || hop.begin < first) first = hop.begin;
  if (count == 0 || hop.begin > last) last = hop.begin;
  ++count;
  ++certainty[verdict.certainty];
  if (verdict.may_have_run) ++may_have_run;
  const Chain& broken = verdict.broken != nullptr ? *verdict.broken : chain;
  if (broken.outcome.reused) ++(*broken.outcome.reused ? reused : fresh);
  if (broken.outcome.waited) waited.record(std::max(*broken.outcome.waited, Duration{0}));
  if (chain.outcome.waited) ended.add(*chain.outcome.waited);
  if (broken.hop.idle_before && broken.hop.ordinal > 1) idle.record(*broken.hop.idle_before);
  if (const auto old = broken.hop.age()) age.record(*old);
  ++fates[broken.outcome.fate];
  if (auto* server = bounded(servers, broken.hop.server, kServersMax)) ++*server;
  if (examples.size() < examples_max) {
    examples.push_back({chain, verdict});
    examples.back().verdict.broken = nullptr;
  }
}

std::uint64_t Listener::failed() const {
  std::uint64_t sum = 0;
  for (const auto& [key, group] : groups)
    sum += group.count;
  return sum;
}

std::uint64_t Listener::count(std::string_view answer) const {
  std::uint64_t sum = 0;
  for (const auto& [key, group] : groups) {
    if (key.answer == answer) sum += group.count;
  }
  return sum;
}

std::uint64_t Listener::count(std::string_view answer, Cause cause) const {
  const auto found = groups.find(GroupKey{std::string(answer), cause});
  return found == groups.end() ? 0 : found->second.count;
}

void Findings::add_upstream(const Chain& chain) {
  for (const Chain& child : chain.children) {
    Upstream& upstream = upstreams_[child.hop.server];
    ++upstream.exchanges;
    if (child.hop.ordinal == 1) ++upstream.connections;
    ++upstream.seconds[child.hop.begin.ns / kSecond];
    add_upstream(child);
  }
}

void Findings::add_direct(const Chain& chain, const Verdict& verdict) {
  auto* direct = bounded(upstreams_[chain.hop.server].direct, chain.hop.name(), kDirectMax);
  if (direct == nullptr) return;
  ++direct->count;
  if (verdict.failed) ++direct->failed;
  if (chain.outcome.waited) direct->waited.record(std::max(*chain.outcome.waited, Duration{0}));
}

void Findings::add_refusal(Listener& listener, const Chain& chain) {
  const Hop& hop = chain.hop;
  const int status = hop.status.value_or(0);
  const bool nothing_upstream = chain.children.empty();
  const bool too_many = status == kTooManyRequests && nothing_upstream;
  const std::string client =
      hop.forwarded_for.empty() ? std::string(address_of(hop.client)) : hop.forwarded_for;
  if (Refused* refused = bounded(listener.clients, client, kClientsMax)) {
    ++(too_many ? refused->refused : refused->passed);
    if (hop.identity != 0 && refused->identities.size() < kIdentitiesMax) {
      refused->identities.insert(hop.identity);
    }
  }
  const bool by_head =
      status == kHeadTooLarge || (status == kBadRequest && nothing_upstream && hop.has_request());
  if (by_head) {
    if (listener.head_rejected++ == 0 || hop.request_head_bytes < listener.head_rejected_min) {
      listener.head_rejected_min = hop.request_head_bytes;
    }
  } else if (hop.has_request()) {
    listener.head_passed_max = std::max(listener.head_passed_max, hop.request_head_bytes);
  }
}

void Findings::add(const Chain& chain, const Verdict& verdict) {
  exchanges_ += hops_of(chain);
  add_upstream(chain);
  const Hop& hop = chain.hop;
  if (topology_.is_callee(hop.server)) add_direct(chain, verdict);
  Listener& listener = listeners_[hop.server];
  ++listener.requests;
  ++listener.answers[verdict.answer];
  if (!chain.children.empty()) {
    ++listener.passed_on;
    listener.upstream_exchanges += chain.children.size();
    for (const Chain& child : chain.children) {
      if (child.rivals > 0) ++listener.ambiguous;
      ++listener.joined[*child.joined_by];
    }
  }
  const Fate fate = chain.outcome.fate;
  if (fate == Fate::unfinished || fate == Fate::hole) ++listener.open;
  Second& second = listener.seconds[hop.begin.ns / kSecond];
  ++second.requests;
  const int status = hop.status.value_or(0);
  if (status == kBadGateway || closed_without_answer(fate)) ++second.bad_gateway;
  if (status == kGatewayTimeout) ++second.timeouts;
  if (status == kUnavailable) ++second.unavailable;
  add_refusal(listener, chain);
  if (!verdict.failed) {
    if (const auto wait = hop.first_byte()) listener.answered.record(std::max(*wait, Duration{0}));
  } else {
    listener.groups[{verdict.answer, verdict.cause}].add(chain, verdict, examples_max_);
  }
  for (const Sign sign : verdict.signs)
    listener.signs[sign].add(chain, verdict, examples_max_);
}

}  // namespace gatedrill::replay::explain
