// A capture into its files: what is left out, how files follow each other, and that nothing is lost
// between them. Time is the test's.
#include "replay/capture/record.hpp"

#include <atomic>
#include <deque>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/recording.hpp"
#include "tests/support/pcap_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class TestClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }

  [[nodiscard]] UnixTime unix_time(TimePoint at) const override {
    return {1'700'000'000'000'000'000 + at.time_since_epoch().count()};
  }

  void pass(Duration duration) { now_ += duration; }

 private:
  TimePoint now_{};
};

// Frames, and times that pass between them.
class TimedSource final : public PacketSource {
 public:
  explicit TimedSource(TestClock& clock) : clock_(clock) {}

  void give(const std::vector<tests::Frame>& frames) {
    for (const tests::Frame& frame : frames)
      steps_.emplace_back(frame);
  }

  void pass(Duration duration) { steps_.emplace_back(duration); }

  [[nodiscard]] std::size_t left() const { return steps_.size(); }

  Result<Next> next(Packet& packet) override {
    if (steps_.empty() && stops_before_end) stop_asked = true;
    if (steps_.empty()) return stops_before_end ? Next::quiet : Next::end;
    const auto step = std::move(steps_.front());
    steps_.pop_front();
    if (const auto* duration = std::get_if<Duration>(&step)) {
      clock_.pass(*duration);
      return Next::quiet;
    }
    frame_ = std::get<tests::Frame>(step);
    packet = {frame_.at, frame_.bytes, frame_.wire(), 1};
    return Next::packet;
  }

  [[nodiscard]] Drops drops() const override { return drops_now; }

  [[nodiscard]] std::uint64_t offset() const override { return 4711; }

  Drops drops_now{};
  bool stops_before_end = false;
  std::atomic<bool> stop_asked{false};

 private:
  TestClock& clock_;
  std::deque<std::variant<tests::Frame, Duration>> steps_;
  tests::Frame frame_;
};

class RecordTest : public ::testing::Test {
 protected:
  RecordTest() {
    std::string pattern = ::testing::TempDir() + "record-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    options_.live = true;
  }

  ~RecordTest() override { fs::remove_all(folder_); }

  RecordReport run() {
    auto files = RecordingFiles::create((folder_ / "t.db").string(), {}, rotation_,
                                        clock_.unix_time(clock_.now()));
    return record(source_, std::move(files.value()), options_, clock_, source_.stop_asked, {})
        .value();
  }

  static std::vector<RecordedExchange> exchanges(const std::string& file) {
    return Recording::open(file).value().read_all().value();
  }

  static LedgerLine ledger(const std::string& file, const std::string& what) {
    for (const LedgerLine& line : Recording::open(file).value().ledger().value()) {
      if (line.what == what) return line;
    }
    return {};
  }

  [[nodiscard]] std::size_t files_there() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
  TestClock clock_;
  TimedSource source_{clock_};
  Rotation rotation_;
  RecordOptions options_;
};

std::vector<tests::Frame> between(const tests::Conversation& talk,
                                  std::size_t from,
                                  std::size_t to) {
  const auto& all = talk.frames();
  return {all.begin() + static_cast<std::ptrdiff_t>(from),
          all.begin() + static_cast<std::ptrdiff_t>(to)};
}

TEST_F(RecordTest, AFileThatWasReadInPartOnRequestSaysHowFar) {
  options_.live = false;
  source_.stops_before_end = true;
  tests::Conversation talk;
  talk.handshake();
  talk.client("GET /first HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 204 No Content\r\n\r\n");
  source_.give(talk.frames());
  const RecordReport report = run();
  EXPECT_EQ(report.ledger.stopped_at, 4711U);
  ASSERT_EQ(report.files.size(), 1U);
  EXPECT_EQ(exchanges(report.files[0]).size(), 1U);
  EXPECT_EQ(ledger(report.files[0], "stopped early").bytes, 4711U);
}

TEST_F(RecordTest, AnExchangeThatStraddlesFilesIsWholeInOneAndTheSumsGoOn) {
  tests::Conversation talk;
  talk.handshake();
  talk.client("GET /first HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 204 No Content\r\n\r\n");
  talk.client("GET /second HTTP/1.1\r\n");
  const std::size_t cut = talk.frames().size();
  talk.client("Host: shop\r\n\r\n");
  talk.server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  talk.close();
  source_.give(between(talk, 0, cut));
  source_.pass(2s);
  source_.give(between(talk, cut, talk.frames().size()));
  rotation_.every = 1s;
  const RecordReport report = run();
  ASSERT_EQ(report.files.size(), 2U);
  EXPECT_EQ(report.exchanges, 2U);
  EXPECT_TRUE(report.ledger.open_sums().empty());
  const auto first = exchanges(report.files[0]);
  const auto second = exchanges(report.files[1]);
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(first[0].request->target, "/first");
  EXPECT_EQ(second[0].request->target, "/second");
  EXPECT_EQ(second[0].response->body, "hello");
  // What each has read, and no more; the beginning of the second request waits in between.
  EXPECT_EQ(ledger(report.files[0], "packets").count, cut);
  EXPECT_EQ(ledger(report.files[1], "packets").count, talk.frames().size() - cut);
  EXPECT_EQ(ledger(report.files[0], "requests complete").count, 1U);
  EXPECT_EQ(ledger(report.files[1], "requests complete").count, 1U);
  EXPECT_EQ(ledger(report.files[0], "for the next file: delivered").bytes,
            ledger(report.files[1], "from the file before: delivered").bytes);
}

TEST_F(RecordTest, ALimitThatOnlyASilenceReachesEndsItInTheSilence) {
  tests::Conversation talk;
  talk.handshake();
  talk.client("GET /holed HTTP/1.1\r\n\r\n");
  talk.server("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nhello");
  talk.server("lost-bytes");
  talk.server("behind");
  std::vector<tests::Frame> frames = talk.frames();
  std::erase_if(frames, [](const tests::Frame& frame) {
    return frame.bytes.find("lost-bytes") != std::string::npos;
  });
  source_.give(frames);
  for (int i = 0; i < 10; ++i)
    source_.pass(500ms);
  options_.exchanges = 1;
  const RecordReport report = run();
  EXPECT_EQ(report.exchanges, 1U);
  EXPECT_EQ(source_.left(), 5U) << "a second for the bytes, another for a packet that is late";
  ASSERT_EQ(report.files.size(), 1U);
  EXPECT_EQ(exchanges(report.files[0])[0].response->body, "hello");
  EXPECT_EQ(ledger(report.files[0], "lost: gap").bytes, 10U);
}

TEST_F(RecordTest, OnlyTheNewestFilesAreKeptAndEachNameSaysWhenItBegan) {
  rotation_.every = 1s;
  rotation_.keep = 3;
  for (std::uint16_t i = 0; i < 10; ++i) {
    tests::Conversation::Options one;
    one.client_port = static_cast<std::uint16_t>(41'000 + i);
    tests::Conversation talk(one);
    talk.handshake();
    talk.client("GET / HTTP/1.1\r\n\r\n");
    talk.server("HTTP/1.1 204 No Content\r\n\r\n");
    talk.close();
    source_.give(talk.frames());
    source_.pass(1s);
  }
  const RecordReport report = run();
  EXPECT_EQ(report.exchanges, 10U);
  ASSERT_EQ(report.files.size(), 3U);
  EXPECT_EQ(files_there(), 3U);
  EXPECT_THAT(report.files[0], ::testing::HasSubstr("t-20231114T221328Z-9.db"));
  for (const std::string& file : report.files)
    EXPECT_TRUE(Recording::open(file)) << file;
}

TEST_F(RecordTest, RequestsOfAReplayOfOursAreCountedAndNotRecorded) {
  options_.leave_out_replays = true;
  const std::string replayed = "GET /again HTTP/1.1\r\nx-gatedrill-exchange: 7\r\n\r\n";
  const std::string own = "GET /own HTTP/1.1\r\n\r\n";
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  std::uint16_t port = 42'000;
  for (const auto& requests : std::vector<std::vector<std::string>>{
           {replayed, replayed}, {own}, {own, replayed}, {replayed, own}}) {
    tests::Conversation::Options one;
    one.client_port = port++;
    tests::Conversation talk(one);
    talk.handshake();
    for (const std::string& request : requests) {
      talk.client(request);
      talk.server(answer);
    }
    talk.close();
    source_.give(talk.frames());
  }
  const RecordReport report = run();
  EXPECT_EQ(report.exchanges, 3U);
  ASSERT_EQ(report.files.size(), 1U);
  for (const RecordedExchange& exchange : exchanges(report.files[0]))
    EXPECT_EQ(exchange.request->target, "/own");
  EXPECT_EQ(ledger(report.files[0], "own replays left out").count, 4U);
  EXPECT_EQ(ledger(report.files[0], "own replays left out").bytes, 20U);
  EXPECT_EQ(ledger(report.files[0], "own replays left out: connections").count, 1U);
  EXPECT_EQ(Recording::open(report.files[0]).value().connections().value().size(), 3U);
}

TEST_F(RecordTest, LossesOfAReplayOfOursAreLeftOutWithIt) {
  options_.leave_out_replays = true;
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello";
  std::uint16_t port = 42'000;
  for (const std::string field : {"x-gatedrill-exchange: 7\r\n", ""}) {
    tests::Conversation::Options one;
    one.client_port = port++;
    tests::Conversation talk(one);
    talk.handshake();
    talk.client("GET / HTTP/1.1\r\n" + field + "\r\n");
    talk.server(answer);
    talk.close();
    source_.give(talk.frames());
  }
  const RecordReport report = run();
  const auto recording = Recording::open(report.files[0]);
  const auto losses = recording->losses().value();
  ASSERT_EQ(losses.size(), 1U);
  ASSERT_EQ(recording->connections()->size(), 1U);
  EXPECT_EQ(losses[0].connection, recording->connections().value()[0].connection);
  EXPECT_EQ(ledger(report.files[0], "lost: closed_early").count, 2U) << "the account has both";
}

TEST_F(RecordTest, DropsAreInTheLedger) {
  tests::Conversation talk;
  talk.handshake();
  talk.client("GET / HTTP/1.1\r\n\r\n");
  source_.give(talk.frames());
  source_.drops_now = {11, 12, 13};
  const RecordReport report = run();
  EXPECT_EQ(ledger(report.files[0], "kernel drops").count, 11U);
  EXPECT_EQ(ledger(report.files[0], "interface drops").count, 12U);
  EXPECT_EQ(ledger(report.files[0], "queue drops").count, 13U);
}

TEST_F(RecordTest, WithoutAPacketThereIsNoFile) {
  const RecordReport report = run();
  EXPECT_TRUE(report.files.empty());
  EXPECT_EQ(files_there(), 0U);
}

}  // namespace
}  // namespace gatedrill::replay::capture
