#include "replay/explain/topology.hpp"

#include <algorithm>

namespace gatedrill::replay::explain {
namespace {

// How long a request is remembered after its end: as long as the same request may be on its way to
// another listener without any relation between the two.
constexpr Duration kRemembered = std::chrono::seconds(2);
constexpr Duration kLongest = std::chrono::minutes(2);
// A caller encloses nearly all that it calls; what answers early or late is the rest.
constexpr double kEnclosedShare = 0.95;
// Requests alike are found by chance more often than not when there are that many at once.
constexpr std::size_t kAlikeMax = 256;

// Whether two who are equally likely to be ahead may be so far apart (two standard deviations).
bool by_chance(std::uint64_t one, std::uint64_t other) {
  if (one == 0 || other == 0) return false;
  const double ahead = static_cast<double>(one) - static_cast<double>(other);
  return ahead * ahead <= 4 * static_cast<double>(one + other);
}

// Whether `one` lies closer around `inner` than `other`, where both passed its answer on.
bool is_closer(const Span& one, const Span& other, const Span& inner) {
  const auto passed_on = [&](const Span& outer) {
    return inner.answer_begin && outer.answer_begin && outer.status == inner.status;
  };
  if (!passed_on(one) || !passed_on(other)) return false;
  return one.answer_begin->ns - one.begin.ns < other.answer_begin->ns - other.begin.ns;
}

}  // namespace

Span span_of(const Hop& hop) {
  return {.server = hop.server,
          .recording = hop.recording,
          .connection = hop.connection.connection,
          .begin = hop.begin,
          .end = hop.end(),
          .answer_begin = hop.answer_begin,
          .status = hop.status,
          .answer_whole = hop.answer_whole};
}

bool encloses(const Span& outer, const Span& inner, KeyKind kind) {
  if (outer.begin > inner.begin) return false;
  const Duration late = kind == KeyKind::request_id ? kPassedOnWithin : Duration{0};
  if (outer.end && outer.end->ns + late.count() < inner.begin.ns) return false;
  const bool same = outer.recording == inner.recording && outer.connection == inner.connection;
  if (same || outer.server == inner.server) return false;
  const bool passed_on = outer.status && outer.status == inner.status && inner.answer_whole;
  if (passed_on && inner.answer_begin && outer.answer_begin) {
    return *inner.answer_begin <= *outer.answer_begin;
  }
  return true;
}

void Topology::set(const std::string& callee, Callers callers) {
  calling_.insert(callers.servers.begin(), callers.servers.end());
  callers_[callee] = std::move(callers);
}

const Topology::Callers* Topology::callers_of(const std::string& callee) const {
  const auto found = callers_.find(callee);
  return found == callers_.end() ? nullptr : &found->second;
}

bool Topology::calls(const std::string& caller, const std::string& callee) const {
  const Callers* callers = callers_of(callee);
  return callers != nullptr && callers->servers.contains(caller);
}

bool Topology::has_callees(const std::string& caller) const {
  return calling_.contains(caller);
}

bool Topology::is_callee(const std::string& server) const {
  return callers_.contains(server);
}

void TopologyLearner::forget(UnixTime now) {
  while (!forgetting_.empty() && forgetting_.top().first < now.ns) {
    const auto found = recent_.find(forgetting_.top().second);
    forgetting_.pop();
    if (found == recent_.end()) continue;
    std::erase_if(found->second, [&](const Seen& seen) { return seen.forgotten_at < now; });
    if (found->second.empty()) recent_.erase(found);
  }
}

void TopologyLearner::see(const Hop& hop) {
  if (!hop.has_request()) return;
  forget(hop.begin);
  Span span = span_of(hop);
  span.server = *names_.insert(hop.server).first;
  const UnixTime until{span.end.value_or(UnixTime{hop.begin.ns + kLongest.count()}).ns +
                       kRemembered.count()};
  bool known_by_stronger = false;
  for (const JoinKey& key : hop.keys) {  // the strongest first
    std::vector<Seen>& alike = recent_[key.hash];
    if (alike.size() >= kAlikeMax) continue;
    // A request may lose or gain an id on its way. What has found others by its id would only find
    // them again.
    std::vector<std::string_view> around;
    if (!known_by_stronger) around = count(key.kind, span, alike);
    known_by_stronger = known_by_stronger || !around.empty();
    alike.push_back({span, until, std::move(around)});
    forgetting_.emplace(until.ns, key.hash);
  }
}

std::vector<std::string_view> TopologyLearner::count(KeyKind kind,
                                                     const Span& span,
                                                     const std::vector<Seen>& alike) {
  // Names are looked up by their place, since each is held once.
  std::vector<std::pair<std::string_view, const Span*>> others;
  bool again = false;
  for (const Seen& seen : alike) {
    const std::string_view server = seen.span.server;
    again = again || server.data() == span.server.data();
    if (server.data() == span.server.data()) continue;
    auto other = std::find_if(others.begin(), others.end(),
                              [&](const auto& one) { return one.first.data() == server.data(); });
    if (other == others.end()) other = others.insert(other, {server, nullptr});
    if (encloses(seen.span, span, kind)) other->second = &seen.span;
  }
  Others& callers = pairs_[{kind, std::string(span.server)}];
  std::vector<std::string_view> enclosing;
  for (const auto& [server, around] : others) {
    Pair& pair = callers[std::string(server)];
    ++pair.together;
    if (around == nullptr) continue;
    ++pair.enclosed;
    enclosing.push_back(server);
    for (const auto& [other, its] : others) {
      if (other == server) continue;
      Against& against = pair.against[std::string(other)];
      if (its == nullptr)
        ++against.alone;
      else if (is_closer(*around, *its, span))
        ++against.closer;
    }
  }
  if (again) return enclosing;
  // What began before has not been called by this one.
  for (const Seen& seen : alike) {
    Others& pairs = pairs_[{kind, std::string(seen.span.server)}];
    ++pairs[std::string(span.server)].together;
    for (const std::string_view server : seen.around)
      ++pairs[std::string(server)].against[std::string(span.server)].alone;
  }
  return enclosing;
}

bool TopologyLearner::Pair::encloses() const {
  return enclosed > 0 &&
         static_cast<double>(enclosed) >= kEnclosedShare * static_cast<double>(together);
}

TopologyLearner::Against TopologyLearner::Pair::over(const std::string& other) const {
  const auto found = against.find(other);
  return found == against.end() ? Against{} : found->second;
}

const TopologyLearner::Pair* TopologyLearner::pair(KeyKind kind,
                                                   const std::string& callee,
                                                   const std::string& other) const {
  const auto found = pairs_.find({kind, callee});
  if (found == pairs_.end()) return nullptr;
  const auto one = found->second.find(other);
  return one == found->second.end() ? nullptr : &one->second;
}

// What the ids say of two listeners is not asked again of anything weaker: what is alike by chance
// would call them.
bool TopologyLearner::may_call(const Key& callee, const std::string& other, const Pair& its) const {
  if (!its.encloses()) return false;
  for (const KeyKind stronger : {KeyKind::request_id, KeyKind::trace}) {
    if (stronger < callee.first && pair(stronger, callee.second, other) != nullptr) return false;
  }
  return true;
}

// Whether `one` rather than `other` is the caller.
bool TopologyLearner::better(const Key& callee,
                             const std::string& one,
                             const std::string& other) const {
  const Pair* mine = pair(callee.first, callee.second, one);
  const Pair* its = pair(callee.first, callee.second, other);
  const Pair* above = pair(callee.first, one, other);
  const Pair* below = pair(callee.first, other, one);
  const bool nested =
      (above != nullptr && above->encloses()) || (below != nullptr && below->encloses());
  const Against over = mine->over(other);
  const Against under = its->over(one);
  if (!nested && over.alone != under.alone) return over.alone > under.alone;
  if (by_chance(over.closer, under.closer) && mine->enclosed != its->enclosed) {
    return mine->enclosed > its->enclosed;
  }
  if (over.closer != under.closer) return over.closer > under.closer;
  return mine->enclosed > its->enclosed;
}

const std::string* TopologyLearner::closest(const Key& callee, const Others& others) const {
  const std::string* best = nullptr;
  std::size_t most = 0;
  for (const auto& [one, pair] : others) {
    if (!may_call(callee, one, pair)) continue;
    const auto beaten = std::count_if(others.begin(), others.end(), [&](const auto& other) {
      return may_call(callee, other.first, other.second) && better(callee, one, other.first);
    });
    const std::size_t wins = static_cast<std::size_t>(beaten) + 1;
    if (wins <= most) continue;
    most = wins;
    best = &one;
  }
  return best;
}

void TopologyLearner::resolve(const Key& callee,
                              const Others& others,
                              Topology& topology,
                              int depth) const {
  const auto& [kind, server] = callee;
  constexpr int kDepthMax = 16;
  if (topology.is_callee(server) || depth > kDepthMax) return;
  const std::string* caller = closest(callee, others);
  if (caller == nullptr) return;
  const auto above = pairs_.find({kind, *caller});
  if (above != pairs_.end()) resolve(above->first, above->second, topology, depth + 1);
  Topology::Callers callers{.kind = kind, .servers = {*caller}};
  for (const auto& [other, one] : others) {
    if (&other == caller || !may_call(callee, other, one)) continue;
    // Another caller of the same server is seldom sent the same request.
    const Pair* both = pair(kind, *caller, other);
    const bool apart =
        both == nullptr || static_cast<double>(both->together) <=
                               (1 - kEnclosedShare) * static_cast<double>(one.together);
    if (apart || topology.calls(other, *caller)) callers.servers.insert(other);
  }
  topology.set(server, std::move(callers));
}

// In the order of the kinds: the strongest one that shows callers counts.
Topology TopologyLearner::learn() const {
  Topology topology;
  for (const auto& [callee, others] : pairs_)
    resolve(callee, others, topology, 0);
  return topology;
}

}  // namespace gatedrill::replay::explain
