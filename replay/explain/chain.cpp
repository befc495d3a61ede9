#include "replay/explain/chain.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "gateway/core/random.hpp"

namespace gatedrill::replay::explain {
namespace {

// An exchange whose end was not seen is waited for that long.
constexpr Duration kLongest = std::chrono::minutes(10);
constexpr std::size_t kActiveMax = 200'000;
// How many of the latest requests are looked at for who caused an attempt, or another request.
constexpr std::size_t kLookBack = 256;
// No request passes more gateways; ids that many requests share would make a chain of them all.
constexpr int kDepthMax = 16;
constexpr int kBadGateway = 502;
// A gateway that was refused a connection tries another or gives up at once.
constexpr Duration kReactsWithin = kPassedOnWithin / 2;
// What comes again that long after it failed is a retry; of what only looks the same, much sooner.
constexpr Duration kRetriedWithin = std::chrono::seconds(10);
constexpr Duration kAlikeWithin = std::chrono::seconds(1);
// And only if its client seldom asks that: it did less than Joiner::kAskedKept times, with the one
// that failed, since that long before it.
constexpr Duration kSeldomWithin = std::chrono::seconds(10);

// By what a request is known when it comes again: what only looks the same, by its client as well.
std::uint64_t again_key(const JoinKey& key, const Hop& hop) {
  return key.kind == KeyKind::content ? stable_hash(address_of(hop.client), key.hash) : key.hash;
}

// Where the latest that are looked at begin.
template <class Places>
auto first_of_latest(const Places& places) {
  return std::prev(places.end(), static_cast<std::ptrdiff_t>(std::min(places.size(), kLookBack)));
}

bool waits_for_upstream(const Chain& chain, UnixTime at) {
  return std::none_of(chain.children.begin(), chain.children.end(), [&](const Chain& child) {
    const auto end = child.hop.end();
    return child.hop.begin <= at && (!end || *end > at);
  });
}

// How well a request explains one that is alike upstream.
enum class Fit : std::uint8_t {
  whole,  // it waits, has asked for nothing yet, and passed this answer on
  first,  // it waits and has asked for nothing yet
  again,  // it waits, since what it asked for before has ended
  poor,
};

Fit fit_of(const Chain& above, const Hop& hop) {
  if (!waits_for_upstream(above, hop.begin)) return Fit::poor;
  if (!above.children.empty()) return Fit::again;
  const bool passed_on = hop.status && hop.status == above.hop.status;
  return passed_on ? Fit::whole : Fit::first;
}

// What a request did once an attempt was in vain, the best reason for having made it first.
enum class Reaction : std::uint8_t {
  failed,  // it failed at once, with nothing else to show for it
  went_on,
  none,
};

Reaction reaction_of(const Chain& chain, const Attempt& attempt) {
  const UnixTime at = *attempt.connection.opened;
  const UnixTime until{at.ns + kReactsWithin.count()};
  const auto answered = chain.hop.answer_begin;
  // Nobody knows when it was given up, unless it was refused.
  const bool soon = attempt.connection.connect != "refused" || (answered && *answered <= until);
  const bool failed = chain.hop.status.value_or(kBadGateway) >= kBadGateway;
  if (failed && soon && chain.children.empty()) return Reaction::failed;
  const bool goes_on = std::any_of(
      chain.children.begin(), chain.children.end(),
      [&](const Chain& child) { return child.hop.begin >= at && child.hop.begin <= until; });
  return goes_on ? Reaction::went_on : Reaction::none;
}

// Which of two requests rather caused an attempt in vain: by what they did then, then the one that
// has made fewer so far, then the one that began last.
bool more_likely(const Chain& chain, const Chain& than, const Attempt& attempt) {
  const Reaction mine = reaction_of(chain, attempt);
  const Reaction its = reaction_of(than, attempt);
  if (mine != its) return mine < its;
  if (chain.attempts.size() != than.attempts.size()) {
    return chain.attempts.size() < than.attempts.size();
  }
  return chain.hop.begin >= than.hop.begin;
}

}  // namespace

const Chain* Chain::last_child() const {
  const auto end = hop.end();
  const auto last = std::find_if(children.rbegin(), children.rend(), [&](const Chain& child) {
    return !end || child.hop.begin <= *end;
  });
  return last == children.rend() ? nullptr : &*last;
}

Joiner::Found Joiner::find_above(const Hop& hop) const {
  const Topology::Callers* callers = topology_.callers_of(hop.server);
  if (callers == nullptr) return {};
  Found best;
  const Span span = span_of(hop);
  for (const JoinKey& key : hop.keys) {
    const auto found = by_key_.find(key.hash);
    if (key.kind > callers->kind || found == by_key_.end()) continue;
    if (best.above != nullptr && key.kind >= best.kind) continue;
    Found of_key{.kind = key.kind};
    Fit best_fit = Fit::poor;
    for (auto place = first_of_latest(found->second); place != found->second.end(); ++place) {
      const auto& active = *place;
      const Chain& above = *active->chain;
      if (active->depth >= kDepthMax) continue;
      if (!encloses(active->span, span, key.kind)) continue;
      if (!callers->servers.contains(above.hop.server)) continue;
      ++of_key.rivals;
      // Of requests that are alike, the first that best explains it; of those with one id, the
      // innermost.
      const Fit fit = key.kind == KeyKind::content ? fit_of(above, hop) : Fit::poor;
      const bool better = of_key.above == nullptr ||
                          (key.kind == KeyKind::content
                               ? fit < best_fit
                               : active->chain->hop.begin >= of_key.above->chain->hop.begin);
      if (!better) continue;
      if (of_key.above != nullptr && key.kind != KeyKind::content &&
          above.hop.server != of_key.above->chain->hop.server) {
        of_key.rivals = 1;  // what it encloses is above the one before, not beside it
      }
      of_key.above = &*active;
      best_fit = fit;
    }
    if (of_key.above != nullptr) best = of_key;
  }
  if (best.above != nullptr) --best.rivals;
  return best;
}

Joiner::Active* Joiner::find_above(const Attempt& attempt, int& rivals) const {
  const UnixTime at = *attempt.connection.opened;
  const std::string_view client = address_of(attempt.connection.client);
  const Topology::Callers* callers = topology_.callers_of(attempt.connection.server);
  Active* best = nullptr;
  const auto look = [&](const Places& actives) {
    for (auto place = first_of_latest(actives); place != actives.end(); ++place) {
      Active& active = **place;
      const Hop& hop = active.chain->hop;
      const auto end = hop.end();
      if (hop.server == attempt.connection.server || hop.begin > at || (end && *end < at)) continue;
      if (callers == nullptr && address_of(hop.server) != client) continue;
      if (!waits_for_upstream(*active.chain, at)) continue;
      ++rivals;
      if (best == nullptr || more_likely(*active.chain, *best->chain, attempt)) best = &active;
    }
  };
  if (callers != nullptr) {
    for (const std::string& server : callers->servers) {
      if (const auto found = by_server_.find(server); found != by_server_.end())
        look(found->second);
    }
  } else {
    for (const auto& [server, actives] : by_server_) {
      if (!topology_.is_callee(server)) look(actives);
    }
  }
  if (best != nullptr) --rivals;
  return best;
}

bool Joiner::asked_all_the_time(std::uint64_t key, UnixTime since) const {
  const auto found = asked_.find(key);
  return found != asked_.end() && found->second.front().ns >= since.ns - kSeldomWithin.count();
}

void Joiner::remember_asked(const Hop& hop) {
  for (const JoinKey& key : hop.keys) {
    if (key.kind != KeyKind::content) continue;
    const std::uint64_t again = again_key(key, hop);
    const auto [at, fresh] = asked_.try_emplace(again);
    if (fresh) {
      at->second.fill(UnixTime{std::numeric_limits<std::int64_t>::min()});
      asked_in_turn_.emplace_back(hop.begin, again);
    }
    std::rotate(at->second.begin(), at->second.begin() + 1, at->second.end());
    at->second.back() = hop.begin;
  }
}

void Joiner::forget_asked(UnixTime now) {
  constexpr Duration kKept = kSeldomWithin + kAlikeWithin;
  while (!asked_in_turn_.empty() && asked_in_turn_.front().first.ns + kKept.count() < now.ns) {
    const std::uint64_t key = asked_in_turn_.front().second;
    asked_in_turn_.pop_front();
    const auto found = asked_.find(key);
    const UnixTime last = found->second.back();
    if (last.ns + kKept.count() < now.ns) {
      asked_.erase(found);
    } else {
      asked_in_turn_.emplace_back(last, key);
    }
  }
}

std::optional<std::int64_t> Joiner::find_before(const Hop& hop) {
  for (const JoinKey& key : hop.keys) {
    const auto found = failures_.find(again_key(key, hop));
    if (found == failures_.end()) continue;
    const Failure& failure = found->second;
    const Duration since{hop.begin.ns - failure.ended.ns};
    const Duration within = key.kind == KeyKind::content ? kAlikeWithin : kRetriedWithin;
    const bool same = failure.client == address_of(hop.client) &&
                      failure.request == hop.method + " " + hop.target;
    // Two ids say that they are two requests, and a gateway does not repeat for another.
    const bool other_id = key.kind != KeyKind::request_id && failure.request_id != hop.request_id &&
                          !failure.request_id.empty() && !hop.request_id.empty();
    const bool other_gateway =
        failure.server != hop.server &&
        (topology_.has_callees(failure.server) || topology_.has_callees(hop.server));
    if (!same || other_id || other_gateway || since > within) continue;
    const std::int64_t id = failure.id;
    if (key.kind == KeyKind::content) {
      if (failure.asked_often || asked_all_the_time(found->first, failure.begin)) continue;
      failures_.erase(found);  // what comes next is the next request
    }
    return id;
  }
  return std::nullopt;
}

void Joiner::remember_failure(const Chain& chain) {
  const bool failed =
      chain.outcome.fate != Fate::answered || chain.hop.status.value_or(0) >= kBadGateway;
  const auto end = chain.hop.end();
  if (!failed || !end || !chain.hop.has_request()) return;
  std::vector<std::uint64_t> keys;
  bool asked_often = false;
  for (const JoinKey& key : chain.hop.keys) {
    keys.push_back(again_key(key, chain.hop));
    if (key.kind == KeyKind::content) {
      asked_often = asked_all_the_time(keys.back(), chain.hop.begin);
    }
  }
  failing_.emplace(end->ns, std::pair(std::move(keys),
                                      Failure{.begin = chain.hop.begin,
                                              .ended = *end,
                                              .id = chain.hop.id,
                                              .request_id = chain.hop.request_id,
                                              .server = chain.hop.server,
                                              .client = std::string(address_of(chain.hop.client)),
                                              .request = chain.hop.method + " " + chain.hop.target,
                                              .asked_often = asked_often}));
}

void Joiner::update_failures(UnixTime now) {
  for (auto it = failing_.begin(); it != failing_.end() && it->first < now.ns;
       it = failing_.erase(it)) {
    const auto& [keys, failure] = it->second;
    for (const std::uint64_t key : keys) {
      failures_[key] = failure;
      failures_in_turn_.emplace_back(UnixTime{it->first + kRetriedWithin.count()}, key);
    }
  }
  while (!failures_in_turn_.empty() && failures_in_turn_.front().first < now) {
    const auto& [until, key] = failures_in_turn_.front();
    const auto found = failures_.find(key);
    const bool same = found != failures_.end() &&
                      UnixTime{found->second.ended.ns + kRetriedWithin.count()} <= until;
    if (same) failures_.erase(found);
    failures_in_turn_.pop_front();
  }
}

void Joiner::add(Hop hop) {
  expire(hop.begin);
  const Found found = hop.has_request() ? find_above(hop) : Found{};
  Chain* chain = nullptr;
  Tree* tree = nullptr;
  if (found.above != nullptr) {
    tree = found.above->tree;
    chain = &found.above->chain->children.emplace_back();
    chain->joined_by = found.kind;
    chain->rivals = found.rivals;
  } else {
    tree = &trees_.emplace_back();
    tree->self = std::prev(trees_.end());
    chain = &tree->root;
    if (hop.has_request()) {
      chain->repeats = find_before(hop);
      remember_asked(hop);
    }
  }
  ++tree->active;
  chain->outcome = outcome_of(hop);
  chain->hop = std::move(hop);
  const Hop& kept = chain->hop;
  if (found.above == nullptr) remember_failure(*chain);
  const auto end_seen = kept.end();
  const UnixTime until{end_seen ? end_seen->ns + kPassedOnWithin.count()
                                : kept.begin.ns + kLongest.count()};
  actives_.push_back({.chain = chain,
                      .tree = tree,
                      .span = span_of(kept),
                      .until = until,
                      .number = next_++,
                      .depth = found.above == nullptr ? 1 : found.above->depth + 1});
  const auto active = std::prev(actives_.end());
  const auto list_in = [&](Places& places) { return places.insert(places.end(), active); };
  for (const JoinKey& key : kept.keys)
    active->of_keys.push_back(list_in(by_key_[key.hash]));
  active->of_server = list_in(by_server_[kept.server]);
  ends_.push(active);
  while (actives_.size() > kActiveMax) {
    const auto first = ends_.top();
    ends_.pop();
    end(first);
  }
}

void Joiner::add(Attempt attempt) {
  if (!attempt.connection.opened) return;
  expire(*attempt.connection.opened);
  attempts_.push_back(std::move(attempt));
}

void Joiner::place_attempts(UnixTime until) {
  for (; !attempts_.empty() && *attempts_.front().connection.opened <= until;
       attempts_.pop_front()) {
    Attempt& attempt = attempts_.front();
    int rivals = 0;
    if (Active* above = find_above(attempt, rivals); above != nullptr) {
      attempt.rivals = rivals;
      above->chain->attempts.push_back(std::move(attempt));
    }
  }
}

void Joiner::expire(UnixTime now) {
  place_attempts(UnixTime{now.ns - kReactsWithin.count()});
  while (!ends_.empty() && ends_.top()->until < now) {
    const auto first = ends_.top();
    ends_.pop();
    end(first);
  }
  update_failures(now);
  forget_asked(now);
}

void Joiner::end(Actives::iterator active) {
  const auto drop = [](auto& index, const auto& key, Places::iterator place) {
    const auto found = index.find(key);
    found->second.erase(place);
    if (found->second.empty()) index.erase(found);
  };
  const Hop& hop = active->chain->hop;
  for (std::size_t i = 0; i < hop.keys.size(); ++i)
    drop(by_key_, hop.keys[i].hash, active->of_keys[i]);
  drop(by_server_, hop.server, active->of_server);
  Tree& tree = *active->tree;
  actives_.erase(active);
  if (--tree.active > 0) return;
  use_(tree.root);
  trees_.erase(tree.self);
}

void Joiner::finish() {
  if (!attempts_.empty()) place_attempts(*attempts_.back().connection.opened);
  while (!ends_.empty()) {
    const auto first = ends_.top();
    ends_.pop();
    end(first);
  }
}

}  // namespace gatedrill::replay::explain
