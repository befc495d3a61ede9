#include "scenarios/live/external_gateway.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace gatedrill::scenarios {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}

  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that was free a moment ago; a program that cannot be given a socket needs a number.
std::uint16_t free_port() {
  const FileDescriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = static_cast<sockaddr*>(static_cast<void*>(&address));
  if (::bind(probe.get(), generic, size) != 0) return 0;
  if (::getsockname(probe.get(), generic, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

bool accepts(std::uint16_t port) {
  const FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(port);
  return ::connect(client.get(), static_cast<sockaddr*>(static_cast<void*>(&address)),
                   sizeof address) == 0;
}

std::string replace_all(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string last_lines(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  std::string all = text.str();
  while (!all.empty() && all.back() == '\n')
    all.pop_back();
  constexpr std::size_t kShown = 600;
  return all.size() > kShown ? all.substr(all.size() - kShown) : all;
}

Result<pid_t> spawn(const std::vector<std::string>& command, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: posix_spawn's signature
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  return outside_error("cannot start the external gateway '" + command[0] +
                       "': " + std::strerror(error) +
                       (error == ENOENT ? "; install it or take the variant out" : ""));
}

}  // namespace

Result<std::string> fill_template(std::string_view text,
                                  const std::string& source,
                                  std::uint16_t port,
                                  const std::string& dir,
                                  const EndpointAddresses& endpoints) {
  std::istringstream lines{std::string(text)};
  std::string line;
  std::string filled;
  constexpr std::string_view kEndpoint = "${endpoint:";
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string port_text = std::to_string(port);
    line = replace_all(line, "${listen}", "127.0.0.1:" + port_text);
    line = replace_all(line, "${port}", port_text);
    line = replace_all(line, "${dir}", dir);
    const auto place = source + ":" + std::to_string(number) + ": ";
    if (const std::size_t at = line.find(kEndpoint); at != std::string::npos) {
      const std::size_t end = line.find('}', at);
      if (end == std::string::npos) return usage_error(place + "${endpoint: is not closed with }");
      const std::string name = line.substr(at + kEndpoint.size(), end - at - kEndpoint.size());
      const auto origin = endpoints.find(name);
      if (origin == endpoints.end()) {
        return usage_error(place + "there is no origin named '" + name + "'");
      }
      int count = 0;
      for (const std::string& address : origin->second) {
        std::string one = replace_all(line, line.substr(at, end + 1 - at), address);
        filled += replace_all(std::move(one), "${n}", std::to_string(++count)) + "\n";
      }
      continue;
    }
    if (const std::size_t unknown = line.find("${"); unknown != std::string::npos) {
      return usage_error(place + "unknown placeholder " +
                         line.substr(unknown, line.find('}', unknown) + 1 - unknown) +
                         "; known are ${listen}, ${port}, ${dir} and ${endpoint:ORIGIN}");
    }
    filled += line + "\n";
  }
  return filled;
}

Result<ExternalGateway> ExternalGateway::start(const ExternalGatewayConfig& config,
                                               const std::string& dir,
                                               const EndpointAddresses& endpoints) {
  const std::uint16_t port = free_port();
  if (port == 0) return outside_error("there is no free port on the loopback interface");
  const std::string config_path = dir + "/gateway.conf";
  if (!config.config_template.empty()) {
    std::ifstream file(config.config_template);
    if (!file) {
      return outside_error("cannot read " + config.config_template + ": " + std::strerror(errno));
    }
    std::ostringstream text;
    text << file.rdbuf();
    auto filled = fill_template(text.str(), config.config_template, port, dir, endpoints);
    if (!filled) return filled.error();
    std::ofstream written(config_path);
    written << *filled;
    if (!written.flush()) return outside_error("cannot write " + config_path);
  }
  std::vector<std::string> command;
  for (const std::string& argument : config.command) {
    command.push_back(replace_all(replace_all(argument, "${config}", config_path), "${dir}", dir));
  }
  const std::string output = dir + "/output.log";
  const Result<pid_t> pid = spawn(command, output);
  if (!pid) return pid.error();
  ExternalGateway gateway(*pid, port);
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    if (accepts(port)) return gateway;
    if (!gateway.alive()) {
      return outside_error("the external gateway '" + command[0] +
                           "' ended before it listened: " + last_lines(output));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  return outside_error("the external gateway '" + command[0] + "' does not listen on port " +
                       std::to_string(port) + " after 10 s: " + last_lines(output));
}

ExternalGateway::ExternalGateway(ExternalGateway&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), port_(other.port_) {}

ExternalGateway& ExternalGateway::operator=(ExternalGateway&& other) noexcept {
  if (this != &other) {
    stop();
    pid_ = std::exchange(other.pid_, -1);
    port_ = other.port_;
  }
  return *this;
}

ExternalGateway::~ExternalGateway() {
  stop();
}

bool ExternalGateway::alive() {
  if (pid_ < 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  ::kill(-pid_, SIGKILL);  // whatever it left in its group
  pid_ = -1;
  return false;
}

void ExternalGateway::stop() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGTERM);
  constexpr int kTries = 60;
  for (int i = 0; i < kTries; ++i) {
    if (!alive()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
}

}  // namespace gatedrill::scenarios
