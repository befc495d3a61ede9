// INC-1: 504 and 502 while a backend is upgraded instance by instance. The new version is slower
// than the gateway waits (504, all through); stopped instances cut their kept connections (502, at
// first).
#include <algorithm>
#include <string_view>
#include <vector>

#include "replay/explain/answer_counts.hpp"
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

// Failures of one kind, by what their clients saw.
struct Failures {
  std::uint64_t count = 0;
  UnixTime first{};
  UnixTime last{};
  AnswerCounts by_answer{};

  void add(const std::string& answer, const Group& group) {
    if (count == 0 || group.first < first) first = group.first;
    if (count == 0 || group.last > last) last = group.last;
    count += group.count;
    by_answer[answer] += group.count;
  }
};

struct Marks {
  Failures timeouts;           // 504, and whatever else the gateway's timeout was the cause of
  Failures unsure;             // given up, by a timeout of the gateway's or by its clients
  Failures broken;             // a connection that ended without an answer, and what has no cause
  Failures kept;               // of those, on kept connections that the upstream ended
  Failures refused;            // connections
  std::uint64_t received = 0;  // of those on kept connections, the upstream may have run
  std::vector<Duration> unsure_waits{};
};

bool is_status(const std::string& answer, std::string_view status) {
  return answer.starts_with(status);  // "504", "504 cut"
}

// Who asked and gave up. Clients leave after the same time, too, and then their gateway leaves the
// upstream: only one that was seen to stay longer, or a known timeout, tells that it timed out.
void add_given_up(const GroupKey& key,
                  const Group& group,
                  const Signature& signature,
                  Marks& marks) {
  const bool timed_out = key.cause == Cause::response_timeout;
  const std::vector<Duration>& waits = group.ended.values();
  const bool given = !waits.empty() && std::all_of(waits.begin(), waits.end(), [&](Duration wait) {
    const Timeout* timeout = match(signature.hints.timeouts, wait);
    return timeout != nullptr && timeout->given;
  });
  const bool both_legs = signature.findings.topology().has_callees(signature.name);
  if (timed_out && (both_legs || given)) {
    marks.timeouts.add("given up after a timeout", group);
  } else if (!both_legs && (timed_out || !key.cause)) {
    marks.unsure.add("given up", group);
    marks.unsure_waits.insert(marks.unsure_waits.end(), waits.begin(), waits.end());
  }
}

void add_group(const GroupKey& key, const Group& group, const Signature& signature, Marks& marks) {
  const bool timed_out = key.cause == Cause::response_timeout;
  if (is_status(key.answer, "504")) return marks.timeouts.add("504", group);
  if (key.answer == "gave up") return add_given_up(key, group, signature, marks);
  std::string answer;
  if (is_status(key.answer, "502")) answer = "502";
  if (is_status(key.answer, "503")) answer = "503";
  if (key.answer == "none") answer = "closed without an answer";
  if (answer.empty()) return;
  if (timed_out) return marks.timeouts.add(answer + " after a timeout", group);
  if (key.cause == Cause::connect_refused) return marks.refused.add(answer, group);
  marks.broken.add(answer, group);
  if (key.cause != Cause::stale_reuse) return;
  marks.kept.add(answer, group);
  marks.received += group.may_have_run;
}

std::string offset(UnixTime from, UnixTime at) {
  return in_words(Duration{at.ns - from.ns});
}

// "20 of 20 502"; "50 of 54 other failures (4 of 4 502, 46 of 50 closed without an answer)".
std::string part_words(const AnswerCounts& part, const AnswerCounts& whole) {
  const auto of = [&](const std::string& answer, std::uint64_t count) {
    const auto found = part.find(answer);
    return in_words(found == part.end() ? 0 : found->second) + " of " + in_words(count) + " " +
           answer;
  };
  if (whole.size() == 1) return of(whole.begin()->first, whole.begin()->second);
  std::string each;
  for (const auto& [answer, count] : whole)
    each += (each.empty() ? "" : ", ") + of(answer, count);
  return in_words(total(part)) + " of " + in_words(total(whole)) + " other failures (" + each + ")";
}

std::string range_words(const Cluster& cluster) {
  return in_words(cluster.low) + " to " + in_words(cluster.high);
}

}  // namespace

std::vector<Likeness> rolling_upgrade(const Signature& signature) {
  Marks marks;
  for (const auto& [key, group] : signature.listener.groups)
    add_group(key, group, signature, marks);
  AnswerCounts bad = marks.broken.by_answer;
  for (const auto& [answer, count] : marks.refused.by_answer)
    bad[answer] += count;
  const std::uint64_t timeouts = marks.timeouts.count;
  if (timeouts < kEnough && marks.kept.count < kEnough) return {};
  Likeness like{.incident = "INC-1",
                .title = "rolling upgrade: slow new version (504), kept connections cut (502)",
                .listener = signature.name};
  int held = 0;
  const auto mark = [&](bool holds, const std::string& yes, const std::string& no) {
    if (holds) ++held;
    (holds ? like.evidence : like.counter_evidence).push_back(holds ? yes : no);
  };
  // By their numbers where they have but one.
  const bool only_504 = marks.timeouts.by_answer.size() == marks.timeouts.by_answer.count("504");
  const bool only_502 = bad.size() == bad.count("502");
  const std::string slow = only_504 ? "504" : "timeouts";
  const std::string other = only_502 ? "502" : "other failure";
  const std::string others = only_502 ? "502" : "other failures";
  AnswerCounts all = bad;
  all.insert(marks.timeouts.by_answer.begin(), marks.timeouts.by_answer.end());
  const auto most = [&](std::uint64_t count, std::uint64_t of) {
    return static_cast<double>(count) >= kMajority * static_cast<double>(of);
  };
  const std::uint64_t sum = total(all);
  const std::string split =
      words(timeouts == 0 ? AnswerCounts{{"504", 0}} : marks.timeouts.by_answer, bad) + ": " +
      slow + (only_504 ? " is " : " are ");
  const bool may_be_most = most(timeouts + marks.unsure.count, sum + marks.unsure.count);
  if (most(timeouts, sum) || !may_be_most) {
    mark(most(timeouts, sum), split + "the large majority (" + share_of(timeouts, sum) + ")",
         split + "not the large majority, as it was in INC-1");
  }
  const bool both = marks.kept.count > 0 && timeouts >= kEnough;
  if (both) {
    const UnixTime begin = std::min(marks.timeouts.first, marks.broken.first);
    const UnixTime end = std::max(marks.timeouts.last, marks.broken.last);
    const Duration window{end.ns - begin.ns};
    const Duration last{marks.broken.last.ns - begin.ns};
    const double share = window.count() == 0 ? 1
                                             : static_cast<double>(last.count()) /
                                                   static_cast<double>(window.count());
    const std::string where = "the last " + other + " came " + in_words(last) +
                              " after the first error, the last error after " + in_words(window) +
                              ": " + others;
    mark(last <= kFirstSpell && share <= kFirstShare, where + " only at the beginning",
         where + (only_502 ? " is" : " are") + " not confined to the beginning");
    mark(marks.timeouts.last > marks.broken.last,
         slow + " go on after the last " + other + ", until " + offset(begin, marks.timeouts.last) +
             " after the first error",
         "no " + std::string(only_504 ? "504" : "timeout") + " after the last " + other);
  }
  if (marks.kept.count > 0) {
    const std::string part = part_words(marks.kept.by_answer, bad) +
                             " are kept connections that the upstream ended without an answer";
    mark(marks.kept.count * 2 >= total(bad), part, "only " + part);
    if (marks.received > 0) {
      like.evidence.push_back(in_words(marks.received) +
                              " of those may have been run by the upstream: repeating them is safe "
                              "only if they are idempotent");
    }
  } else if (!bad.empty()) {
    like.counter_evidence.push_back("no " + other +
                                    " on a kept connection that the upstream ended");
  } else {
    like.counter_evidence.push_back("no 502 at all: half of INC-1");
  }
  if (marks.refused.count > 0) {
    like.counter_evidence.push_back(words(marks.refused.by_answer) +
                                    " are refused connections: an instance was down and still "
                                    "got requests (INC-1 had none)");
  }
  const auto timed_out = signature.listener.groups.find({"504", Cause::response_timeout});
  if (timed_out != signature.listener.groups.end()) {
    if (const auto waits = cluster_of(timed_out->second.ended.values())) {
      const bool sampled = waits->of < timed_out->second.count;
      like.evidence.push_back(in_words(std::uint64_t{waits->count}) + " of " +
                              (sampled ? "a sample of " : "") + in_words(std::uint64_t{waits->of}) +
                              " 504 by a timeout came after " + range_words(*waits) +
                              ": that is a timeout of the gateway's");
    }
  }
  if (marks.unsure.count > 0) {
    const auto waits = cluster_of(marks.unsure_waits);
    like.not_shown.push_back(
        "who gave up " + in_words(marks.unsure.count) + " requests" +
        (waits ? ", most of them after " + range_words(*waits) : "") +
        ": the gateway, by a timeout (504), or its clients, which left. They are not counted: "
        "capture the clients' leg, or name the gateway's timeout (--timeout)");
  }
  if (!signature.findings.topology().has_callees(signature.name)) {
    like.not_shown.emplace_back(
        "the upstream leg: whether the 502 were kept connections, and how slow the upstream was");
  }
  constexpr int kAllMarks = 4;
  like.degree = both && held == kAllMarks ? Degree::strong : Degree::partial;
  if (like.degree == Degree::partial && held == 0) return {};
  if (timeouts > 0) {
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
