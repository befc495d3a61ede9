#include "replay/recording.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/core/random.hpp"
#include "replay/content_coding.hpp"
#include "replay/database.hpp"
#include "replay/recording_writer.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// A folder of its own for each test, removed afterwards.
class RecordingTest : public testing::Test {
 protected:
  RecordingTest() {
    std::string pattern = testing::TempDir() + "recording-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  ~RecordingTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    return names;
  }

  // The file that a writer has not finished.
  [[nodiscard]] std::string unfinished() const {
    for (const std::string& name : files()) {
      if (name.find(".partial-") != std::string::npos && !name.ends_with("-journal")) {
        return path(name);
      }
    }
    return path("none");
  }

  fs::path folder_;
};

RecordedExchange exchange(std::int64_t at, const std::string& target, const std::string& body) {
  RecordedExchange out;
  out.at = UnixTime{at};
  out.connection = 7;
  out.client = "10.0.0.1:5000";
  out.server = "10.0.0.2:80";
  out.protocol = "http/1.1";
  out.host = "shop";
  out.request = RecordedRequest{.method = "GET",
                                .target = target,
                                .version = "HTTP/1.1",
                                .fields = {{"Host", "shop"}, {"X-Empty", ""}, {"Accept", "a: b"}},
                                .body = {}};
  out.response = RecordedResponse{.status = 200,
                                  .reason = "OK",
                                  .version = "HTTP/1.1",
                                  .fields = {{"Content-Type", "text/plain"}},
                                  .body = body};
  out.latency = Duration{1500};
  out.request_end = UnixTime{at + 100};
  out.response_begin = UnixTime{at + 900};
  out.response_end = UnixTime{at + 1500};
  out.ordinal = 3;
  out.idle_before = Duration{70};
  out.transport = RecordedTransport{.request_begin = 40,
                                    .request_end = 90,
                                    .acknowledged = true,
                                    .after_fin = true,
                                    .retransmissions = 2};
  return out;
}

Result<void> write(const std::string& path,
                   const std::vector<RecordedExchange>& exchanges,
                   const RecordingOptions& options = {}) {
  auto writer = RecordingWriter::create(path, options);
  if (!writer) return writer.error();
  for (const RecordedExchange& one : exchanges) {
    if (auto added = writer->add(one); !added) return added.error();
  }
  return writer->finish({});
}

TEST_F(RecordingTest, GivesBackEveryPartOfAnExchange) {
  RecordedExchange rich = exchange(5, "/a?b=1", std::string(5000, 'x'));
  rich.id = 41;
  rich.informational = {100, 103};
  rich.tunnel = true;
  rich.tls = true;
  rich.reset = RecordedReset{.at = UnixTime{77}, .by_client = true};
  rich.request->body = std::string("\0\1\2", 3);
  rich.request->defects = "bare_lf";
  rich.response->complete = false;
  ASSERT_TRUE(write(path("t.db"), {rich}));
  auto recording = Recording::open(path("t.db"));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_THAT(recording->read_all().value(), ElementsAre(rich));
  EXPECT_EQ(recording->find(41).value(), rich);
  EXPECT_EQ(recording->find(42).value(), std::nullopt);
}

TEST_F(RecordingTest, KeepsRequestsAndAnswersThatStandAlone) {
  RecordedExchange request_only = exchange(1, "/", "");
  request_only.response.reset();
  request_only.latency.reset();
  request_only.id = 1;
  RecordedExchange answer_only = exchange(2, "/", "tail");
  answer_only.request.reset();
  answer_only.latency.reset();
  answer_only.id = 2;
  ASSERT_TRUE(write(path("t.db"), {request_only, answer_only}));
  EXPECT_THAT(Recording::open(path("t.db"))->read_all().value(),
              ElementsAre(request_only, answer_only));
}

TEST_F(RecordingTest, ReadsInTheOrderOfTimeAndThenOfId) {
  ASSERT_TRUE(write(path("t.db"), {exchange(30, "/c", ""), exchange(10, "/a", ""),
                                   exchange(30, "/d", ""), exchange(20, "/b", "")}));
  std::string order;
  auto recording = Recording::open(path("t.db"));
  ASSERT_TRUE(recording->for_each([&](const RecordedExchange& one) {
    order += one.request->target;
    return one.request->target != "/c";
  }));
  EXPECT_EQ(order, "/a/b/c");
}

TEST_F(RecordingTest, LongListsOfFieldsArePackedAndComeBack) {
  RecordedExchange sent = exchange(1, "/", "");
  for (int i = 0; i < 2000; ++i)
    sent.request->fields.push_back({"X-Long", std::string(100, 'v')});
  sent.response->trailers = {{"X-Trailer", std::string(50'000, 't')}};
  ASSERT_TRUE(write(path("t.db"), std::vector(100, sent)));
  EXPECT_LT(fs::file_size(path("t.db")), 500'000U);  // of 26 MB
  auto recording = Recording::open(path("t.db"));
  ASSERT_TRUE(recording) << recording.error().message;
  sent.id = 100;
  EXPECT_EQ(recording->find(100).value(), sent);
}

// Names of lines that are no fields are kept as they were.
TEST_F(RecordingTest, FieldsThatLookPackedComeBack) {
  RecordedExchange sent = exchange(1, "/", "");
  sent.id = 1;
  sent.request->fields = {{"\x28\xb5\x2f\xfd", "x"}, {"X-Next", "y"}};
  ASSERT_TRUE(write(path("t.db"), {sent}));
  auto recording = Recording::open(path("t.db"));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->find(1).value(), sent);
}

TEST_F(RecordingTest, StoresEqualBodiesOnce) {
  std::vector<RecordedExchange> many;
  std::string body;
  for (unsigned i = 0; i < 50'000; ++i)
    body.push_back(static_cast<char>((i * i * 31 + i / 7) % 251));
  for (int i = 0; i < 100; ++i)
    many.push_back(exchange(i, "/", body));
  ASSERT_TRUE(write(path("t.db"), many));
  EXPECT_LT(fs::file_size(path("t.db")), 250'000U);
  EXPECT_EQ(Recording::open(path("t.db"))->read_all().value().back().response->body, body);
}

TEST_F(RecordingTest, ConnectionsLossesAndLedgerComeBack) {
  RecordedConnection closed{.connection = 7,
                            .client = "10.0.0.1:5000",
                            .server = "10.0.0.2:80",
                            .opened = UnixTime{1},
                            .closed = UnixTime{9},
                            .closed_by = "server",
                            .how = "rst",
                            .idle_before_close = Duration{3},
                            .gap_bytes = 12,
                            .connect = "established",
                            .syns = 2,
                            .answered = UnixTime{2},
                            .established = UnixTime{3},
                            .client_side = {.sent = 100, .acked = 90, .retransmissions = 3},
                            .server_side = {.fin = UnixTime{8},
                                            .rst = UnixTime{9},
                                            .fin_acked = 90,
                                            .rst_acked = 95,
                                            .sent = 5000,
                                            .acked = 5000,
                                            .zero_windows = 1}};
  const RecordedLoss loss{UnixTime{4}, 7, "response", "gap", 12};
  const std::vector<LedgerLine> ledger = {{"packets", 10, 1000, "seen"}};
  auto writer = RecordingWriter::create(path("t.db"), {});
  ASSERT_TRUE(writer->add(exchange(5, "/", "b")));
  ASSERT_TRUE(writer->add(closed));
  ASSERT_TRUE(writer->add(loss));
  ASSERT_TRUE(writer->finish(ledger));
  auto recording = Recording::open(path("t.db"));
  EXPECT_THAT(recording->connections().value(), ElementsAre(closed));
  EXPECT_THAT(recording->losses().value(), ElementsAre(loss));
  EXPECT_THAT(recording->ledger().value(), testing::Contains(ledger[0]));
}

TEST_F(RecordingTest, ALatencyBelowZeroIsLeftOutAndCounted) {
  RecordedExchange back = exchange(5, "/back", "b");
  back.latency = Duration{-7};
  ASSERT_TRUE(write(path("t.db"), {exchange(4, "/", "b"), back}));
  auto recording = Recording::open(path("t.db"));
  const auto all = recording->read_all().value();
  EXPECT_EQ(all[0].latency, Duration{1500});
  EXPECT_FALSE(all[1].latency);
  const auto lines = recording->ledger().value();
  const auto line = std::find_if(lines.begin(), lines.end(), [](const LedgerLine& one) {
    return one.what == "latencies below zero";
  });
  ASSERT_NE(line, lines.end());
  EXPECT_EQ(line->count, 1U);
}

TEST_F(RecordingTest, TheSumOfAllLossesCanBeTold) {
  auto writer = RecordingWriter::create(path("t.db"), {});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(writer->add(
        RecordedLoss{.at = UnixTime{1}, .reason = "gap", .bytes = std::uint64_t{1} << 62U}));
  }
  ASSERT_TRUE(writer->finish({}));
  auto database = Database::open(path("t.db"), Database::Mode::read);
  ASSERT_TRUE(database);
  auto sum = database->prepare("SELECT sum(bytes), count(*) FROM losses");
  ASSERT_TRUE(sum->step().value());
  EXPECT_EQ(sum->integer(0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(sum->integer(1), 3);
}

TEST_F(RecordingTest, ABodyThatRedactionDropsWasWholeAndIsALoss) {
  RecordedExchange dropped = exchange(5, "/", "no gzip");
  dropped.connection = 7;
  dropped.response->fields.push_back({"Content-Encoding", "gzip"});
  ASSERT_TRUE(write(path("t.db"), {dropped}));
  auto recording = Recording::open(path("t.db"));
  const RecordedExchange read = recording->read_all().value().at(0);
  EXPECT_TRUE(read.response->complete);
  EXPECT_TRUE(read.response->body_dropped);
  EXPECT_FALSE(is_whole(*read.response));
  EXPECT_FALSE(read.request->body_dropped);
  const RecordedLoss loss{UnixTime{5}, 7, "response", "redacted", 7};
  EXPECT_THAT(recording->losses().value(), ElementsAre(loss));
  EXPECT_THAT(recording->ledger().value(),
              testing::Contains(testing::Field(&LedgerLine::what, "redacted bodies dropped")));
}

std::string columns_of(const std::string& path, const std::string& view) {
  auto database = Database::open(path, Database::Mode::read);
  auto rows = database->prepare("SELECT name FROM pragma_table_info('" + view + "')");
  std::string names;
  while (rows->step().value())
    names += (names.empty() ? "" : ", ") + rows->text(0);
  return names;
}

TEST_F(RecordingTest, TheViewsHaveTheColumnsOfTheContract) {
  ASSERT_TRUE(write(path("t.db"), {exchange(5, "/", "b")}));
  EXPECT_EQ(columns_of(path("t.db"), "exchanges"),
            "id, at_ns, connection, client, server, protocol, method, host, target, "
            "request_version, request_bytes, request_body_sha1, status, response_bytes, "
            "response_body_sha1, latency_ms, request_complete, response_complete, ordinal, "
            "idle_before_ms, request_ms, ttfb_ms, request_acked, retransmissions, "
            "reset_by, reset_ns, tls");
  EXPECT_EQ(columns_of(path("t.db"), "connections"),
            "connection, client, server, opened_ns, closed_ns, closed_by, how, exchanges, "
            "idle_before_close_ms, gap_bytes, connect, connect_ms, client_fin_ns, client_rst_ns, "
            "server_fin_ns, server_rst_ns, retransmissions, zero_windows");
  EXPECT_EQ(columns_of(path("t.db"), "ledger"), "what, count, bytes, note");
  EXPECT_EQ(columns_of(path("t.db"), "losses"), "at_ns, connection, direction, reason, bytes");
}

TEST_F(RecordingTest, BodiesAreHashedAfterDecoding) {
  const auto hash_of = [&](const std::string& coding, const std::string& body) {
    RecordedExchange one = exchange(5, "/", body);
    one.response->fields = {{"Content-Encoding", coding}};
    EXPECT_TRUE(write(path("t.db"), {one}, {.keep_secrets = true}));
    auto database = Database::open(path("t.db"), Database::Mode::read);
    auto rows = database->prepare("SELECT response_body_sha1 FROM exchanges");
    EXPECT_TRUE(rows->step().value());
    return rows->text(0);
  };
  constexpr const char* kSha1OfAbc = "a9993e364706816aba3e25717850c26c9cd0d89d";
  for (const auto coding : {"", "gzip", "x-gzip", "deflate", "br", "zstd"}) {
    EXPECT_EQ(hash_of(coding, *encode_content("abc", coding)), kSha1OfAbc) << coding;
  }
  EXPECT_EQ(hash_of("gzip", "abc"), kSha1OfAbc) << "what does not follow its coding, as it is";
  EXPECT_EQ(hash_of("gzip", *encode_content("", "gzip")), "");
  EXPECT_EQ(hash_of("", ""), "");
}

TEST_F(RecordingTest, AConnectionWithoutAnEndIsOpen) {
  ASSERT_TRUE(write(path("t.db"), {exchange(5, "/", "b")}));
  const auto connections = Recording::open(path("t.db"))->connections().value();
  ASSERT_EQ(connections.size(), 1U);
  EXPECT_EQ(connections[0].how, "open");
  EXPECT_EQ(connections[0].client, "10.0.0.1:5000");
}

TEST_F(RecordingTest, LeavesNothingWithoutFinish) {
  {
    auto writer = RecordingWriter::create(path("t.db"), {});
    ASSERT_TRUE(writer->add(exchange(5, "/", "b")));
    EXPECT_FALSE(fs::exists(path("t.db")));
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(RecordingTest, ReplacesARecordingOnlyWhenTheNewOneIsWhole) {
  ASSERT_TRUE(write(path("t.db"), {exchange(1, "/old", "")}));
  auto writer = RecordingWriter::create(path("t.db"), {});
  ASSERT_TRUE(writer->add(exchange(5, "/new", "")));
  EXPECT_EQ(Recording::open(path("t.db"))->read_all().value()[0].request->target, "/old");
  ASSERT_TRUE(writer->finish({}));
  EXPECT_EQ(Recording::open(path("t.db"))->read_all().value()[0].request->target, "/new");
  EXPECT_THAT(files(), ElementsAre("t.db"));
}

TEST_F(RecordingTest, RefusesToOverwriteWhatIsNoRecording) {
  std::ofstream(path("shop.pcap")) << "precious";
  const auto writer = RecordingWriter::create(path("shop.pcap"), {});
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::usage);
  EXPECT_THAT(writer.error().message, HasSubstr("is not a recording"));
}

TEST_F(RecordingTest, SaysWhyTheTargetCannotBeWritten) {
  EXPECT_THAT(RecordingWriter::create(path("no/such/t.db"), {}).error().message,
              HasSubstr("No such file or directory"));
  EXPECT_THAT(RecordingWriter::create(folder_, {}).error().message, HasSubstr("is a directory"));
}

TEST_F(RecordingTest, OpenNamesWhatIsWrong) {
  EXPECT_EQ(Recording::open(path("none.db")).error().code, ErrorCode::outside);
  EXPECT_THAT(Recording::open(folder_).error().message, HasSubstr("is a directory"));
  std::ofstream(path("text.db")) << std::string(5000, 'x');
  EXPECT_EQ(Recording::open(path("text.db")).error().code, ErrorCode::usage);
  std::ofstream(path("empty.db")) << "";
  EXPECT_EQ(Recording::open(path("empty.db")).error().code, ErrorCode::usage);
}

TEST_F(RecordingTest, ATruncatedRecordingIsRefusedWithoutACrash) {
  ASSERT_TRUE(write(path("t.db"), {exchange(5, "/", std::string(100'000, 'y'))}));
  const auto size = fs::file_size(path("t.db"));
  for (const std::uintmax_t part : {size / 8, size / 2, size - 1}) {
    fs::copy_file(path("t.db"), path("cut.db"), fs::copy_options::overwrite_existing);
    fs::resize_file(path("cut.db"), part);
    EXPECT_EQ(Recording::open(path("cut.db")).error().code, ErrorCode::usage) << part;
  }
}

std::string noise(std::uint64_t seed, std::size_t bytes) {
  Random random(seed);
  std::string out(bytes, '\0');
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(out.data() + i, &word, std::min(sizeof word, bytes - i));
  }
  return out;
}

// Runs `work` in a process of its own; its exit status, or 0 if it was killed.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

// Writes noise until something fails; the exit status of that failure, or 0 if nothing did.
int fill(const std::string& path, rlim_t limit, int saved_after) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limits{limit, limit};
  setrlimit(RLIMIT_FSIZE, &limits);
  auto writer = RecordingWriter::create(path, {});
  if (!writer) return exit_status(writer.error().code);
  std::string body = noise(1, 300'000);
  for (int i = 0; i < 50; ++i) {
    body[0] = static_cast<char>(i);
    const auto added = writer->add(exchange(i, "/", body));
    if (!added) return exit_status(added.error().code);
    if (i + 1 != saved_after) continue;
    const auto saved = writer->save();
    if (!saved) return exit_status(saved.error().code);
  }
  const auto finished = writer->finish({});
  return finished ? 0 : exit_status(finished.error().code);
}

// A limit of the file's size stands for the full disk: the write fails in the same place.
TEST_F(RecordingTest, AFullDiskLeavesNothingIfNothingWasSaved) {
  for (const rlim_t limit :
       {rlim_t{4000}, rlim_t{100'000}, rlim_t{4'000'000}, rlim_t{14'900'000}}) {
    EXPECT_EQ(in_child([&] { return fill(path("t.db"), limit, 0); }),
              exit_status(ErrorCode::outside))
        << limit;
    EXPECT_TRUE(files().empty()) << limit;
  }
}

TEST_F(RecordingTest, AFullDiskKeepsWhatWasSavedAndSaysThatItIsUnfinished) {
  for (const rlim_t limit : {rlim_t{4'000'000}, rlim_t{14'900'000}}) {
    EXPECT_EQ(in_child([&] { return fill(path("t.db"), limit, 7); }),
              exit_status(ErrorCode::outside));
    ASSERT_EQ(files().size(), 1U) << "no journal";
    const std::string left = unfinished();
    EXPECT_THAT(left, HasSubstr("t.db.partial-"));
    const auto recording = Recording::open(left);
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_FALSE(recording->finished());
    EXPECT_EQ(recording->read_all().value().size(), 7U);
    fs::remove(left);
  }
}

TEST_F(RecordingTest, TheErrorOfAFullDiskNamesTheFileThatIsLeft) {
  const int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    auto writer = RecordingWriter::create(path("t.db"), {});
    writer->add(exchange(1, "/", noise(1, 1'000'000))).value();
    writer->save().value();
    const rlimit limits{1'500'000, 1'500'000};
    setrlimit(RLIMIT_FSIZE, &limits);
    for (int i = 2;; ++i) {
      const auto added = writer->add(exchange(i, "/", noise(static_cast<unsigned>(i), 1'000'000)));
      if (added) continue;
      const std::string& message = added.error().message;
      const bool named = message.find("the first 1 exchanges are in " + path("t.db.partial-")) !=
                         std::string::npos;
      return named ? 5 : 6;
    }
  });
  EXPECT_EQ(status, 5);
}

TEST_F(RecordingTest, AKilledWriterLeavesWhatItHadSaved) {
  // Few: all of the rest is in memory when the kill comes. Many: half of it is in the file.
  for (const int unsaved : {2, 60}) {
    in_child([&] {
      auto writer = RecordingWriter::create(path("t.db"), {});
      for (int i = 0; i < 3 + unsaved; ++i) {
        const std::string body = noise(static_cast<unsigned>(i), 1'000'000);
        writer->add(exchange(i, "/", body)).value();
        writer->add(exchange(i, "/small", "small " + std::to_string(i))).value();
        if (i == 2) writer->save().value();
      }
      return std::raise(SIGKILL);
    });
    EXPECT_FALSE(fs::exists(path("t.db")));
    const auto recording = Recording::open(unfinished());
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_FALSE(recording->finished());
    const auto all = recording->read_all().value();
    ASSERT_EQ(all.size(), 6U);
    EXPECT_EQ(all[4].response->body, noise(2, 1'000'000));
    EXPECT_EQ(all[5].response->body, "small 2");
    EXPECT_THAT(recording->ledger().value(),
                testing::Contains(testing::Field(&LedgerLine::what, "unfinished")));
    for (const std::string& name : files())
      fs::remove(path(name));
  }
}

TEST_F(RecordingTest, AFinishedRecordingDoesNotSayThatItIsUnfinished) {
  ASSERT_TRUE(write(path("t.db"), {exchange(5, "/", "b")}));
  const auto recording = Recording::open(path("t.db"));
  EXPECT_TRUE(recording->finished());
  EXPECT_THAT(recording->ledger().value(),
              testing::Not(testing::Contains(testing::Field(&LedgerLine::what, "unfinished"))));
  EXPECT_THAT(files(), ElementsAre("t.db"));
}

TEST_F(RecordingTest, AWholeRecordingThatCannotTakeItsNameStays) {
  auto writer = RecordingWriter::create(path("t.db"), {});
  writer->add(exchange(1, "/", "x")).value();
  fs::create_directory(path("t.db"));
  const auto finished = writer->finish({});
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, HasSubstr("the whole recording is in " + unfinished()));
  EXPECT_TRUE(Recording::open(unfinished())->finished());
}

TEST_F(RecordingTest, WhatIsStillBeingWrittenIsNotRead) {
  auto writer = RecordingWriter::create(path("t.db"), {});
  writer->add(exchange(1, "/", "x")).value();
  const auto recording = Recording::open(unfinished());
  ASSERT_FALSE(recording);
  EXPECT_THAT(recording.error().message, HasSubstr("is still being written"));
}

TEST_F(RecordingTest, BodiesThatAreAlikeShareABlock) {
  std::vector<RecordedExchange> many;
  std::size_t bytes = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string body;
    for (int k = 0; k < 20; ++k)
      body += R"({"sku":")" + std::to_string(i * 7919 + k) + R"(","name":"copper kettle"},)";
    bytes += body.size();
    many.push_back(exchange(i, "/", body));
  }
  ASSERT_TRUE(write(path("t.db"), many));
  EXPECT_LT(fs::file_size(path("t.db")), bytes / 2);
  const auto recording = Recording::open(path("t.db"));
  for (const int i : {1999, 0, 700, 1200, 3, 1998}) {
    EXPECT_EQ(recording->find(i + 1).value()->response->body,
              many[static_cast<std::size_t>(i)].response->body);
  }
}

TEST_F(RecordingTest, RandomBodiesAreNotPacked) {
  ASSERT_TRUE(write(path("t.db"),
                    {exchange(1, "/", noise(1, 20'000)), exchange(2, "/", std::string(20'000, 'a')),
                     exchange(3, "/", std::string(200'000, 'a'))}));
  auto database = Database::open(path("t.db"), Database::Mode::read);
  auto rows = database->prepare("SELECT packing, bytes FROM t_blocks ORDER BY bytes");
  std::string packings;
  while (rows->step().value())
    packings += rows->text(0) + " " + std::to_string(rows->integer(1)) + ", ";
  EXPECT_THAT(packings, testing::AnyOf("none 20000, zstd 20000, zstd 200000, ",
                                       "zstd 20000, none 20000, zstd 200000, "));
}

TEST_F(RecordingTest, ADamagedBodyIsNamed) {
  for (const auto harm :
       {"UPDATE t_blocks SET content = x'28b52ffd00'", "UPDATE t_blocks SET bytes = 999999999999",
        "DELETE FROM t_blocks", "UPDATE t_bodies SET place = 4096",
        "UPDATE t_bodies SET bytes = -1", "UPDATE t_bodies SET place = 9223372036854775807"}) {
    ASSERT_TRUE(write(path("t.db"), {exchange(1, "/", std::string(5000, 'a'))}));
    {
      auto database = Database::open(path("t.db"), Database::Mode::create);
      ASSERT_TRUE(database->execute(harm));
    }
    const auto all = Recording::open(path("t.db"))->read_all();
    ASSERT_FALSE(all) << harm;
    EXPECT_THAT(all.error().message, HasSubstr("body 1 is damaged")) << harm;
  }
}

TEST(ContentCoding, DecodesWhatItEncodes) {
  std::string body;
  for (int i = 0; i < 200'000; ++i)
    body.push_back(static_cast<char>(i % 97 + i % 13));
  for (const auto coding :
       {"gzip", "x-gzip", "deflate", "br", "zstd", "gzip, br", "identity", ""}) {
    const auto coded = encode_content(body, coding);
    ASSERT_TRUE(coded) << coding;
    EXPECT_EQ(decode_content(*coded, coding), body) << coding;
    if (is_coded(coding)) {
      EXPECT_EQ(decode_content(coded->substr(0, coded->size() / 2), coding), std::nullopt);
    }
  }
}

TEST(ContentCoding, RefusesUnknownCodingsAndBombs) {
  EXPECT_EQ(decode_content("abc", "rot13"), std::nullopt);
  EXPECT_EQ(decode_content("not gzip", "gzip"), std::nullopt);
  const auto bomb = encode_content(std::string(10'000'000, '\0'), "gzip");
  EXPECT_EQ(decode_content(*bomb, "gzip", 1'000'000), std::nullopt);
}

TEST(ContentCoding, WhatBecomesTooLargeIsHashedAsItIs) {
  Digest sha1 = Digest::sha1();
  for (const std::size_t size : {4'000'000U, 5'000'000U}) {
    const std::string body(size, '\0');
    const std::string coded = *encode_content(body, "gzip");
    EXPECT_EQ(decoded_sha1(sha1, coded, "gzip"), sha1.of(size < 4'194'304 ? body : coded));
  }
  EXPECT_EQ(searched_bytes_max(1), 4U << 20U);
  EXPECT_EQ(searched_bytes_max(100'000), 10'000'000U);
  EXPECT_EQ(searched_bytes_max(2'000'000), 32U << 20U);
  EXPECT_EQ(searched_bytes_max(std::size_t{1} << 62U), 32U << 20U);
}

}  // namespace
}  // namespace gatedrill::replay
