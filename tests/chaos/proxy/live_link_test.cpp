// What a gateway and an origin see at the two ends of a live link, on raw sockets.
#include "chaos/proxy/live_link.hpp"

#include <cerrno>
#include <chrono>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include "chaos/fault/latency.hpp"
#include "chaos/fault/refuse.hpp"
#include "chaos/fault/reset_all.hpp"
#include "chaos/fault/reset_idle.hpp"
#include "chaos/fault/reset_on_request.hpp"
#include "chaos/fault/response_header.hpp"
#include "chaos/proxy/fault_timeline.hpp"
#include "tests/support/event_list.hpp"
#include "tests/support/io_thread.hpp"
#include "tests/support/raw_socket.hpp"

namespace gatedrill::chaos {
namespace {

using namespace std::chrono_literals;
using gatedrill::testing::EventList;
using gatedrill::testing::IoThread;
using gatedrill::testing::RawListener;
using gatedrill::testing::RawSocket;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kRequest = "GET /a HTTP/1.1\r\nHost: x\r\nX-Request-Id: r-1\r\n\r\n";
constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class LiveLinkTest : public ::testing::Test {
 protected:
  void start(std::vector<PlacedFault> faults, Duration base = 0ms) {
    plan_ = FaultPlan::make(1, std::move(faults)).value();
    run_ = std::make_unique<FaultRun>(plan_);
    LiveLink::Settings settings;
    settings.link = {{"shop", "shop-1"}, Distribution::fixed(base), Distribution::fixed(base)};
    settings.target_port = origin_.port();
    thread_.run([&] {
      link_ = std::make_unique<LiveLink>(thread_.io(), clock_, settings, *run_, events_);
      return link_->start().has_value();
    });
  }

  void TearDown() override {
    thread_.run([&] {
      link_.reset();
      return true;
    });
    thread_.stop();
  }

  static PlacedFault place(FaultPointer fault) {
    PlacedFault placed;
    placed.name = "fault";
    placed.fault = std::move(fault);
    return placed;
  }

  RawSocket connect() { return RawSocket::connect(link_->port()); }

  void exchange_once(RawSocket& gateway, RawSocket& origin) {
    ASSERT_TRUE(gateway.send(kRequest));
    ASSERT_EQ(origin.read_exactly(kRequest.size()).bytes, kRequest);
    ASSERT_TRUE(origin.send(kAnswer));
    ASSERT_EQ(gateway.read_exactly(kAnswer.size()).bytes, kAnswer);
  }

  // Hits are published as the act is done, which a peer may notice first.
  std::vector<FaultHit> hits() {
    thread_.run([] { return true; });
    return events_.of<FaultHit>();
  }

  RawListener origin_;
  SteadyClock clock_;
  EventList events_;
  FaultPlan plan_;
  std::unique_ptr<FaultRun> run_;
  IoThread thread_;
  std::unique_ptr<LiveLink> link_;
};

TEST_F(LiveLinkTest, PassesEveryByteUnaltered) {
  start({}, 1ms);
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  std::string body;
  for (int i = 0; i < 300'000; ++i)
    body.push_back(static_cast<char>(i * 31 % 251));
  const std::string request =
      "POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + body;
  ASSERT_TRUE(gateway.send(request));
  EXPECT_EQ(origin.read_exactly(request.size()).bytes, request);
  ASSERT_TRUE(origin.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + body));
  EXPECT_TRUE(gateway.read_exactly(300'043).bytes.ends_with(body.substr(290'000)));
  EXPECT_TRUE(hits().empty());
}

TEST_F(LiveLinkTest, ResetsExactlyTheNthRequestOfALiveConnection) {
  ResetOnRequest::Settings third{.ordinal_min = 3, .ordinal_max = 3};
  start({place(std::make_shared<ResetOnRequest>(third))});
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  exchange_once(gateway, origin);
  exchange_once(gateway, origin);
  ASSERT_TRUE(gateway.send(kRequest));
  EXPECT_EQ(gateway.read().error, ECONNRESET);
  const RawSocket::Read at_origin = origin.read();
  EXPECT_EQ(at_origin.error, ECONNRESET);
  EXPECT_TRUE(at_origin.bytes.empty()) << "the origin never saw the third request";
  const auto found = hits();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].planned.view(), "RST on request 3 before_origin");
  EXPECT_THAT(std::string(found[0].observed.view()), StartsWith("RST sent, was established"));
  EXPECT_EQ(found[0].request_id.view(), "r-1");
  EXPECT_EQ(found[0].attempt, 3) << "the id was seen for the third time";
}

TEST_F(LiveLinkTest, ResetsInPlaceOfTheAnswerWhenTheOriginHasExecuted) {
  ResetOnRequest::Settings after{
      .ordinal_min = 1, .ordinal_max = 1, .moment = ResetMoment::after_origin};
  start({place(std::make_shared<ResetOnRequest>(after))});
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  ASSERT_TRUE(gateway.send(kRequest));
  EXPECT_EQ(origin.read_exactly(kRequest.size()).bytes, kRequest);
  ASSERT_TRUE(origin.send(kAnswer));
  const RawSocket::Read seen = gateway.read();
  EXPECT_EQ(seen.error, ECONNRESET);
  EXPECT_TRUE(seen.bytes.empty());
}

TEST_F(LiveLinkTest, DelaysTheOriginsCloseSoThatAReuseInBetweenIsLost) {
  start({}, 150ms);
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  exchange_once(gateway, origin);
  origin.close();
  // Far less than the one-way delay later the gateway still takes the connection for a good one.
  EXPECT_EQ(gateway.tcp_state(), TCP_ESTABLISHED);
  ASSERT_TRUE(gateway.send(kRequest));
  const RawSocket::Read end = gateway.read();
  EXPECT_TRUE(end.fin || end.error == ECONNRESET);
  EXPECT_TRUE(end.bytes.empty()) << "nobody answered the second request";
}

TEST_F(LiveLinkTest, DeliversNothingBeforeItsOneWayDelay) {
  start({}, 40ms);
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  const TimePoint sent = clock_.now();
  ASSERT_TRUE(gateway.send(kRequest));
  ASSERT_EQ(origin.read_exactly(kRequest.size()).bytes, kRequest);
  EXPECT_GE(clock_.now() - sent, 40ms);
  const TimePoint answered = clock_.now();
  ASSERT_TRUE(origin.send(kAnswer));
  ASSERT_EQ(gateway.read_exactly(kAnswer.size()).bytes, kAnswer);
  EXPECT_GE(clock_.now() - answered, 40ms);
}

TEST_F(LiveLinkTest, KeepsAHalfClosedConnectionOpenTheOtherWay) {
  start({}, 1ms);
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  ASSERT_TRUE(gateway.send(kRequest));
  gateway.shut_down_sending();
  const RawSocket::Read request = origin.read_until("never");
  EXPECT_EQ(request.bytes, kRequest);
  EXPECT_TRUE(request.fin);
  ASSERT_TRUE(origin.send(kAnswer));
  origin.shut_down_sending();
  const RawSocket::Read answer = gateway.read_until("never");
  EXPECT_EQ(answer.bytes, kAnswer);
  EXPECT_TRUE(answer.fin) << "FIN stays FIN";
}

TEST_F(LiveLinkTest, PassesAResetOnAsAReset) {
  start({}, 1ms);
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  exchange_once(gateway, origin);
  origin.reset();
  EXPECT_EQ(gateway.read().error, ECONNRESET);

  RawSocket second = connect();
  RawSocket its_origin = origin_.accept();
  exchange_once(second, its_origin);
  second.reset();
  EXPECT_EQ(its_origin.read().error, ECONNRESET);
}

TEST_F(LiveLinkTest, GrowsTheAnswersHeadByExactlySoManyBytes) {
  start({place(std::make_shared<ResponseHeader>(5000))});
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  ASSERT_TRUE(gateway.send(kRequest));
  ASSERT_EQ(origin.read_exactly(kRequest.size()).bytes, kRequest);
  ASSERT_TRUE(origin.send(kAnswer));
  const std::string answer = gateway.read_exactly(kAnswer.size() + 5000).bytes;
  EXPECT_EQ(answer.size(), kAnswer.size() + 5000);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx-padding: ppp"));
  EXPECT_TRUE(answer.ends_with("ppp\r\n\r\nok"));
  const auto found = hits();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].observed.view(), "answer head 38 -> 5038 bytes");
}

TEST_F(LiveLinkTest, ReportsAnAddedLatencyWithWhatItReallyTook) {
  Latency::Settings slow{Distribution(), Distribution::fixed(30ms)};
  start({place(std::make_shared<Latency>(slow))});
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  exchange_once(gateway, origin);
  const auto found = hits();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].planned.view(), "+30.0ms to_gateway");
  EXPECT_THAT(std::string(found[0].observed.view()), HasSubstr("to_gateway 3"));
}

TEST_F(LiveLinkTest, ResetsAConnectionThatIsIdleInThePool) {
  start({place(std::make_shared<ResetIdle>(20ms))});
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  exchange_once(gateway, origin);
  EXPECT_EQ(gateway.read().error, ECONNRESET);
  EXPECT_EQ(origin.read().error, ECONNRESET);
  const auto found = hits();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].planned.view(), "RST of an idle connection");
}

TEST_F(LiveLinkTest, ResetsNewConnectionsAsSoonAsTheyAreAccepted) {
  start({place(std::make_shared<ResetAll>())});
  RawSocket gateway = connect();
  EXPECT_EQ(gateway.read().error, ECONNRESET);
}

TEST_F(LiveLinkTest, RefusesNewConnectionsButKeepsLiveOnes) {
  PlacedFault refuse = place(std::make_shared<Refuse>());
  refuse.at = clock_.now() + 50ms;
  start({refuse});
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  while (clock_.now() < refuse.at + 5ms || hits().empty()) {
    if (connect().connected()) continue;
  }
  EXPECT_FALSE(connect().connected());
  EXPECT_EQ(RawSocket::connect_error(), ECONNREFUSED);
  exchange_once(gateway, origin);
  EXPECT_EQ(hits()[0].observed.view(), "listening socket closed");
}

TEST_F(LiveLinkTest, FollowsItsOriginDownAndUpOnTheSamePort) {
  start({});
  EXPECT_TRUE(connect().connected());
  thread_.run([&] {
    link_->set_origin_listening(false);
    return true;
  });
  EXPECT_FALSE(connect().connected());
  EXPECT_EQ(RawSocket::connect_error(), ECONNREFUSED);
  thread_.run([&] {
    link_->set_origin_listening(true);
    return true;
  });
  EXPECT_TRUE(connect().connected());
}

TEST_F(LiveLinkTest, PassesWhatIsNotHttp) {
  start({}, 1ms);
  RawSocket gateway = connect();
  RawSocket origin = origin_.accept();
  ASSERT_TRUE(gateway.send("\x01\x02 binary\r\n\r\nmore"));
  EXPECT_EQ(origin.read_exactly(17).bytes, "\x01\x02 binary\r\n\r\nmore");
  ASSERT_TRUE(origin.send("whatever\n"));
  EXPECT_EQ(gateway.read_exactly(9).bytes, "whatever\n");
}

TEST_F(LiveLinkTest, PublishesTheWindowsOfItsPlan) {
  PlacedFault refuse = place(std::make_shared<Refuse>());
  refuse.until = TimePoint{1h};
  start({refuse});
  std::unique_ptr<FaultTimeline> timeline;
  thread_.run([&] {
    timeline =
        std::make_unique<FaultTimeline>(thread_.io(), clock_, plan_, intern("as_was"), events_);
    return true;
  });
  thread_.run([] { return true; });
  const auto windows = events_.of<FaultWindow>();
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].until, TimePoint{1h});
  thread_.run([&] {
    timeline.reset();
    return true;
  });
}

}  // namespace
}  // namespace gatedrill::chaos
