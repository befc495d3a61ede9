#include "gateway/config/file_check.hpp"

#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "gateway/config/check_command.hpp"

namespace gatedrill::gateway {
namespace {

constexpr const char* kGood =
    "listen: 127.0.0.1:80\nupstreams: {shop: {endpoints: ['127.0.0.1:81']}}\n"
    "routes: [{upstream: shop}]\n";

// A folder of its own for each test, with files in it.
class Checks : public testing::Test {
 protected:
  Checks() : folder_(std::filesystem::path(testing::TempDir()) / unique_name()) {
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }

  ~Checks() override {
    std::filesystem::current_path("/");
    std::filesystem::remove_all(folder_);
  }

  static void write(const std::string& name, std::string_view text) { std::ofstream(name) << text; }

  struct Ran {
    int status = -1;
    std::string out;
    std::string err;
  };

  static Ran run(const std::vector<std::string>& arguments) {
    Ran ran;
    CLI::App app;
    const FileKind notes{
        "notes", [](const YamlNode& root) { return root.find("notes") != nullptr; },
        [](const std::string&, const std::vector<std::string>&) -> Result<Checked> {
          return Checked{{}, "holds notes", {}};
        }};
    add_check_command(app, {gateway_file_kind(), notes}, ran.status);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    reversed.emplace_back("check");
    app.parse(reversed);
    ran.out = testing::internal::GetCapturedStdout();
    ran.err = testing::internal::GetCapturedStderr();
    return ran;
  }

 private:
  static std::string unique_name() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    return std::string("gatedrill-check-") + test.name();
  }

  std::filesystem::path folder_;
};

TEST_F(Checks, SayInOneLineWhatWasUnderstood) {
  write("g.yaml", kGood);
  const Ran ran = run({"g.yaml"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "g.yaml: listens on 127.0.0.1:80; 1 route to 1 upstream (1 endpoint)\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(Checks, PrintEveryProblemOfEveryFileAndEndWithTwo) {
  write("a.yaml", "listen: here\nroutes: [{upstream: shop}]\n");
  write("b.yaml", "");
  const Ran ran = run({"a.yaml", "b.yaml"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out,
            "a.yaml:1:1: upstreams: is required\n"
            "a.yaml:1:9: listen: expected an address such as 127.0.0.1:8080 or [::1]:8080, got "
            "'here'\n"
            "b.yaml:1:1: holds no settings\n");
}

TEST_F(Checks, EndWithThreeWhenAFileCannotBeReadAndStillCheckTheOthers) {
  write("g.yaml", kGood);
  const Ran ran = run({"missing.yaml", ".", "g.yaml"});
  EXPECT_EQ(ran.status, 3);
  EXPECT_EQ(ran.err,
            "gatedrill check: missing.yaml: there is no such file\n"
            "gatedrill check: .: is a directory; name the file inside it\n");
  EXPECT_EQ(ran.out, "g.yaml: listens on 127.0.0.1:80; 1 route to 1 upstream (1 endpoint)\n");
}

TEST_F(Checks, TellKindsOfFilesApart) {
  write("n.yaml", "notes: []\n");
  EXPECT_EQ(run({"n.yaml"}).out, "n.yaml: holds notes\n");
}

TEST_F(Checks, GiveProblemsAsJson) {
  write("a.yaml",
        "listen: '\"here\"'\nupstreams: {s: {endpoints: ['h:1']}}\nroutes: [{upstream: s}]\n");
  const Ran ran = run({"a.yaml", "--format", "json"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out,
            "{\"problems\": [\n  {\"file\": \"a.yaml\", \"line\": 1, \"column\": 9, \"path\": "
            "\"listen\", "
            "\"text\": \"expected an address such as 127.0.0.1:8080 or [::1]:8080, got "
            "'\\\"here\\\"'\"}\n]}\n");
  write("g.yaml", kGood);
  EXPECT_EQ(run({"g.yaml", "--format", "json"}).out, "{\"problems\": []}\n");
}

TEST_F(Checks, TakeOverridesAndExplain) {
  write("g.yaml", kGood);
  const Ran ran = run({"g.yaml", "--set", "routes[0].timeouts.total=1s", "--explain"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.out.find("response  3s      total ends it first, after 1s"), std::string::npos)
      << ran.out;
}

}  // namespace
}  // namespace gatedrill::gateway
