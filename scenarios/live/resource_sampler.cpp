#include "scenarios/live/resource_sampler.hpp"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace gatedrill::scenarios {
namespace {

std::uint64_t resident_bytes(const std::string& process) {
  std::ifstream file("/proc/" + process + "/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint32_t open_files(const std::string& process) {
  std::error_code error;
  std::uint32_t count = 0;
  std::filesystem::directory_iterator files("/proc/" + process + "/fd", error);
  for (; !error && files != std::filesystem::directory_iterator{}; files.increment(error))
    ++count;
  return count;
}

struct ProcessTimes {
  pid_t group = 0;
  Duration cpu{0};
};

// The fields of /proc/PID/stat that follow the command's name, which may hold anything.
std::optional<ProcessTimes> read_times(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  const std::string line = text.str();
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string state;
  std::string skipped;
  pid_t parent = 0;
  ProcessTimes times;
  fields >> state >> parent >> times.group;
  for (int i = 0; i < 8; ++i)
    fields >> skipped;
  std::int64_t user = 0;
  std::int64_t kernel = 0;
  if (!(fields >> user >> kernel)) return std::nullopt;
  times.cpu = std::chrono::nanoseconds{(user + kernel) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK))};
  return times;
}

}  // namespace

Duration thread_cpu() {
  timespec time{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return Duration{0};
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

ResourceSample sample_self() {
  ResourceSample sample;
  sample.process = intern("gatedrill");
  sample.rss_bytes = resident_bytes("self");
  sample.fds = open_files("self");
  return sample;
}

std::optional<ResourceSample> sample_group(pid_t group) {
  ResourceSample sample;
  bool found = false;
  std::error_code error;
  std::filesystem::directory_iterator processes("/proc", error);
  for (; !error && processes != std::filesystem::directory_iterator{}; processes.increment(error)) {
    const std::string process = processes->path().filename().string();
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto times = read_times(process);
    if (!times || times->group != group) continue;
    found = true;
    sample.cpu += times->cpu;
    sample.rss_bytes += resident_bytes(process);
    sample.fds += open_files(process);
  }
  if (!found) return std::nullopt;
  sample.process = intern("external");
  return sample;
}

}  // namespace gatedrill::scenarios
