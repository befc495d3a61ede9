// The built program as a gateway, with everything that it writes: run.db, the access log, its
// words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/child_program.hpp"

namespace gatedrill::testing {

class RecordedGateway {
 public:
  // `config` is gateway.yaml without `listen` and where to log. `before` are words in front of the
  // program's own: a shell's, say, that sets limits.
  explicit RecordedGateway(const std::string& config, const std::string& before = "");
  RecordedGateway(const RecordedGateway&) = delete;
  RecordedGateway& operator=(const RecordedGateway&) = delete;
  ~RecordedGateway();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // Asks it to end: what runs is let end.
  void drain();

  // The same, unless it was asked, and waits until it has ended.
  void finish();

  // After finish().
  [[nodiscard]] const std::string& run_db() const { return run_db_; }

  [[nodiscard]] std::vector<nlohmann::json> access_lines() const;

  // Everything that it printed so far.
  [[nodiscard]] std::string words() const;

 private:
  std::string folder_;
  std::string run_db_;
  std::unique_ptr<ChildProgram> program_;
  bool asked_ = false;
  std::uint16_t port_ = 0;
};

}  // namespace gatedrill::testing
