#include "scenarios/origin/origin_model.hpp"

#include <chrono>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::scenarios {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A step as one word, with its time in milliseconds: "40 answer 1".
std::string text_of(const OriginStep& step) {
  struct Text {
    std::string operator()(const BeginWork& s) const { return "begin " + std::to_string(s.ticket); }

    std::string operator()(const SendAnswer& s) const {
      std::string text = "answer " + std::to_string(s.ticket);
      if (s.source == SendAnswer::Source::queue_full) text += " full";
      if (s.source == SendAnswer::Source::health) text += " health " + std::to_string(s.status);
      return text + (s.close ? " close" : "");
    }

    std::string operator()(const DropWork& s) const { return "drop " + std::to_string(s.ticket); }

    std::string operator()(const CloseConnection& s) const {
      return (s.reset ? "rst c" : "fin c") + std::to_string(s.connection);
    }

    std::string operator()(const SetListening& s) const {
      return s.listening ? "listen" : "unlisten";
    }

    std::string operator()(const ChangeState& s) const { return std::string(to_string(s.to)); }
  };

  std::ostringstream out;
  out << to_ms(step.at.time_since_epoch()) << ' ' << std::visit(Text{}, step.body);
  return out.str();
}

class OriginModelTest : public ::testing::Test {
 protected:
  OriginModelTest() {
    config_.name = "shop-1";
    config_.versions = {{"v1", Distribution::fixed(40ms), {}}};
    config_.workers = 2;
    config_.queue_max = 2;
    config_.keep_alive = 10s;
  }

  OriginModel& model() {
    if (!model_) model_.emplace(config_);
    return *model_;
  }

  void connect(OriginConnection id, Duration now = 0s) { model().on_connect(id, TimePoint{now}); }

  OriginTicket request(OriginConnection id, Duration now, std::string_view target = "/cart") {
    const std::string name = "r-" + std::to_string(id);
    OriginRequest request;
    request.request_id = name;
    request.method = "GET";
    request.target = target;
    return model().on_request(id, request, TimePoint{now});
  }

  std::vector<std::string> steps_until(Duration until) {
    model().wake(TimePoint{until});
    std::vector<std::string> texts;
    for (const OriginStep& step : model().take_steps())
      texts.push_back(text_of(step));
    return texts;
  }

  OriginConfig config_;
  std::optional<OriginModel> model_;
};

TEST_F(OriginModelTest, AnswersAfterItsServiceTime) {
  connect(1);
  EXPECT_EQ(request(1, 100ms), 1U);
  EXPECT_EQ(model().next_wakeup(), TimePoint{140ms});
  EXPECT_THAT(steps_until(139ms), ElementsAre("100 begin 1"));
  EXPECT_THAT(steps_until(140ms), ElementsAre("140 answer 1"));
}

TEST_F(OriginModelTest, QueuesInOrderWhenAllWorkersAreBusyAndRefusesBeyondTheQueue) {
  for (OriginConnection id = 1; id <= 5; ++id) {
    connect(id);
    request(id, 0s);
  }
  EXPECT_EQ(model().queued(), 2U);
  EXPECT_THAT(steps_until(0s), ElementsAre("0 begin 1", "0 begin 2", "0 answer 5 full"));
  EXPECT_THAT(steps_until(80ms), ElementsAre("40 answer 1", "40 begin 3", "40 answer 2",
                                             "40 begin 4", "80 answer 3", "80 answer 4"));
}

TEST_F(OriginModelTest, TimesQueuedWorkFromWhenItsWorkerWasFreeHoweverLateItIsWoken) {
  config_.workers = 1;
  connect(1);
  connect(2);
  request(1, 0s);
  request(2, 0s);
  EXPECT_THAT(steps_until(500ms),
              ElementsAre("0 begin 1", "40 answer 1", "40 begin 2", "80 answer 2"));
}

TEST_F(OriginModelTest, InheritsTheSlownessOfADependencyThatEveryRequestCalls) {
  Dependency dependency(
      "config", {{"normal", Distribution::fixed(10ms)}, {"slow", Distribution::fixed(3s)}}, 1);
  config_.versions[0].dependencies = {{&dependency, false}};
  connect(1);
  connect(2);
  request(1, 0s);
  ASSERT_TRUE(dependency.switch_to("slow"));
  request(2, 0s);
  EXPECT_THAT(steps_until(4s),
              ElementsAre("0 begin 1", "0 begin 2", "50 answer 1", "3040 answer 2"));
}

TEST_F(OriginModelTest, DoesNotWaitForADependencyThatItCaches) {
  Dependency dependency("config", {{"slow", Distribution::fixed(3s)}}, 1);
  config_.versions.push_back({"v2", Distribution::fixed(40ms), {{&dependency, true}}});
  model().stop({.style = StopStyle::abrupt, .start_time = 1s, .version = 1}, TimePoint{});
  EXPECT_THAT(steps_until(10s),
              ElementsAre("0 leaving", "0 unlisten", "0 starting", "4000 ready", "4000 listen"))
      << "its cache is filled before it is ready";
  connect(1, 10s);
  request(1, 10s);
  EXPECT_THAT(steps_until(11s), ElementsAre("10000 begin 1", "10040 answer 1"));
}

TEST_F(OriginModelTest, DrawsTheSameServiceTimeForTheSameRequestOnAnyInstanceInAnyOrder) {
  config_.versions[0].latency = Distribution::log_normal(40ms, 400ms);
  OriginConfig other = config_;
  other.name = "shop-2";
  OriginModel one(config_);
  OriginModel two(other);
  const auto done = [](OriginModel& instance, OriginConnection connection, std::string_view id,
                       std::uint32_t attempt) {
    const TimePoint now{};
    instance.on_connect(connection, now);
    OriginRequest request;
    request.request_id = id;
    request.attempt = attempt;
    request.target = "/cart";
    instance.on_request(connection, request, now);
    const TimePoint at = instance.next_wakeup();
    instance.wake(at);
    return at;
  };
  const TimePoint first = done(one, 1, "r-1", 1);
  OriginModel fresh(config_);
  EXPECT_EQ(done(two, 7, "r-1", 1), first);
  EXPECT_NE(done(fresh, 1, "r-1", 2), first) << "a retry is served anew";
}

TEST_F(OriginModelTest, ClosesAConnectionThatIsIdleForTheKeepAliveTime) {
  connect(1);
  request(1, 1s);
  EXPECT_THAT(steps_until(11s), ElementsAre("1000 begin 1", "1040 answer 1"));
  EXPECT_EQ(model().next_wakeup(), TimePoint{11040ms});
  EXPECT_THAT(steps_until(11040ms), ElementsAre("11040 fin c1"));
  EXPECT_EQ(request(1, 12s), 0U) << "what comes on it now is lost";
}

TEST_F(OriginModelTest, DoesNotCountAConnectionAsIdleWhileARequestIsComingIn) {
  connect(1);
  model().on_bytes(1, TimePoint{9s});
  EXPECT_THAT(steps_until(60s), IsEmpty());
  EXPECT_EQ(request(1, 60s), 1U);
}

TEST_F(OriginModelTest, ClosesAfterTheLastRequestThatAConnectionMayCarry) {
  config_.requests_per_connection_max = 2;
  connect(1);
  request(1, 0s);
  steps_until(40ms);
  request(1, 1s);
  EXPECT_THAT(steps_until(2s), ElementsAre("1000 begin 2", "1040 answer 2 close"));
  EXPECT_EQ(model().connections(), 0U);
}

TEST_F(OriginModelTest, DoesWorkWhoseClientHasGone) {
  config_.workers = 1;
  connect(1);
  connect(2);
  request(1, 0s);
  request(2, 0s);
  model().on_peer_closed(2, TimePoint{1ms});
  EXPECT_THAT(steps_until(1s), ElementsAre("0 begin 1", "40 answer 1", "40 begin 2", "80 drop 2"));
}

TEST_F(OriginModelTest, ServesThroughTheRemovalWaitAndThenClosesIdleOnesWithFinAndOwedOnesWithRst) {
  config_.versions.push_back({"v2", Distribution::fixed(5ms), {}});
  connect(1);
  connect(2);
  model().stop({.style = StopStyle::abrupt, .removal_wait = 1s, .start_time = 2s, .version = 1},
               TimePoint{0s});
  EXPECT_TRUE(model().listening());
  request(1, 500ms);
  request(2, 990ms);
  EXPECT_THAT(steps_until(1s),
              ElementsAre("0 leaving", "500 begin 1", "540 answer 1", "990 begin 2",
                          "1000 unlisten", "1000 fin c1", "1000 rst c2", "1000 starting"));
  EXPECT_FALSE(model().listening());
  EXPECT_THAT(steps_until(10s), ElementsAre("3000 ready", "3000 listen"));
  EXPECT_EQ(model().version().name, "v2");
  EXPECT_EQ(model().workers_busy(), 0U);
}

TEST_F(OriginModelTest, ResetsAConnectionThatIsMadeInTheMomentOfItsStop) {
  model().stop({.style = StopStyle::abrupt, .removal_wait = 1s, .start_again = false}, TimePoint{});
  connect(1, 1s);
  EXPECT_THAT(steps_until(1s),
              ElementsAre("0 leaving", "1000 unlisten", "1000 stopped", "1000 rst c1"));
  EXPECT_EQ(model().connections(), 0U);
}

TEST_F(OriginModelTest, DrainsGracefullyAnsweringWhatItOwes) {
  config_.workers = 1;
  config_.versions[0].latency = Distribution::fixed(300ms);
  for (OriginConnection id = 1; id <= 3; ++id)
    connect(id);
  model().stop({.style = StopStyle::graceful, .removal_wait = 1s, .start_time = 2s}, TimePoint{0s});
  request(1, 900ms);
  request(2, 950ms);
  EXPECT_THAT(steps_until(1s), ElementsAre("0 leaving", "900 begin 1", "1000 unlisten",
                                           "1000 draining", "1000 fin c3"));
  EXPECT_THAT(steps_until(2s), ElementsAre("1200 answer 1 close", "1200 begin 2",
                                           "1500 answer 2 close", "1500 starting"));
  EXPECT_THAT(steps_until(10s), ElementsAre("3500 ready", "3500 listen"));
}

TEST_F(OriginModelTest, ResetsWhatIsLeftWhenTheDrainTakesTooLong) {
  config_.versions[0].latency = Distribution::fixed(60s);
  connect(1);
  request(1, 0s);
  model().stop({.style = StopStyle::graceful, .drain_max = 5s, .start_again = false},
               TimePoint{1s});
  EXPECT_THAT(steps_until(1min), ElementsAre("0 begin 1", "1000 leaving", "1000 unlisten",
                                             "1000 draining", "6000 rst c1", "6000 stopped"));
  EXPECT_EQ(model().next_wakeup(), kNever);
  model().start(TimePoint{2min});
  EXPECT_THAT(steps_until(3min), ElementsAre("120000 starting", "121000 ready", "121000 listen"));
}

TEST_F(OriginModelTest, FailsReadinessButNotLivenessWhileItLeaves) {
  connect(1);
  connect(2);
  request(1, 0s, "/ready");
  request(2, 0s, "/live");
  EXPECT_THAT(steps_until(0s), ElementsAre("0 answer 1 health 200", "0 answer 2 health 200"));
  model().stop({.style = StopStyle::graceful, .removal_wait = 1s}, TimePoint{1s});
  request(1, 1500ms, "/ready");
  request(2, 1500ms, "/live");
  EXPECT_THAT(steps_until(1600ms),
              ElementsAre("1000 leaving", "1500 answer 3 health 503", "1500 answer 4 health 200"));
}

TEST_F(OriginModelTest, FlapsItsReadinessBySchedule) {
  HealthFlap status{.from = TimePoint{1s}, .until = TimePoint{2s}, .status = 500};
  HealthFlap delay{.from = TimePoint{2s},
                   .until = TimePoint{3s},
                   .verdict = HealthFlap::Verdict::delay,
                   .delay = 700ms};
  HealthFlap drop{
      .from = TimePoint{3s}, .until = TimePoint{4s}, .verdict = HealthFlap::Verdict::drop};
  config_.flaps = {status, delay, drop};
  connect(1);
  request(1, 1s, "/ready?by=gateway");
  EXPECT_THAT(steps_until(1s), ElementsAre("1000 answer 1 health 500"));
  request(1, 2s, "/ready");
  EXPECT_THAT(steps_until(2700ms), ElementsAre("2700 answer 2 health 200"));
  request(1, 3s, "/ready");
  EXPECT_THAT(steps_until(1h), ElementsAre("3000 drop 3")) << "never answered, its prober gives up";
  model().on_peer_closed(1, TimePoint{1h});
  EXPECT_EQ(model().connections(), 0U);
}

TEST_F(OriginModelTest, MayServeProbesFromItsWorkersSoThatOverloadFailsThem) {
  config_.readiness.uses_worker = true;
  config_.workers = 1;
  connect(1);
  connect(2);
  request(1, 0s);
  request(2, 1ms, "/ready");
  EXPECT_THAT(steps_until(1s), ElementsAre("0 begin 1", "40 answer 1", "40 answer 2 health 200"));
}

TEST(HealthFlap, RepeatsByPeriod) {
  HealthFlap flap{.from = TimePoint{10s}, .until = TimePoint{20s}};
  const auto flaps = repeated(flap, 4s, 1s);
  ASSERT_EQ(flaps.size(), 3U);
  EXPECT_EQ(flaps[1].from, TimePoint{14s});
  EXPECT_EQ(flaps[1].until, TimePoint{15s});
  EXPECT_EQ(flaps[2].until, TimePoint{19s});
}

}  // namespace
}  // namespace gatedrill::scenarios
