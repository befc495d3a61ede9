// The pool rules of the gateway reference 2.5.
#include "gateway/policy/pool.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "gateway/policy/upstream.hpp"

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;
using Eviction = Pool::Eviction;

constexpr TimePoint at(Duration since_start) {
  return TimePoint{since_start};
}

// Opens a connection and leaves it idle.
void keep(Pool& pool, TimePoint now, std::uint64_t id) {
  const ConnectionLease lease = pool.open(now, id);
  ASSERT_TRUE(pool.put(now, lease));
}

TEST(Pool, AnEmptyOneHasNothingToReuse) {
  Pool pool(Pool::Config{});
  EXPECT_FALSE(pool.take_idle(at(0s)));
  const ConnectionLease lease = pool.open(at(0s), 7);
  EXPECT_EQ(lease.id, 7U);
  EXPECT_FALSE(lease.reused());
  EXPECT_EQ(pool.busy_count(), 1);
}

TEST(Pool, ShardsShareItsLimitsToTheLastConnection) {
  Pool::Config config;
  config.max_connections = 10;
  config.max_idle = 7;
  int connections = 0;
  int idle = 0;
  for (std::size_t index = 0; index < 4; ++index) {
    const Pool::Config share = share_of(config, ShardPlace{index, 4});
    EXPECT_GE(share.max_connections, 2);
    connections += share.max_connections;
    idle += share.max_idle;
  }
  EXPECT_EQ(connections, 10);
  EXPECT_EQ(idle, 7);
  EXPECT_EQ(share_of(config, ShardPlace{}), config);
  config.max_connections = 0;  // no limit stays none
  EXPECT_EQ(share_of(config, ShardPlace{3, 4}).max_connections, 0);
}

TEST(Pool, TheMostRecentlyUsedIsReusedFirst) {
  Pool pool(Pool::Config{});
  keep(pool, at(0s), 1);
  keep(pool, at(1s), 2);
  keep(pool, at(2s), 3);
  EXPECT_EQ(pool.take_idle(at(3s))->id, 3U);
  EXPECT_EQ(pool.take_idle(at(3s))->id, 2U);
  EXPECT_EQ(pool.idle_count(), 1U);
  EXPECT_EQ(pool.busy_count(), 2);
}

TEST(Pool, AReusedConnectionKnowsItsAgeAndWhichRequestItCarries) {
  Pool pool(Pool::Config{});
  keep(pool, at(1s), 1);
  const auto lease = pool.take_idle(at(5s));
  ASSERT_TRUE(lease);
  EXPECT_TRUE(lease->reused());
  EXPECT_EQ(lease->ordinal, 2U);
  EXPECT_EQ(lease->opened_at, at(1s));
}

TEST(Pool, AnIdleConnectionIsDroppedExactlyAtItsTimeout) {
  Pool pool(Pool::Config{});
  keep(pool, at(0s), 1);
  EXPECT_EQ(pool.next_wakeup(), at(50s));
  Pool early = pool;
  EXPECT_TRUE(early.take_idle(at(50s - 1ns)));
  EXPECT_FALSE(pool.take_idle(at(50s)));
  const auto evicted = pool.take_evicted();
  ASSERT_EQ(evicted.size(), 1U);
  EXPECT_EQ(evicted[0].lease.id, 1U);
  EXPECT_EQ(evicted[0].reason, Eviction::idle);
  EXPECT_TRUE(pool.take_evicted().empty()) << "once each";
}

TEST(Pool, AKeepAliveHintLowersTheTimeoutToOneSecondBelowIt) {
  Pool pool(Pool::Config{});
  const ConnectionLease first = pool.open(at(0s), 1);
  EXPECT_TRUE(pool.put(at(0s), first, Duration{5s}));
  EXPECT_EQ(pool.next_wakeup(), at(4s));
  const ConnectionLease second = pool.open(at(0s), 2);
  EXPECT_TRUE(pool.put(at(0s), second, Duration{100s}));
  EXPECT_TRUE(pool.take_idle(at(50s - 1ns))) << "but never raises it";
  const ConnectionLease third = pool.open(at(0s), 3);
  EXPECT_FALSE(pool.put(at(0s), third, Duration{1s})) << "nothing left to wait";
}

TEST(Pool, AConnectionIsKeptForItsAgeLessATenthAtMost) {
  std::set<Duration> ages;
  for (std::uint64_t id = 1; id <= 500; ++id) {
    Pool::Config config;
    config.idle_timeout = 1h;
    Pool pool(config);
    keep(pool, at(0s), id);
    const Duration age = pool.next_wakeup() - at(0s);
    EXPECT_GE(age, 9min);
    EXPECT_LE(age, 10min);
    ages.insert(age);
    pool.expire(at(age));
    EXPECT_EQ(pool.take_evicted().at(0).reason, Eviction::age);
  }
  EXPECT_GT(ages.size(), 80U) << "connections opened together do not end together";
}

TEST(Pool, AConnectionPastItsAgeIsNotKept) {
  Pool pool(Pool::Config{});
  const ConnectionLease lease = pool.open(at(0s), 1);
  EXPECT_FALSE(pool.put(at(10min), lease));
  EXPECT_EQ(pool.busy_count(), 0);
}

TEST(Pool, AConnectionIsKeptForItsNumberOfRequests) {
  Pool pool(Pool::Config{.max_requests = 3});
  ConnectionLease lease = pool.open(at(0s), 1);
  EXPECT_TRUE(pool.put(at(0s), lease));
  lease = *pool.take_idle(at(0s));
  EXPECT_TRUE(pool.put(at(0s), lease));
  lease = *pool.take_idle(at(0s));
  EXPECT_EQ(lease.ordinal, 3U);
  EXPECT_FALSE(pool.put(at(0s), lease));
}

TEST(Pool, TheLeastRecentlyUsedMakesRoom) {
  Pool pool(Pool::Config{.max_idle = 2});
  for (std::uint64_t id = 1; id <= 3; ++id)
    keep(pool, at(0s), id);
  EXPECT_EQ(pool.idle_count(), 2U);
  const auto evicted = pool.take_evicted();
  ASSERT_EQ(evicted.size(), 1U);
  EXPECT_EQ(evicted[0].lease.id, 1U);
  EXPECT_EQ(evicted[0].reason, Eviction::surplus);
}

TEST(Pool, ADisabledOneKeepsNothing) {
  Pool pool(Pool::Config{.enabled = false});
  const ConnectionLease lease = pool.open(at(0s), 1);
  EXPECT_FALSE(pool.put(at(0s), lease));
  EXPECT_EQ(pool.idle_count(), 0U);
}

TEST(Pool, APeersCloseEvictsAnIdleConnectionOnly) {
  Pool pool(Pool::Config{});
  keep(pool, at(0s), 1);
  keep(pool, at(0s), 2);
  const auto busy = pool.take_idle(at(0s));
  pool.lost(busy->id, Pool::Eviction::peer_closed);
  pool.lost(99, Pool::Eviction::peer_closed);
  EXPECT_TRUE(pool.take_evicted().empty());
  pool.lost(1, Pool::Eviction::peer_closed);
  EXPECT_EQ(pool.take_evicted().at(0).reason, Eviction::peer_closed);
  EXPECT_EQ(pool.idle_count(), 0U);
  EXPECT_EQ(pool.busy_count(), 1);
}

TEST(Pool, AnEndpointThatGoesDownLosesItsIdleConnections) {
  Pool pool(Pool::Config{});
  keep(pool, at(0s), 1);
  keep(pool, at(0s), 2);
  pool.evict_all();
  EXPECT_EQ(pool.idle_count(), 0U);
  EXPECT_EQ(pool.take_evicted().size(), 2U);
  EXPECT_EQ(pool.next_wakeup(), kNever);
}

TEST(Pool, ItIsFullWhenAllItsConnectionsAreBusy) {
  Pool pool(Pool::Config{.max_connections = 2});
  const ConnectionLease first = pool.open(at(0s), 1);
  EXPECT_FALSE(pool.full());
  const ConnectionLease second = pool.open(at(0s), 2);
  EXPECT_TRUE(pool.full());
  pool.closed(first);
  EXPECT_FALSE(pool.full());
  EXPECT_TRUE(pool.put(at(0s), second));
}

TEST(Pool, AnIdleConnectionMakesRoomForAFreshOne) {
  Pool pool(Pool::Config{.max_connections = 2});
  keep(pool, at(0s), 1);
  const ConnectionLease busy = pool.open(at(0s), 2);
  EXPECT_FALSE(pool.full()) << "the idle one can go";
  static_cast<void>(pool.open(at(0s), 3));
  const auto evicted = pool.take_evicted();
  ASSERT_EQ(evicted.size(), 1U);
  EXPECT_EQ(evicted[0].lease.id, 1U);
  EXPECT_EQ(evicted[0].reason, Eviction::surplus);
  EXPECT_TRUE(pool.full());
  pool.closed(busy);
}

// Every connection that was opened leaves exactly once, whatever happens to it.
TEST(PoolProperty, EveryConnectionEndsOnceAndTheLimitsHold) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Pool::Config config;
    config.max_idle = static_cast<int>(random.below(4));
    config.max_connections = static_cast<int>(random.below(6));
    config.idle_timeout = std::chrono::seconds{1 + random.below(20)};
    config.max_age = std::chrono::seconds{5 + random.below(60)};
    config.max_requests = 1 + static_cast<int>(random.below(8));
    Pool pool(config);
    std::vector<ConnectionLease> busy;
    std::multiset<std::uint64_t> ended;
    std::uint64_t opened = 0;
    TimePoint now{};
    for (int i = 0; i < 1000; ++i) {
      now += std::chrono::milliseconds{random.below(1500)};
      std::uint64_t refused = 0;  // one that `put` did not want is evicted too
      switch (random.below(6)) {
        case 0:
        case 1:
          if (auto lease = pool.take_idle(now)) {
            busy.push_back(*lease);
          } else if (!pool.full()) {
            busy.push_back(pool.open(now, ++opened));
          }
          break;
        case 2:
        case 3:
          if (!busy.empty()) {
            if (!pool.put(now, busy.back())) ended.insert(refused = busy.back().id);
            busy.pop_back();
          }
          break;
        case 4:
          if (!busy.empty()) {
            pool.closed(busy.back());
            ended.insert(busy.back().id);
            busy.pop_back();
          }
          break;
        default:
          pool.lost(1 + random.below(opened + 1), Pool::Eviction::peer_closed);
          pool.expire(now);
          ASSERT_GT(pool.next_wakeup(), now);
          break;
      }
      for (const Pool::Evicted& evicted : pool.take_evicted()) {
        if (evicted.lease.id != refused) ended.insert(evicted.lease.id);
      }
      ASSERT_EQ(pool.busy_count(), static_cast<int>(busy.size()));
      ASSERT_LE(pool.idle_count(), static_cast<std::size_t>(config.max_idle));
      if (config.max_connections > 0) {
        ASSERT_LE(pool.idle_count() + busy.size(),
                  static_cast<std::size_t>(config.max_connections));
      }
      ASSERT_EQ(ended.size() + pool.idle_count() + busy.size(), opened);
    }
    ASSERT_EQ(std::set<std::uint64_t>(ended.begin(), ended.end()).size(), ended.size());
  }
}

TEST(Pool, SaysWhyItDidNotKeepAConnection) {
  Pool::Config config;
  config.max_requests = 1;
  Pool pool(config, intern("shop"), intern("shop-1"));
  const ConnectionLease lease = pool.open(TimePoint{}, 7);
  EXPECT_FALSE(pool.put(TimePoint{std::chrono::seconds{3}}, lease));
  const auto evicted = pool.take_evicted();
  ASSERT_EQ(evicted.size(), 1U);
  const auto event = eviction_of(pool, evicted[0], TimePoint{std::chrono::seconds{3}});
  EXPECT_EQ(name_of(event.reason), "requests");
  EXPECT_EQ(name_of(event.endpoint), "shop-1");
  EXPECT_EQ(event.connection_id, 7U);
  EXPECT_EQ(event.age, std::chrono::seconds{3});
  EXPECT_EQ(event.requests, 1U);
}

}  // namespace
}  // namespace gatedrill::gateway
