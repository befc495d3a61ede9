// The access log: its line, and what becomes of lines when the disk does not do as it should.
#include "gateway/proxy/access_log.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/proxy/access_line.hpp"

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Access : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }

  void TearDown() override { std::filesystem::remove(path_); }

  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::string path_ = ::testing::TempDir() + "access-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Access, ALineTellsTheRequestAndEachAttemptWithItsPhases) {
  AttemptDone dead;
  dead.at = TimePoint{1ms};
  dead.endpoint = intern("127.0.0.1:9001");
  dead.reused = true;
  dead.connection_id = 7;
  dead.connection_ordinal = 3;
  dead.connection_age = 2s;
  dead.cause = Cause::stale_reuse;
  dead.phases.send = 250us;
  dead.phases.wait = 0us;
  dead.why_retried = intern("empty-response");
  AttemptDone slow;
  slow.at = TimePoint{2ms};
  slow.endpoint = intern("127.0.0.1:9002");
  slow.connection_id = 9;
  slow.connection_ordinal = 1;
  slow.cause = Cause::response_timeout;
  slow.phases = {1ms, 0us, 3s, PhaseTimes::kNotBegun};
  RequestDone request;
  request.request_id = RequestId("r-1");
  request.latency = 3003ms;
  request.client = intern("10.0.0.9");
  request.method = intern("GET");
  request.path = intern("/order");
  request.route = intern("order");
  request.upstream = intern("shop");
  request.status = 504;
  request.cause = Cause::response_timeout;
  request.retries_exhausted = true;
  request.attempts = 2;
  const std::vector<AttemptDone> attempts = {dead, slow};
  AccessEntry entry{request,        attempts,          UnixTime{1'796'033'400'123'456'789},
                    "shop.example", "/order?id=\"1\"", {}};
  entry.body_out = 43;
  std::string line;
  append_access_line(line, intern("edge"), entry);
  EXPECT_EQ(
      line,
      R"({"time":"2026-11-30T10:10:00.123Z","gateway":"edge","request_id":"r-1","client":"10.0.0.9",)"
      R"("method":"GET","host":"shop.example","target":"/order?id=\"1\"","route":"order",)"
      R"("upstream":"shop","status":504,"cause":"response_timeout","reason":null,"dropped_field":null,"limiter":null,)"
      R"("retries_exhausted":true,"proxy_status":"http_response_timeout","envoy_flag":"UT",)"
      R"("haproxy_state":"sH","body_in":0,"body_out":43,"latency_ms":3003.000,"attempts":[)"
      R"({"endpoint":"127.0.0.1:9001","after_ms":1.000,"status":null,"cause":"stale_reuse",)"
      R"("connection_id":7,"reused":true,"connection_ordinal":3,"connection_age_ms":2000.000,)"
      R"("connect_ms":null,"send_ms":0.250,"wait_ms":0.000,"receive_ms":null,)"
      R"("why_retried":"empty-response"},)"
      R"({"endpoint":"127.0.0.1:9002","after_ms":2.000,"status":null,"cause":"response_timeout",)"
      R"("connection_id":9,"reused":false,"connection_ordinal":1,"connection_age_ms":0.000,)"
      R"("connect_ms":1.000,"send_ms":0.000,"wait_ms":3000.000,"receive_ms":null,)"
      R"("why_retried":null}]})"
      "\n");
}

TEST_F(Access, WhateverBytesATargetHoldsTheLineStaysOneJsonText) {
  RequestDone request;
  AccessEntry entry{request, {}, UnixTime{}, {}, "/\n\\\xff\x01", "bare_lf"};
  entry.dropped_field = "user_id";
  std::string line;
  append_access_line(line, {}, entry);
  EXPECT_THAT(line, HasSubstr(R"("target":"/\u000a\\\u00ff\u0001")"));
  EXPECT_THAT(line, HasSubstr(R"("reason":"bare_lf","dropped_field":"user_id")"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST_F(Access, LinesAreAppendedAndAllAreThereWhenItIsClosed) {
  std::ofstream(path_) << "old\n";
  {
    const auto log = AccessLog::open(path_);
    ASSERT_TRUE(log);
    for (int i = 0; i < 5000; ++i)
      (*log)->write("a line of some length, number " + std::to_string(i) + "\n");
    EXPECT_EQ((*log)->lost().lines, 0U);
  }
  const std::string text = text_of(path_);
  EXPECT_TRUE(text.starts_with("old\na line of some length, number 0\n"));
  EXPECT_TRUE(text.ends_with("number 4999\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5001);
}

TEST_F(Access, AfterARotationLinesGoToANewFileAndNoneIsLost) {
  const std::string rotated = path_ + ".1";
  {
    const auto log = AccessLog::open(path_);
    ASSERT_TRUE(log);
    (*log)->write("before\n");
    std::filesystem::rename(path_, rotated);
    (*log)->reopen();
    while (!std::filesystem::exists(path_))
      std::this_thread::yield();
    (*log)->write("after\n");
  }
  EXPECT_EQ(text_of(rotated), "before\n");
  EXPECT_EQ(text_of(path_), "after\n");
  std::filesystem::remove(rotated);
}

TEST_F(Access, WhatAFullDiskTakesNotIsCounted) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const auto log = AccessLog::open("/dev/full");
  ASSERT_TRUE(log);
  (*log)->write("one\ntwo\n");
  (*log)->reopen();  // wakes the writer
  while ((*log)->lost().lines == 0)
    std::this_thread::yield();
  EXPECT_EQ((*log)->lost().lines, 2U);
  EXPECT_EQ((*log)->lost().reason, "No space left on device");
}

TEST_F(Access, AFileThatCannotBeOpenedIsNamed) {
  const auto log = AccessLog::open("/no/such/folder/access.log");
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("/no/such/folder/access.log"));
  EXPECT_EQ(exit_status(log.error().code), 3);
}

}  // namespace
}  // namespace gatedrill::gateway
