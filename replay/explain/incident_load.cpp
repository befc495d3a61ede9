// INC-3a: retries on timeout multiply the load. INC-3b: a limiter that counts by address turns away
// the many users behind one.
#include <algorithm>

#include "replay/explain/incidents.hpp"
#include "replay/explain/words.hpp"
#include "replay/traffic_summary.hpp"

namespace gatedrill::replay::explain {

std::vector<Likeness> retry_avalanche(const Signature& signature) {
  const Listener& listener = signature.listener;
  constexpr double kAmplified = 1.3;
  if (listener.passed_on == 0) return {};
  const double amplification =
      static_cast<double>(listener.upstream_exchanges) / static_cast<double>(listener.passed_on);
  const std::uint64_t timeouts = listener.count("504");
  const std::uint64_t given_up = listener.count("gave up");
  const auto unsafe = listener.signs.find(Sign::repeated_unsafe);
  const std::uint64_t repeated = unsafe == listener.signs.end() ? 0 : unsafe->second.count;
  if (amplification < kAmplified) return {};
  Likeness like{.incident = "INC-3a",
                .title = "retry avalanche: retries multiply the load on a slow upstream",
                .listener = signature.name};
  const auto tenths = static_cast<std::uint64_t>(amplification * 100 + 0.5);
  like.evidence.push_back(
      in_words(listener.upstream_exchanges) + " exchanges upstream for " +
      in_words(listener.passed_on) + " requests: " + std::to_string(tenths / 100) + "." +
      std::to_string(tenths / 10 % 10) + std::to_string(tenths % 10) + " times the load");
  if (timeouts > 0) like.evidence.push_back(in_words(timeouts) + " requests were answered 504");
  if (given_up > 0) {
    like.evidence.push_back(in_words(given_up) + " requests were given up by their clients");
  }
  if (timeouts + given_up == 0) {
    like.counter_evidence.emplace_back("no request timed out: what is repeated fails quickly");
  }
  if (repeated > 0) {
    like.evidence.push_back(
        in_words(repeated) +
        " requests that are not idempotent reached the upstream more than once: "
        "look for duplicates");
  } else {
    like.counter_evidence.emplace_back("nothing that is not idempotent was repeated");
  }
  like.degree = timeouts + given_up > 0 && repeated > 0 ? Degree::strong : Degree::partial;
  like.next = {
      "switch retries on timeout off, or bound them by a budget (a tenth of the requests); "
      "never for POST without an idempotency key",
      "find why the upstream was slow before: retries came after that"};
  return {like};
}

std::vector<Likeness> limiter_dimension(const Signature& signature) {
  const Listener& listener = signature.listener;
  const std::string* worst = nullptr;
  const Refused* most = nullptr;
  std::uint64_t all = 0;
  for (const auto& [client, refused] : listener.clients) {
    all += refused.refused;
    if (most == nullptr || refused.refused > most->refused) {
      worst = &client;
      most = &refused;
    }
  }
  constexpr std::uint64_t kEnough = 10;
  constexpr std::size_t kManyUsers = 5;
  if (most == nullptr || all < kEnough) return {};
  Likeness like{.incident = "INC-3b",
                .title = "limiter by address: many users behind one address are turned away",
                .listener = signature.name};
  const bool one_address = most->refused * 2 >= all;
  const bool many_users = most->identities.size() >= kManyUsers;
  (one_address ? like.evidence : like.counter_evidence)
      .push_back(in_words(most->refused) + " of " + in_words(all) + " 429 went to " +
                 printable(*worst));
  if (most->identities.empty()) {
    like.not_shown.emplace_back("who the users are: no credentials or cookies in the requests");
  } else {
    (many_users ? like.evidence : like.counter_evidence)
        .push_back(count_of(most->identities.size(), "different user") + " came from there");
  }
  like.degree = one_address && many_users ? Degree::strong : Degree::partial;
  if (!one_address && !many_users) return {};
  like.next = {"count by user, device or token first and by address only as a backstop",
               "take the threshold from one user's peak rate, not from the total of a load test"};
  return {like};
}

}  // namespace gatedrill::replay::explain
