// `gatedrill traffic show` and `traffic explain` as their users meet them.
#include "replay/traffic_command.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "replay/content_coding.hpp"
#include "replay/recording_writer.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/run_command.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using tests::Conversation;

class TrafficCommandTest : public ::testing::Test {
 protected:
  TrafficCommandTest() {
    std::string pattern = ::testing::TempDir() + "traffic-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  ~TrafficCommandTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  int run(const std::vector<std::string>& arguments) {
    testing::CommandRun done = testing::run_command(
        arguments, [](CLI::App& app, int& status) { add_traffic_command(app, status); });
    out = std::move(done.out);
    err = std::move(done.err);
    return done.status;
  }

  // A request that the gateway passes on in vain, and answers 502.
  void record_incident() {
    const std::string request =
        "GET /item HTTP/1.1\r\nHost: shop\r\nX-Request-Id: one-two-three\r\n\r\n";
    const std::string body = encode_content("the shop is closed", "gzip").value();
    Conversation client({.server_port = 8080});
    client.handshake();
    client.client(request);
    client.wait(std::chrono::milliseconds(10));
    client.server("HTTP/1.1 502 Bad Gateway\r\nContent-Encoding: gzip\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);
    client.close();
    Conversation::Options options{.client_port = 41'000, .server_port = 9001};
    options.begin.ns += from_ms(2).count();
    Conversation upstream(options);
    upstream.handshake();
    upstream.client(request);
    upstream.server_reset();
    auto frames = client.frames();
    frames.insert(frames.end(), upstream.frames().begin(), upstream.frames().end());
    std::stable_sort(frames.begin(), frames.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    tests::Captured captured;
    tests::capture_into(captured, frames);
    auto writer = RecordingWriter::create(path("t.db"), {});
    for (const auto& exchange : captured.exchanges) {
      const auto id = writer->add(exchange);
      if (exchange.response) answered = id.value();
    }
    for (const auto& connection : captured.connections)
      ASSERT_TRUE(writer->add(connection));
    ASSERT_TRUE(writer->finish(captured.ledger.lines()));
  }

  fs::path folder_;
  std::string out;
  std::string err;
  std::int64_t answered = 0;
};

TEST_F(TrafficCommandTest, ShowPrintsTheHeadsTheDecodedBodyAndTheChain) {
  record_incident();
  EXPECT_EQ(run({"traffic", "show", path("t.db"), std::to_string(answered)}), 0) << err;
  EXPECT_THAT(out, HasSubstr("GET /item HTTP/1.1\nHost: shop\nX-Request-Id: one-two-three\n"));
  EXPECT_THAT(out, HasSubstr("HTTP/1.1 502 Bad Gateway\n"));
  EXPECT_THAT(out, HasSubstr("the shop is closed"));
  EXPECT_THAT(out, HasSubstr("chain\n"));
  EXPECT_THAT(out, HasSubstr("-> 10.0.0.2:9001"));
  EXPECT_THAT(out,
              HasSubstr("why: upstream_closed (seen): 10.0.0.2:9001 reset a fresh connection"));
}

TEST_F(TrafficCommandTest, ShowGivesABodyAloneDecodedOrAsItWasSent) {
  record_incident();
  const std::string id = std::to_string(answered);
  EXPECT_EQ(run({"traffic", "show", path("t.db"), id, "--body", "response"}), 0) << err;
  EXPECT_EQ(out, "the shop is closed");
  EXPECT_EQ(run({"traffic", "show", path("t.db"), id, "--body", "response", "--raw"}), 0) << err;
  EXPECT_EQ(out, encode_content("the shop is closed", "gzip").value());
  EXPECT_EQ(run({"traffic", "show", path("t.db"), id, "--body", "request"}), 0);
  EXPECT_EQ(out, "");
  EXPECT_EQ(run({"traffic", "show", path("t.db"), id, "--raw"}), 2) << "of which body?";
  EXPECT_EQ(run({"traffic", "show", path("t.db"), id, "--body", "head"}), 2);
}

TEST_F(TrafficCommandTest, ShowOfWhatIsNotThereSaysHowToFindIt) {
  record_incident();
  EXPECT_EQ(run({"traffic", "show", path("t.db"), "999"}), 2);
  EXPECT_THAT(err, HasSubstr("has no exchange 999; `sqlite3"));
}

TEST_F(TrafficCommandTest, ExplainPrintsAPageOrOneJsonDocument) {
  record_incident();
  EXPECT_EQ(run({"traffic", "explain", path("t.db")}), 0) << err;
  EXPECT_THAT(out, HasSubstr("10.0.0.2:8080: 1 request, 1 failed (100.0 %)"));
  EXPECT_THAT(out, HasSubstr("upstream_closed"));
  EXPECT_EQ(run({"traffic", "explain", path("t.db"), "--json"}), 0) << err;
  EXPECT_EQ(nlohmann::json::parse(out)["listeners"].size(), 1U);
}

TEST_F(TrafficCommandTest, ExplainShowsAsManyExamplesAsItIsAskedFor) {
  record_incident();
  EXPECT_EQ(run({"traffic", "explain", path("t.db"), "--examples", "0"}), 0) << err;
  EXPECT_THAT(out, Not(HasSubstr("why:")));
}

TEST_F(TrafficCommandTest, ExplainRefusesWhatItCannotUse) {
  record_incident();
  EXPECT_EQ(run({"traffic", "explain", path("none.db")}), 3);
  EXPECT_THAT(err, HasSubstr("there is no such file"));
  EXPECT_EQ(run({"traffic", "explain", path("t.db"), "--timeout", "soon"}), 2);
  EXPECT_THAT(err, HasSubstr("such as 1s, 750ms or route=15s"));
  EXPECT_EQ(run({"traffic", "explain", path("t.db"), "--upstream-leg", path("none.db")}), 3);
  auto empty = RecordingWriter::create(path("empty.db"), {});
  ASSERT_TRUE(empty->finish({}));
  EXPECT_EQ(run({"traffic", "explain", path("empty.db")}), 4);
  EXPECT_THAT(err, HasSubstr("holds no exchange"));
}

}  // namespace
}  // namespace gatedrill::replay
