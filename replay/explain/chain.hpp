// A request with everything that was done for it: its exchange with the gateway, the exchanges and
// attempts upstream that it caused, and theirs in turn.
//
//   hops of all legs, in time ──► Joiner ──► Chain ──► verdict
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/explain/hop.hpp"
#include "replay/explain/outcome.hpp"
#include "replay/explain/topology.hpp"

namespace gatedrill::replay::explain {

struct Chain {
  Hop hop{};
  Outcome outcome{};
  std::optional<KeyKind> joined_by{};  // to what is above it; absent at the top
  int rivals = 0;                      // others above it that it might belong to as well
  // The exchange before with the same request, which failed; only where nothing is above to tell.
  // Without ids, of requests that are asked all the time nobody can say which repeats which.
  std::optional<std::int64_t> repeats{};
  std::list<Chain> children{};      // in the order of their time
  std::vector<Attempt> attempts{};  // connections tried in vain; by time only

  // The last that was done for it before it ended; null if nothing was.
  [[nodiscard]] const Chain* last_child() const;
};

// Puts hops under those that enclose them. Memory is that of what goes on at one time.
class Joiner {
 public:
  using Use = std::function<void(const Chain&)>;

  // `topology` outlives this object. `use` gets each chain when nothing more can belong to it.
  Joiner(const Topology& topology, Use use) : topology_(topology), use_(std::move(use)) {}

  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;

  // In the order of time, both together.
  void add(Hop hop);
  void add(Attempt attempt);
  void finish();

 private:
  struct Tree;
  struct Active;
  using Actives = std::list<Active>;
  using Places = std::list<Actives::iterator>;

  struct Active {
    Chain* chain = nullptr;
    Tree* tree = nullptr;
    Span span{};  // names its server by the chain's text
    UnixTime until{};
    std::uint64_t number = 0;
    int depth = 1;  // 1: at the top
    // Its places in the lists below, from which it goes at any time.
    std::vector<Places::iterator> of_keys{};
    Places::iterator of_server{};
  };

  struct Tree {
    Chain root{};
    std::size_t active = 0;
    std::list<Tree>::iterator self;
  };

  struct Later {
    bool operator()(const Actives::iterator& a, const Actives::iterator& b) const {
      return a->until > b->until || (a->until == b->until && a->number > b->number);
    }
  };

  struct Failure {
    UnixTime begin{};
    UnixTime ended{};
    std::int64_t id = 0;
    std::string request_id{};
    std::string server{};
    std::string client{};      // its address
    std::string request{};     // method and target: a trace may hold many
    bool asked_often = false;  // by its client, when it was asked
  };

  // When the latest that look the same came from one client, the oldest first.
  static constexpr std::size_t kAskedKept = 4;
  using Asked = std::array<UnixTime, kAskedKept>;

  struct Found {
    Active* above = nullptr;
    KeyKind kind = KeyKind::content;
    int rivals = 0;
  };

  [[nodiscard]] Found find_above(const Hop& hop) const;
  [[nodiscard]] Active* find_above(const Attempt& attempt, int& rivals) const;
  void place_attempts(UnixTime until);
  [[nodiscard]] std::optional<std::int64_t> find_before(const Hop& hop);
  [[nodiscard]] bool asked_all_the_time(std::uint64_t key, UnixTime since) const;
  void remember_asked(const Hop& hop);
  void expire(UnixTime now);
  void end(Actives::iterator active);
  void remember_failure(const Chain& chain);
  // Those that have come to their end by now are known, those of long ago no more.
  void update_failures(UnixTime now);
  void forget_asked(UnixTime now);

  const Topology& topology_;
  Use use_;
  std::list<Tree> trees_;
  Actives actives_;
  std::priority_queue<Actives::iterator, std::vector<Actives::iterator>, Later> ends_;
  std::unordered_map<std::uint64_t, Places> by_key_;
  std::unordered_map<std::string, Places> by_server_;
  std::uint64_t next_ = 0;
  std::deque<Attempt> attempts_;  // until it is seen what was done after them
  // With their keys, by their end, which is to come.
  std::multimap<std::int64_t, std::pair<std::vector<std::uint64_t>, Failure>> failing_;
  std::unordered_map<std::uint64_t, Failure> failures_;  // by key, of the last seconds
  std::deque<std::pair<UnixTime, std::uint64_t>> failures_in_turn_;
  std::unordered_map<std::uint64_t, Asked> asked_;  // of the last seconds
  std::deque<std::pair<UnixTime, std::uint64_t>> asked_in_turn_;
};

}  // namespace gatedrill::replay::explain
