// Test vectors (a) to (g) of the gateway reference 2.1, then the rest of its specification.
#include "gateway/policy/circuit_breaker.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/random.hpp"

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;
using State = CircuitBreaker::State;

constexpr TimePoint at(Duration since_start) {
  return TimePoint{since_start};
}

CircuitBreaker::Config rate_only() {
  CircuitBreaker::Config config;
  config.consecutive_failures = 0;
  return config;
}

void call(CircuitBreaker& breaker, TimePoint now, bool success, Duration latency = 1ms) {
  const auto permit = breaker.try_acquire(now);
  ASSERT_TRUE(permit);
  breaker.record(now, *permit, success, latency);
}

// A breaker that opened at `now`.
CircuitBreaker opened(TimePoint now, CircuitBreaker::Config config = {}) {
  config.consecutive_failures = 1;
  CircuitBreaker breaker(config);
  call(breaker, now, false);
  EXPECT_EQ(breaker.state(), State::open);
  static_cast<void>(breaker.take_changes());
  return breaker;
}

TEST(CircuitBreaker, NineteenFailuresKeepItClosedAndTheTwentiethOpensItAtThatCall) {
  CircuitBreaker breaker(rate_only());
  for (int i = 0; i < 19; ++i) {
    call(breaker, at(i * 250ms), false);
    EXPECT_EQ(breaker.state(), State::closed);
  }
  call(breaker, at(4900ms), false);
  EXPECT_EQ(breaker.state(), State::open);
  const auto changes = breaker.take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].at, at(4900ms));
  EXPECT_EQ(changes[0].from, State::closed);
  EXPECT_EQ(changes[0].to, State::open);
  EXPECT_EQ(changes[0].reason, "failure_rate");
}

TEST(CircuitBreaker, ATimeBeforeTheLatestCountsAsTheLatest) {
  CircuitBreaker breaker(rate_only());
  for (int i = 0; i < 19; ++i)
    call(breaker, at(20s), false);
  call(breaker, at(10s), false);  // a whole number of windows before
  EXPECT_EQ(breaker.state(), State::open);
  EXPECT_FALSE(breaker.try_acquire(at(15s)));
  const auto changes = breaker.take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].at, at(20s));
}

TEST(CircuitBreaker, ExactlyTheRateOpens) {
  CircuitBreaker breaker(rate_only());
  for (int i = 0; i < 19; ++i)
    call(breaker, at(0s), i % 2 == 0);
  EXPECT_EQ(breaker.state(), State::closed);
  call(breaker, at(0s), false);
  EXPECT_EQ(breaker.state(), State::open);
}

TEST(CircuitBreaker, JustBelowTheRateStaysClosed) {
  CircuitBreaker breaker(rate_only());
  for (int i = 0; i < 51; ++i)
    call(breaker, at(0s), true);
  for (int i = 0; i < 50; ++i)
    call(breaker, at(0s), false);
  EXPECT_EQ(breaker.state(), State::closed) << "50 of 101";
  call(breaker, at(0s), false);
  EXPECT_EQ(breaker.state(), State::open) << "51 of 102";
}

TEST(CircuitBreaker, OnlyTheLastFiveSecondsDecide) {
  // Ten successes in the first second, ten failures from 5 s on: at 5.9 s the successes are out
  // of the window, ten calls are too few.
  CircuitBreaker breaker(rate_only());
  for (int i = 0; i < 10; ++i)
    call(breaker, at(i * 40ms), true);
  for (int i = 0; i < 10; ++i)
    call(breaker, at(5s + i * 100ms), false);
  EXPECT_EQ(breaker.state(), State::closed);
  // And the reverse: old failures do not open it when the twentieth call comes.
  CircuitBreaker other(rate_only());
  for (int i = 0; i < 19; ++i)
    call(other, at(0s), false);
  call(other, at(6s), false);
  EXPECT_EQ(other.state(), State::closed);
}

TEST(CircuitBreaker, AFourthConcurrentProbeIsRejected) {
  CircuitBreaker breaker = opened(at(0s));
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(breaker.try_acquire(at(5s)));
  EXPECT_FALSE(breaker.try_acquire(at(5s)));
  EXPECT_EQ(breaker.state(), State::half_open);
}

TEST(CircuitBreaker, AProbeThatIsLostOpensItAfterTheProbeTimeout) {
  CircuitBreaker breaker = opened(at(0s));
  ASSERT_TRUE(breaker.try_acquire(at(5s)));
  EXPECT_TRUE(breaker.try_acquire(at(15s - 1ns)));
  EXPECT_EQ(breaker.state(), State::half_open);
  EXPECT_FALSE(breaker.try_acquire(at(15s)));
  EXPECT_EQ(breaker.state(), State::open);
  const auto changes = breaker.take_changes();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[1].at, at(15s));
  EXPECT_EQ(changes[1].reason, "probe_lost");
}

TEST(CircuitBreaker, ALostProbeIsDatedWhenItWasLostHoweverLateSomebodyLooks) {
  CircuitBreaker breaker = opened(at(0s));
  ASSERT_TRUE(breaker.try_acquire(at(5s)));
  // Lost at 15 s, open for 10 s (k = 1), half-open from 25 s.
  EXPECT_TRUE(breaker.try_acquire(at(60s)));
  const auto changes = breaker.take_changes();
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].at, at(5s));
  EXPECT_EQ(changes[1].at, at(15s));
  EXPECT_EQ(changes[2].at, at(25s));
  EXPECT_EQ(changes[2].to, State::half_open);
}

TEST(CircuitBreaker, ItIsHalfOpenExactlyWhenTheOpenTimeIsOver) {
  CircuitBreaker breaker = opened(at(1s));
  EXPECT_FALSE(breaker.try_acquire(at(6s - 1ns)));
  EXPECT_EQ(breaker.remaining(at(6s - 1ns)), 1ns);
  EXPECT_EQ(breaker.state(), State::open);
  EXPECT_TRUE(breaker.try_acquire(at(6s)));
  EXPECT_EQ(breaker.state(), State::half_open);
  EXPECT_EQ(breaker.remaining(at(6s)), 0ns);
}

TEST(CircuitBreaker, ThreeProbesThatSucceedCloseIt) {
  CircuitBreaker breaker = opened(at(0s));
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(breaker.state(), State::closed);
    call(breaker, at(5s), true);
  }
  EXPECT_EQ(breaker.state(), State::closed);
}

TEST(CircuitBreaker, AnyProbeThatFailsOpensItForTwiceTheTime) {
  CircuitBreaker breaker = opened(at(0s));
  call(breaker, at(5s), true);
  call(breaker, at(5s), true);
  call(breaker, at(5s), false);
  EXPECT_EQ(breaker.state(), State::open);
  EXPECT_FALSE(breaker.try_acquire(at(15s - 1ns)));
  EXPECT_TRUE(breaker.try_acquire(at(15s)));
}

TEST(CircuitBreaker, TheOpenTimeDoublesUpToItsMaximum) {
  CircuitBreaker breaker = opened(at(0s));
  TimePoint now = at(0s);
  for (const Duration length : {5s, 10s, 20s, 40s, 60s, 60s}) {
    EXPECT_EQ(breaker.remaining(now), length);
    now += length;
    call(breaker, now, false);
  }
}

TEST(CircuitBreaker, ASpellClosedAsLongAsTheLastOpeningForgetsTheDoubling) {
  CircuitBreaker::Config config;
  config.consecutive_failures = 1;
  for (const auto& [closed_for, next_open] :
       {std::pair{5s - 1ns, Duration{10s}}, std::pair{Duration{5s}, Duration{5s}}}) {
    CircuitBreaker breaker = opened(at(0s), config);
    for (int i = 0; i < 3; ++i)
      call(breaker, at(5s), true);
    const TimePoint again = at(5s) + closed_for;
    call(breaker, again, false);
    EXPECT_EQ(breaker.remaining(again), next_open);
  }
}

TEST(CircuitBreaker, ConsecutiveFailuresOpenItWithoutAFullWindow) {
  CircuitBreaker breaker(CircuitBreaker::Config{});
  for (int i = 0; i < 9; ++i)
    call(breaker, at(i * 10s), false);
  call(breaker, at(90s), true);
  for (int i = 0; i < 9; ++i)
    call(breaker, at(100s + i * 10s), false);
  EXPECT_EQ(breaker.state(), State::closed);
  call(breaker, at(200s), false);
  EXPECT_EQ(breaker.state(), State::open);
  EXPECT_EQ(breaker.take_changes()[0].reason, "consecutive_failures");
}

TEST(CircuitBreaker, ModeAllWantsTheRateAndTheRow) {
  CircuitBreaker::Config config;
  config.mode = CircuitBreaker::Mode::all;
  CircuitBreaker row_only(config);
  for (int i = 0; i < 15; ++i)
    call(row_only, at(0s), false);
  EXPECT_EQ(row_only.state(), State::closed) << "ten in a row, too few calls";
  CircuitBreaker rate_without_row(config);
  for (int i = 0; i < 100; ++i)
    call(rate_without_row, at(0s), i % 5 == 0);
  EXPECT_EQ(rate_without_row.state(), State::closed) << "80 %, four in a row";
  for (int i = 0; i < 5; ++i)
    call(row_only, at(0s), false);
  EXPECT_EQ(row_only.state(), State::open);
  EXPECT_EQ(row_only.take_changes()[0].reason, "sustained_failure");
}

TEST(CircuitBreaker, SlowCallsOpenItThoughTheySucceed) {
  CircuitBreaker breaker(CircuitBreaker::Config{});
  for (int i = 0; i < 4; ++i)
    call(breaker, at(0s), true, 3s - 1ns);
  for (int i = 0; i < 15; ++i)
    call(breaker, at(0s), true, 3s);
  EXPECT_EQ(breaker.state(), State::closed);
  call(breaker, at(0s), true, 3s);
  EXPECT_EQ(breaker.state(), State::open) << "16 of 20";
  EXPECT_EQ(breaker.take_changes()[0].reason, "slow_rate");
}

TEST(CircuitBreaker, AnAnswerFromBeforeTheOpeningIsNotAProbesAnswer) {
  CircuitBreaker::Config config;
  config.consecutive_failures = 1;
  CircuitBreaker breaker(config);
  const auto early = breaker.try_acquire(at(0s));
  call(breaker, at(0s), false);
  ASSERT_TRUE(breaker.try_acquire(at(5s)));
  breaker.record(at(5s), *early, false, 5s);
  EXPECT_EQ(breaker.state(), State::half_open);
}

TEST(CircuitBreaker, AProbeThatIsGivenBackMakesRoomForAnother) {
  CircuitBreaker breaker = opened(at(0s));
  const auto first = breaker.try_acquire(at(5s));
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(breaker.try_acquire(at(5s)));
  breaker.cancel(at(6s), *first);
  EXPECT_TRUE(breaker.try_acquire(at(6s)));
  EXPECT_FALSE(breaker.try_acquire(at(6s)));
  EXPECT_EQ(breaker.state(), State::half_open);
}

TEST(CircuitBreaker, ACancelledCallCountsForNothing) {
  CircuitBreaker::Config config;
  config.consecutive_failures = 2;
  CircuitBreaker breaker(config);
  call(breaker, at(0s), false);
  breaker.cancel(at(0s), *breaker.try_acquire(at(0s)));
  call(breaker, at(0s), false);
  EXPECT_EQ(breaker.state(), State::open);
}

TEST(CircuitBreaker, ADisabledOneAdmitsEverything) {
  CircuitBreaker::Config config;
  config.enabled = false;
  CircuitBreaker breaker(config);
  for (int i = 0; i < 1000; ++i)
    call(breaker, at(0s), false);
  EXPECT_EQ(breaker.state(), State::closed);
  EXPECT_TRUE(breaker.take_changes().empty());
}

TEST(CircuitBreaker, StatesHaveTheirSpelling) {
  EXPECT_EQ(to_string(State::closed), "closed");
  EXPECT_EQ(to_string(State::open), "open");
  EXPECT_EQ(to_string(State::half_open), "half_open");
}

// Whatever callers do with their permits (answer, fail, give back, forget), traffic that goes on
// and succeeds closes the breaker again within a bounded time: it is never wedged.
TEST(CircuitBreakerProperty, HalfOpenNeverWedges) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    CircuitBreaker::Config config;
    config.mode = random.chance(0.5) ? CircuitBreaker::Mode::any : CircuitBreaker::Mode::all;
    config.min_calls = 1 + static_cast<int>(random.below(20));
    config.consecutive_failures = static_cast<int>(random.below(10));
    config.probes_max = 1 + static_cast<int>(random.below(4));
    config.successes_needed = 1 + static_cast<int>(random.below(6));
    CircuitBreaker breaker(config);
    std::vector<CircuitBreaker::Permit> held;
    TimePoint latest{};
    for (int i = 0; i < 2000; ++i) {
      latest += std::chrono::milliseconds{random.below(400)};
      // Some callers' samples lag a little.
      const TimePoint now = random.chance(0.2) ? latest - 3ms : latest;
      if (auto permit = breaker.try_acquire(now)) held.push_back(*permit);
      if (held.empty()) continue;
      const std::size_t chosen = random.below(held.size());
      const CircuitBreaker::Permit permit = held[chosen];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(chosen));
      switch (random.below(4)) {
        case 0:
          breaker.record(now, permit, true, 1ms);
          break;
        case 1:
          breaker.record(now, permit, false, 1ms);
          break;
        case 2:
          breaker.cancel(now, permit);
          break;
        default:  // forgotten for ever
          break;
      }
    }
    // From here on everything succeeds. Lost probes end after 10 s, open spells after 60 s.
    const TimePoint limit = latest + 200s;
    while (latest < limit) {
      latest += 100ms;
      if (const auto permit = breaker.try_acquire(latest)) {
        breaker.record(latest, *permit, true, 1ms);
      }
    }
    ASSERT_EQ(breaker.state(), State::closed) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gatedrill::gateway
