// A live capture of what other people's clients and servers say to each other: HTTP/2 in clear and
// inside TLS, with a key log that is written while it is read. Needs the permission to capture.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "replay/recording.hpp"
#include "tests/support/child_program.hpp"
#include "tests/support/loopback_peer.hpp"
#include "tests/support/run_program.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;
using testing::ChildProgram;
using ::testing::Contains;
using ::testing::ElementsAre;

constexpr auto kPatience = std::chrono::seconds(10);

class CapturePeersTest : public ::testing::Test {
 protected:
  CapturePeersTest() {
    std::string pattern = ::testing::TempDir() + "peers-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    fs::create_directory(folder_ / "www");
    write("www/hello", "hello\n");
    write("www/big", std::string(300'000, 'b'));
    write("www/pushed", "pushed\n");
  }

  ~CapturePeersTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static bool installed(const std::vector<std::string>& programs) {
    for (const std::string& program : programs) {
      if (testing::find_program(program).empty()) return false;
    }
    return true;
  }

  void make_certificate() {
    const auto made = testing::run_shell(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "
        "/CN=shop "
        "-keyout " +
        path("key.pem") + " -out " + path("cert.pem"));
    ASSERT_EQ(made.status, 0) << made.errors;
  }

  // Runs the client while the traffic of `port_` is captured. Nothing if capturing is not
  // permitted.
  std::optional<std::vector<RecordedExchange>> capture(const std::string& client) {
    ChildProgram capture({GD_PROGRAM, "capture", "-i", "lo", "--port", std::to_string(port_),
                          "--keylog", path(keys_), "-o", path("t.db")},
                         path("capture.log"));
    for (int look = 0; text_of("capture.log").find("capturing on") == std::string::npos; ++look) {
      if (!capture.running() || look > 500) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const auto talked = testing::run_shell("export SSLKEYLOGFILE=" + path(keys_) + "; " + client);
    EXPECT_EQ(talked.status, 0) << talked.errors;
    capture.signal(SIGINT);
    EXPECT_EQ(capture.wait(kPatience), 0) << text_of("capture.log");
    const auto recording = Recording::open(path("t.db"));
    EXPECT_TRUE(recording) << text_of("capture.log");
    if (!recording) return std::vector<RecordedExchange>{};
    return recording->read_all().value();
  }

  [[nodiscard]] std::string url(const std::string& scheme, const std::string& target) const {
    return scheme + "://127.0.0.1:" + std::to_string(port_) + target;
  }

  const std::uint16_t port_ = testing::unused_port();
  fs::path folder_;
  std::string keys_ = "keys";
};

std::string summary(const RecordedExchange& exchange) {
  std::string text = exchange.protocol + " ";
  if (exchange.request) text += exchange.request->method + " " + exchange.request->target;
  text += " > ";
  if (!exchange.response) return text;
  text += std::to_string(exchange.response->status) + " " +
          std::to_string(exchange.response->body.size());
  return text + (exchange.response->complete ? "" : "...");
}

std::vector<std::string> summaries(const std::vector<RecordedExchange>& exchanges) {
  std::vector<std::string> list;
  for (const RecordedExchange& exchange : exchanges)
    list.push_back(summary(exchange));
  return list;
}

TEST_F(CapturePeersTest, CurlAndNghttpdSpeakHttp2InClear) {
  if (!installed({"curl", "nghttpd"})) GTEST_SKIP() << "no curl or nghttpd";
  ChildProgram server({"nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", path("www"), "--padding=20",
                       "--trailer=x-sum: 7", std::to_string(port_)},
                      path("server.log"));
  ASSERT_TRUE(testing::wait_until_listening(port_, server));
  const std::string fetch = "curl -sS --http2-prior-knowledge -o /dev/null ";
  const auto captured =
      capture(fetch + url("http", "/hello") + " && " + fetch + url("http", "/big"));
  if (!captured) GTEST_SKIP() << text_of("capture.log");
  const auto& exchanges = *captured;
  ASSERT_THAT(summaries(exchanges),
              ElementsAre("h2 GET /hello > 200 6", "h2 GET /big > 200 300000"));
  EXPECT_EQ(exchanges[0].response->body, "hello\n");
  EXPECT_THAT(exchanges[0].response->trailers, Contains(RecordedField{"x-sum", "7"}));
}

TEST_F(CapturePeersTest, NghttpMultiplexesAndIsPushedTo) {
  if (!installed({"nghttp", "nghttpd"})) GTEST_SKIP() << "no nghttp or nghttpd";
  ChildProgram server({"nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", path("www"),
                       "--push=/hello=/pushed", std::to_string(port_)},
                      path("server.log"));
  ASSERT_TRUE(testing::wait_until_listening(port_, server));
  const auto captured =
      capture("nghttp -n -m 10 " + url("http", "/hello") + " " + url("http", "/big"));
  if (!captured) GTEST_SKIP() << text_of("capture.log");
  const auto& exchanges = *captured;
  EXPECT_EQ(exchanges.size(), 20U);
  for (const RecordedExchange& exchange : exchanges) {
    EXPECT_THAT(summary(exchange),
                ::testing::AnyOf("h2 GET /hello > 200 6", "h2 GET /big > 200 300000"));
  }
}

TEST_F(CapturePeersTest, TlsIsReadWhileTheClientWritesItsKeyLog) {
  if (!installed({"curl", "nghttpd", "openssl"})) GTEST_SKIP() << "no curl, nghttpd or openssl";
  make_certificate();
  ChildProgram server({"nghttpd", "-a", "127.0.0.1", "-d", path("www"), std::to_string(port_),
                       path("key.pem"), path("cert.pem")},
                      path("server.log"));
  ASSERT_TRUE(testing::wait_until_listening(port_, server));
  const std::string fetch = "curl -sSk -o /dev/null " + url("https", "/big");
  const auto captured = capture(fetch + " && " + fetch + " --tls-max 1.2");
  if (!captured) GTEST_SKIP() << text_of("capture.log");
  const auto& exchanges = *captured;
  ASSERT_THAT(summaries(exchanges),
              ElementsAre("h2 GET /big > 200 300000", "h2 GET /big > 200 300000"));
  EXPECT_NE(exchanges[0].connection, exchanges[1].connection);
}

TEST_F(CapturePeersTest, AKeyLogThatOnlyRootMayReadIsReadByWhomeverItBecomes) {
  if (!installed({"curl", "nghttpd", "openssl"})) GTEST_SKIP() << "no curl, nghttpd or openssl";
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes somebody else";
  make_certificate();
  ChildProgram server({"nghttpd", "-a", "127.0.0.1", "-d", path("www"), std::to_string(port_),
                       path("key.pem"), path("cert.pem")},
                      path("server.log"));
  ASSERT_TRUE(testing::wait_until_listening(port_, server));
  fs::permissions(folder_, fs::perms::all);
  fs::create_directory(folder_ / "secret");
  fs::permissions(folder_ / "secret", fs::perms::owner_all);
  write("secret/keys", "# from the server\n");
  keys_ = "secret/keys";
  const auto captured = capture("curl -sSk -o /dev/null " + url("https", "/big"));
  if (!captured) GTEST_SKIP() << text_of("capture.log");
  EXPECT_THAT(text_of("capture.log"), ::testing::HasSubstr("as nobody"));
  EXPECT_THAT(summaries(*captured), ElementsAre("h2 GET /big > 200 300000"));
}

TEST_F(CapturePeersTest, TheServerOfOpensslIsReadWithAnOldSuite) {
  if (!installed({"curl", "openssl"})) GTEST_SKIP() << "no curl or openssl";
  make_certificate();
  ChildProgram server({"openssl", "s_server", "-quiet", "-accept",
                       "127.0.0.1:" + std::to_string(port_), "-key", path("key.pem"), "-cert",
                       path("cert.pem"), "-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA384", "-WWW"},
                      path("server.log"));
  ASSERT_TRUE(testing::wait_until_listening(port_, server));
  // It serves the folder that it was started in.
  const auto captured =
      capture("curl -sk -o /dev/null " + url("https", "/no-such-file") + "; true");
  if (!captured) GTEST_SKIP() << text_of("capture.log");
  const auto& exchanges = *captured;
  ASSERT_EQ(exchanges.size(), 1U);
  EXPECT_EQ(exchanges[0].request->target, "/no-such-file");
  ASSERT_TRUE(exchanges[0].response);
  EXPECT_EQ(exchanges[0].response->status, 200);
  EXPECT_THAT(exchanges[0].response->body, ::testing::HasSubstr("Error opening"));
}

}  // namespace
}  // namespace gatedrill::replay
