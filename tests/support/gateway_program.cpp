#include "tests/support/gateway_program.hpp"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <unistd.h>

#include "tests/support/loopback_peer.hpp"

namespace gatedrill::testing {
namespace {

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

GatewayProgram::GatewayProgram(const std::string& config,
                               const std::string& folder,
                               const GatewayProgramOptions& options)
    : log_(folder + "/gateway.log") {
  std::filesystem::create_directories(folder);
  const std::string file = folder + "/gateway.yaml";
  std::vector<std::string> arguments = {GD_PROGRAM, "gateway", "-c", file};
  if (!options.record.empty()) {
    arguments.emplace_back("-o");
    arguments.push_back(options.record);
  }
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  if (options.descriptors > 0) {
    const std::string limit = std::to_string(options.descriptors);
    arguments.insert(arguments.begin(), {"prlimit", "--nofile=" + limit + ":" + limit});
  }
  // Another process may take the port that was free a moment ago.
  for (int tries = 0; tries < 3; ++tries) {
    port_ = unused_port();
    std::ofstream(file) << "listen: 127.0.0.1:" << port_ << "\n" << config;
    process_.emplace(arguments, log_);
    if (wait_until_listening(port_, *process_)) return;
  }
  throw std::runtime_error("the gateway does not start: " + log());
}

GatewayProgram::~GatewayProgram() = default;

void GatewayProgram::drain() {
  if (!draining_) process_->signal(SIGTERM);
  draining_ = true;  // a second one would kill it
}

std::optional<int> GatewayProgram::stop(std::chrono::milliseconds limit) {
  drain();
  return process_->wait(limit);
}

bool GatewayProgram::running() {
  return process_->running();
}

int GatewayProgram::open_descriptors() const {
  std::error_code error;
  int count = 0;
  const std::string folder = "/proc/" + std::to_string(process_->pid()) + "/fd";
  for (std::filesystem::directory_iterator at(folder, error), end; at != end; at.increment(error))
    ++count;
  return count;
}

long GatewayProgram::resident_kib() const {
  long total = 0;
  long resident = 0;
  std::ifstream("/proc/" + std::to_string(process_->pid()) + "/statm") >> total >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

std::chrono::milliseconds GatewayProgram::processor_time() const {
  const std::string text = read_file("/proc/" + std::to_string(process_->pid()) + "/stat");
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field)
    fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return std::chrono::milliseconds{(user + system) * 1000 / ::sysconf(_SC_CLK_TCK)};
}

std::string GatewayProgram::log() const {
  return read_file(log_);
}

}  // namespace gatedrill::testing
