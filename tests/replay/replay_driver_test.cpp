#include "replay/replay_driver.hpp"

#include <future>
#include <set>

#include <boost/asio.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/recorded.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::replay {
namespace {

namespace asio = boost::asio;
using testing::always_answer;
using testing::answer_of;
using ::testing::HasSubstr;
using testing::PeerSocket;
using testing::recorded;
using testing::ScriptedPeer;
using ::testing::SizeIs;

using std::chrono::milliseconds;
using std::chrono::seconds;

class VectorSink final : public EventSink {
 public:
  void publish(const Event& event) noexcept override {
    sends.push_back(std::get<SendDone>(event.body));
    gateways.insert(event.gateway);
  }

  [[nodiscard]] const SendDone& of(std::string_view request_id) const {
    for (const SendDone& send : sends) {
      if (send.request_id.view() == request_id) return send;
    }
    throw std::runtime_error("no send " + std::string(request_id));
  }

  std::vector<SendDone> sends;
  std::set<NameId> gateways;
};

class ReplayDriverTest : public ::testing::Test {
 protected:
  ReplayDriverConfig to(std::uint16_t port) {
    ReplayDriverConfig config;
    config.target = {"127.0.0.1", port};
    config.gateway = intern("as_was");
    config.timeout = seconds{20};
    return config;
  }

  // Plays the exchanges to the end.
  void play(const std::vector<RecordedExchange>& exchanges,
            const ReplayDriverConfig& config,
            loadgen::CopyTiming timing = {}) {
    start(exchanges, config, timing);
    context_.run();
    EXPECT_TRUE(done_);
    EXPECT_EQ(figures().due, figures().answered + figures().failed);
    EXPECT_EQ(figures().due, sink_.sends.size());
    EXPECT_EQ(figures().in_flight, 0U);
  }

  void start(const std::vector<RecordedExchange>& exchanges,
             const ReplayDriverConfig& config,
             loadgen::CopyTiming timing = {}) {
    auto plan = ReplayPlan::make(exchanges, timing);
    ASSERT_TRUE(plan);
    driver_.emplace(context_, clock_, sink_, config);
    driver_->start(ReplaySource(*plan), clock_.now(), [this] { done_ = true; });
  }

  const ReplayFigures& figures() const { return driver_->figures(); }

  asio::io_context context_;
  SteadyClock clock_;
  VectorSink sink_;
  std::optional<ReplayDriver> driver_;
  bool done_ = false;
};

TEST_F(ReplayDriverTest, PlaysEachRequestAndRecordsItsTimes) {
  ScriptedPeer peer(always_answer("hello"));
  play({recorded(1, milliseconds{0}, 1, "/a?b=c"), recorded(2, milliseconds{20}, 1, "/b")},
       to(peer.port()));
  EXPECT_EQ(figures().answered, 2U);
  EXPECT_EQ(figures().differences(), 0U);
  EXPECT_THAT(sink_.gateways, ::testing::ElementsAre(intern("as_was")));
  const SendDone& send = sink_.of("c0-1");
  EXPECT_EQ(name_of(send.source), "replay");
  EXPECT_EQ(name_of(send.method), "GET");
  EXPECT_EQ(name_of(send.path), "/a");
  EXPECT_LE(send.intended, send.sent);
  EXPECT_LE(send.sent, send.done);
  EXPECT_LT(send.done, kNever);
  EXPECT_EQ(send.status, 200);
  EXPECT_EQ(send.status_expected, 200);
  EXPECT_TRUE(send.body_complete);
  EXPECT_TRUE(send.body_as_expected);
  EXPECT_EQ(name_of(send.error), "");
  EXPECT_EQ(sink_.of("c0-2").intended - send.intended, milliseconds{20});
}

TEST_F(ReplayDriverTest, SendsTheRecordedRequests) {
  std::promise<std::string> seen;
  ScriptedPeer peer([&](PeerSocket& socket, int) {
    seen.set_value(socket.read_request());
    socket.send(answer_of(200, "hello"));
    socket.read_request();
  });
  auto exchange = recorded(5, seconds{0}, 1, "/login");
  exchange.request->method = "POST";
  exchange.request->body = "user=a";
  play({exchange}, to(peer.port()));
  EXPECT_EQ(seen.get_future().get(),
            "POST /login HTTP/1.1\r\nHost: shop\r\nContent-Length: 6\r\n"
            "x-gatedrill-exchange: 5\r\nx-request-id: c0-5\r\n\r\nuser=a");
}

TEST_F(ReplayDriverTest, KeepsOneConnectionForEachRecordedOne) {
  ScriptedPeer peer(always_answer("hello"));
  play({recorded(1, milliseconds{0}, 1), recorded(2, milliseconds{1}, 2),
        recorded(3, milliseconds{200}, 1), recorded(4, milliseconds{201}, 2)},
       to(peer.port()));
  EXPECT_EQ(peer.connections(), 2);
  EXPECT_EQ(figures().connections, 2U);
  EXPECT_EQ(figures().side_connections, 0U);
}

TEST_F(ReplayDriverTest, EachCopyHasItsOwnConnections) {
  ScriptedPeer peer(always_answer("hello"));
  play({recorded(1, milliseconds{0}, 1), recorded(2, milliseconds{10}, 1)}, to(peer.port()),
       {.speed = 1, .rate_per_second = 200, .duration = milliseconds{100}});
  EXPECT_EQ(figures().answered, 20U);
  // One copy began before time 0. (A side connection is nothing but a slow machine.)
  EXPECT_EQ(figures().connections - figures().side_connections, 11U);
}

TEST_F(ReplayDriverTest, ClosesAConnectionAfterItsLastRequest) {
  std::promise<void> closed;
  ScriptedPeer peer([&](PeerSocket& socket, int connection) {
    socket.read_request();
    if (connection == 1) closed.get_future().wait();  // answers only once the first is closed
    socket.send(answer_of(200, "hello"));
    EXPECT_EQ(socket.read_request(), "");
    if (connection == 0) closed.set_value();
  });
  play({recorded(1, milliseconds{0}, 1), recorded(2, milliseconds{20}, 2)}, to(peer.port()));
  EXPECT_EQ(figures().answered, 2U);
}

TEST_F(ReplayDriverTest, ASlowAnswerDelaysNoLaterSend) {
  std::promise<void> second_came;
  ScriptedPeer peer([&](PeerSocket& socket, int connection) {
    socket.read_request();
    if (connection == 0) second_came.get_future().wait();
    if (connection == 1) second_came.set_value();
    socket.send(answer_of(200, "hello"));
    socket.read_request();
  });
  play({recorded(1, milliseconds{0}, 1), recorded(2, milliseconds{5}, 1)}, to(peer.port()));
  EXPECT_EQ(figures().answered, 2U);
  EXPECT_EQ(figures().side_connections, 1U);
  EXPECT_FALSE(sink_.of("c0-1").side_connection);
  EXPECT_TRUE(sink_.of("c0-2").side_connection);
  EXPECT_LT(sink_.of("c0-2").sent, sink_.of("c0-1").done);
}

TEST_F(ReplayDriverTest, ReplacesAConnectionThatWasClosedWhileIdle) {
  ScriptedPeer peer([](PeerSocket& socket, int) {
    socket.read_request();
    socket.send(answer_of(200, "hello"));
  });
  play({recorded(1, milliseconds{0}), recorded(2, milliseconds{200})}, to(peer.port()));
  EXPECT_EQ(figures().answered, 2U);
  EXPECT_EQ(figures().replaced_connections, 1U);
  EXPECT_EQ(figures().side_connections, 0U);
}

TEST_F(ReplayDriverTest, ACloseThatRacesWithTheSendIsTheRequestsErrorAndIsNotRetried) {
  std::atomic<int> requests = 0;
  ScriptedPeer peer([&](PeerSocket& socket, int) {
    socket.read_request();
    ++requests;
    socket.send(answer_of(200, "hello"));
    if (!socket.read_request().empty()) ++requests;
    socket.reset();
  });
  play({recorded(1, milliseconds{0}), recorded(2, milliseconds{200})}, to(peer.port()));
  EXPECT_EQ(requests, 2);
  EXPECT_EQ(peer.connections(), 1);
  EXPECT_EQ(figures().failed, 1U);
  EXPECT_EQ(name_of(sink_.of("c0-2").error), "reset_before_answer");
  EXPECT_EQ(sink_.of("c0-2").status, 0);
  EXPECT_LT(sink_.of("c0-2").sent, kNever);
  EXPECT_FALSE(sink_.of("c0-2").body_as_expected);
  EXPECT_EQ(figures().errors.at("reset_before_answer"), 1U);
}

TEST_F(ReplayDriverTest, TellsTheDifferencesFromTheRecording) {
  ScriptedPeer peer(always_answer("hello"));
  auto other_status = recorded(1, milliseconds{0}, 1);
  other_status.response->status = 404;
  auto unanswered = recorded(3, milliseconds{0}, 3);
  unanswered.response.reset();
  play(
      {other_status, recorded(2, milliseconds{0}, 2, "/", "other"), unanswered, recorded(4, {}, 4)},
      to(peer.port()));
  EXPECT_EQ(figures().compared, 3U);
  EXPECT_EQ(figures().status_differs, 1U);
  EXPECT_EQ(figures().body_differs, 1U);
  EXPECT_EQ(figures().differences(), 2U);
  EXPECT_EQ(sink_.of("c0-1").status_expected, 404);
  EXPECT_FALSE(sink_.of("c0-2").body_as_expected);
  EXPECT_EQ(sink_.of("c0-3").status_expected, 0);
  EXPECT_TRUE(sink_.of("c0-3").body_as_expected);
}

TEST_F(ReplayDriverTest, ATruncatedBodyIsAnError) {
  ScriptedPeer peer([](PeerSocket& socket, int) {
    socket.read_request();
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
  });
  play({recorded(1, {})}, to(peer.port()));
  const SendDone& send = sink_.of("c0-1");
  EXPECT_EQ(name_of(send.error), "body_truncated");
  EXPECT_EQ(send.status, 200);
  EXPECT_FALSE(send.body_complete);
  EXPECT_FALSE(send.body_as_expected);
}

TEST_F(ReplayDriverTest, NothingListeningIsAnErrorOfEachRequest) {
  play({recorded(1, {}, 1), recorded(2, {}, 2)}, to(testing::unused_port()));
  EXPECT_EQ(figures().failed, 2U);
  EXPECT_EQ(name_of(sink_.of("c0-1").error), "connect_refused");
  EXPECT_EQ(sink_.of("c0-1").sent, kNever);
  EXPECT_LT(sink_.of("c0-1").done, kNever);
}

TEST_F(ReplayDriverTest, GivesUpARequestAtItsTimeout) {
  ScriptedPeer peer([](PeerSocket& socket, int) { socket.read_to_end(); });
  auto config = to(peer.port());
  config.timeout = milliseconds{20};
  play({recorded(1, {}, 1)}, config);
  EXPECT_EQ(name_of(sink_.of("c0-1").error), "response_timeout");
}

TEST_F(ReplayDriverTest, AfterAWishToCloseTheNextRequestHasANewConnection) {
  ScriptedPeer peer(always_answer("hello"));
  auto last = recorded(1, {});
  last.request->fields.push_back({"Connection", "close"});
  play({last, recorded(2, milliseconds{200})}, to(peer.port()));
  EXPECT_EQ(peer.connections(), 2);
  EXPECT_EQ(figures().answered, 2U);
  EXPECT_EQ(figures().replaced_connections, 0U);
}

TEST_F(ReplayDriverTest, StoppingSendsNothingMoreAndCountsWhatWasLeftOut) {
  std::promise<void> stopped;
  ScriptedPeer peer([&](PeerSocket& socket, int) {
    socket.read_request();
    asio::post(context_, [this, &stopped] {
      driver_->stop();
      stopped.set_value();
    });
    stopped.get_future().wait();
    socket.send(answer_of(200, "hello"));
    socket.read_request();
  });
  play({recorded(1, {}), recorded(2, seconds{3600}), recorded(3, seconds{7200})}, to(peer.port()));
  EXPECT_EQ(figures().answered, 1U);
  EXPECT_EQ(figures().unsent, 2U);
}

TEST_F(ReplayDriverTest, AbandoningEndsWhatIsUnderWay) {
  ScriptedPeer peer([&](PeerSocket& socket, int) {
    socket.read_request();
    asio::post(context_, [this] { driver_->abandon(); });
    socket.read_to_end();
  });
  play({recorded(1, {}), recorded(2, seconds{3600})}, to(peer.port()));
  EXPECT_EQ(name_of(sink_.of("c0-1").error), "cancelled");
  EXPECT_EQ(figures().unsent, 1U);
}

TEST_F(ReplayDriverTest, AClientThatWasLateIsNoValidEvidence) {
  ScriptedPeer peer(always_answer("hello"));
  auto config = to(peer.port());
  play({recorded(1, {})}, config);
  EXPECT_EQ(driver_->invalid_reason(), "");
  done_ = false;
  sink_.sends.clear();
  context_.restart();
  config.late_bound = Duration{0};  // nobody keeps that
  play({recorded(1, {})}, config);
  EXPECT_THAT(driver_->invalid_reason(), HasSubstr("could not keep its schedule"));
}

TEST_F(ReplayDriverTest, PlaysAThousandSendsExactlyOnceEach) {
  std::atomic<int> requests = 0;
  ScriptedPeer peer([&](PeerSocket& socket, int) {
    while (!socket.read_request().empty()) {
      ++requests;
      socket.send(answer_of(200, "hello"));
    }
  });
  std::vector<RecordedExchange> exchanges;
  for (int i = 0; i < 40; ++i)
    exchanges.push_back(recorded(i + 1, milliseconds{i * 3}, i % 4));
  play(exchanges, to(peer.port()),
       {.speed = 1, .rate_per_second = 2000, .duration = milliseconds{500}});
  EXPECT_EQ(figures().answered, 1000U);
  EXPECT_EQ(requests, 1000);
  std::set<std::string> ids;
  for (const SendDone& send : sink_.sends)
    ids.insert(std::string{send.request_id.view()});
  EXPECT_THAT(ids, SizeIs(1000));
}

}  // namespace
}  // namespace gatedrill::replay
