// A gateway that is not ours in a drill: any command that listens on a port. Its config file is a
// template in which, before it starts,
//
//   ${listen}           is 127.0.0.1:PORT, ${port} the port alone
//   ${dir}              is a directory of its own, for logs and pid files
//   ${endpoint:NAME}    repeats its line for each endpoint of the origin NAME, as address:port;
//                       ${n} in such a line counts from 1
//
// and in the command ${config} and ${dir} are replaced. The process runs in a group of its own and
// is ended with it: SIGTERM, then SIGKILL after three seconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "gateway/core/result.hpp"

namespace gatedrill::scenarios {

struct ExternalGatewayConfig {
  std::vector<std::string> command;  // {"nginx", "-c", "${config}"}
  std::string config_template;       // path of the template; empty: the command needs none

  bool operator==(const ExternalGatewayConfig&) const = default;
};

// Origin name to the addresses of its endpoints.
using EndpointAddresses = std::map<std::string, std::vector<std::string>>;

// The template with everything replaced. Fails (usage) on an unknown placeholder, with its line.
[[nodiscard]] Result<std::string> fill_template(std::string_view text,
                                                const std::string& source,
                                                std::uint16_t port,
                                                const std::string& dir,
                                                const EndpointAddresses& endpoints);

class ExternalGateway {
 public:
  // Starts it and waits until it accepts connections (ten seconds at most). `dir` exists. Fails
  // (outside) if the program is missing, ends or never listens, with the end of its output.
  static Result<ExternalGateway> start(const ExternalGatewayConfig& config,
                                       const std::string& dir,
                                       const EndpointAddresses& endpoints);

  ExternalGateway(ExternalGateway&& other) noexcept;
  ExternalGateway& operator=(ExternalGateway&& other) noexcept;
  ~ExternalGateway();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Whether it still runs.
  [[nodiscard]] bool alive();
  void stop();

 private:
  ExternalGateway(pid_t pid, std::uint16_t port) : pid_(pid), port_(port) {}

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace gatedrill::scenarios
