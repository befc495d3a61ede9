// The proxies that are compared, each as a process of its own in front of one origin.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/child_program.hpp"

namespace gatedrill::differential {

// In the order of the table.
enum class Program { gatedrill, nginx, haproxy };

inline constexpr std::array kPrograms = {Program::gatedrill, Program::nginx, Program::haproxy};

[[nodiscard]] std::string_view to_string(Program program);

// As the program says it, such as "1.22.1"; empty if it is not installed. Ours is "".
[[nodiscard]] std::string version_of(Program program);

// What the proxy's configuration refers to.
struct Backends {
  std::uint16_t origin = 0;
  std::uint16_t refused = 0;    // nobody listens there
  std::uint16_t blackhole = 0;  // listens, and answers no SYN
};

// Set as users run it (kept connections on both sides), with short timeouts. /refused and
// /blackhole lead to the backends of that name.
class Proxy {
 public:
  // Throws if it does not come up.
  Proxy(Program program, const Backends& backends, const std::string& folder);
  ~Proxy();

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  std::uint16_t port_ = 0;
  std::unique_ptr<testing::ChildProgram> process_;
};

}  // namespace gatedrill::differential
