#include "tests/e2e/recorded_gateway.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace gatedrill::testing {
namespace {

constexpr std::chrono::milliseconds kPatience{20'000};
constexpr std::chrono::milliseconds kPause{5};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

RecordedGateway::RecordedGateway(const std::string& config, const std::string& before) {
  static int count = 0;
  folder_ = ::testing::TempDir() + "gateway-" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
            std::to_string(++count);
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  run_db_ = folder_ + "/run.db";
  std::ofstream(folder_ + "/gateway.yaml")
      << "listen: 127.0.0.1:0\nname: edge\nsample_ok: 1\ncause_header: true\nproxy_status: true\n"
      << "access_log: " << folder_ << "/access.log\n"
      << config;
  program_ = std::make_unique<ChildProgram>(
      std::vector<std::string>{
          "sh", "-c", before + " exec \"$0\" gateway -c \"$1\"/gateway.yaml -o \"$1\"/run.db",
          GD_PROGRAM, folder_},
      folder_ + "/words");
  const std::string mark = "listening on 127.0.0.1:";
  for (auto waited = kPause; port_ == 0 && waited < kPatience && program_->running();
       waited += kPause) {
    const std::string said = words();
    const std::size_t at = said.find(mark);
    if (at != std::string::npos && said.find('\n', at) != std::string::npos) {
      port_ = static_cast<std::uint16_t>(std::stoi(said.substr(at + mark.size())));
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
  if (port_ == 0) throw std::runtime_error("the gateway did not start: " + words());
}

RecordedGateway::~RecordedGateway() {
  program_.reset();
  std::filesystem::remove_all(folder_);
}

void RecordedGateway::drain() {
  if (!asked_) program_->signal(SIGTERM);
  asked_ = true;  // a second one would kill it
}

void RecordedGateway::finish() {
  drain();
  const auto status = program_->wait(kPatience);
  EXPECT_EQ(status, 0) << words();
}

std::vector<nlohmann::json> RecordedGateway::access_lines() const {
  std::vector<nlohmann::json> lines;
  std::istringstream text(text_of(folder_ + "/access.log"));
  for (std::string line; std::getline(text, line);)
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::string RecordedGateway::words() const {
  return text_of(folder_ + "/words");
}

}  // namespace gatedrill::testing
