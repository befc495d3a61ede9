#include "reports/event_store.hpp"

#include <csignal>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "reports/expectation/expectation.hpp"
#include "reports/hdr_codec.hpp"
#include "tests/reports/run_maker.hpp"

namespace gatedrill::reports {
namespace {

std::string valid_of(const std::string& path) {
  return rows_of(path, "SELECT value FROM run WHERE key = 'valid'");
}

TEST(EventStore, HasExactlyTheViewsOfTheContract) {
  RunMaker run;
  const std::string path = run.finish();
  EXPECT_EQ(
      rows_of(path, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name"),
      "attempts\ndropped\nevictions\nexecutions\nfault_hits\nfaults\nlatency\nper_second\nprobes\n"
      "requests\nresources\nrun\nsends\ntransitions\nverdicts\n");
  EXPECT_EQ(columns_of(path, "run"), "key,value");
  EXPECT_EQ(columns_of(path, "requests"),
            "gateway,request_id,at_ms,client,method,path,route,upstream,status,cause,"
            "retries_exhausted,latency_ms,attempts,limiter,limiter_key,weight");
  EXPECT_EQ(columns_of(path, "attempts"),
            "gateway,request_id,attempt,at_ms,upstream,endpoint,reused,connection_id,"
            "connection_age_ms,connection_ordinal,status,cause,latency_ms,why_retried,connect_ms,"
            "send_ms,wait_ms,receive_ms");
  EXPECT_EQ(columns_of(path, "evictions"),
            "gateway,at_ms,upstream,endpoint,connection_id,reason,age_ms,requests");
  EXPECT_EQ(columns_of(path, "sends"),
            "gateway,request_id,source,intended_ms,sent_ms,done_ms,status,body_complete,error");
  EXPECT_EQ(columns_of(path, "executions"),
            "gateway,request_id,business_key,endpoint,at_ms,method,path");
  EXPECT_EQ(columns_of(path, "transitions"),
            "gateway,at_ms,kind,subject,from_state,to_state,reason");
  EXPECT_EQ(columns_of(path, "probes"), "gateway,at_ms,prober,endpoint,verdict,latency_ms");
  EXPECT_EQ(columns_of(path, "faults"), "gateway,at_ms,until_ms,name,kind,target,hits");
  EXPECT_EQ(columns_of(path, "fault_hits"),
            "gateway,at_ms,fault,target,request_id,attempt,planned,observed");
  EXPECT_EQ(columns_of(path, "per_second"),
            "gateway,second,route,status,cause,requests,upstream_attempts");
  EXPECT_EQ(columns_of(path, "latency"),
            "gateway,second,route,p50_ms,p90_ms,p99_ms,p999_ms,max_ms,requests");
  EXPECT_EQ(columns_of(path, "resources"),
            "gateway,at_ms,process,cpu_ms,rss_bytes,fds,client_connections,upstream_connections,"
            "time_wait");
  EXPECT_EQ(columns_of(path, "verdicts"), "name,gateway,expression,actual,passed,note");
  EXPECT_EQ(columns_of(path, "dropped"), "place,count,reason");
}

TEST(EventStore, ShowsARequestInMillisecondsFromTheStart) {
  RunMaker run;
  RequestDone request;
  request.request_id = RequestId("r1");
  request.at = at_ms(1500.25);
  request.latency = from_ms(42.5);
  request.client = intern("10.0.0.1");
  request.method = intern("GET");
  request.path = intern("/cart");
  request.route = intern("shop");
  request.upstream = intern("backend");
  request.status = 504;
  request.cause = Cause::response_timeout;
  request.retries_exhausted = true;
  request.attempts = 2;
  run.publish("as_was", request);
  EXPECT_EQ(rows_of(run.finish(), "SELECT * FROM requests"),
            "as_was|r1|1500.25|10.0.0.1|GET|/cart|shop|backend|504|response_timeout|1|42.5|2|NULL|"
            "NULL|1\n");
}

TEST(EventStore, ShowsTimesThatNeverCameAsNull) {
  RunMaker run;
  SendDone send;
  send.request_id = RequestId("s1");
  send.intended = at_ms(3);
  send.error = intern("connection refused");
  run.publish("as_was", send);
  EXPECT_EQ(rows_of(run.finish(), "SELECT * FROM sends"),
            "as_was|s1|NULL|3.0|NULL|NULL|NULL|0|connection refused\n");
}

TEST(EventStore, KeepsWhatAnAnswerShouldHaveBeen) {
  RunMaker run;
  run.send({.method = "POST", .path = "/order", .status = 201, .expected = 200, .body = false});
  EXPECT_EQ(rows_of(run.finish(),
                    "SELECT method, path, status, status_expected, body_as_expected FROM t_send"),
            "POST|/order|201|200|0\n");
}

TEST(EventStore, ShowsEveryOtherKindOfEvent) {
  RunMaker run;
  AttemptDone attempt;
  attempt.request_id = RequestId("r1");
  attempt.at = at_ms(1);
  attempt.latency = from_ms(2);
  attempt.upstream = intern("shop");
  attempt.endpoint = intern("127.0.0.1:9001");
  attempt.reused = true;
  attempt.connection_id = 7;
  attempt.connection_age = from_ms(900);
  attempt.connection_ordinal = 3;
  attempt.cause = Cause::stale_reuse;
  attempt.why_retried = intern("stale_reuse");
  attempt.phases.send = from_ms(0.5);
  attempt.phases.wait = from_ms(1.5);
  Transition transition{at_ms(4),       Transition::Kind::breaker, intern("shop"), intern("closed"),
                        intern("open"), intern("5 in a row")};
  ProbeDone probe{at_ms(5), intern("active"), intern("127.0.0.1:9001"), intern("timeout"),
                  from_ms(1)};
  ResourceSample sample;
  sample.at = at_ms(6);
  sample.process = intern("gateway");
  sample.cpu = from_ms(12);
  sample.rss_bytes = 1024;
  run.publish("g", attempt)
      .publish("g", transition)
      .publish("g", probe)
      .publish("g", Eviction{at_ms(5), intern("shop"), intern("127.0.0.1:9001"), 7,
                             intern("peer_closed"), from_ms(900), 3})
      .publish("g", sample)
      .execution("g", "POST", "k1")
      .publish("g", Dropped{intern("capture"), intern("kernel buffer full"), 3});
  const std::string path = run.finish();
  EXPECT_EQ(
      rows_of(path, "SELECT * FROM attempts"),
      "g|r1|1|1.0|shop|127.0.0.1:9001|1|7|900.0|3|NULL|stale_reuse|2.0|stale_reuse|NULL|0.5|1.5|"
      "NULL\n");
  EXPECT_EQ(rows_of(path, "SELECT * FROM evictions"),
            "g|5.0|shop|127.0.0.1:9001|7|peer_closed|900.0|3\n");
  EXPECT_EQ(rows_of(path, "SELECT * FROM transitions"),
            "g|4.0|breaker|shop|closed|open|5 in a row\n");
  EXPECT_EQ(rows_of(path, "SELECT * FROM probes"), "g|5.0|active|127.0.0.1:9001|timeout|1.0\n");
  EXPECT_EQ(rows_of(path, "SELECT * FROM resources"), "g|6.0|gateway|12.0|1024|0|0|0|0\n");
  EXPECT_EQ(rows_of(path, "SELECT * FROM executions"), "g|k1|k1|NULL|0.0|POST|NULL\n");
  EXPECT_EQ(rows_of(path, "SELECT * FROM dropped"), "capture|3|kernel buffer full\n");
}

TEST(EventStore, CountsAFaultsHitsInTheWindowBegunByThen) {
  RunMaker run;
  const auto window = [&run](double from, double until) {
    run.publish("g", FaultWindow{at_ms(from), at_ms(until), intern("slow"), intern("latency"),
                                 intern("origin")});
  };
  const auto hit = [&run](std::string_view gateway, std::string_view fault, double at) {
    FaultHit event;
    event.at = at_ms(at);
    event.fault = intern(fault);
    run.publish(gateway, event);
  };
  window(100, 200);
  window(500, 600);
  hit("g", "slow", 150);
  hit("g", "slow", 210);  // planned before the end, observed after it
  hit("g", "slow", 500);
  hit("g", "other", 150);
  hit("h", "slow", 150);
  EXPECT_EQ(rows_of(run.finish(), "SELECT at_ms, until_ms, name, hits FROM faults"),
            "100.0|200.0|slow|2\n500.0|600.0|slow|1\n");
}

TEST(EventStore, CountsEachSecondByRouteStatusAndCause) {
  RunMaker run;
  run.request({.at = 100}, 3)
      .request({.at = 900, .status = 504, .cause = Cause::response_timeout, .attempts = 2}, 2)
      .request({.at = 999, .status = 429, .cause = Cause::rate_limited, .attempts = 0})
      .request({.at = 1000});
  EXPECT_EQ(rows_of(run.finish(), "SELECT * FROM per_second"),
            "g|0|shop|200|ok|3|3\n"
            "g|0|shop|429|rate_limited|1|0\n"
            "g|0|shop|504|response_timeout|2|4\n"
            "g|1|shop|200|ok|1|1\n");
}

TEST(EventStore, KeepsEachSecondsLatenciesAsAHistogramThatCanBeReadBack) {
  RunMaker run;
  run.request({.latency = 10}, 99).request({.latency = 800});
  const std::string path = run.finish();
  EXPECT_EQ(rows_of(path,
                    "SELECT second, route, round(p50_ms), round(p999_ms), max_ms, requests "
                    "FROM latency"),
            "0|shop|10.0|800.0|800.0|100\n");
  EXPECT_EQ(rows_of(path, "SELECT hex(substr(histogram, 1, 4)) FROM t_latency"), "1C849314\n");
}

TEST(EventStore, WritesTheSameFileForTheSameEvents) {
  const auto dump = [](const std::string& path) {
    std::string all;
    for (const char* view : {"run", "requests", "sends", "per_second", "latency", "executions"}) {
      all += rows_of(path, std::string("SELECT * FROM ") + view);
    }
    return all + rows_of(path, "SELECT hex(histogram) FROM t_latency");
  };
  const auto play = [](RunMaker& run) {
    run.request({.route = "b"}, 5).request({.route = "a", .latency = 30}, 5).send({}, 3);
    return run.finish();
  };
  RunMaker first;
  const std::string once = dump(play(first));
  // Names that were interned in another order must not show.
  static_cast<void>(intern("zzz-other-order"));
  RunMaker second;
  EXPECT_EQ(once, dump(play(second)));
}

TEST(EventStore, IsValidOnlyOnceItIsFinished) {
  RunMaker run;
  run.request({});
  ASSERT_TRUE(run.store().flush());
  EXPECT_EQ(valid_of(run.path()), "");
  EXPECT_EQ(rows_of(run.path(), "SELECT count(*) FROM requests"), "1\n") << "readable meanwhile";
  run.finish();
  EXPECT_EQ(valid_of(run.path()), "1\n");
}

TEST(EventStore, LeavesWhatWasCommittedWhenItIsKilled) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.db");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto store = EventStore::create(path);
    RequestDone request;
    (*store)->publish(Event{intern("g"), request});
    static_cast<void>((*store)->flush());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Result<Judgement> judgement = read_judgement(path);
  ASSERT_TRUE(judgement) << judgement.error().message;
  EXPECT_FALSE(judgement->valid);
  EXPECT_EQ(rows_of(path, "SELECT count(*) FROM requests"), "1\n");
}

TEST(EventStore, NamesAGatewayThatHasNoName) {
  RunMaker run;
  run.request({.gateway = ""});
  const std::string path = run.finish();
  EXPECT_EQ(rows_of(path, "SELECT gateway FROM requests"), "gateway\n");
  EXPECT_EQ(rows_of(path, "SELECT gateway FROM per_second"), "gateway\n");
  EXPECT_EQ(rows_of(path, "SELECT gateway FROM latency"), "gateway\n");
}

// A file may not grow beyond a limit, as if the disk were full: for every limit the run either
// ends with one clear error and without its mark, or is whole.
TEST(EventStore, FailsClearlyWhereverTheDiskIsFull) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  int failed = 0;
  bool whole = false;
  for (rlim_t limit = 4096; !whole && limit < (rlim_t{64} << 20U); limit += limit / 4 + 4096) {
    const TemporaryFolder folder;
    const std::string path = folder.file("run.db");
    const rlimit full{limit, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
    Result<void> result;
    {
      Result<std::unique_ptr<EventStore>> store = EventStore::create(path);
      if (store) {
        for (int i = 0; i < 3000; ++i) {
          RequestDone request;
          request.request_id = RequestId("r" + std::to_string(i));
          request.at = at_ms(i);
          (*store)->publish(Event{intern("g"), request});
          if (i % 500 == 0) static_cast<void>((*store)->flush());
        }
        result = (*store)->finish();
      } else {
        result = store.error();
      }
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    whole = result.has_value();
    if (!whole) {
      ++failed;
      EXPECT_EQ(result.error().code, ErrorCode::outside) << limit;
      EXPECT_NE(result.error().message.find("cannot write " + path), std::string::npos)
          << result.error().message;
      const Result<Judgement> judgement = read_judgement(path);
      EXPECT_FALSE(judgement && judgement->valid) << "looks whole at " << limit;
    }
  }
  std::signal(SIGXFSZ, ignored);
  EXPECT_TRUE(whole);
  EXPECT_GT(failed, 10);
}

// The log holds everything by then, but the file itself cannot grow to take it.
TEST(EventStore, DoesNotLookWholeIfItsLogCannotBeFoldedIn) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.db");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{rlim_t{11} << 20U, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  Result<void> result;
  {
    const auto store = EventStore::create(path).value();
    RequestDone request;
    request.path = intern("/" + std::string(200, 'p'));
    for (int i = 0; i < 50'000; ++i) {
      store->publish(Event{intern("g"), request});
      if (i % 500 == 0) {
        ASSERT_TRUE(store->flush()) << "the log is folded in now and then, and stays small";
      }
    }
    result = store->finish();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::outside);
  const Result<Judgement> judgement = read_judgement(path);
  EXPECT_FALSE(judgement && judgement->valid);
}

TEST(EventStore, LeavesNothingBesideTheFile) {
  RunMaker run;
  run.request({}, 10);
  run.finish();
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run.folder().path())) {
    names.insert(entry.path().filename());
  }
  EXPECT_EQ(names, std::set<std::string>{"run.db"});
}

TEST(EventStore, SaysWhyARunIsNoEvidence) {
  RunMaker run;
  run.store().invalidate("the load generator was saturated");
  run.publish("g", Dropped{intern("recorder"), intern("queue full"), 12});
  const std::string path = run.finish();
  EXPECT_EQ(valid_of(path), "0\n");
  EXPECT_EQ(rows_of(path, "SELECT value FROM run WHERE key = 'invalid_because'"),
            "the load generator was saturated\n12 lost at recorder: queue full\n");
}

TEST(EventStore, HoldsFactsWithTheirTypesAndNoWallClockOfItsOwn) {
  RunMaker run;
  run.store().set_run("name", "inc-1");
  run.store().set_run("seed", 7);
  run.store().set_run("seed", 8);
  run.request({.at = 100, .latency = 50});
  EXPECT_EQ(rows_of(run.finish(), "SELECT key, value, typeof(value) FROM run"),
            "name|inc-1|text\nseed|8|integer\nduration_ms|150.0|real\nvalid|1|integer\n");
}

TEST(EventStore, ReplacesAnEarlierRunButNothingElse) {
  RunMaker run;
  run.request({});
  const std::string path = run.finish();
  EXPECT_TRUE(EventStore::create(path));

  const std::string precious = run.folder().file("precious.txt");
  std::ofstream(precious) << "not a database";
  const auto refused = EventStore::create(precious);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_NE(refused.error().message.find("is not a run.db, so it is not overwritten"),
            std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(precious), 14U);
}

TEST(EventStore, RefusesAFolderAndAFolderThatIsMissing) {
  const TemporaryFolder folder;
  const auto directory = EventStore::create(folder.path());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::usage);
  const auto missing = EventStore::create(folder.file("no/such/run.db"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::outside);
  EXPECT_NE(missing.error().message.find("does its folder exist"), std::string::npos);
}

TEST(EventStore, CompactingLosesNothing) {
  Tally tally;
  Tally reference;
  for (int second = 0; second < 60; ++second) {
    RequestDone request;
    request.at = at_ms(second * 1000);
    request.latency = from_ms(1 + second);
    for (Tally* each : {&tally, &reference}) {
      each->count(intern("g"), request);
      request.at = at_ms(0);  // a late one, for a second that is packed by then
      each->count(intern("g"), request);
      request.at = at_ms(second * 1000);
    }
    tally.compact();
  }
  std::vector<std::string> packed;
  std::vector<std::string> expected;
  tally.for_each_latency([&](const Tally::Latency& latency) {
    packed.push_back(std::to_string(latency.second) + encode_hdr(latency.histogram) +
                     std::to_string(latency.histogram.max().count()));
  });
  reference.for_each_latency([&](const Tally::Latency& latency) {
    expected.push_back(std::to_string(latency.second) + encode_hdr(latency.histogram) +
                       std::to_string(latency.histogram.max().count()));
  });
  EXPECT_EQ(packed.size(), 60U);
  EXPECT_EQ(packed, expected);
}

}  // namespace
}  // namespace gatedrill::reports
