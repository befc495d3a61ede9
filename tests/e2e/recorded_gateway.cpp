#include "tests/e2e/recorded_gateway.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gatedrill::testing {

RecordedGateway::RecordedGateway(const std::string& config, int descriptors)
    : folder_(::testing::TempDir() + "recorded-" + std::to_string(::getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()),
      run_db_(folder_ + "/run.db") {
  std::filesystem::remove_all(folder_);
  program_.emplace(
      "name: edge\nsample_ok: 1\ncause_header: true\nproxy_status: true\naccess_log: " + folder_ +
          "/access.log\n" + config,
      folder_, GatewayProgramOptions{run_db_, descriptors});
}

RecordedGateway::~RecordedGateway() {
  program_.reset();
  std::filesystem::remove_all(folder_);
}

void RecordedGateway::finish() {
  EXPECT_EQ(program_->stop(std::chrono::seconds{20}), 0) << program_->log();
}

std::vector<nlohmann::json> RecordedGateway::access_lines() const {
  std::vector<nlohmann::json> lines;
  std::ifstream text(folder_ + "/access.log");
  for (std::string line; std::getline(text, line);)
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace gatedrill::testing
