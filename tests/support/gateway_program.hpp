// The built gateway as users run it: a process with a gateway.yaml on a free port.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/child_program.hpp"

namespace gatedrill::testing {

struct GatewayProgramOptions {
  std::string record = {};                  // the run.db to write; none if empty
  int descriptors = 0;                      // its limit; 0: what the system allows
  std::vector<std::string> arguments = {};  // more of them
};

class GatewayProgram {
 public:
  // `config` is a gateway.yaml without `listen`. Its files go into `folder`. Throws if it does not
  // come up.
  GatewayProgram(const std::string& config,
                 const std::string& folder,
                 const GatewayProgramOptions& options = {});
  ~GatewayProgram();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // Asks it to end, once: what runs is let end.
  void drain();
  // The same, and waits: its exit status, nothing if it has not ended after `limit`.
  std::optional<int> stop(std::chrono::milliseconds limit);

  [[nodiscard]] bool running();
  [[nodiscard]] int open_descriptors() const;
  [[nodiscard]] long resident_kib() const;
  [[nodiscard]] std::chrono::milliseconds processor_time() const;
  // What it has said so far.
  [[nodiscard]] std::string log() const;

 private:
  std::uint16_t port_ = 0;
  std::string log_;
  bool draining_ = false;
  std::optional<ChildProgram> process_;
};

}  // namespace gatedrill::testing
