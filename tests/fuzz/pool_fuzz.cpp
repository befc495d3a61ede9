// The bytes are what happens to the kept connections of one endpoint, beside a model that only
// remembers: what is busy, what is idle and since when. Connections are never lost, never given out
// twice, never given out too old, and the last one put back is the first one taken.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "gateway/policy/pool.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/require.hpp"

namespace gatedrill::fuzz {
namespace {

using gateway::ConnectionLease;
using gateway::Pool;

Pool::Config some_config(Choices& choices) {
  Pool::Config config;
  config.enabled = !choices.chance(0.1);
  config.max_idle = static_cast<int>(choices.below(6));
  config.max_connections = static_cast<int>(choices.below(8));
  config.idle_timeout = std::chrono::seconds{1 + choices.below(20)};
  config.max_age = std::chrono::seconds{1 + choices.below(60)};
  config.max_requests = static_cast<int>(1 + choices.below(10));
  return config;
}

class Player {
 public:
  explicit Player(Choices& choices)
      : choices_(choices), config_(some_config(choices)), pool_(config_) {}

  void play() {
    while (!choices_.empty()) {
      now_ += std::chrono::milliseconds{choices_.below(200) * choices_.below(20)};
      switch (choices_.below(8)) {
        case 0:
        case 1:
        case 2:
          take();
          break;
        case 3:
        case 4:
          give_back();
          break;
        case 5:
          lose_busy();
          break;
        case 6:
          lose_idle();
          break;
        default:
          if (choices_.chance(0.2)) {
            pool_.evict_all();
            settle(Pool::Eviction::endpoint_down);
            require(pool_.idle_count() == 0, "nothing is kept for an endpoint that is down");
          } else {
            pool_.expire(now_);
            settle({});
            require(pool_.next_wakeup() > now_, "what has expired is gone");
          }
          break;
      }
      check();
    }
  }

 private:
  struct Kept {
    ConnectionLease lease;
    TimePoint since;
    std::optional<Duration> hint;
  };

  void take() {
    const auto lease = pool_.take_idle(now_);
    settle({});
    if (!lease) {
      require(idle_.empty(), "what is kept and fit is given out");
      if (pool_.full()) return;
      busy_.push_back(pool_.open(now_, next_id_++));
      require(!busy_.back().reused(), "a new connection has carried nothing");
      settle({});
      return;
    }
    require(!idle_.empty() && idle_.back().lease.id == lease->id, "the last in is the first out");
    const Kept& kept = idle_.back();
    require(lease->ordinal == kept.lease.ordinal + 1, "its requests are counted");
    require(lease->ordinal <= static_cast<std::uint32_t>(config_.max_requests), "up to the limit");
    require(now_ < kept.since + config_.idle_timeout, "it was not idle for too long");
    require(now_ < lease->opened_at + config_.max_age, "it is not too old");
    if (kept.hint) {
      require(now_ + std::chrono::seconds{1} < kept.since + *kept.hint ||
                  *kept.hint > config_.idle_timeout,
              "the upstream is not closing it");
    }
    busy_.push_back(*lease);
    idle_.pop_back();
  }

  void give_back() {
    if (busy_.empty()) return;
    const ConnectionLease lease = take_busy();
    std::optional<Duration> hint;
    if (choices_.chance(0.3)) hint = std::chrono::seconds{choices_.below(30)};
    const bool kept = pool_.put(now_, lease, hint);
    if (kept) {
      require(config_.enabled && config_.max_idle > 0, "nothing is kept where nothing is to be");
      idle_.push_back({lease, now_, hint});
      settle({});
    } else {
      // Told or not, it is not kept.
      for (const Pool::Evicted& evicted : pool_.take_evicted())
        require(evicted.lease.id == lease.id, "a refusal evicts no other");
    }
  }

  void lose_busy() {
    if (!busy_.empty()) pool_.closed(take_busy());
  }

  void lose_idle() {
    const std::uint64_t id = 1 + choices_.below(next_id_ < 256 ? next_id_ : 256);
    const bool was_idle = std::any_of(idle_.begin(), idle_.end(),
                                      [id](const Kept& kept) { return kept.lease.id == id; });
    const std::size_t before = pool_.idle_count();
    pool_.lost(id, Pool::Eviction::peer_closed);
    require(before - pool_.idle_count() == (was_idle ? 1U : 0U), "one is lost, if it was idle");
    settle(Pool::Eviction::peer_closed);
  }

  ConnectionLease take_busy() {
    const auto at = busy_.begin() + static_cast<std::ptrdiff_t>(choices_.below(busy_.size()));
    const ConnectionLease lease = *at;
    busy_.erase(at);
    return lease;
  }

  // What was evicted was idle, and for a reason that holds.
  void settle(std::optional<Pool::Eviction> expected) {
    for (const Pool::Evicted& evicted : pool_.take_evicted()) {
      const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const Kept& kept) {
        return kept.lease.id == evicted.lease.id;
      });
      require(found != idle_.end(), "only what is idle is evicted, and once");
      require(!expected || evicted.reason == *expected, "for the reason given");
      if (evicted.reason == Pool::Eviction::age) {
        require(now_ >= evicted.lease.opened_at + config_.max_age * 9 / 10, "when it is old");
      }
      if (evicted.reason == Pool::Eviction::surplus) {
        require(found == idle_.begin(), "the one longest idle makes room");
      }
      idle_.erase(found);
    }
  }

  void check() {
    require(pool_.busy_count() == static_cast<int>(busy_.size()), "the busy are counted");
    require(pool_.idle_count() == idle_.size(), "none is lost and none is made up");
    require(idle_.size() <= static_cast<std::size_t>(config_.max_idle), "max_idle holds");
    if (config_.max_connections > 0) {
      require(busy_.size() + idle_.size() <= static_cast<std::size_t>(config_.max_connections),
              "max_connections holds");
    }
  }

  Choices& choices_;
  Pool::Config config_;
  Pool pool_;
  TimePoint now_{};
  std::uint64_t next_id_ = 1;
  std::vector<ConnectionLease> busy_;
  std::vector<Kept> idle_;  // as they were put back
};

}  // namespace
}  // namespace gatedrill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gatedrill::fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  gatedrill::fuzz::Player(choices).play();
  return 0;
}
