#include "replay/replay_source.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/recorded.hpp"

namespace gatedrill::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::recorded;
using ::testing::SizeIs;

using std::chrono::milliseconds;
using std::chrono::seconds;

std::shared_ptr<const ReplayPlan> plan_of(const std::vector<RecordedExchange>& exchanges,
                                          loadgen::CopyTiming timing = {}) {
  auto plan = ReplayPlan::make(exchanges, timing);
  EXPECT_TRUE(plan) << plan.error().message;
  return *plan;
}

std::vector<PlannedSend> sends_of(const std::shared_ptr<const ReplayPlan>& plan) {
  std::vector<PlannedSend> sends;
  ReplaySource source(plan);
  while (const auto send = source.next())
    sends.push_back(*send);
  return sends;
}

// The head that is sent for one exchange.
std::string head_for(const RecordedExchange& exchange) {
  const auto plan = plan_of({exchange});
  return head_bytes(sends_of(plan).front());
}

SkippedExchange::Reason reason_for(RecordedExchange exchange) {
  const auto plan = plan_of({std::move(exchange), recorded(99, seconds{1})});
  EXPECT_THAT(plan->skipped(), SizeIs(1));
  EXPECT_THAT(plan->requests(), SizeIs(1));
  return plan->skipped().front().reason;
}

TEST(ReplaySource, SendsEveryRequestAtItsRecordedOffset) {
  const auto plan = plan_of({recorded(7, seconds{10}, 1), recorded(8, milliseconds{10'025}, 2)});
  const auto sends = sends_of(plan);
  ASSERT_THAT(sends, SizeIs(2));
  EXPECT_EQ(sends[0].intended, TimePoint{});
  EXPECT_EQ(sends[0].request_id.view(), "c0-7");
  EXPECT_EQ(sends[1].intended, TimePoint{milliseconds{25}});
  EXPECT_EQ(sends[1].request_id.view(), "c0-8");
  EXPECT_EQ(plan->span(), milliseconds{25});
}

TEST(ReplaySource, PutsARecordingWhoseClockWentBackInOrder) {
  const auto plan = plan_of({recorded(1, milliseconds{5}), recorded(2, milliseconds{0})});
  const auto sends = sends_of(plan);
  EXPECT_EQ(sends[0].request->exchange, 2);
  EXPECT_EQ(sends[1].intended, TimePoint{milliseconds{5}});
}

TEST(ReplaySource, KeepsRecordedConnectionsAndGivesEachCopyItsOwn) {
  const auto plan = plan_of({recorded(1, milliseconds{0}, 4), recorded(2, milliseconds{10}, 5),
                             recorded(3, milliseconds{20}, 4)},
                            {.rate_per_second = 300, .duration = milliseconds{20}});
  EXPECT_FALSE(plan->requests()[0].last_on_connection);
  EXPECT_TRUE(plan->requests()[1].last_on_connection);
  EXPECT_TRUE(plan->requests()[2].last_on_connection);
  std::set<std::string> ids;
  for (const PlannedSend& send : sends_of(plan)) {
    EXPECT_TRUE(ids.insert(std::string{send.request_id.view()}).second);
    EXPECT_EQ(send.connection.connection, send.request->connection);
    EXPECT_EQ(send.request_id.view(), "c" + std::to_string(send.connection.copy) + "-" +
                                          std::to_string(send.request->exchange));
  }
  EXPECT_THAT(ids, SizeIs(6));
}

TEST(ReplaySource, WritesTheRequestAsRecordedWithItsTwoMarks) {
  auto exchange = recorded(345, seconds{0}, 1, "/cart?item=7&x=%20");
  exchange.request->method = "POST";
  exchange.request->fields = {{"host", "Shop.example:8080"}, {"Cookie", "a=b"}, {"X-Odd", ""}};
  exchange.request->body = "qty=1";
  EXPECT_EQ(head_for(exchange),
            "POST /cart?item=7&x=%20 HTTP/1.1\r\n"
            "host: Shop.example:8080\r\n"
            "Cookie: a=b\r\n"
            "X-Odd: \r\n"
            "Content-Length: 5\r\n"
            "x-gatedrill-exchange: 345\r\n"
            "x-request-id: c0-345\r\n"
            "\r\n");
}

TEST(ReplaySource, LeavesOutWhatBelongsToTheRecordedConnection) {
  auto exchange = recorded(1, seconds{0});
  exchange.request->fields = {{"Host", "shop"},
                              {"Connection", "keep-alive, X-Hop"},
                              {"X-Hop", "1"},
                              {"Keep-Alive", "timeout=5"},
                              {"Transfer-Encoding", "chunked"},
                              {"Content-Length", "99"},
                              {"Trailer", "T"},
                              {"TE", "trailers"},
                              {"Upgrade", "h2c"},
                              {"Proxy-Connection", "keep-alive"},
                              {"Expect", "100-continue"},
                              {"X-Request-ID", "theirs"},
                              {"Accept", "*/*"}};
  EXPECT_EQ(head_for(exchange),
            "GET / HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\n"
            "x-gatedrill-exchange: 1\r\nx-request-id: c0-1\r\n\r\n");
}

TEST(ReplaySource, KeepsTheHostThoughAConnectionFieldNamesIt) {
  auto exchange = recorded(1, seconds{0});
  exchange.request->fields = {{"Host", "shop"}, {"Connection", "close, Host"}};
  EXPECT_THAT(head_for(exchange), HasSubstr("Host: shop\r\nConnection: close\r\n"));
}

TEST(ReplaySource, SaysThatAPostIsEmpty) {
  auto exchange = recorded(1, seconds{0});
  exchange.request->method = "POST";
  EXPECT_THAT(head_for(exchange), HasSubstr("Content-Length: 0\r\n"));
}

TEST(ReplaySource, TurnsAbsoluteFormIntoOriginForm) {
  struct Row {
    const char* method;
    const char* target;
    const char* sent;
  };

  for (const Row& row :
       {Row{"GET", "http://shop/a/b?c=d", "/a/b?c=d"}, Row{"GET", "http://shop", "/"},
        Row{"GET", "http://shop?q", "/?q"}, Row{"OPTIONS", "http://shop", "*"},
        Row{"OPTIONS", "*", "*"}, Row{"GET", "/see?u=http://x/y", "/see?u=http://x/y"}}) {
    auto exchange = recorded(1, seconds{0}, 1, row.target);
    exchange.request->method = row.method;
    EXPECT_EQ(plan_of({exchange})->requests().front().target, row.sent) << row.target;
  }
}

TEST(ReplaySource, GivesARequestWithoutHostOne) {
  auto exchange = recorded(1, seconds{0});
  exchange.request->fields.clear();
  EXPECT_THAT(head_for(exchange), HasSubstr("HTTP/1.1\r\nHost: shop\r\n"));
  exchange.host.clear();
  EXPECT_THAT(head_for(exchange), HasSubstr("HTTP/1.1\r\nHost: 10.0.0.2:80\r\n"));
}

TEST(ReplaySource, KeepsTheWishToClose) {
  auto exchange = recorded(1, seconds{0});
  exchange.request->fields.push_back({"Connection", "Close"});
  EXPECT_TRUE(plan_of({exchange})->requests().front().asks_to_close);
  EXPECT_THAT(head_for(exchange), HasSubstr("\r\nConnection: close\r\n"));
  exchange.request->fields.pop_back();
  EXPECT_FALSE(plan_of({exchange})->requests().front().asks_to_close);
  exchange.request->version = "HTTP/1.0";
  EXPECT_TRUE(plan_of({exchange})->requests().front().asks_to_close);
  exchange.request->fields.push_back({"Connection", "keep-alive"});
  EXPECT_FALSE(plan_of({exchange})->requests().front().asks_to_close);
}

TEST(ReplaySource, ExpectsTheRecordedAnswer) {
  const auto expected = plan_of({recorded(1, seconds{0})})->requests().front().expected;
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->status, 200);
  EXPECT_EQ(expected->body_bytes, 5U);
  EXPECT_EQ(http::to_hex(expected->body_digest.value()),
            "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d");
}

TEST(ReplaySource, ExpectsNoBodyWhereTheRecordedOneIsNotWhole) {
  auto exchange = recorded(1, seconds{0});
  exchange.response->complete = false;
  const auto expected = plan_of({exchange})->requests().front().expected;
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->status, 200);
  EXPECT_FALSE(expected->body_digest);
}

TEST(ReplaySource, ExpectsNoBodyWhereSecretsWereReplaced) {
  auto exchange = recorded(1, seconds{0}, 1, "/", R"({"token":"redacted-0011223344556677"})");
  exchange.response->redacted = true;
  EXPECT_FALSE(plan_of({exchange})->requests().front().expected->body_digest);
  exchange.response->body = "a cookie beside it was replaced";
  EXPECT_TRUE(plan_of({exchange})->requests().front().expected->body_digest);
  exchange.response->fields = {{"content-encoding", "gzip"}};
  EXPECT_FALSE(plan_of({exchange})->requests().front().expected->body_digest);
}

TEST(ReplaySource, CountsTheRequestsThatLoseAFlaw) {
  auto exchange = recorded(1, seconds{0});
  exchange.request->defects = "bare_lf";
  EXPECT_EQ(plan_of({exchange, recorded(2, seconds{0})})->mended(), 1U);
}

TEST(ReplaySource, ReplaysARequestWithoutAnswerAndExpectsNothing) {
  auto exchange = recorded(1, seconds{0});
  exchange.response.reset();
  EXPECT_FALSE(plan_of({exchange})->requests().front().expected);
}

TEST(ReplaySource, NamesWhatCannotBeReplayed) {
  using Reason = SkippedExchange::Reason;
  auto answer_only = recorded(1, seconds{0});
  answer_only.request.reset();
  EXPECT_EQ(reason_for(answer_only), Reason::request_not_seen);
  auto cut = recorded(1, seconds{0});
  cut.request->complete = false;
  EXPECT_EQ(reason_for(cut), Reason::request_incomplete);
  auto tunnel = recorded(1, seconds{0}, 1, "shop:443");
  tunnel.request->method = "CONNECT";
  EXPECT_EQ(reason_for(tunnel), Reason::connect_method);
  auto switched = recorded(1, seconds{0});
  switched.response->status = 101;
  EXPECT_EQ(reason_for(switched), Reason::upgrade);
  auto refused_switch = recorded(1, seconds{0});
  refused_switch.request->fields.push_back({"Upgrade", "WebSocket"});
  EXPECT_EQ(reason_for(refused_switch), Reason::upgrade);
  auto two_hosts = recorded(1, seconds{0});
  two_hosts.request->fields.push_back({"Host", "other"});
  EXPECT_EQ(reason_for(two_hosts), Reason::not_a_message);
  auto two_lines = recorded(1, seconds{0});
  two_lines.request->fields.push_back({"A", "b\r\nX: y"});
  EXPECT_EQ(reason_for(two_lines), Reason::not_a_message);
  auto spaced = recorded(1, seconds{0}, 1, "/a b");
  EXPECT_EQ(reason_for(spaced), Reason::not_a_message);
}

TEST(ReplaySource, TheFirstReplayableRequestIsTimeZero) {
  auto cut = recorded(1, seconds{0});
  cut.request->complete = false;
  EXPECT_EQ(sends_of(plan_of({cut, recorded(2, seconds{3})})).front().intended, TimePoint{});
}

TEST(ReplayPlan, ARecordingWithNothingToReplayIsNoEvidence) {
  auto tunnel = recorded(1, seconds{0}, 1, "shop:443");
  tunnel.request->method = "CONNECT";
  const auto plan = ReplayPlan::make({tunnel}, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::evidence);
  EXPECT_EQ(plan.error().message,
            "the recording holds no request that can be replayed: 1 connect_method");
  EXPECT_EQ(ReplayPlan::make({}, {}).error().message,
            "the recording holds no request that can be replayed: it is empty");
}

TEST(ReplayPlan, RefusesATimingThatMakesNoSense) {
  const std::vector<RecordedExchange> one = {recorded(1, seconds{0})};
  EXPECT_EQ(ReplayPlan::make(one, {.speed = 0}).error().code, ErrorCode::usage);
  EXPECT_EQ(ReplayPlan::make(one, {.rate_per_second = 0, .duration = seconds{1}}).error().code,
            ErrorCode::usage);
  EXPECT_EQ(ReplayPlan::make(one, {.duration = Duration{0}}).error().code, ErrorCode::usage);
  EXPECT_THAT(ReplayPlan::make(one, {.rate_per_second = 5}).error().message,
              HasSubstr("for how long"));
}

TEST(ReplayPlan, DescribesItselfInOneLine) {
  auto tunnel = recorded(2, seconds{0});
  tunnel.request->method = "CONNECT";
  auto answer_only = recorded(3, seconds{0});
  answer_only.request.reset();
  EXPECT_EQ(plan_of({recorded(1, seconds{0}), tunnel, answer_only})->describe(),
            "1 requests to replay, 2 exchanges not (1 connect_method, 1 request_not_seen)");
}

TEST(ReplaySource, TwoSourcesOfOnePlanAreTheSame) {
  const auto plan = plan_of({recorded(1, milliseconds{0}), recorded(2, milliseconds{70}, 2)},
                            {.rate_per_second = 500, .duration = seconds{1}});
  const auto one = sends_of(plan);
  const auto two = sends_of(plan);
  ASSERT_EQ(one.size(), two.size());
  EXPECT_EQ(one.size(), 500U);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].request_id.view(), two[i].request_id.view());
    EXPECT_EQ(one[i].intended, two[i].intended);
    EXPECT_EQ(one[i].connection, two[i].connection);
  }
}

}  // namespace
}  // namespace gatedrill::replay
