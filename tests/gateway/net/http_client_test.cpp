#include "gateway/net/http_client.hpp"

#include <optional>

#include <boost/asio.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/loopback_peer.hpp"

namespace gatedrill::gateway {
namespace {

namespace asio = boost::asio;
using ::testing::ElementsAre;
using testing::LoopbackListener;
using ::testing::Pair;
using testing::PeerSocket;

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: shop\r\n\r\n";
constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello";
constexpr std::string_view kChunkedAnswer =
    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3;name=value\r\nhel\r\nA\r\nlo, world!\r\n0\r\nTrailer: yes\r\n\r\n";

// Both ends in one thread: the peer's blocking socket and the client's context, stepped in turn.
class HttpClientTest : public ::testing::Test {
 protected:
  TimePoint in(Duration duration) const { return clock_.now() + duration; }

  void run() {
    context_.restart();
    context_.poll();
  }

  ClientConnect connect_to(HttpPeer peer, Duration timeout = std::chrono::seconds{20}) {
    std::optional<ClientConnect> outcome;
    auto task = client_->connect(std::move(peer), in(timeout));
    auto keep = [&outcome](const std::exception_ptr&, ClientConnect result) {
      outcome = std::move(result);
    };
    asio::co_spawn(context_, std::move(task), keep);
    context_.restart();
    while (!outcome)
      context_.run_one();
    return *outcome;
  }

  void connect() {
    const ClientConnect outcome = connect_to({"127.0.0.1", listener_.port()});
    ASSERT_EQ(outcome.error, ClientError::none) << outcome.detail;
    peer_ = listener_.accept();
  }

  void start(std::string_view head,
             std::string_view body = {},
             Duration timeout = std::chrono::seconds{20},
             KeepBody keep = KeepBody::whole) {
    answer_.reset();
    ClientRequest request;
    request.method = head.substr(0, head.find(' '));
    request.head = head;
    request.body = body;
    request.keep = keep;
    auto task = client_->exchange(request, in(timeout));
    auto take = [this](const std::exception_ptr&, ClientAnswer answer) {
      answer_ = std::move(answer);
    };
    asio::co_spawn(context_, std::move(task), asio::bind_cancellation_slot(cancel_.slot(), take));
    run();
  }

  ClientAnswer finish() {
    context_.restart();
    while (!answer_)
      context_.run_one();
    return *answer_;
  }

  // One exchange: the peer reads the request and sends `answer`.
  ClientAnswer exchange(std::string_view head, std::string_view answer) {
    start(head);
    peer_.read_request();
    peer_.send(answer);
    return finish();
  }

  // The same on a connection of its own, which the peer then closes.
  ClientAnswer exchange_and_close(std::string_view head, std::string_view answer) {
    connect();
    start(head);
    peer_.read_request();
    peer_.send(answer);
    peer_.close();
    return finish();
  }

  asio::io_context context_;
  SteadyClock clock_;
  LoopbackListener listener_;
  PeerSocket peer_;
  std::optional<HttpClient> client_{std::in_place, context_, clock_};
  asio::cancellation_signal cancel_;
  std::optional<ClientAnswer> answer_;
};

TEST_F(HttpClientTest, ReturnsTheAnswerWithItsTimesAndKeepsTheConnection) {
  connect();
  const ClientAnswer answer = exchange(kGet, kAnswer);
  EXPECT_EQ(answer.error, ClientError::none) << answer.detail;
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.fields, ElementsAre(Pair("Content-Length", "5"), Pair("X-A", "b")));
  EXPECT_EQ(answer.body, "hello");
  EXPECT_TRUE(answer.body_complete);
  EXPECT_TRUE(answer.reusable);
  EXPECT_EQ(answer.ordinal, 1U);
  EXPECT_EQ(answer.bytes_sent, kGet.size());
  EXPECT_EQ(answer.bytes_received, kAnswer.size());
  EXPECT_LE(answer.sent, answer.first_byte);
  EXPECT_LE(answer.first_byte, answer.done);
  EXPECT_LT(answer.done, kNever);
  EXPECT_EQ(exchange(kGet, kAnswer).ordinal, 2U);
  EXPECT_EQ(client_->requests_sent(), 2U);
}

TEST_F(HttpClientTest, SendsHeadAndBodyAsTheyAre) {
  connect();
  start("POST /b HTTP/1.1\r\nHost: shop\r\nContent-Length: 3\r\n\r\n", "a=1");
  EXPECT_EQ(peer_.read_request(), "POST /b HTTP/1.1\r\nHost: shop\r\nContent-Length: 3\r\n\r\na=1");
  peer_.send(kAnswer);
  EXPECT_EQ(finish().error, ClientError::none);
}

TEST_F(HttpClientTest, ReadsTheSameAnswerHoweverItIsSplit) {
  connect();
  for (const std::string_view whole : {kAnswer, kChunkedAnswer}) {
    const std::string_view body = whole == kAnswer ? "hello" : "hello, world!";
    for (std::size_t split = 0; split <= whole.size(); ++split) {
      start(kGet);
      peer_.read_request();
      peer_.send(whole.substr(0, split));
      run();
      peer_.send(whole.substr(split));
      const ClientAnswer answer = finish();
      ASSERT_EQ(answer.error, ClientError::none) << split << ": " << answer.detail;
      ASSERT_EQ(answer.body, body) << split;
      ASSERT_TRUE(answer.reusable) << split;
    }
  }
}

TEST_F(HttpClientTest, ReadsAnAnswerThatComesByteByByte) {
  connect();
  start(kGet);
  peer_.read_request();
  for (const char& byte : kChunkedAnswer) {
    peer_.send({&byte, 1});
    run();
  }
  const ClientAnswer answer = finish();
  EXPECT_EQ(answer.body, "hello, world!");
  EXPECT_EQ(answer.interim_answers, 1U);
  EXPECT_EQ(answer.bytes_received, kChunkedAnswer.size());
}

TEST_F(HttpClientTest, HashesABodyInsteadOfKeepingIt) {
  connect();
  for (int round = 0; round < 2; ++round) {
    start(kGet, {}, std::chrono::seconds{20}, KeepBody::digest);
    peer_.read_request();
    peer_.send(kAnswer);
    const ClientAnswer answer = finish();
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(answer.body_bytes, 5U);
    // printf hello | sha1sum
    EXPECT_EQ(http::to_hex(answer.body_digest), "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d");
  }
}

TEST_F(HttpClientTest, ReadsABodyOfManyMegabytes) {
  connect();
  const std::string body(8 * 1024 * 1024, 'x');
  start(kGet);
  peer_.read_request();
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  peer_.send(head);
  for (std::size_t at = 0; at < body.size(); at += 32768) {
    peer_.send(std::string_view{body}.substr(at, 32768));
    run();
  }
  EXPECT_EQ(finish().body, body);
}

TEST_F(HttpClientTest, KnowsTheAnswersThatHaveNoBody) {
  connect();
  const ClientAnswer head = exchange("HEAD /a HTTP/1.1\r\nHost: s\r\n\r\n",
                                     "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_EQ(head.error, ClientError::none);
  EXPECT_TRUE(head.reusable);
  const ClientAnswer no_content = exchange(kGet, "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_TRUE(no_content.reusable);
  const ClientAnswer not_modified =
      exchange(kGet, "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n");
  EXPECT_TRUE(not_modified.reusable);
}

TEST_F(HttpClientTest, SkipsInterimAnswersButNotASwitch) {
  connect();
  const ClientAnswer answer = exchange(
      kGet, std::string("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nA: b\r\n\r\n") +
                std::string(kAnswer));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.interim_answers, 2U);
  const ClientAnswer switched =
      exchange(kGet, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
  EXPECT_EQ(switched.status, 101);
  EXPECT_FALSE(switched.reusable);
}

TEST_F(HttpClientTest, ReadsABodyUpToTheCloseOfTheConnection) {
  const ClientAnswer answer = exchange_and_close(kGet, "HTTP/1.1 200 OK\r\n\r\nhello");
  EXPECT_EQ(answer.error, ClientError::none);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_TRUE(answer.body_complete);
  EXPECT_FALSE(answer.reusable);
  EXPECT_FALSE(client_->connected());
}

TEST_F(HttpClientTest, DoesNotReuseAConnectionThatThePeerEnds) {
  connect();
  EXPECT_FALSE(
      exchange(kGet, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").reusable);
  connect();
  EXPECT_FALSE(exchange(kGet, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").reusable);
}

TEST_F(HttpClientTest, DoesNotReuseAConnectionWithBytesAfterTheAnswer) {
  connect();
  EXPECT_FALSE(exchange(kGet, std::string(kAnswer) + "HTTP/1.1 200 OK\r\n").reusable);
}

TEST_F(HttpClientTest, NamesHowAnAnswerBrokeOff) {
  struct Row {
    std::string_view answer;
    ClientError at_close;
    ClientError at_reset;
    const char* why;
  };

  const Row rows[] = {
      {"", ClientError::closed_before_answer, ClientError::reset_before_answer, "nothing came"},
      {"HTTP/1.1 20", ClientError::head_truncated, ClientError::head_truncated, "inside the head"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel", ClientError::body_truncated,
       ClientError::body_truncated, "bytes are missing"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
       ClientError::body_truncated, ClientError::body_truncated, "no last chunk"},
      {"HTTP/1.1 100 Continue\r\n\r\n", ClientError::closed_before_answer,
       ClientError::reset_before_answer, "an interim answer is none"},
  };
  for (const Row& row : rows) {
    const ClientAnswer closed = exchange_and_close(kGet, row.answer);
    EXPECT_EQ(to_string(closed.error), to_string(row.at_close)) << row.why;
    EXPECT_FALSE(closed.body_complete);
    EXPECT_FALSE(client_->connected());

    connect();
    start(kGet);
    peer_.read_request();
    peer_.send(row.answer);
    run();
    peer_.reset();
    EXPECT_EQ(to_string(finish().error), to_string(row.at_reset)) << row.why;
  }
}

TEST_F(HttpClientTest, ABodyUntilCloseThatIsResetIsTruncated) {
  connect();
  start(kGet);
  peer_.read_request();
  peer_.send("HTTP/1.1 200 OK\r\n\r\nhello");
  run();
  peer_.reset();
  EXPECT_EQ(finish().error, ClientError::body_truncated);
}

TEST_F(HttpClientTest, RefusesMalformedAnswers) {
  for (const std::string_view answer :
       {"SSH-2.0-OpenSSH_9\r\n\r\n", "HTTP/1.1 99 Low\r\n\r\n", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}) {
    const ClientAnswer result = exchange_and_close(kGet, answer);
    EXPECT_EQ(result.error, ClientError::malformed_answer) << answer;
    EXPECT_NE(result.detail, "") << answer;
  }
}

TEST_F(HttpClientTest, RefusesAHeadThatNeverEnds) {
  HttpClient::Limits limits;
  limits.head.head_bytes = 40'000;
  client_.emplace(context_, clock_, limits);
  connect();
  start(kGet);
  peer_.read_request();
  peer_.send("HTTP/1.1 200 OK\r\nA: " + std::string(50'000, 'x'));
  EXPECT_EQ(finish().error, ClientError::answer_head_too_large);
}

TEST_F(HttpClientTest, EndsAtTheDeadlineAndSaysWhere) {
  connect();
  start(kGet, {}, std::chrono::milliseconds{5});
  const ClientAnswer silent = finish();
  EXPECT_EQ(silent.error, ClientError::response_timeout);
  EXPECT_LT(silent.sent, kNever);
  EXPECT_EQ(silent.first_byte, kNever);
  EXPECT_FALSE(client_->connected());

  connect();
  start(kGet, {}, std::chrono::milliseconds{5});
  peer_.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel");
  const ClientAnswer halting = finish();
  EXPECT_EQ(halting.error, ClientError::body_timeout);
  EXPECT_EQ(halting.status, 200);
  EXPECT_EQ(halting.body, "hel");
}

TEST_F(HttpClientTest, AnEarlierDeadlineHoldsThoughTheTimerWaitsForALaterOne) {
  connect();
  exchange(kGet, kAnswer);
  start(kGet, {}, std::chrono::milliseconds{5});
  EXPECT_EQ(finish().error, ClientError::response_timeout);
}

TEST_F(HttpClientTest, SaysThatAConnectionWasRefused) {
  const ClientConnect outcome = connect_to({"127.0.0.1", testing::unused_port()});
  EXPECT_EQ(outcome.error, ClientError::connect_refused);
  EXPECT_EQ(outcome.detail, "Connection refused");
  EXPECT_FALSE(client_->connected());
}

TEST_F(HttpClientTest, SaysThatConnectingTookTooLong) {
  LoopbackListener full(0);  // a full queue drops what comes
  std::vector<PeerSocket> fillers;
  fillers.push_back(testing::connect_to(full.port()));
  const ClientConnect outcome =
      connect_to({"127.0.0.1", full.port()}, std::chrono::milliseconds{20});
  EXPECT_EQ(outcome.error, ClientError::connect_timeout);
}

TEST_F(HttpClientTest, LooksUpNames) {
  EXPECT_EQ(connect_to({"localhost", listener_.port()}).error, ClientError::none);
  EXPECT_EQ(client_->peer().host, "127.0.0.1");
  EXPECT_EQ(client_->peer().port, listener_.port());
  client_->close();
  EXPECT_EQ(client_->peer().host, "");
}

TEST_F(HttpClientTest, TellsWhatBecameOfAnIdleConnection) {
  EXPECT_EQ(client_->idle_state(), IdleState::not_connected);
  connect();
  exchange(kGet, kAnswer);
  EXPECT_EQ(client_->idle_state(), IdleState::usable);
  peer_.close();
  EXPECT_EQ(client_->idle_state(), IdleState::closed_by_peer);
  connect();
  exchange(kGet, kAnswer);
  peer_.reset();
  EXPECT_EQ(client_->idle_state(), IdleState::reset_by_peer);
  connect();
  exchange(kGet, kAnswer);
  peer_.send("HTTP/1.1 408 Request Timeout\r\n\r\n");
  EXPECT_EQ(client_->idle_state(), IdleState::unasked_bytes);
}

TEST_F(HttpClientTest, NeverSendsARequestTwice) {
  connect();
  exchange("POST /o HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n", kAnswer);
  peer_.reset();  // the request and the reset cross
  start("POST /o HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n");
  const ClientAnswer answer = finish();
  EXPECT_EQ(answer.error, ClientError::send_failed);
  EXPECT_EQ(answer.bytes_sent, 0U);
  EXPECT_EQ(answer.sent, kNever);
  EXPECT_FALSE(listener_.has_connection());
}

TEST_F(HttpClientTest, TakesAnAnswerThatComesBeforeTheWholeRequestWasSent) {
  connect();
  const std::string body(32 * 1024 * 1024, 'x');
  start("POST /u HTTP/1.1\r\nHost: s\r\nContent-Length: 33554432\r\n\r\n", body);
  peer_.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
  const ClientAnswer answer = finish();
  EXPECT_EQ(answer.error, ClientError::none);
  EXPECT_EQ(answer.status, 413);
  EXPECT_LT(answer.bytes_sent, body.size());
  EXPECT_FALSE(answer.reusable);
}

TEST_F(HttpClientTest, SendsALargeRequestWholeToASlowReader) {
  connect();
  const std::string body(8 * 1024 * 1024, 'x');
  start("POST /u HTTP/1.1\r\nHost: s\r\nContent-Length: 8388608\r\n\r\n", body);
  peer_.send("HTTP/1.1 100 Continue\r\n\r\n");
  std::size_t received = 0;
  while (received < body.size()) {
    received += peer_.read_available();
    run();
  }
  peer_.send(kAnswer);
  const ClientAnswer answer = finish();
  EXPECT_EQ(answer.error, ClientError::none);
  EXPECT_GT(answer.bytes_sent, body.size());
  EXPECT_TRUE(answer.reusable);
}

TEST_F(HttpClientTest, ACancelledExchangeSaysSoAndClosesTheConnection) {
  connect();
  start(kGet);
  cancel_.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(finish().error, ClientError::cancelled);
  EXPECT_FALSE(client_->connected());
}

TEST_F(HttpClientTest, ACancelledUploadSaysSoToo) {
  connect();
  const std::string body(32 * 1024 * 1024, 'x');
  start("POST /u HTTP/1.1\r\nHost: s\r\nContent-Length: 33554432\r\n\r\n", body);
  cancel_.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(finish().error, ClientError::cancelled);
}

TEST_F(HttpClientTest, AnExchangeEndsWhenItsClientIsDestroyed) {
  connect();
  start(kGet);
  client_.reset();
  EXPECT_EQ(finish().error, ClientError::cancelled);
}

TEST_F(HttpClientTest, AContextMayEndUnderAnExchange) {
  asio::io_context context;
  HttpClient client(context, clock_);
  auto task = client.connect({"127.0.0.1", listener_.port()}, in(std::chrono::seconds{1}));
  asio::co_spawn(context, std::move(task), asio::detached);
}

}  // namespace
}  // namespace gatedrill::gateway
