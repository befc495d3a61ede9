// `gatedrill capture` and `gatedrill traffic` as their users meet them: files, bad files, exit
// codes.
#include "replay/capture_command.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/content_coding.hpp"
#include "replay/recording.hpp"
#include "replay/recording_writer.hpp"
#include "replay/traffic_command.hpp"
#include "tests/support/http2_script.hpp"
#include "tests/support/pcap_builder.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/tls_talk.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CaptureCommandTest : public ::testing::Test {
 protected:
  CaptureCommandTest() {
    std::string pattern = ::testing::TempDir() + "capture-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  ~CaptureCommandTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  // The exit status; what was printed is in `out` and `err`.
  int run(const std::vector<std::string>& arguments) {
    testing::CommandRun done = testing::run_command(arguments, [](CLI::App& app, int& status) {
      add_capture_command(app, status);
      add_traffic_command(app, status);
    });
    out = std::move(done.out);
    err = std::move(done.err);
    return done.status;
  }

  int capture(const std::string& file) {
    return run({"capture", "-r", path(file), "-o", path("t.db")});
  }

  [[nodiscard]] bool nothing_left() const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().string().find("t.db") != std::string::npos) return false;
    }
    return true;
  }

  fs::path folder_;
  std::string out;
  std::string err;
};

std::vector<tests::Frame> shop() {
  tests::Conversation talk;
  talk.handshake();
  talk.client(
      "POST /login?token=t0psecret HTTP/1.1\r\nHost: shop\r\nCookie: sid=c00kie\r\n"
      "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 25\r\n\r\n"
      "user=ann&password=hunter2");
  talk.server(
      "HTTP/1.1 200 OK\r\nSet-Cookie: sid=c00kie2; Path=/\r\nContent-Length: 5\r\n\r\nhello");
  talk.client("GET /cart HTTP/1.1\r\nHost: shop\r\n\r\n");
  talk.server("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
  talk.close();
  return talk.frames();
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(CaptureCommandTest, AFileBecomesARecordingWithItsLedger) {
  write("shop.pcap", tests::pcap_file(shop()));
  EXPECT_EQ(capture("shop.pcap"), 0) << err;
  EXPECT_THAT(out, HasSubstr("2 exchanges in"));
  EXPECT_THAT(out, HasSubstr("requests complete"));
  EXPECT_EQ(run({"traffic", path("t.db")}), 0) << err;
  EXPECT_THAT(out, HasSubstr("2 exchanges: 2 requests, 2 answers; 0 not whole"));
  EXPECT_THAT(out, HasSubstr("GET shop/cart"));
  EXPECT_THAT(out, HasSubstr("fin by client"));
  EXPECT_EQ(run({"traffic", "show", path("t.db"), "1"}), 0) << err;
  EXPECT_THAT(out, HasSubstr("POST /login?token=redacted-"));
  EXPECT_THAT(out, HasSubstr("hello"));
  EXPECT_EQ(run({"traffic", "show", path("t.db"), "99"}), 2);
  EXPECT_THAT(err, HasSubstr("has no exchange 99"));
}

TEST_F(CaptureCommandTest, AnUnfinishedRecordingIsShownAndIsNoEvidence) {
  const pid_t child = fork();
  if (child == 0) {
    auto writer = RecordingWriter::create(path("t.db"), {});
    RecordedExchange exchange;
    exchange.request = RecordedRequest{.method = "GET", .target = "/cart", .version = "HTTP/1.1"};
    writer->add(exchange).value();
    writer->save().value();
    std::raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const std::string left = path("t.db.partial-" + std::to_string(child));
  EXPECT_EQ(run({"traffic", left}), 4);
  EXPECT_THAT(out, HasSubstr("1 exchanges"));
  EXPECT_THAT(out, HasSubstr("unfinished"));
  EXPECT_THAT(err, HasSubstr("is unfinished"));
}

TEST_F(CaptureCommandTest, SecretsReachTheFileOnlyOnRequest) {
  write("shop.pcap", tests::pcap_file(shop()));
  for (const bool keep : {false, true}) {
    std::vector<std::string> arguments = {"capture", "-r", path("shop.pcap"), "-o", path("t.db")};
    if (keep) arguments.push_back("--keep-secrets");
    ASSERT_EQ(run(arguments), 0) << err;
    const std::string file = bytes_of(path("t.db"));
    for (const auto secret : {"t0psecret", "c00kie", "hunter2"}) {
      EXPECT_EQ(file.find(secret) != std::string::npos, keep) << secret;
    }
  }
  EXPECT_THAT(err, HasSubstr("guard"));
}

TEST_F(CaptureCommandTest, RulesOnTheCommandLineHideMoreAndLess) {
  write("shop.pcap", tests::pcap_file(shop()));
  EXPECT_EQ(run({"capture", "-r", path("shop.pcap"), "-o", path("t.db"), "--redact-param", "user",
                 "--redact-field", "host", "--redact-allow", "sid"}),
            0);
  const auto first = Recording::open(path("t.db"))->find(1).value();
  EXPECT_THAT(first->request->body,
              ::testing::MatchesRegex("user=redacted-.*&password=redacted-.*"));
  EXPECT_THAT(value_of(first->request->fields, "Host"), ::testing::StartsWith("redacted-"));
  EXPECT_EQ(value_of(first->request->fields, "Cookie"), "sid=c00kie");
}

TEST_F(CaptureCommandTest, RecordingsUnderOneKeyHaveTheSamePseudonyms) {
  write("shop.pcap", tests::pcap_file(shop()));
  const auto cookie = [&](const std::string& key) {
    EXPECT_EQ(run({"capture", "-r", path("shop.pcap"), "-o", path("t.db"), "--redact-key", key}),
              0);
    return std::string(
        value_of(Recording::open(path("t.db"))->find(1).value()->request->fields, "Cookie"));
  };
  const std::string first = cookie(path("key"));
  EXPECT_EQ(cookie(path("key")), first);
  EXPECT_NE(cookie(path("other-key")), first);
  EXPECT_EQ(fs::file_size(path("key")), 32U);
  EXPECT_EQ(fs::status(path("key")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(CaptureCommandTest, RulesThatCannotBeFollowedAreRefusedBeforeAnythingIsWritten) {
  write("shop.pcap", tests::pcap_file(shop()));
  write("short-key", "too short");
  const auto refused = [&](const std::vector<std::string>& more, const std::string& text) {
    std::vector<std::string> arguments = {"capture", "-r", path("shop.pcap"), "-o", path("t.db")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run(arguments), 2) << text;
    EXPECT_THAT(err, HasSubstr(text));
    EXPECT_TRUE(nothing_left());
  };
  refused({"--redact-json", "user.name"}, "not understood at character 1");
  refused({"--redact-key", path("short-key")}, "is no key");
  refused({"--keep-secrets", "--redact-field", "x"}, "--keep-secrets hides nothing");
  // An option is no name: told with the usage, which is CLI11's to print.
  refused({"--redact-field=", "--keep-numbers"}, "");
  refused({"--redact-allow=--redact-key"}, "");
}

TEST_F(CaptureCommandTest, HolesBeyondTheAllowedShareMakeItNoEvidence) {
  tests::Conversation talk;
  talk.handshake();
  talk.client("GET /a HTTP/1.1\r\nHost: shop\r\n\r\n");
  talk.server("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + std::string(1000, 'a'));
  talk.server(std::string(1000, 'b'));
  talk.server(std::string(1000, 'c'));
  talk.close();
  std::vector<tests::Frame> frames = talk.frames();
  std::erase_if(frames, [](const tests::Frame& frame) {
    return frame.bytes.find("bbbb") != std::string::npos;
  });
  write("hole.pcap", tests::pcap_file(frames));
  EXPECT_EQ(capture("hole.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("1000 bytes are missing from " + path("hole.pcap")));
  EXPECT_THAT(err, HasSubstr("more than 1 %"));
  EXPECT_THAT(out, HasSubstr("lost: gap"));
  EXPECT_EQ(run({"traffic", path("t.db")}), 0);
  EXPECT_THAT(out, HasSubstr("losses, by reason"));
  EXPECT_THAT(out, HasSubstr("gap"));
  EXPECT_EQ(run({"capture", "-r", path("hole.pcap"), "-o", path("t.db"), "--allow-loss", "50"}), 0);
  EXPECT_EQ(run({"capture", "-r", path("hole.pcap"), "-o", path("t.db"), "--allow-loss", "101"}),
            2);
}

TEST_F(CaptureCommandTest, AMissingFileADirectoryAndAFileOfSomethingElseAreNamed) {
  EXPECT_EQ(capture("none.pcap"), 3);
  EXPECT_THAT(err, HasSubstr("none.pcap: No such file or directory"));
  fs::create_directory(path("folder"));
  EXPECT_EQ(capture("folder"), 2);
  EXPECT_THAT(err, HasSubstr("is a directory"));
  write("text.pcap", std::string(1000, 'x'));
  EXPECT_EQ(capture("text.pcap"), 2);
  EXPECT_THAT(err, HasSubstr("is not a capture file"));
  write("empty.pcap", "");
  EXPECT_EQ(capture("empty.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("is empty"));
  write("begun.pcap", tests::pcap_file({}).substr(0, 10));
  EXPECT_EQ(capture("begun.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("breaks off inside its header"));
  write("odd.pcap", tests::pcap_file(shop(), 147));
  EXPECT_EQ(capture("odd.pcap"), 2);
  EXPECT_THAT(err, HasSubstr("link type 147"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CaptureCommandTest, ATruncatedFileGivesWhatIsWholeAndSaysWhatIsCut) {
  const std::string whole = tests::pcap_file(shop());
  write("cut.pcap", whole.substr(0, whole.size() - 30));
  EXPECT_EQ(capture("cut.pcap"), 0);
  EXPECT_THAT(err, HasSubstr("its last 40 bytes are no whole packet"));
  EXPECT_THAT(out, HasSubstr("file end cut"));
  EXPECT_EQ(Recording::open(path("t.db"))->read_all()->size(), 2U);
  EXPECT_EQ(Recording::open(path("t.db"))->read_all()->at(0).tls, false);
}

TEST_F(CaptureCommandTest, ADamagedFileGivesWhatIsAroundTheDamageAndSaysWhatIsSkipped) {
  std::string bytes = tests::pcap_file(shop());
  constexpr std::size_t kFirst = 24;
  constexpr std::size_t kLength = 8;
  bytes.replace(kFirst + kLength, 4, "\xff\xff\xff\xff");  // of the SYN's record
  write("bad.pcap", bytes);
  EXPECT_EQ(capture("bad.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("is damaged in 1 place, 70 bytes, "));
  EXPECT_THAT(err, HasSubstr("byte 24: a packet of 4294967295 bytes is longer than any"));
  EXPECT_THAT(err, HasSubstr("--allow-loss"));
  EXPECT_THAT(out, HasSubstr("file damaged"));
  EXPECT_EQ(run({"capture", "-r", path("bad.pcap"), "-o", path("t.db"), "--allow-loss", "50"}), 0)
      << err;
  auto recording = Recording::open(path("t.db"));
  EXPECT_EQ(recording->read_all()->size(), 2U);
  ASSERT_EQ(recording->losses()->size(), 1U);
  EXPECT_EQ(recording->losses()->at(0).reason, "damaged_file");
  EXPECT_EQ(recording->losses()->at(0).bytes, 70U);
}

TEST_F(CaptureCommandTest, TheRestOfAFileThatMakesNoSenseCountsAsLost) {
  write("odd.pcap", tests::pcap_file(shop()) + std::string(100'000, '\x0a'));
  EXPECT_EQ(capture("odd.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("is damaged in 1 place, 100000 bytes, "));
  EXPECT_EQ(run({"capture", "-r", path("odd.pcap"), "-o", path("t.db"), "--allow-loss", "100"}), 0);
  auto recording = Recording::open(path("t.db"));
  EXPECT_EQ(recording->read_all()->size(), 2U);
  ASSERT_EQ(recording->losses()->size(), 1U);
  EXPECT_EQ(recording->losses()->at(0).reason, "damaged_file");
  EXPECT_EQ(recording->losses()->at(0).bytes, 100'000U);
}

TEST_F(CaptureCommandTest, APackedFileThatBreaksOffIsNoEvidenceSinceNobodyKnowsTheRest) {
  const std::string packed = *encode_content(tests::pcap_file(shop()), "gzip");
  write("cut.pcap.gz", packed.substr(0, packed.size() - 12));
  EXPECT_EQ(capture("cut.pcap.gz"), 4);
  EXPECT_THAT(err, HasSubstr("its gzip data break off; how much is missing cannot be told, which "
                             "--allow-loss 100 takes"));
  EXPECT_THAT(out, HasSubstr("file: a rest that is not known"));
  EXPECT_THAT(Recording::open(path("t.db"))->losses().value(),
              ::testing::Contains(::testing::Field(&RecordedLoss::reason, "damaged_file")));
  EXPECT_EQ(run({"capture", "-r", path("cut.pcap.gz"), "-o", path("t.db"), "--allow-loss", "100"}),
            0);
  EXPECT_THAT(err, HasSubstr("how much is missing cannot be told\n"));
}

TEST_F(CaptureCommandTest, FilesInARowAreOne) {
  tests::Conversation other({.client_port = 40001});
  other.handshake();
  other.client("GET /other HTTP/1.1\r\nHost: shop\r\n\r\n");
  other.server("HTTP/1.1 204 No Content\r\n\r\n");
  other.close();
  write("row.pcap", tests::pcap_file(shop()) + tests::pcap_file(other.frames()));
  EXPECT_EQ(capture("row.pcap"), 0) << err;
  EXPECT_EQ(Recording::open(path("t.db"))->read_all()->size(), 3U);
  EXPECT_TRUE(Recording::open(path("t.db"))->losses()->empty());
}

// Each sends a part of a head and is silent; those that talk afterwards are recorded all the same.
TEST_F(CaptureCommandTest, MoreConnectionsThanCanBeFollowedAreALoss) {
  std::vector<tests::Frame> frames;
  constexpr std::uint32_t kMost = 65'536;
  const auto add = [&](const tests::SegmentSpec& spec) {
    const auto number = static_cast<std::int64_t>(frames.size());
    frames.push_back(
        {UnixTime{1'700'000'000'000'000'000 + number * 1000}, tests::ipv4_packet(spec), 0, 101});
  };
  for (std::uint32_t i = 0; i < kMost + 100; ++i) {
    tests::SegmentSpec spec{.source_ip = 0x0b000000 + i, .seq = 99, .syn = true, .has_ack = false};
    add(spec);
    spec.syn = false;
    spec.has_ack = true;
    spec.seq = 100;
    spec.payload = "GET /a HTTP/1.1\r\n";
    add(spec);
  }
  tests::Conversation last;
  last.wait(std::chrono::minutes(1));
  last.handshake();
  last.client("GET /last HTTP/1.1\r\nHost: shop\r\n\r\n");
  last.server("HTTP/1.1 204 No Content\r\n\r\n");
  for (tests::Frame frame : last.frames()) {
    frame.bytes.erase(0, 14);  // its Ethernet header
    frames.push_back(frame);
  }
  write("many.pcap", tests::pcap_file(frames, 101));
  EXPECT_EQ(capture("many.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("101 messages were lost or cut for it"));
  EXPECT_THAT(out, HasSubstr("connections evicted"));
  EXPECT_THAT(out, HasSubstr("lost: evicted"));
  const auto exchanges = Recording::open(path("t.db"))->read_all().value();
  ASSERT_EQ(exchanges.size(), 1U);
  EXPECT_EQ(exchanges[0].request->target, "/last");
}

// Requests that never end, whose fields a few bytes stand for.
TEST_F(CaptureCommandTest, MessagesThatFindNoMemoryAreALoss) {
  std::vector<tests::Frame> frames;
  const auto add = [&](const tests::Conversation& talk) {
    frames.insert(frames.end(), talk.frames().begin(), talk.frames().end());
  };
  for (std::uint16_t port = 20'000; port < 20'020; ++port) {
    tests::Http2Script client;
    tests::Conversation talk({.client_port = port});
    talk.handshake();
    talk.client(tests::Http2Script::preface());
    tests::Http2Script::Fields fields = {{":method", "GET"}, {":path", "/"}};
    fields.resize(82, {"x-bomb", std::string(2900, 'b')});
    for (std::uint32_t stream = 1; stream < 40; stream += 2)
      talk.client(client.head({.stream = stream, .fields = fields}));
    add(talk);
  }
  tests::Conversation victim;
  victim.handshake();
  victim.client("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nvalue");
  victim.server("HTTP/1.1 204 No Content\r\n\r\n");
  add(victim);
  write("bomb.pcap", tests::pcap_file(frames));
  EXPECT_EQ(capture("bomb.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("took more memory than is given to all; "));
  EXPECT_THAT(err, HasSubstr("take a larger share with --allow-loss"));
}

TEST_F(CaptureCommandTest, AFileThatWasReadInPartOnRequestIsNoEvidence) {
  ASSERT_EQ(mkfifo(path("part.pcap").c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int status = capture("part.pcap");
    write("err.txt", err);
    std::_Exit(status);
  }
  const int pipe = open(path("part.pcap").c_str(), O_WRONLY | O_CLOEXEC);
  const std::string bytes = tests::pcap_file(shop());
  EXPECT_EQ(::write(pipe, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  for (int unread = 1; unread > 0;) {
    ASSERT_EQ(ioctl(pipe, FIONREAD, &unread), 0);
    poll(nullptr, 0, 1);
  }
  kill(child, SIGHUP);
  int status = 0;
  waitpid(child, &status, 0);
  close(pipe);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_THAT(bytes_of(path("err.txt")), HasSubstr("was stopped at byte "));
}

TEST_F(CaptureCommandTest, EveryLengthOfATruncatedFileIsHandled) {
  const std::string whole = tests::pcap_file(shop());
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    write("cut.pcap", whole.substr(0, size));
    const int status = capture("cut.pcap");
    EXPECT_TRUE(status == 0 || status == 4) << size << ": " << status << " " << err;
    const bool recorded = out.find(" exchanges in") != std::string::npos &&
                          out.find("\n0 exchanges in") == std::string::npos;
    EXPECT_EQ(status == 0, recorded) << size;
    fs::remove(path("t.db"));
  }
}

TEST_F(CaptureCommandTest, TlsIsReadWithAKeyLogAndNamedWithout) {
  tests::Conversation talk({.server_port = 443});
  talk.handshake();
  tests::TlsTalk tls(talk);
  tls.client("GET /sealed HTTP/1.1\r\nHost: shop\r\n\r\n");
  tls.server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  write("tls.pcap", tests::pcap_file(talk.frames()));
  write("keys.txt", "# secrets\n" + tls.key_log());
  const std::vector<std::string> command = {"capture", "-r", path("tls.pcap"), "-o", path("t.db")};
  EXPECT_EQ(run(command), 4);
  EXPECT_THAT(out, HasSubstr("no key for this connection in the key log"));
  const auto with_keys = [&](const std::string& file) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--keylog", path(file)});
    return run(arguments);
  };
  EXPECT_EQ(with_keys("keys.txt"), 0) << err;
  EXPECT_EQ(run({"traffic", "show", path("t.db"), "1"}), 0) << err;
  EXPECT_THAT(out, HasSubstr("GET /sealed"));
  EXPECT_EQ(Recording::open(path("t.db"))->read_all()->at(0).tls, true);
  EXPECT_THAT(out, HasSubstr("hello"));
  EXPECT_EQ(with_keys("none.txt"), 3);
  EXPECT_THAT(err, HasSubstr("none.txt: No such file or directory"));
  EXPECT_EQ(with_keys("tls.pcap"), 2);
  EXPECT_THAT(err, HasSubstr("tls.pcap:1: is no line of a TLS key log"));
}

TEST_F(CaptureCommandTest, EarlyDataThatTheServerRefusesIsANamedLoss) {
  tests::Conversation before;
  before.handshake();
  tests::TlsTalk full(before);
  full.client("GET / HTTP/1.1\r\nHost: shop\r\n\r\n");
  tests::Conversation talk({.server_port = 443});
  talk.handshake();
  const std::string early = "GET /early HTTP/1.1\r\nHost: shop\r\n\r\n";
  tests::TlsTalk tls(talk,
                     {.resumed = full.session(), .early_data = early, .take_early_data = false});
  tls.client("GET /again HTTP/1.1\r\nHost: shop\r\n\r\n");
  tls.server("HTTP/1.1 204 No Content\r\n\r\n");
  write("early.pcap", tests::pcap_file(talk.frames()));
  write("keys.txt", tls.key_log());
  EXPECT_EQ(
      run({"capture", "-r", path("early.pcap"), "--keylog", path("keys.txt"), "-o", path("t.db")}),
      0)
      << err;
  EXPECT_THAT(out, HasSubstr("lost: early_data (TLS 1.3 early data)"));
  EXPECT_THAT(out, HasSubstr("1 exchanges in"));
  const auto recording = Recording::open(path("t.db"));
  const std::vector<RecordedLoss> losses = recording->losses().value();
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].reason, "early_data");
  EXPECT_EQ(losses[0].direction, "request");
  EXPECT_GT(losses[0].bytes, early.size());
}

TEST_F(CaptureCommandTest, TrailersAreInTheRecordingAndTheirSecretsAreNot) {
  tests::Conversation talk;
  talk.handshake();
  talk.client("GET / HTTP/1.1\r\nHost: shop\r\n\r\n");
  talk.server(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n"
      "Set-Cookie: sid=c00kie\r\n\r\n");
  write("trailers.pcap", tests::pcap_file(talk.frames()));
  ASSERT_EQ(capture("trailers.pcap"), 0) << err;
  EXPECT_EQ(bytes_of(path("t.db")).find("c00kie"), std::string::npos);
  const auto exchanges = Recording::open(path("t.db"))->read_all().value();
  ASSERT_EQ(exchanges.size(), 1U);
  const RecordedResponse& response = *exchanges[0].response;
  EXPECT_EQ(value_of(response.trailers, "X-Sum"), "7");
  EXPECT_EQ(value_of(response.fields, "X-Sum"), "");
  EXPECT_EQ(response.trailers.size(), 2U);
  EXPECT_EQ(run({"traffic", "show", path("t.db"), "1"}), 0) << err;
  EXPECT_THAT(out, HasSubstr("(trailer) X-Sum: 7"));
}

TEST_F(CaptureCommandTest, AFileWithoutHttpIsNoEvidence) {
  tests::Conversation talk;
  talk.handshake();
  talk.client("EHLO me\r\n");
  write("mail.pcap", tests::pcap_file(talk.frames()));
  EXPECT_EQ(capture("mail.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("no HTTP message"));
  write("none.pcap", tests::pcap_file({}));
  fs::remove(path("t.db"));
  EXPECT_EQ(capture("none.pcap"), 4);
  EXPECT_THAT(err, HasSubstr("holds no packet"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CaptureCommandTest, WrongUsageIsSaid) {
  write("shop.pcap", tests::pcap_file(shop()));
  EXPECT_EQ(run({"capture", "-o", path("t.db")}), 2);
  EXPECT_THAT(err, HasSubstr("either -i INTERFACE or -r FILE"));
  EXPECT_EQ(run({"capture", "-r", path("shop.pcap"), "-f", "nonsense and", "-o", path("t.db")}), 2);
  EXPECT_THAT(err, HasSubstr("filter 'nonsense and'"));
  EXPECT_EQ(run({"capture", "-r", path("shop.pcap"), "-o", path("no/such/t.db")}), 3);
  EXPECT_EQ(run({"capture", "-r", path("shop.pcap"), "-o", path("shop.pcap")}), 2);
  EXPECT_THAT(err, HasSubstr("exists and is not a recording"));
  EXPECT_EQ(run({"traffic", path("shop.pcap")}), 2);
  EXPECT_EQ(run({"traffic", path("none.db")}), 3);
  EXPECT_TRUE(nothing_left());
}

TEST_F(CaptureCommandTest, PortFilterAndLimitsNarrowWhatIsTaken) {
  write("shop.pcap", tests::pcap_file(shop()));
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"capture", "-r", path("shop.pcap"), "-o", path("t.db")};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  EXPECT_EQ(with({"--port", "80"}), 0);
  EXPECT_EQ(with({"--port", "81"}), 4);
  EXPECT_EQ(with({"--filter", "tcp port 80"}), 0);
  EXPECT_EQ(with({"--filter", "udp"}), 4);
  EXPECT_EQ(with({"--limit", "1"}), 0);
  EXPECT_THAT(out, HasSubstr("1 exchanges in"));
}

TEST_F(CaptureCommandTest, AnUnknownInterfaceOrNoPermissionIsSaid) {
  const int status = run({"capture", "-i", "no-such-interface", "-o", path("t.db")});
  EXPECT_TRUE(status == 2 || status == 3) << status;
  EXPECT_THAT(err, ::testing::AnyOf(HasSubstr("there is no such interface"), HasSubstr("setcap")));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CaptureCommandTest, OptionsOfALiveCaptureAreCheckedBeforeItBegins) {
  const auto live = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"capture", "-i", "no-such-interface", "-o", path("t.db")};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  EXPECT_EQ(live({"--duration", "5x"}), 2);
  EXPECT_EQ(live({"--buffer", "12"}), 2);
  EXPECT_EQ(live({"--buffer", "1KiB"}), 2);
  EXPECT_EQ(live({"--rotate", "0s"}), 2);
  EXPECT_EQ(live({"--allow-loss", "200%"}), 2);
  EXPECT_EQ(live({"--keep", "3"}), 2);
  EXPECT_THAT(err, HasSubstr("--keep goes with --rotate"));
  write("shop.pcap", tests::pcap_file(shop()));
  EXPECT_EQ(run({"capture", "-r", path("shop.pcap"), "--rotate", "1h", "-o", path("t.db")}), 2);
  EXPECT_THAT(err, HasSubstr("go with -i"));
}

}  // namespace
}  // namespace gatedrill::replay
