#include "tests/support/live_capture.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace gatedrill::testing {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> command_of(const std::vector<std::string>& arguments,
                                    const std::vector<std::string>& before) {
  std::vector<std::string> command = before;
  command.insert(command.end(), {GD_PROGRAM, "capture"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// Of its own: what another one has said is no sign that this one runs.
std::string new_log(const std::string& folder) {
  static int count = 0;
  return folder + "/capture-" + std::to_string(++count) + ".log";
}

}  // namespace

LiveCapture::LiveCapture(const std::string& folder,
                         const std::vector<std::string>& arguments,
                         const std::vector<std::string>& before)
    : log_(new_log(folder)), program_(command_of(arguments, before), log_) {
  for (int i = 0; i < 500 && program_.running(); ++i) {
    if (log().find("Ctrl-C ends it") != std::string::npos) return;
    std::this_thread::sleep_for(20ms);
  }
}

int LiveCapture::interrupt() {
  program_.signal(SIGINT);
  return wait();
}

int LiveCapture::wait() {
  return program_.wait(20s).value_or(-1);
}

std::string LiveCapture::status_line(const std::string& name) const {
  std::ifstream status("/proc/" + std::to_string(program_.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":"))
      return line.substr(line.find_first_not_of(": \t", name.size()));
  }
  return {};
}

std::string LiveCapture::log() const {
  std::ostringstream text;
  text << std::ifstream(log_).rdbuf();
  return text.str();
}

std::string LiveCapture::missing_permission(const std::string& folder) {
  LiveCapture probe(folder, {"-i", "lo", "--duration", "0.1", "-o", folder + "/probe.db"});
  return probe.wait() == 3 ? probe.log() : "";
}

}  // namespace gatedrill::testing
