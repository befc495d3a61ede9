#include "tests/support/child_program.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gatedrill::testing {
namespace {

constexpr std::chrono::milliseconds kPause{10};

// The inode of the socket that listens on this port of 127.0.0.1; empty if there is none.
std::string listener_inode(std::uint16_t port) {
  std::ifstream table("/proc/thread-self/net/tcp");
  std::ostringstream address;  // as the kernel writes it
  address << "0100007F:" << std::uppercase << std::hex << std::setw(4) << std::setfill('0') << port;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, skipped, inode;
    fields >> slot >> local >> remote >> state;
    if (local != address.str() || state != "0A") continue;
    for (int field = 0; field < 5; ++field)
      fields >> skipped;
    fields >> inode;
    return inode;
  }
  return {};
}

bool has_socket(pid_t pid, const std::string& inode) {
  std::error_code error;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  for (std::filesystem::directory_iterator at(folder, error), end; at != end; at.increment(error)) {
    std::error_code gone;
    if (std::filesystem::read_symlink(at->path(), gone) == "socket:[" + inode + "]") return true;
  }
  return false;
}

int status_of(int raw) {
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

}  // namespace

ChildProgram::ChildProgram(std::vector<std::string> arguments, const std::string& log) {
  if (const std::string found = find_program(arguments.front()); !found.empty()) {
    arguments.front() = found;
  }
  std::vector<char*> words;
  for (std::string& argument : arguments)
    words.push_back(argument.data());
  words.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  // In the child: nothing that takes a lock, since the parent has threads.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  // A listener of the test's must not live on here.
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execv(words.front(), words.data());
  ::_exit(127);
}

ChildProgram::~ChildProgram() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool ChildProgram::running() {
  if (pid_ <= 0 || status_) return false;
  int raw = 0;
  if (::waitpid(pid_, &raw, WNOHANG) != pid_) return true;
  status_ = status_of(raw);
  return false;
}

void ChildProgram::signal(int number) {
  if (running()) ::kill(pid_, number);
}

std::optional<int> ChildProgram::wait(std::chrono::milliseconds limit) {
  for (; running() && limit.count() > 0; limit -= kPause)
    std::this_thread::sleep_for(kPause);
  return running() ? std::nullopt : status_;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "/usr/bin" : path) + ":/usr/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

bool wait_until_listening(std::uint16_t port, ChildProgram& program) {
  for (int tries = 0; tries < 1000 && program.running(); ++tries) {
    const std::string inode = listener_inode(port);
    if (!inode.empty() && has_socket(program.pid(), inode)) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

}  // namespace gatedrill::testing
