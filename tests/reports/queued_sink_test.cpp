#include "reports/queued_sink.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reports/run_maker.hpp"

namespace gatedrill::reports {
namespace {

Event request_event(int number, Cause cause = Cause::ok) {
  RequestDone request;
  request.request_id = RequestId("r" + std::to_string(number));
  request.cause = cause;
  request.status = cause == Cause::ok ? 200 : 504;
  request.attempts = 1;
  return Event{intern("g"), request};
}

std::uint64_t counted(const Tally& tally) {
  std::uint64_t requests = 0;
  for (const Tally::Outcome& outcome : tally.outcomes())
    requests += outcome.count.requests;
  return requests;
}

TEST(RowQueue, KeepsRoomForFailuresWhenOrdinaryRowsOverflow) {
  RowQueue queue({.ordinary_rows_max = 4, .reserved_rows = 2});
  for (int i = 0; i < 10; ++i)
    queue.push(request_event(i));
  for (int i = 10; i < 13; ++i)
    queue.push(request_event(i, Cause::response_timeout));
  EXPECT_EQ(queue.lost()[0], 6U + 1U);
  const RowQueue::Batch batch = queue.take();
  ASSERT_EQ(batch.rows.size(), 6U);
  EXPECT_EQ(std::get<RequestDone>(batch.rows.back().event.body).cause, Cause::response_timeout);
  EXPECT_EQ(counted(batch.tally), 13U) << "the totals are exact all the same";
}

TEST(RowQueue, HasRoomAgainOnceItWasEmptied) {
  RowQueue queue({.ordinary_rows_max = 2, .reserved_rows = 0});
  queue.push(request_event(1));
  queue.push(request_event(2));
  EXPECT_EQ(queue.take().rows.size(), 2U);
  queue.push(request_event(3));
  EXPECT_EQ(queue.take().rows.size(), 1U);
  EXPECT_EQ(queue.lost()[0], 0U);
}

TEST(RowQueue, SamplesOnlyRequestsThatEndedWellTogetherWithTheirAttempts) {
  RowQueue queue({.keep_one_ok_in = 10});
  for (int i = 0; i < 2000; ++i) {
    AttemptDone attempt;
    attempt.request_id = RequestId("r" + std::to_string(i));
    queue.push(Event{intern("g"), attempt});
    queue.push(request_event(i));
  }
  for (int i = 2000; i < 2100; ++i)
    queue.push(request_event(i, Cause::stale_reuse));
  const RowQueue::Batch batch = queue.take();
  std::uint64_t requests = 0;
  std::uint64_t attempts = 0;
  std::uint64_t failures = 0;
  std::uint64_t weight = 0;
  for (const RowQueue::Row& row : batch.rows) {
    const auto* request = std::get_if<RequestDone>(&row.event.body);
    if (request == nullptr) {
      ++attempts;
      continue;
    }
    ++requests;
    weight += row.weight;
    if (request->cause != Cause::ok) {
      ++failures;
      EXPECT_EQ(row.weight, 1U);
    }
  }
  EXPECT_EQ(failures, 100U);
  EXPECT_EQ(requests - failures, attempts);
  EXPECT_NEAR(static_cast<double>(weight), 2100, 600);
  EXPECT_EQ(counted(batch.tally), 2100U);
}

TEST(QueuedSink, WritesWhatManyThreadsPublish) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.db");
  QueuedSink sink(EventStore::create(path).value());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&sink, thread] {
      for (int i = 0; i < 1000; ++i)
        sink.publish(request_event(thread * 1000 + i));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  ASSERT_TRUE(sink.finish());
  EXPECT_EQ(rows_of(path, "SELECT count(DISTINCT request_id), sum(weight) FROM requests"),
            "4000|4000\n");
  EXPECT_EQ(rows_of(path, "SELECT sum(requests) FROM per_second"), "4000\n");
  EXPECT_EQ(rows_of(path, "SELECT value FROM run WHERE key = 'valid'"), "1\n");
}

TEST(QueuedSink, TellsWhatItLostAndThenTheRunIsNoEvidence) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.db");
  QueuedSink sink(EventStore::create(path).value(), {.ordinary_rows_max = 0, .reserved_rows = 1});
  for (int i = 0; i < 5; ++i)
    sink.publish(request_event(i));
  ASSERT_TRUE(sink.finish());
  EXPECT_EQ(rows_of(path, "SELECT * FROM dropped"),
            "recorder|5|rows of requests found the recorder's queue full\n");
  EXPECT_EQ(rows_of(path, "SELECT sum(requests) FROM per_second"), "5\n");
  EXPECT_EQ(rows_of(path, "SELECT value FROM run WHERE key = 'valid'"), "0\n");
}

TEST(EventStore, WritesSecondsThatAreOverWhileTheRunGoesOn) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.db");
  auto store = EventStore::create(path).value();
  const auto count_at = [&](std::int64_t second, Duration latency) {
    RequestDone request;
    request.at = TimePoint{std::chrono::seconds{second}};
    request.latency = latency;
    request.attempts = 1;
    Tally tally;
    tally.count(intern("g"), request);
    store->count(tally);
    ASSERT_TRUE(store->flush());
  };
  count_at(1, std::chrono::milliseconds{10});
  EXPECT_EQ(rows_of(path, "SELECT count(*) FROM per_second"), "0\n");
  count_at(1000, std::chrono::milliseconds{10});
  EXPECT_EQ(rows_of(path, "SELECT second, requests FROM per_second"), "1|1\n")
      << "a second that is over is written";
  count_at(1, std::chrono::milliseconds{30});  // a tunnel of that second ends
  ASSERT_TRUE(store->finish());
  EXPECT_EQ(rows_of(path, "SELECT second, requests, upstream_attempts FROM per_second ORDER BY 1"),
            "1|2|2\n1000|1|1\n");
  EXPECT_EQ(rows_of(path, "SELECT second, requests, max_ms FROM latency ORDER BY 1"),
            "1|2|30.0\n1000|1|10.0\n");
}

TEST(QueuedSink, LeavesAnUnfinishedRunWithoutItsMark) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.db");
  {
    QueuedSink sink(EventStore::create(path).value());
    sink.publish(request_event(1));
  }
  EXPECT_EQ(rows_of(path, "SELECT count(*) FROM run WHERE key = 'valid'"), "0\n");
}

TEST(SinkFactory, FinishesTheFileWhenTheSinkGoes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.db");
  SinkFailures failures;
  const SinkFactory make = sink_factory(failures, "1.2.3");
  {
    const auto sink = make(path);
    ASSERT_TRUE(sink);
    (*sink)->publish(request_event(1));
  }
  EXPECT_TRUE(failures.all().empty());
  EXPECT_EQ(rows_of(path, "SELECT value FROM run WHERE key IN ('version', 'valid') ORDER BY key"),
            "1\n1.2.3\n");
  EXPECT_EQ(rows_of(path, "SELECT count(*) FROM run WHERE key = 'started_at'"), "1\n");
}

}  // namespace
}  // namespace gatedrill::reports
