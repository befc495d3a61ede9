// Which listener calls which, learnt from the requests that appear at several of them.
//
// Two exchanges with the same id say that a request passed both, not who called whom: a recording
// may hold several gateways that were sent the same requests. Whoever calls a server encloses its
// exchanges in time, nearly always and closely; anybody else does so by chance. Of several that
// were sent the same requests and enclose the same exchanges, the closest is the caller, and with
// it who calls the caller.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/explain/hop.hpp"

namespace gatedrill::replay::explain {

// When an exchange was, and where. The name lives elsewhere.
struct Span {
  std::string_view server{};
  int recording = 0;
  std::int64_t connection = 0;
  UnixTime begin{};
  std::optional<UnixTime> end{};
  std::optional<UnixTime> answer_begin{};
  std::optional<int> status{};
  bool answer_whole = true;
};

[[nodiscard]] Span span_of(const Hop& hop);

// Whether `inner` can be what `outer` asked for in its turn: it begins within it, and the answer
// that was passed on did not come after it was.
[[nodiscard]] bool encloses(const Span& outer, const Span& inner);

class Topology {
 public:
  struct Callers {
    KeyKind kind = KeyKind::content;  // by which they were recognised
    std::set<std::string> servers{};
    std::uint64_t exchanges = 0;  // that show it
  };

  void set(const std::string& callee, Callers callers);

  // Null if nobody is known to call it.
  [[nodiscard]] const Callers* callers_of(const std::string& callee) const;
  [[nodiscard]] bool calls(const std::string& caller, const std::string& callee) const;
  // Whether it is known to call anybody: the recording has its upstream leg.
  [[nodiscard]] bool has_callees(const std::string& caller) const;
  [[nodiscard]] bool is_callee(const std::string& server) const;

  [[nodiscard]] const std::map<std::string, Callers>& all() const { return callers_; }

 private:
  std::map<std::string, Callers> callers_;
  std::set<std::string> calling_;
};

// Is shown every hop in the order of time, then asked. Its memory is that of the requests of a few
// seconds.
class TopologyLearner {
 public:
  void see(const Hop& hop);
  [[nodiscard]] Topology learn() const;

 private:
  struct Seen {
    Span span;
    UnixTime forgotten_at{};
  };

  // How a server's exchanges lie to those of another listener with the same request.
  struct Pair {
    std::uint64_t enclosed = 0;
    std::uint64_t together = 0;
    double slack_ns = 0;  // around those that are enclosed and have the same answer
    std::uint64_t slacks = 0;

    [[nodiscard]] bool encloses() const;
    [[nodiscard]] double slack() const;
  };

  using Others = std::map<std::string, Pair>;
  using Key = std::pair<KeyKind, std::string>;

  void forget(UnixTime now);
  void count(KeyKind kind, const Span& span, const std::vector<Seen>& alike);
  [[nodiscard]] const Pair* pair(KeyKind kind,
                                 const std::string& callee,
                                 const std::string& other) const;
  void resolve(const Key& callee, const Others& others, Topology& topology, int depth) const;

  std::set<std::string> names_;
  std::unordered_map<std::uint64_t, std::vector<Seen>> recent_;  // by the key's hash
  std::priority_queue<std::pair<std::int64_t, std::uint64_t>,
                      std::vector<std::pair<std::int64_t, std::uint64_t>>,
                      std::greater<>>
      forgetting_;               // when, and which key to look at
  std::map<Key, Others> pairs_;  // by callee
};

}  // namespace gatedrill::replay::explain
