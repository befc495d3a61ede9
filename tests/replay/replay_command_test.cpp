#include "replay/replay_command.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "replay/recording_writer.hpp"
#include "tests/support/recorded.hpp"
#include "tests/support/scripted_peer.hpp"

namespace gatedrill::replay {
namespace {

using testing::always_answer;
using ::testing::HasSubstr;
using testing::recorded;
using testing::ScriptedPeer;
using ::testing::SizeIs;

using std::chrono::milliseconds;

class ReplayCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("replay_command_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::vector<RecordedExchange>& exchanges) {
    std::string path = (folder_ / "traffic.db").string();
    auto writer = RecordingWriter::create(path, {});
    EXPECT_TRUE(writer) << writer.error().message;
    for (const RecordedExchange& exchange : exchanges)
      EXPECT_TRUE(writer->add(exchange));
    EXPECT_TRUE(writer->finish({}));
    return path;
  }

  // The exit status; what it printed is in out_ and err_.
  int run(std::vector<std::string> arguments) {
    CLI::App app;
    int status = -1;
    const SinkFactory sinks =
        [this](const std::string& path) -> Result<std::unique_ptr<EventSink>> {
      ++opened_;
      if (path == "full.db") return outside_error("full.db: the disk is full");
      return std::unique_ptr<EventSink>(std::make_unique<Collector>(sends_, dropped_));
    };
    add_replay_command(app, sinks, status);
    arguments.insert(arguments.begin(), "replay");
    std::reverse(arguments.begin(), arguments.end());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      err_ = error.what();
      status = 2;
    }
    out_ = ::testing::internal::GetCapturedStdout();
    err_ += ::testing::internal::GetCapturedStderr();
    return status;
  }

  static std::string url(const ScriptedPeer& peer) {
    return "http://127.0.0.1:" + std::to_string(peer.port());
  }

  struct Collector final : EventSink {
    Collector(std::vector<SendDone>& the_sends, std::vector<Dropped>& the_dropped)
        : sends(the_sends), dropped(the_dropped) {}

    void publish(const Event& event) noexcept override {
      if (const auto* send = std::get_if<SendDone>(&event.body)) sends.push_back(*send);
      if (const auto* drop = std::get_if<Dropped>(&event.body)) dropped.push_back(*drop);
    }

    std::vector<SendDone>& sends;
    std::vector<Dropped>& dropped;
  };

  std::filesystem::path folder_;
  std::vector<SendDone> sends_;
  std::vector<Dropped> dropped_;
  int opened_ = 0;
  std::string out_;
  std::string err_;
};

TEST_F(ReplayCommandTest, ReplaysARecordingAndSaysHowWell) {
  ScriptedPeer peer(always_answer("hello"));
  const std::string path = write({recorded(1, {}), recorded(2, milliseconds{30})});
  EXPECT_EQ(
      run({path, "--to", url(peer), "--speed", "2x", "--compare", "recorded", "-o", "run.db"}), 0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("2 requests in"));
  EXPECT_THAT(out_, HasSubstr("answered     2 whole, 0 failed\n"));
  EXPECT_THAT(out_, HasSubstr("begun late   p50 "));
  EXPECT_THAT(
      out_,
      HasSubstr("compared     2 with the recorded answer: 0 of another status, 0 of another"));
  ASSERT_THAT(sends_, SizeIs(2));
  EXPECT_EQ(sends_[1].intended - sends_[0].intended, milliseconds{15});
}

TEST_F(ReplayCommandTest, AmplifiesToARate) {
  ScriptedPeer peer(always_answer("hello"));
  const std::string path = write({recorded(1, {}), recorded(2, milliseconds{30})});
  EXPECT_EQ(
      run({path, "--to", url(peer), "--rate", "200/s", "--duration", "200ms", "-o", "run.db"}), 0)
      << err_;
  EXPECT_THAT(sends_, SizeIs(40));
}

TEST_F(ReplayCommandTest, DifferencesAreExitStatusOneOnlyWhenAskedFor) {
  ScriptedPeer peer(always_answer("hello"));
  auto other = recorded(2, milliseconds{1}, 2, "/b?c=d");
  other.response->status = 503;
  const std::string path = write({recorded(1, {}, 1, "/a", "other"), other});
  EXPECT_EQ(run({path, "--to", url(peer)}), 0) << err_;
  EXPECT_EQ(run({path, "--to", url(peer), "--compare", "recorded"}), 1) << err_;
  EXPECT_THAT(out_, HasSubstr("  c0-1 GET /a: another body\n"));
  EXPECT_THAT(out_, HasSubstr("  c0-2 GET /b: status 200, recorded 503\n"));
}

TEST_F(ReplayCommandTest, PrintsTheSummaryAsJson) {
  ScriptedPeer peer(always_answer("hello"));
  auto tunnel = recorded(2, {}, 2, "shop:443");
  tunnel.request->method = "CONNECT";
  const std::string path = write({recorded(1, {}, 1, "/\xff", "other"), tunnel});
  EXPECT_EQ(run({path, "--to", url(peer), "--compare", "recorded", "--json"}), 1) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["requests"], 1);
  EXPECT_EQ(json["valid"], true);
  EXPECT_EQ(json["body_differs"], 1);
  EXPECT_EQ(json["not_replayed"]["connect_method"], 1);
  EXPECT_EQ(json["first_differences"][0]["request_id"], "c0-1");
}

TEST_F(ReplayCommandTest, ATargetOutOfReachIsSaidAtOnce) {
  const std::string path = write({recorded(1, {})});
  const std::string to = "127.0.0.1:" + std::to_string(testing::unused_port());
  EXPECT_EQ(run({path, "--to", to}), 3);
  EXPECT_THAT(err_,
              HasSubstr("gatedrill replay: cannot connect to " + to + ": Connection refused"));
}

TEST_F(ReplayCommandTest, LeavesNoRunBehindWhereNothingWasReplayed) {
  const std::string to = "127.0.0.1:" + std::to_string(testing::unused_port());
  EXPECT_EQ(run({write({recorded(1, {})}), "--to", to, "-o", "run.db"}), 3);
  EXPECT_EQ(opened_, 0);
}

TEST_F(ReplayCommandTest, AMissingRecordingAndAFullDiskAreOutside) {
  ScriptedPeer peer(always_answer("hello"));
  EXPECT_EQ(run({(folder_ / "none.db").string(), "--to", url(peer)}), 3);
  EXPECT_THAT(err_, HasSubstr("none.db"));
  EXPECT_EQ(run({write({recorded(1, {})}), "--to", url(peer), "-o", "full.db"}), 3);
  EXPECT_THAT(err_, HasSubstr("gatedrill replay: full.db: the disk is full"));
}

TEST_F(ReplayCommandTest, ARecordingWithoutRequestsIsNoEvidence) {
  auto tunnel = recorded(1, {}, 1, "shop:443");
  tunnel.request->method = "CONNECT";
  EXPECT_EQ(run({write({tunnel}), "--to", "127.0.0.1:1"}), 4);
  EXPECT_THAT(err_, HasSubstr("holds no request that can be replayed: 1 connect_method"));
}

TEST_F(ReplayCommandTest, WrongUsageSaysWhatIsExpected) {
  struct Row {
    std::vector<std::string> arguments;
    const char* text;
  };

  const std::string path = write({recorded(1, {})});
  for (const Row& row :
       {Row{{"--to", "127.0.0.1"}, "--to: expected"},
        Row{{"--to", "https://a"}, "https is not supported"},
        Row{{"--to", "http://a/b"}, "give only http://host:port"},
        Row{{"--to", "a:1", "--speed", "fast"}, "--speed: expected a factor such as 2x"},
        Row{{"--to", "a:1", "--rate", "100"}, "--rate: expected a rate"},
        Row{{"--to", "a:1", "--rate", "100/s"}, "for how long"},
        Row{{"--to", "a:1", "--duration", "5"}, "--duration: expected a duration"},
        Row{{"--to", "a:1", "--timeout", "0s"}, "--timeout: must be more than 0"},
        Row{{"--to", "a:1", "--compare", "yesterday"}, "recorded"}, Row{{}, "--to is required"}}) {
    auto arguments = row.arguments;
    arguments.insert(arguments.begin(), path);
    EXPECT_EQ(run(arguments), 2) << row.text;
    EXPECT_THAT(err_, HasSubstr(row.text));
  }
}

TEST_F(ReplayCommandTest, AnInterruptEndsEarlyAndStillTells) {
  ScriptedPeer peer([](testing::PeerSocket& socket, int) {
    if (socket.read_request().empty()) return;  // the client looked whether anybody is there
    raise(SIGINT);
    socket.send(testing::answer_of(200, "hello"));
    socket.read_request();
  });
  const std::string path = write({recorded(1, {}), recorded(2, std::chrono::hours{1})});
  EXPECT_EQ(run({path, "--to", url(peer), "-o", "run.db"}), 4) << err_;
  EXPECT_THAT(out_, HasSubstr("1 requests in"));
  EXPECT_THAT(out_, HasSubstr("interrupted"));
  EXPECT_THAT(out_, HasSubstr("not sent     1\n"));
  EXPECT_THAT(err_, HasSubstr("interrupted, 1 requests were not sent"));
  EXPECT_THAT(sends_, SizeIs(1));
  ASSERT_THAT(dropped_, SizeIs(1));
  EXPECT_EQ(dropped_[0].count, 1U);
  EXPECT_EQ(name_of(dropped_[0].reason), "interrupted");
}

}  // namespace
}  // namespace gatedrill::replay
