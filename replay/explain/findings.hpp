// What all chains of a recording amount to, by the listener that was asked. Its memory grows with
// the listeners, causes and seconds of the recording, not with its exchanges.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/core/cause.hpp"
#include "gateway/core/histogram.hpp"
#include "replay/explain/chain.hpp"
#include "replay/explain/timeouts.hpp"
#include "replay/explain/verdict.hpp"

namespace gatedrill::replay::explain {

struct Example {
  Chain chain{};
  Verdict verdict{};  // `broken` is null: it would point into another copy
};

// Exchanges that ended alike.
struct Group {
  std::uint64_t count = 0;
  UnixTime first{};
  UnixTime last{};
  std::map<Certainty, std::uint64_t> certainty{};
  std::uint64_t may_have_run = 0;
  std::uint64_t reused = 0;  // of the connections on which it broke
  std::uint64_t fresh = 0;
  Histogram waited{};  // on the leg where it broke
  Sample ended{};      // after how long the client had its answer, or left
  Histogram idle{};    // before it, on kept connections
  Histogram age{};
  std::map<Fate, std::uint64_t> fates{};  // on the leg where it broke
  std::map<std::string, std::uint64_t> servers{};
  std::vector<Example> examples{};

  void add(const Chain& chain, const Verdict& verdict, std::size_t examples_max);
};

struct GroupKey {
  std::string answer{};
  std::optional<Cause> cause{};

  auto operator<=>(const GroupKey&) const = default;
};

struct Second {
  std::uint64_t requests = 0;
  std::uint64_t bad_gateway = 0;  // 502, or no answer at all
  std::uint64_t timeouts = 0;     // 504
  std::uint64_t unavailable = 0;  // 503
};

// Who was turned away: by client address.
struct Refused {
  std::uint64_t refused = 0;
  std::uint64_t passed = 0;
  std::set<std::uint64_t> identities{};  // at most kIdentitiesMax
};

inline constexpr std::size_t kIdentitiesMax = 1000;

struct Listener {
  std::uint64_t requests = 0;
  std::map<std::string, std::uint64_t> answers{};
  std::map<GroupKey, Group> groups{};  // of those that failed
  std::map<Sign, Group> signs{};
  std::map<std::int64_t, Second> seconds{};  // Unix time
  Histogram answered{};                      // time to the first byte, of answers below 500
  std::uint64_t open = 0;                    // whose end was not captured
  std::uint64_t passed_on = 0;               // that had an exchange upstream
  std::uint64_t upstream_exchanges = 0;
  std::uint64_t ambiguous = 0;  // that might belong to another request
  std::map<KeyKind, std::uint64_t> joined{};
  std::map<std::string, Refused> clients{};
  std::uint64_t head_rejected = 0;      // 431, or 400 without anything upstream
  std::uint64_t head_rejected_min = 0;  // bytes of the head of the request
  std::uint64_t head_passed_max = 0;

  [[nodiscard]] std::uint64_t failed() const;
  // Of the groups with that answer.
  [[nodiscard]] std::uint64_t count(std::string_view answer) const;
  [[nodiscard]] std::uint64_t count(std::string_view answer, Cause cause) const;
};

// A server that somebody in the recording called.
struct Upstream {
  std::uint64_t exchanges = 0;
  std::uint64_t connections = 0;  // whose first exchange was seen
  std::map<std::int64_t, std::uint64_t> seconds{};

  // Requests that came to it directly while a gateway called it too: health checks, mostly.
  struct Direct {
    std::uint64_t count = 0;
    std::uint64_t failed = 0;
    Histogram waited{};
  };

  std::map<std::string, Direct> direct{};  // by "GET /health"
};

class Findings {
 public:
  Findings(Topology topology, std::size_t examples_max)
      : topology_(std::move(topology)), examples_max_(examples_max) {}

  void add(const Chain& chain, const Verdict& verdict);

  [[nodiscard]] const std::map<std::string, Listener>& listeners() const { return listeners_; }

  [[nodiscard]] const std::map<std::string, Upstream>& upstreams() const { return upstreams_; }

  [[nodiscard]] const Topology& topology() const { return topology_; }

  [[nodiscard]] std::uint64_t exchanges() const { return exchanges_; }

 private:
  void add_upstream(const Chain& chain);
  void add_direct(const Chain& chain, const Verdict& verdict);
  void add_refusal(Listener& listener, const Chain& chain);

  Topology topology_;
  std::size_t examples_max_;
  std::map<std::string, Listener> listeners_;
  std::map<std::string, Upstream> upstreams_;
  std::uint64_t exchanges_ = 0;
};

}  // namespace gatedrill::replay::explain
