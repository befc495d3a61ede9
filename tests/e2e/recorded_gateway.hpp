// The built gateway with everything that it writes: run.db and the access log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/gateway_program.hpp"

namespace gatedrill::testing {

class RecordedGateway {
 public:
  // `config` is gateway.yaml without `listen` and what it is to write. `descriptors`: its limit; 0:
  // the system's.
  explicit RecordedGateway(const std::string& config, int descriptors = 0);
  RecordedGateway(const RecordedGateway&) = delete;
  RecordedGateway& operator=(const RecordedGateway&) = delete;
  ~RecordedGateway();

  [[nodiscard]] std::uint16_t port() const { return program_->port(); }

  void drain() { program_->drain(); }

  // Drains it and waits until it has ended.
  void finish();

  // After finish().
  [[nodiscard]] const std::string& run_db() const { return run_db_; }

  [[nodiscard]] std::vector<nlohmann::json> access_lines() const;

 private:
  std::string folder_;
  std::string run_db_;
  std::optional<GatewayProgram> program_;
};

}  // namespace gatedrill::testing
