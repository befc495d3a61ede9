// INC-3c: no kept connections to the upstream. INC-3d: a request head that grew past a limit.
#include <algorithm>

#include "replay/explain/incidents.hpp"
#include "replay/explain/words.hpp"

namespace gatedrill::replay::explain {

std::vector<Likeness> no_keep_alive(const Signature& signature) {
  const Listener& listener = signature.listener;
  std::uint64_t exchanges = 0;
  std::uint64_t connections = 0;
  for (const auto& [server, upstream] : signature.findings.upstreams()) {
    if (!signature.findings.topology().calls(signature.name, server)) continue;
    exchanges += upstream.exchanges;
    connections += upstream.connections;
  }
  constexpr std::uint64_t kEnough = 100;
  if (exchanges < kEnough || connections * 10 < exchanges * 9) return {};
  Likeness like{.incident = "INC-3c",
                .title = "no kept connections to the upstream",
                .listener = signature.name};
  like.evidence.push_back(in_words(connections) + " connections for " + in_words(exchanges) +
                          " exchanges upstream: hardly any was used again");
  std::uint64_t failed_connects = 0;
  for (const auto& [key, group] : listener.groups) {
    if (key.cause == Cause::connect_timeout) failed_connects += group.count;
  }
  const double seconds = listener.seconds.empty()
                             ? 1
                             : static_cast<double>(listener.seconds.rbegin()->first -
                                                   listener.seconds.begin()->first + 1);
  const double rate = static_cast<double>(connections) / seconds;
  constexpr double kPortsRate = 470;  // 28,000 ports, 60 s in TIME_WAIT each
  const std::string opened =
      in_words(static_cast<std::uint64_t>(rate + 0.5)) + " new connections a second";
  if (rate >= kPortsRate) {
    like.evidence.push_back(opened +
                            ": more than local ports last for (some 470 a second to one address)");
  } else {
    like.counter_evidence.push_back(opened + ": too few to run out of local ports");
  }
  if (failed_connects > 0) {
    like.evidence.push_back(in_words(failed_connects) +
                            " requests failed by a connection that was not answered");
  }
  like.degree = rate >= kPortsRate || failed_connects > 0 ? Degree::strong : Degree::partial;
  like.next = {
      "give the gateway a pool of kept connections as large as its rate times the upstream's "
      "latency, with an idle timeout below the upstream's keep-alive",
      "count TIME_WAIT on both sides: it is held by who closes first"};
  return {like};
}

std::vector<Likeness> header_bloat(const Signature& signature) {
  const Listener& listener = signature.listener;
  constexpr std::uint64_t kEnough = 3;
  constexpr std::uint64_t kLargeHead = 4096;
  if (listener.head_rejected < kEnough || listener.head_rejected_min < kLargeHead) return {};
  Likeness like{.incident = "INC-3d",
                .title = "header bloat: a request head beyond the limit",
                .listener = signature.name};
  const std::string passed =
      "the largest head that passed has " + in_words(listener.head_passed_max) + " bytes";
  like.evidence.push_back(in_words(listener.head_rejected) +
                          " requests were answered 431, or 400 with nothing upstream; their heads "
                          "have at least " +
                          in_words(listener.head_rejected_min) + " bytes");
  const bool separates = listener.head_passed_max < listener.head_rejected_min;
  (separates ? like.evidence : like.counter_evidence)
      .push_back(separates ? passed : passed + ", so size alone does not decide");
  like.degree = separates ? Degree::strong : Degree::partial;
  like.next = {
      "find the field that grew (gatedrill traffic show ID) and move it into the body",
      "set the same limit on every tier: an outer tier that passes what an inner one rejects "
      "looks like an occasional failure"};
  return {like};
}

}  // namespace gatedrill::replay::explain
