// Whatever is wrong with what the user gave: one clear message that says what to do, the right exit
// status, no crash, and nothing left behind that looks whole.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/support/run_program.hpp"

namespace gatedrill {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramRun;
using testing::run_gatedrill;
using testing::run_shell;

const std::string kDrills = std::string(GD_SOURCE_DIR) + "/scenarios/drills/";
const std::string kShop = kDrills + "shop.pcap";
const std::string kDrill = kDrills + "inc-1-rolling-upgrade.yaml";

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "bad-input-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  // The message is a line or a few, names the file, and nothing else was said.
  static void expect_message(const ProgramRun& run, int status, const std::string& part) {
    EXPECT_EQ(run.status, status) << run.errors << run.out;
    EXPECT_THAT(run.errors, HasSubstr("gatedrill"));
    EXPECT_THAT(run.errors, HasSubstr(part));
    EXPECT_THAT(run.errors, Not(HasSubstr("internal error")));
    EXPECT_LE(std::count(run.errors.begin(), run.errors.end(), '\n'), 6) << run.errors;
  }

  std::string folder_;
};

TEST_F(BadInput, WhatCannotBePrintedIsSaid) {
  const std::string recording = path("traffic.db");
  ASSERT_EQ(run_gatedrill("capture -r " + kShop + " -o " + recording).status, 0);
  for (const char* command : {"traffic ", "traffic show ", "traffic explain "}) {
    const std::string exchange = std::string(command) == "traffic show " ? " 1" : "";
    expect_message(run_gatedrill(command + recording + exchange + " > /dev/full"), 3,
                   "standard output cannot be written: No space left on device");
    // A reader that had enough is no failure.
    const std::string status = path("status");
    run_shell("{ \"$GATEDRILL\" " + (command + recording + exchange) + "; echo $? > " + status +
              "; } | true");
    EXPECT_NE(run_shell("cat " + status).out, "3\n");
  }
}

TEST_F(BadInput, ARecordingNeedsAFile) {
  for (const char* target : {"''", "-"}) {
    expect_message(run_gatedrill("capture -r " + kShop + " -o " + target), 2,
                   "is no file for a recording");
  }
  expect_message(
      run_gatedrill("capture -r " + kShop + " -o " + path("t.db") + " --keylog " + path("no.log")),
      3, "no.log: No such file or directory");
}

TEST_F(BadInput, AMissingFileIsNamed) {
  expect_message(run_gatedrill("run " + path("no.yaml")), 3, "no.yaml");
  expect_message(run_gatedrill("capture -r " + path("no.pcap") + " -o " + path("t.db")), 3,
                 "no.pcap");
  expect_message(run_gatedrill("replay " + path("no.db") + " --to http://127.0.0.1:1"), 3, "no.db");
  expect_message(run_gatedrill("report " + path("no.db")), 3, "no.db");
  expect_message(run_gatedrill("traffic " + path("no.db")), 3, "no.db");
  expect_message(run_gatedrill("gateway -c " + path("no.yaml")), 3, "no.yaml");
  EXPECT_FALSE(fs::exists(path("t.db")));
}

TEST_F(BadInput, ADirectoryIsNoFile) {
  for (const std::string& arguments :
       {"run " + folder_, "capture -r " + folder_ + " -o " + path("t.db"),
        "replay " + folder_ + " --to http://127.0.0.1:1", "report " + folder_,
        "gateway -c " + folder_}) {
    const ProgramRun run = run_gatedrill(arguments);
    EXPECT_TRUE(run.status == 2 || run.status == 3) << arguments << ": " << run.status;
    EXPECT_THAT(run.errors, AnyOf(HasSubstr("directory"), HasSubstr("folder"))) << arguments;
  }
  EXPECT_FALSE(fs::exists(path("t.db")));
}

TEST_F(BadInput, AnEmptyFileIsRefused) {
  const std::string empty = write("empty", "");
  expect_message(run_gatedrill("run " + empty), 2, "empty");
  EXPECT_NE(run_gatedrill("capture -r " + empty + " -o " + path("t.db")).status, 0);
  EXPECT_NE(run_gatedrill("replay " + empty + " --to http://127.0.0.1:1").status, 0);
  EXPECT_NE(run_gatedrill("report " + empty).status, 0);
  EXPECT_NE(run_gatedrill("traffic " + empty).status, 0);
  EXPECT_FALSE(fs::exists(path("t.db")));
}

TEST_F(BadInput, SomethingThatIsNoCaptureIsRefused) {
  const std::string text = write("notes.txt", std::string(4000, 'x'));
  expect_message(run_gatedrill("capture -r " + text + " -o " + path("t.db")), 2, "notes.txt");
  EXPECT_FALSE(fs::exists(path("t.db")));
}

TEST_F(BadInput, ATruncatedCaptureKeepsWhatIsWholeAndSaysWhatIsNot) {
  std::ostringstream bytes;
  bytes << std::ifstream(kShop, std::ios::binary).rdbuf();
  const std::string cut = write("cut.pcap", bytes.str().substr(0, 300'001));
  const ProgramRun run = run_gatedrill("capture -r " + cut + " -o " + path("t.db"));
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.out + run.errors, HasSubstr("breaks off"));
  EXPECT_EQ(run_gatedrill("traffic " + path("t.db")).status, 0);
}

TEST_F(BadInput, AnUnknownKeyHasItsPlaceAndASuggestion) {
  std::ostringstream text;
  text << std::ifstream(kDrill).rdbuf();
  std::string drill = text.str();
  drill.replace(drill.find("removal_wait"), 12, "removal_wiat");
  const ProgramRun run = run_gatedrill("run " + write("drill.yaml", drill));
  expect_message(run, 2, "removal_wiat");
  EXPECT_THAT(run.errors, HasSubstr("did you mean removal_wait?"));
  EXPECT_THAT(run.errors, HasSubstr("drill.yaml:"));
}

TEST_F(BadInput, APortInUseIsSaid) {
  const std::string config = write("gateway.yaml",
                                   "listen: 127.0.0.1:PORT\n"
                                   "upstreams: {shop: {endpoints: [127.0.0.1:9]}}\n"
                                   "routes: [{upstream: shop}]\n");
  const ProgramRun run = run_shell(
      "python3 - <<'PYTHON'\n"
      "import socket, subprocess, sys\n"
      "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
      "path = '" +
      config +
      "'\n"
      "text = open(path).read().replace('PORT', str(s.getsockname()[1]))\n"
      "open(path, 'w').write(text)\n"
      "sys.exit(subprocess.run(['" GD_PROGRAM
      "', 'gateway', '-c', path]).returncode)\n"
      "PYTHON\n");
  expect_message(run, 3, "in use");
}

TEST_F(BadInput, WithoutPermissionToCaptureItSaysWhatToDo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give its rights up";
  const ProgramRun run = run_shell(
      "cd / && setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all "
      "--inh-caps=-all \"$GATEDRILL\" capture -i lo -o /tmp/gatedrill-no-permission.db");
  if (run.status == 126 || run.status == 127) GTEST_SKIP() << "the program is out of their reach";
  expect_message(run, 3, "lo");
  EXPECT_FALSE(fs::exists("/tmp/gatedrill-no-permission.db"));
}

TEST_F(BadInput, ACaptureWithoutARequestIsNoTraffic) {
  // A file header and nothing behind it: a capture in which nothing happened.
  const std::string header(
      "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x04\x00\x01\x00\x00\x00",
      24);
  const std::string silent = write("silent.pcap", header);
  const ProgramRun run = run_gatedrill("run " + kDrill + " --out " + path("out") +
                                       " --set traffic.recording=" + silent);
  expect_message(run, 4, "gatedrill run");
}

// A small tmpfs, mounted for the test.
class FullDisk : public BadInput {
 protected:
  void SetUp() override {
    BadInput::SetUp();
    disk_ = path("disk");
    fs::create_directories(disk_);
    if (::mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=128k") != 0) {
      GTEST_SKIP() << "cannot mount a small disk here";
    }
    mounted_ = true;
  }

  void TearDown() override {
    if (mounted_) ::umount2(disk_.c_str(), MNT_DETACH);
    BadInput::TearDown();
  }

  std::string disk_;
  bool mounted_ = false;
};

TEST_F(FullDisk, ACaptureLeavesNothingThatLooksWhole) {
  const ProgramRun run = run_gatedrill("capture -r " + kShop + " -o " + disk_ + "/t.db");
  expect_message(run, 3, "no space left on the disk");
  EXPECT_TRUE(fs::is_empty(disk_));
}

TEST_F(FullDisk, ARunSaysSoAndItsRecordIsNotTakenForAWholeOne) {
  const ProgramRun run =
      run_gatedrill("run " + kDrill + " --simulate --durations live --out " + disk_ + "/out");
  EXPECT_EQ(run.status, 3) << run.errors;
  EXPECT_THAT(run.errors, AnyOf(HasSubstr("full"), HasSubstr("no space left")));
  EXPECT_FALSE(fs::exists(disk_ + "/out/report.html"));
  if (fs::exists(disk_ + "/out/run.db")) {
    EXPECT_NE(run_gatedrill("report " + disk_ + "/out/run.db").status, 0);
  }
}

TEST(Usage, HelpAndVersionAreAnsweredAndNonsenseIsNot) {
  EXPECT_EQ(run_gatedrill("--help").status, 0);
  EXPECT_THAT(run_gatedrill("--version").out, HasSubstr("gatedrill 0."));
  for (const std::string command :
       {"run", "gateway", "check", "capture", "traffic", "replay", "report"}) {
    const ProgramRun help = run_gatedrill(command + " --help");
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("xample")) << command;
  }
  EXPECT_EQ(run_gatedrill("").status, 2);
  EXPECT_EQ(run_gatedrill("rnu").status, 2);
  EXPECT_EQ(run_gatedrill("run").status, 2);
}

}  // namespace
}  // namespace gatedrill
