// Which listener calls which, learnt from the requests that appear at several of them.
//
// Two exchanges with the same id say that a request passed both, not who called whom: a recording
// may hold several gateways that were sent the same requests. Whoever calls a server encloses its
// exchanges in time, nearly always and closely; anybody else does so by chance. Of several that
// were sent the same requests, the caller is the one that encloses what the others do not, and of
// those that enclose each other the closest; with it who calls the caller.
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

// Whoever passes a request on may do so shortly after the one who asked has gone.
inline constexpr Duration kPassedOnWithin = std::chrono::milliseconds(100);

// Whether `inner` can be what `outer` asked for in its turn, where both have a key of `kind`: it
// begins within it, or shortly after where an id says that they belong together, and the answer
// that was passed on did not come after it was.
[[nodiscard]] bool encloses(const Span& outer, const Span& inner, KeyKind kind);

class Topology {
 public:
  struct Callers {
    KeyKind kind = KeyKind::content;  // by which they were recognised
    std::set<std::string> servers{};
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
    std::vector<std::string_view> around{};  // the listeners with an exchange that encloses it
  };

  // Of a server's exchanges, against another listener that had the same requests:
  struct Against {
    std::uint64_t alone = 0;   // how often only this one encloses them
    std::uint64_t closer = 0;  // and where both do and passed the answer on, how often it is closer
  };

  // How a server's exchanges lie to those of another listener with the same request.
  struct Pair {
    std::uint64_t enclosed = 0;
    std::uint64_t together = 0;
    std::map<std::string, Against> against{};

    [[nodiscard]] bool encloses() const;
    [[nodiscard]] Against over(const std::string& other) const;
  };

  using Others = std::map<std::string, Pair>;
  using Key = std::pair<KeyKind, std::string>;

  void forget(UnixTime now);
  // Gives the listeners that enclose it.
  std::vector<std::string_view> count(KeyKind kind,
                                      const Span& span,
                                      const std::vector<Seen>& alike);
  [[nodiscard]] const Pair* pair(KeyKind kind,
                                 const std::string& callee,
                                 const std::string& other) const;
  [[nodiscard]] bool may_call(const Key& callee, const std::string& other, const Pair& its) const;
  [[nodiscard]] bool better(const Key& callee,
                            const std::string& one,
                            const std::string& other) const;
  [[nodiscard]] const std::string* closest(const Key& callee, const Others& others) const;
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
