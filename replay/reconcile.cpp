#include "replay/reconcile.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "replay/reconcile_rows.hpp"

namespace gatedrill::replay {
namespace {

using Rows = std::vector<ReconcileRow>;
using Indices = std::vector<std::size_t>;

struct Match {
  std::size_t a;
  std::size_t b;
  MatchedBy how;
};

struct Group {
  Indices a;
  Indices b;
};

// Like exchanges of both, in the order of their time.
template <class KeyOfA, class KeyOfB>
std::unordered_map<std::uint64_t, Group> groups_of(const Rows& a,
                                                   const Indices& of_a,
                                                   KeyOfA key_of_a,
                                                   const Rows& b,
                                                   const Indices& of_b,
                                                   KeyOfB key_of_b) {
  std::unordered_map<std::uint64_t, Group> groups;
  for (const std::size_t index : of_a) {
    if (const auto key = key_of_a(a[index])) groups[*key].a.push_back(index);
  }
  for (const std::size_t index : of_b) {
    if (const auto key = key_of_b(b[index])) groups[*key].b.push_back(index);
  }
  return groups;
}

// How far b's clock is ahead: the median over what is alone of its kind in both, or else over the
// first of each kind.
std::int64_t clock_offset(const std::unordered_map<std::uint64_t, Group>& groups,
                          const Rows& a,
                          const Rows& b) {
  std::vector<std::int64_t> unique;
  std::vector<std::int64_t> first;
  for (const auto& [key, group] : groups) {
    if (group.a.empty() || group.b.empty()) continue;
    const std::int64_t ahead = b[group.b.front()].at.ns - a[group.a.front()].at.ns;
    (group.a.size() == 1 && group.b.size() == 1 ? unique : first).push_back(ahead);
  }
  std::vector<std::int64_t>& all = unique.empty() ? first : unique;
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

// Pairs in order. The one that has more skips those whose neighbour is nearer in time.
class Alignment {
 public:
  Alignment(const Rows& a, const Rows& b, std::int64_t offset) : a_(a), b_(b), offset_(offset) {}

  void pair(const Group& group, MatchedBy how, std::vector<Match>& matches) const {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < group.a.size() && j < group.b.size()) {
      const std::size_t left_a = group.a.size() - i;
      const std::size_t left_b = group.b.size() - j;
      const std::uint64_t here = distance(group.a[i], group.b[j]);
      if (left_a > left_b && distance(group.a[i + 1], group.b[j]) < here) {
        ++i;
      } else if (left_b > left_a && distance(group.a[i], group.b[j + 1]) < here) {
        ++j;
      } else {
        matches.push_back({group.a[i++], group.b[j++], how});
      }
    }
  }

 private:
  [[nodiscard]] std::uint64_t distance(std::size_t a, std::size_t b) const {
    return static_cast<std::uint64_t>(std::abs(a_[a].at.ns + offset_ - b_[b].at.ns));
  }

  const Rows& a_;
  const Rows& b_;
  std::int64_t offset_;
};

std::unordered_set<std::uint64_t> connections_of(const Rows& rows) {
  std::unordered_set<std::uint64_t> connections;
  for (const ReconcileRow& row : rows)
    connections.insert(row.connection_key());
  return connections;
}

Indices all_of(const Rows& rows) {
  Indices indices(rows.size());
  for (std::size_t i = 0; i < indices.size(); ++i)
    indices[i] = i;
  return indices;
}

class Matching {
 public:
  Matching(const Rows& a, const Rows& b)
      : a_(a),
        b_(b),
        done_a_(a.size()),
        done_b_(b.size()),
        left_a_(all_of(a)),
        left_b_(all_of(b)) {}

  // Pairs what both have under the same key.
  template <class KeyOfA, class KeyOfB>
  void round(MatchedBy how, KeyOfA key_of_a, KeyOfB key_of_b) {
    const auto groups = groups_of(a_, left_a_, key_of_a, b_, left_b_, key_of_b);
    if (matches_.empty()) offset_ = clock_offset(groups, a_, b_);
    const Alignment alignment(a_, b_, offset_);
    const std::size_t before = matches_.size();
    for (const auto& [key, group] : groups)
      alignment.pair(group, how, matches_);
    for (std::size_t i = before; i < matches_.size(); ++i) {
      done_a_[matches_[i].a] = true;
      done_b_[matches_[i].b] = true;
    }
    std::erase_if(left_a_, [&](std::size_t index) { return done_a_[index]; });
    std::erase_if(left_b_, [&](std::size_t index) { return done_b_[index]; });
  }

  // Of a connection that both know, what one does not hold was lost; only others have other names.
  void give_up_known_connections() {
    const auto give_up = [](Indices& left, const Rows& rows, const Rows& others) {
      const auto known = connections_of(others);
      std::erase_if(
          left, [&](std::size_t index) { return known.contains(rows[index].connection_key()); });
    };
    give_up(left_a_, a_, b_);
    give_up(left_b_, b_, a_);
  }

  std::vector<Match> take() { return std::move(matches_); }

 private:
  const Rows& a_;
  const Rows& b_;
  std::vector<bool> done_a_;
  std::vector<bool> done_b_;
  Indices left_a_;
  Indices left_b_;
  std::int64_t offset_ = 0;
  std::vector<Match> matches_;
};

std::vector<Match> match(const Rows& a, const Rows& b) {
  using Key = std::optional<std::uint64_t>;
  const auto exchange = [](const ReconcileRow& row) { return Key(row.exchange_key()); };
  const auto answer = [](const ReconcileRow& row) { return row.answer_key(); };
  const auto answer_alone = [](const ReconcileRow& row) {
    return row.request.seen ? Key() : row.answer_key();
  };
  const auto id = [](const ReconcileRow& row) { return row.id_key(); };
  const auto request = [](const ReconcileRow& row) { return row.request_key(); };
  Matching matching(a, b);
  matching.round(MatchedBy::connection, exchange, exchange);
  matching.round(MatchedBy::connection, answer_alone, answer);
  matching.round(MatchedBy::connection, answer, answer_alone);
  matching.give_up_known_connections();
  matching.round(MatchedBy::id, id, id);
  matching.round(MatchedBy::request, request, request);
  return matching.take();
}

class Comparison {
 public:
  // Whether both hide the same under one key.
  Comparison(bool same_redaction, MatchedBy how)
      : same_redaction_(same_redaction), heads_(how == MatchedBy::connection) {}

  void compare(const ReconcileRow& a, const ReconcileRow& b) {
    if (a.request.seen != b.request.seen) found.push_back(Difference::request_missing);
    if (a.answer.seen != b.answer.seen) {
      found.push_back(Difference::answer_missing);
    } else if (a.status != b.status) {
      found.push_back(Difference::status);
    }
    compare(a.request, b.request, Difference::request_partial, Difference::request_head,
            Difference::request_body);
    compare(a.answer, b.answer, Difference::answer_partial, Difference::answer_head,
            Difference::answer_body);
  }

  std::vector<Difference> found;
  bool head_hidden = false;  // a secret in it was replaced
  bool body_hidden = false;

 private:
  void compare(const ReconciledMessage& a,
               const ReconciledMessage& b,
               Difference partial,
               Difference head,
               Difference body) {
    if (!a.seen || !b.seen) return;
    const bool comparable = same_redaction_ || (!a.redacted && !b.redacted);
    if (!comparable) {
      head_hidden = head_hidden || heads_;
      body_hidden = body_hidden || a.bytes > 0 || b.bytes > 0;
    } else if (heads_ && a.head != b.head) {
      found.push_back(head);
    }
    if (a.whole != b.whole) {
      found.push_back(partial);
    } else if (a.whole && (comparable || a.redacted == b.redacted) &&
               (a.bytes != b.bytes || (comparable && a.hash != b.hash))) {
      found.push_back(body);
    }
  }

  bool same_redaction_;
  bool heads_;
};

// What of one recording the other does not hold.
void count_only(const ReconcileRows& its,
                const ReconcileRows& others,
                const std::vector<bool>& matched,
                std::size_t listed,
                ReconciledSide& side) {
  std::unordered_set<std::uint32_t> servers;
  std::unordered_set<std::string_view> names;
  for (const ReconcileRow& row : others.rows)
    if (servers.insert(row.server).second) names.insert(others.name(row.server));
  const bool others_any = !others.rows.empty();
  const UnixTime first = others_any ? others.rows.front().at : UnixTime{};
  const UnixTime last = others_any ? others.rows.back().at : UnixTime{};
  for (std::size_t i = 0; i < its.rows.size(); ++i) {
    if (matched[i]) continue;
    const ReconcileRow& row = its.rows[i];
    ++side.only;
    if (!names.contains(its.name(row.server))) {
      ++side.only_elsewhere;
    } else if (row.at < first || row.at > last) {
      ++side.only_outside;
    }
    if (side.first_only.size() < listed) side.first_only.push_back(its.describe(row));
  }
}

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string_view to_string(MatchedBy how) {
  switch (how) {
    case MatchedBy::connection:
      return "connection";
    case MatchedBy::id:
      return "id";
    case MatchedBy::request:
      return "request";
  }
  return "request";
}

std::string_view to_string(Difference difference) {
  switch (difference) {
    case Difference::status:
      return "status";
    case Difference::request_missing:
      return "request_missing";
    case Difference::answer_missing:
      return "answer_missing";
    case Difference::request_partial:
      return "request_partial";
    case Difference::answer_partial:
      return "answer_partial";
    case Difference::request_head:
      return "request_head";
    case Difference::answer_head:
      return "answer_head";
    case Difference::request_body:
      return "request_body";
    case Difference::answer_body:
      return "answer_body";
  }
  return "answer_body";
}

std::optional<double> Reconciliation::completeness_of_a() const {
  return share(matched, b.exchanges);
}

std::optional<double> Reconciliation::completeness_of_b() const {
  return share(matched, a.exchanges);
}

namespace {

// Moves the losses.
ReconciledSide side_of(const std::string& path, ReconcileRows& of) {
  return {.path = path,
          .exchanges = of.rows.size(),
          .named = static_cast<std::uint64_t>(
              std::count_if(of.rows.begin(), of.rows.end(),
                            [](const ReconcileRow& row) { return row.id_key().has_value(); })),
          .losses = std::move(of.losses)};
}

}  // namespace

Result<Reconciliation> reconcile(const std::string& a,
                                 const std::string& b,
                                 const ReconcileOptions& options) {
  Reconciliation result;
  auto of_a = read_reconcile_rows(a, options);
  if (!of_a) return of_a.error();
  auto of_b = read_reconcile_rows(b, options);
  if (!of_b) return of_b.error();
  result.a = side_of(a, *of_a);
  result.b = side_of(b, *of_b);
  const bool same_redaction = !of_a->redaction.empty() && of_a->redaction == of_b->redaction;
  std::vector<Match> matches = match(of_a->rows, of_b->rows);
  std::sort(matches.begin(), matches.end(),
            [](const Match& one, const Match& two) { return one.a < two.a; });
  std::vector<bool> matched_a(of_a->rows.size());
  std::vector<bool> matched_b(of_b->rows.size());
  for (const Match& pair : matches) {
    matched_a[pair.a] = true;
    matched_b[pair.b] = true;
    ++result.matched;
    ++result.matched_by[static_cast<std::size_t>(pair.how)];
    const ReconcileRow& one = of_a->rows[pair.a];
    const ReconcileRow& other = of_b->rows[pair.b];
    Comparison comparison(same_redaction, pair.how);
    comparison.compare(one, other);
    if (comparison.head_hidden) ++result.heads_not_compared;
    if (comparison.body_hidden) ++result.bodies_not_compared;
    if (comparison.found.empty()) continue;
    ++result.differing;
    for (const Difference difference : comparison.found)
      ++result.differences[static_cast<std::size_t>(difference)];
    if (result.first_differing.size() < options.listed) {
      result.first_differing.push_back(
          {of_a->describe(one), of_b->describe(other), comparison.found});
    }
  }
  count_only(*of_a, *of_b, matched_a, options.listed, result.a);
  count_only(*of_b, *of_a, matched_b, options.listed, result.b);
  return result;
}

}  // namespace gatedrill::replay
