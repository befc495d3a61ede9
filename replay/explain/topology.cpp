#include "replay/explain/topology.hpp"

#include <algorithm>
#include <limits>

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

// The strongest kind of key that a request carries: a weaker one would only find it again.
KeyKind strongest(const Hop& hop) {
  KeyKind kind = KeyKind::content;
  for (const JoinKey& key : hop.keys)
    kind = std::min(kind, key.kind);
  return kind;
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

bool encloses(const Span& outer, const Span& inner) {
  const bool same = outer.recording == inner.recording && outer.connection == inner.connection;
  if (same || outer.server == inner.server || outer.begin > inner.begin) return false;
  if (outer.end && *outer.end < inner.begin) return false;
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
  const KeyKind kind = strongest(hop);
  for (const JoinKey& key : hop.keys) {
    std::vector<Seen>& alike = recent_[key.hash];
    if (alike.size() >= kAlikeMax) continue;
    // A request may lose or gain an id on its way, so all of its keys are remembered, but only its
    // best one counts.
    if (key.kind == kind) count(key.kind, span, alike);
    alike.push_back({span, until});
    forgetting_.emplace(until.ns, key.hash);
  }
}

void TopologyLearner::count(KeyKind kind, const Span& span, const std::vector<Seen>& alike) {
  std::map<std::string_view, const Span*> others;
  bool again = false;
  for (const Seen& seen : alike) {
    again = again || seen.span.server == span.server;
    if (seen.span.server == span.server) continue;
    const Span*& around = others[seen.span.server];
    if (encloses(seen.span, span)) around = &seen.span;
  }
  Others& callers = pairs_[{kind, std::string(span.server)}];
  for (const auto& [server, around] : others) {
    Pair& pair = callers[std::string(server)];
    ++pair.together;
    if (around == nullptr) continue;
    ++pair.enclosed;
    if (!span.answer_begin || !around->answer_begin || span.status != around->status) continue;
    pair.slack_ns += static_cast<double>(span.begin.ns - around->begin.ns +
                                         around->answer_begin->ns - span.answer_begin->ns);
    ++pair.slacks;
  }
  if (again) return;
  // What began before has not been called by this one.
  for (const Seen& seen : alike)
    ++pairs_[{kind, std::string(seen.span.server)}][std::string(span.server)].together;
}

bool TopologyLearner::Pair::encloses() const {
  return enclosed > 0 &&
         static_cast<double>(enclosed) >= kEnclosedShare * static_cast<double>(together);
}

double TopologyLearner::Pair::slack() const {
  return slacks == 0 ? std::numeric_limits<double>::max() : slack_ns / static_cast<double>(slacks);
}

const TopologyLearner::Pair* TopologyLearner::pair(KeyKind kind,
                                                   const std::string& callee,
                                                   const std::string& other) const {
  const auto found = pairs_.find({kind, callee});
  if (found == pairs_.end()) return nullptr;
  const auto one = found->second.find(other);
  return one == found->second.end() ? nullptr : &one->second;
}

void TopologyLearner::resolve(const Key& callee,
                              const Others& others,
                              Topology& topology,
                              int depth) const {
  const auto& [kind, server] = callee;
  constexpr int kDepthMax = 16;
  if (topology.is_callee(server) || depth > kDepthMax) return;
  const std::string* closest = nullptr;
  const Pair* best = nullptr;
  for (const auto& [other, pair] : others) {
    if (!pair.encloses()) continue;
    if (best != nullptr && (pair.slack() > best->slack() ||
                            (pair.slack() == best->slack() && pair.enclosed <= best->enclosed))) {
      continue;
    }
    closest = &other;
    best = &pair;
  }
  if (closest == nullptr) return;
  const auto above = pairs_.find({kind, *closest});
  if (above != pairs_.end()) resolve(above->first, above->second, topology, depth + 1);
  Topology::Callers callers{.kind = kind, .servers = {*closest}, .exchanges = best->enclosed};
  for (const auto& [other, one] : others) {
    if (&other == closest || !one.encloses()) continue;
    // Another caller of the same server is seldom sent the same request.
    const Pair* both = pair(kind, *closest, other);
    const bool apart =
        both == nullptr || static_cast<double>(both->together) <=
                               (1 - kEnclosedShare) * static_cast<double>(one.together);
    if (apart || topology.calls(other, *closest)) callers.servers.insert(other);
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
