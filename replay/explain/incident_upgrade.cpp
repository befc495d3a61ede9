// INC-1: 504 and 502 while a backend is upgraded instance by instance. The new version is slower
// than the gateway waits (504, all through); stopped instances cut their kept connections (502, at
// first).
#include <algorithm>

#include "replay/explain/incidents.hpp"
#include "replay/explain/words.hpp"

namespace gatedrill::replay::explain {
namespace {

// The incident's 502 came within that time of a window of ten-odd minutes. A drill that plays it
// faster has a shorter window: then the share counts.
constexpr Duration kFirstSpell = std::chrono::seconds(90);
constexpr double kFirstShare = 2.0 / 3.0;
constexpr double kMajority = 0.8;
constexpr std::uint64_t kEnough = 3;

struct Stretch {
  std::uint64_t count = 0;
  UnixTime first{};
  UnixTime last{};

  void add(const Group& group) {
    if (count == 0 || group.first < first) first = group.first;
    if (count == 0 || group.last > last) last = group.last;
    count += group.count;
  }
};

struct Marks {
  Stretch timeouts;            // 504, or given up as a gateway does
  Stretch broken;              // 502: a connection that ended without an answer
  Stretch kept;                // of those, on kept connections
  std::uint64_t received = 0;  // the upstream may have run the request
  std::uint64_t refused = 0;
};

Marks marks_of(const Listener& listener) {
  Marks marks;
  for (const auto& [key, group] : listener.groups) {
    const bool bad = key.answer == "502" || key.answer == "503" || key.answer == "none";
    if (key.answer == "504" || key.cause == Cause::response_timeout) {
      marks.timeouts.add(group);
    } else if (bad && (key.cause == Cause::stale_reuse || key.cause == Cause::upstream_closed)) {
      marks.broken.add(group);
      if (key.cause == Cause::stale_reuse) {
        marks.kept.add(group);
        marks.received += group.may_have_run;
      }
    } else if (bad && key.cause == Cause::connect_refused) {
      marks.refused += group.count;
    } else if (bad) {
      marks.broken.add(group);
    }
  }
  return marks;
}

std::string offset(UnixTime from, UnixTime at) {
  return in_words(Duration{at.ns - from.ns});
}

}  // namespace

std::vector<Likeness> rolling_upgrade(const Signature& signature) {
  const Listener& listener = signature.listener;
  const Marks marks = marks_of(listener);
  const std::uint64_t bad = marks.broken.count + marks.refused;
  if (marks.timeouts.count < kEnough && marks.kept.count < kEnough) return {};
  Likeness like{.incident = "INC-1",
                .title = "rolling upgrade: slow new version (504), kept connections cut (502)",
                .listener = signature.name};
  int held = 0;
  const auto mark = [&](bool holds, const std::string& yes, const std::string& no) {
    if (holds) ++held;
    (holds ? like.evidence : like.counter_evidence).push_back(holds ? yes : no);
  };
  const std::uint64_t all = marks.timeouts.count + bad;
  const std::string split = in_words(marks.timeouts.count) + " 504 and " + in_words(bad) + " 502";
  mark(static_cast<double>(marks.timeouts.count) >= kMajority * static_cast<double>(all),
       split + ": 504 is the large majority (" + share_of(marks.timeouts.count, all) + ")",
       split + ": 504 is not the large majority, as it was in INC-1");
  const bool both = marks.kept.count > 0 && marks.timeouts.count >= kEnough;
  if (both) {
    const UnixTime begin = std::min(marks.timeouts.first, marks.broken.first);
    const UnixTime end = std::max(marks.timeouts.last, marks.broken.last);
    const Duration window{end.ns - begin.ns};
    const Duration last{marks.broken.last.ns - begin.ns};
    const double share = window.count() == 0 ? 1
                                             : static_cast<double>(last.count()) /
                                                   static_cast<double>(window.count());
    const std::string where = "the last 502 came " + in_words(last) +
                              " after the first error, the last error after " + in_words(window);
    mark(last <= kFirstSpell && share <= kFirstShare, where + ": 502 only at the beginning",
         where + ": 502 is not confined to the beginning");
    mark(marks.timeouts.last > marks.broken.last,
         "504 go on after the last 502, until " + offset(begin, marks.timeouts.last) +
             " after the first error",
         "504 end with the 502");
  }
  if (marks.kept.count > 0) {
    mark(marks.kept.count * 2 >= bad,
         in_words(marks.kept.count) + " of " + in_words(bad) +
             " 502 are kept connections that the upstream ended without an answer",
         "only " + in_words(marks.kept.count) + " of " + in_words(bad) +
             " 502 are kept connections that the upstream ended");
    if (marks.received > 0) {
      like.evidence.push_back(in_words(marks.received) +
                              " of those may have been run by the upstream: repeating them is safe "
                              "only if they are idempotent");
    }
  } else if (bad > 0) {
    like.counter_evidence.push_back("no 502 on a kept connection that the upstream ended");
  } else {
    like.counter_evidence.push_back("no 502 at all: half of INC-1");
  }
  if (marks.refused > 0) {
    like.counter_evidence.push_back(in_words(marks.refused) +
                                    " 502 are refused connections: an instance was down and still "
                                    "got requests (INC-1 had none)");
  }
  const auto wait = signature.hints.waits.find(signature.name);
  if (wait != signature.hints.waits.end()) {
    like.evidence.push_back(in_words(std::uint64_t{wait->second.count}) + " of " +
                            in_words(std::uint64_t{wait->second.of}) +
                            " waits that failed ended after " + in_words(wait->second.low) +
                            " to " + in_words(wait->second.high) +
                            ": that is a timeout of the gateway's");
  }
  if (!signature.findings.topology().has_callees(signature.name)) {
    like.not_shown.emplace_back(
        "the upstream leg: whether the 502 were kept connections, and how slow the upstream was");
  }
  constexpr int kAllMarks = 4;
  like.degree = both && held == kAllMarks ? Degree::strong : Degree::partial;
  if (like.degree == Degree::partial && held == 0) return {};
  if (marks.timeouts.count > 0) {
    like.next.emplace_back(
        "504: compare the gateway's timeout with the upstream's own P99 since the change; look for "
        "a "
        "remote call that the new version makes on every request. A longer timeout only stops "
        "mislabelling slowness");
  }
  if (marks.kept.count > 0) {
    like.next.emplace_back(
        "502: let stopping instances finish what they have (graceful exit) and say so (Connection: "
        "close, GOAWAY); keep the gateway's idle timeout below the upstream's keep-alive; one "
        "retry "
        "on a fresh connection for idempotent requests");
  }
  like.next.emplace_back(
      "prove it: gatedrill run scenarios/drills/inc-1-rolling-upgrade.yaml with "
      "this recording as its traffic");
  return {like};
}

}  // namespace gatedrill::replay::explain
