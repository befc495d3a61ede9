// A live origin on loopback, alone and behind a live link, seen from raw sockets.
#include "scenarios/origin/live_origin.hpp"

#include <cerrno>
#include <chrono>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include "chaos/proxy/live_link.hpp"
#include "tests/support/event_list.hpp"
#include "tests/support/io_thread.hpp"
#include "tests/support/raw_socket.hpp"

namespace gatedrill::scenarios {
namespace {

using namespace std::chrono_literals;
using gatedrill::testing::EventList;
using gatedrill::testing::IoThread;
using gatedrill::testing::RawSocket;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string get(std::string_view target, std::string_view id = "r-1") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + std::string(id) +
         "\r\n\r\n";
}

class LiveOriginTest : public ::testing::Test {
 protected:
  LiveOriginTest() {
    settings_.origin.name = "shop-1";
    settings_.origin.versions = {{"v1", {}, {}}, {"v2", {}, {}}};
  }

  void start() {
    thread_.run([&] {
      origin_ = std::make_unique<LiveOrigin>(thread_.io(), clock_, settings_, world_, events_);
      return origin_->start().has_value();
    });
  }

  void stop(const StopOrder& order) {
    thread_.run([&] {
      origin_->stop(order);
      return true;
    });
  }

  bool listening() {
    return thread_.run([&] { return origin_->model().listening(); });
  }

  void TearDown() override {
    thread_.run([&] {
      link_.reset();
      origin_.reset();
      return true;
    });
    thread_.stop();
  }

  AnswerBook book_ = AnswerBook::fixed(200, 3);
  OriginWorld world_{.answers = book_};
  SteadyClock clock_;
  EventList events_;
  chaos::FaultPlan plan_;
  chaos::FaultRun run_{plan_};
  LiveOrigin::Settings settings_;
  IoThread thread_;
  std::unique_ptr<LiveOrigin> origin_;
  std::unique_ptr<chaos::LiveLink> link_;
};

TEST_F(LiveOriginTest, AnswersPipelinedRequestsOneAfterAnother) {
  start();
  RawSocket client = RawSocket::connect(origin_->port());
  ASSERT_TRUE(client.send(get("/a", "r-1") + get("/b", "r-2")));
  const std::string one =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nxxx";
  EXPECT_EQ(client.read_exactly(2 * one.size()).bytes, one + one);
  const auto executions = events_.of<Execution>();
  ASSERT_EQ(executions.size(), 2U);
  EXPECT_EQ(executions[0].request_id.view(), "r-1");
  EXPECT_EQ(name_of(executions[1].path), "/b");
  EXPECT_EQ(name_of(executions[1].endpoint), "shop-1");
}

TEST_F(LiveOriginTest, ReadsBodiesWholeAndKeepsTheBusinessKey) {
  start();
  RawSocket client = RawSocket::connect(origin_->port());
  ASSERT_TRUE(client.send(
      "POST /pay HTTP/1.1\r\nHost: x\r\nX-Request-Id: r-9\r\nIdempotency-Key: order-5\r\n"
      "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n"));
  EXPECT_TRUE(events_.of<Execution>().empty());
  ASSERT_TRUE(client.send("0\r\n\r\n"));
  EXPECT_THAT(client.read_until("xxx").bytes, StartsWith("HTTP/1.1 200"));
  const auto executions = events_.of<Execution>();
  ASSERT_EQ(executions.size(), 1U);
  EXPECT_EQ(executions[0].business_key.view(), "order-5");
  EXPECT_EQ(name_of(executions[0].method), "POST");
}

TEST_F(LiveOriginTest, AnswersProbesWithoutCountingThemAsExecutions) {
  start();
  RawSocket client = RawSocket::connect(origin_->port());
  ASSERT_TRUE(client.send(get("/ready")));
  EXPECT_THAT(client.read_until("\r\n\r\n").bytes, StartsWith("HTTP/1.1 200"));
  stop({.style = StopStyle::graceful, .removal_wait = 1h});
  ASSERT_TRUE(client.send(get("/ready")));
  EXPECT_THAT(client.read_until("\r\n\r\n").bytes, StartsWith("HTTP/1.1 503"));
  EXPECT_TRUE(events_.of<Execution>().empty());
}

TEST_F(LiveOriginTest, RefusesAMalformedRequest) {
  start();
  RawSocket client = RawSocket::connect(origin_->port());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost : x\r\n\r\n"));
  const RawSocket::Read answer = client.read_until("never");
  EXPECT_THAT(answer.bytes, StartsWith("HTTP/1.1 400"));
  EXPECT_TRUE(answer.fin);
}

TEST_F(LiveOriginTest, StopsAbruptlyWithFinForIdleAndResetForOwedConnections) {
  settings_.origin.versions[0].latency = Distribution::fixed(10s);
  start();
  RawSocket idle = RawSocket::connect(origin_->port());
  RawSocket owed = RawSocket::connect(origin_->port());
  ASSERT_TRUE(owed.send(get("/slow")));
  while (events_.of<Execution>().empty())
    thread_.run([] { return true; });
  stop({.style = StopStyle::abrupt, .start_again = false});
  EXPECT_TRUE(idle.read().fin);
  EXPECT_EQ(owed.read().error, ECONNRESET);
  EXPECT_FALSE(RawSocket::connect(origin_->port()).connected());
  EXPECT_EQ(RawSocket::connect_error(), ECONNREFUSED);
}

TEST_F(LiveOriginTest, DrainsGracefullyAndComesUpAgainOnTheSamePort) {
  settings_.origin.versions[0].latency = Distribution::fixed(100ms);
  start();
  RawSocket idle = RawSocket::connect(origin_->port());
  RawSocket owed = RawSocket::connect(origin_->port());
  ASSERT_TRUE(owed.send(get("/slow")));
  while (events_.of<Execution>().empty())
    thread_.run([] { return true; });
  stop({.style = StopStyle::graceful, .start_time = 20ms, .version = 1});
  EXPECT_TRUE(idle.read().fin);
  const RawSocket::Read answer = owed.read_until("never");
  EXPECT_THAT(answer.bytes, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(answer.bytes.ends_with("xxx"));
  EXPECT_TRUE(answer.fin);
  while (!listening())
    continue;
  EXPECT_TRUE(RawSocket::connect(origin_->port()).connected());
  std::vector<std::string> states;
  for (const Transition& each : events_.of<Transition>())
    states.emplace_back(name_of(each.to_state));
  EXPECT_THAT(states, ::testing::ElementsAre("leaving", "draining", "starting", "ready"));
}

TEST_F(LiveOriginTest, ClosesIdleConnectionsAfterItsKeepAliveTime) {
  settings_.origin.keep_alive = 30ms;
  start();
  RawSocket client = RawSocket::connect(origin_->port());
  ASSERT_TRUE(client.send(get("/a")));
  EXPECT_TRUE(client.read_until("xxx").error == 0);
  EXPECT_TRUE(client.read().fin);
}

// INC-1, chain B: the origin closes the pooled connection; the gateway, one one-way delay away,
// does not know and sends.
TEST_F(LiveOriginTest, LosesTheRequestThatCrossesItsAbruptStopOnTheLink) {
  start();
  chaos::LiveLink::Settings settings;
  settings.link = {{"shop", "shop-1"}, Distribution::fixed(100ms), Distribution::fixed(100ms)};
  settings.target_port = origin_->port();
  thread_.run([&] {
    link_ = std::make_unique<chaos::LiveLink>(thread_.io(), clock_, settings, run_, events_);
    origin_->on_listening([this](bool listening) { link_->set_origin_listening(listening); });
    return link_->start().has_value();
  });
  RawSocket gateway = RawSocket::connect(link_->port());
  ASSERT_TRUE(gateway.send(get("/a", "r-1")));
  ASSERT_TRUE(gateway.read_until("xxx").error == 0);
  stop({.style = StopStyle::abrupt, .start_time = 50ms, .version = 1});
  EXPECT_FALSE(RawSocket::connect(link_->port()).connected()) << "a new one is really refused";
  EXPECT_EQ(gateway.tcp_state(), TCP_ESTABLISHED) << "the pooled one still looks good";
  ASSERT_TRUE(gateway.send(get("/b", "r-2")));
  const RawSocket::Read end = gateway.read();
  EXPECT_TRUE(end.bytes.empty());
  EXPECT_TRUE(end.fin || end.error == ECONNRESET);
  EXPECT_EQ(events_.of<Execution>().size(), 1U) << "the second was never executed";
  while (!listening())
    continue;
  RawSocket fresh = RawSocket::connect(link_->port());
  ASSERT_TRUE(fresh.send(get("/c", "r-3")));
  EXPECT_TRUE(fresh.read_until("xxx").bytes.ends_with("xxx"));
}

}  // namespace
}  // namespace gatedrill::scenarios
