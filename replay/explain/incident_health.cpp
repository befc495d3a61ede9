// INC-2: intermittent 502 because health checks that query a slow database eject healthy hosts.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "replay/explain/answer_counts.hpp"
#include "replay/explain/incidents.hpp"
#include "replay/explain/words.hpp"

namespace gatedrill::replay::explain {
namespace {

constexpr std::int64_t kBurstGap = 2;     // seconds without a failure that end a burst
constexpr std::int64_t kBurstLength = 3;  // "back at 0 one second later"
constexpr double kRareShare = 0.05;       // of all requests
constexpr std::int64_t kAbsentFor = 10;   // seconds without a request make a host look ejected
constexpr Duration kSlowCheck = std::chrono::seconds(1);

// What a gateway without a host that it holds for healthy says.
constexpr std::array<std::pair<const char*, const char*>, 3> kFailures = {
    {{"502", "502"}, {"503", "503"}, {"none", "closed without an answer"}}};

struct Bursts {
  std::uint64_t count = 0;
  std::int64_t longest = 0;
  double worst_share = 0;
};

Bursts bursts_of(const Listener& listener) {
  Bursts bursts;
  std::int64_t begin = 0;
  std::int64_t last = 0;
  for (const auto& [second, counts] : listener.seconds) {
    const std::uint64_t bad = counts.bad_gateway + counts.unavailable;
    if (bad == 0) continue;
    if (bursts.count == 0 || second - last > kBurstGap) {
      ++bursts.count;
      begin = second;
    }
    last = second;
    bursts.longest = std::max(bursts.longest, last - begin + 1);
    bursts.worst_share = std::max(bursts.worst_share,
                                  static_cast<double>(bad) / static_cast<double>(counts.requests));
  }
  return bursts;
}

bool is_check(std::string_view name) {
  constexpr std::array<std::string_view, 7> kWords = {"health", "ready", "live", "ping",
                                                      "status", "alive", "check"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

// The longest time in which a server got nothing while others did, within its own first and last.
std::int64_t absence(const Upstream& upstream) {
  std::int64_t longest = 0;
  std::int64_t before = 0;
  for (const auto& [second, count] : upstream.seconds) {
    if (before != 0) longest = std::max(longest, second - before - 1);
    before = second;
  }
  return longest;
}

}  // namespace

std::vector<Likeness> health_flapping(const Signature& signature) {
  const Listener& listener = signature.listener;
  AnswerCounts failures;
  for (const auto& [answer, name] : kFailures) {
    if (const std::uint64_t count = listener.count(answer)) failures[name] = count;
  }
  const std::uint64_t bad = total(failures);
  const std::uint64_t timeouts = listener.count("504");
  constexpr std::uint64_t kEnough = 3;
  if (bad < kEnough || timeouts > bad) return {};
  const Bursts bursts = bursts_of(listener);
  const double share = static_cast<double>(bad) / static_cast<double>(listener.requests);
  if (share > kRareShare || bursts.count < 2) return {};
  Likeness like{.incident = "INC-2",
                .title = "health-check flapping: intermittent 502",
                .listener = signature.name};
  like.evidence.push_back(words(failures) + " (" + share_of(bad, listener.requests) + ") in " +
                          in_words(bursts.count) + " bursts of at most " +
                          count_of(static_cast<std::uint64_t>(bursts.longest), "second") +
                          ", not in one stretch");
  bool health = false;
  std::vector<std::string> absent;
  bool checks_seen = false;
  for (const auto& [server, upstream] : signature.findings.upstreams()) {
    if (!signature.findings.topology().calls(signature.name, server)) continue;
    if (absence(upstream) >= kAbsentFor) absent.push_back(server);
    for (const auto& [name, direct] : upstream.direct) {
      if (!is_check(name)) continue;
      checks_seen = true;
      const bool slow = direct.waited.at_quantile(0.99) >= kSlowCheck;
      if (!slow && direct.failed == 0) continue;
      health = true;
      like.evidence.push_back(server + ": " + name + " failed " + in_words(direct.failed) + " of " +
                              in_words(direct.count) + " times and took up to " +
                              in_words(direct.waited.max()));
    }
  }
  if (!absent.empty()) {
    std::string names;
    for (const std::string& server : absent)
      names += (names.empty() ? "" : ", ") + server;
    like.evidence.push_back("got no request for " + std::to_string(kAbsentFor) +
                            " s or more while others did: " + names);
  } else if (signature.findings.topology().has_callees(signature.name)) {
    like.counter_evidence.emplace_back(
        "every upstream got requests all the time: none was ejected");
  }
  if (bursts.longest > kBurstLength) {
    like.counter_evidence.push_back("a burst lasts " +
                                    count_of(static_cast<std::uint64_t>(bursts.longest), "second") +
                                    "; INC-2's were over after one");
  }
  if (checks_seen && !health) {
    like.counter_evidence.emplace_back("the health checks in the recording are quick and succeed");
  }
  if (!checks_seen) {
    like.not_shown.emplace_back("health checks: capture between the load balancer and its hosts");
  }
  like.degree = health && !absent.empty() && bursts.longest <= kBurstLength ? Degree::strong
                                                                            : Degree::partial;
  like.next = {
      "look at the load balancer's history of available hosts, and at what its health "
      "endpoint does: it should ask no database and no other service",
      "fall 3, rise 2, interval 10 s, timeout 2 s instead of one failure of 30 s checks; alert "
      "on the number of available hosts",
      "a keep-alive mismatch would show as a disconnect at a fixed idle time, not at random"};
  return {like};
}

}  // namespace gatedrill::replay::explain
