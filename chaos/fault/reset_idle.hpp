// RST on a connection that waits in the gateway's pool, as a middlebox or a restarted host sends
// it: the gateway learns of it one one-way delay later, or from the next request that it sends.
#pragma once

#include "chaos/fault/fault.hpp"

namespace gatedrill::chaos {

class ResetIdle final : public Fault {
 public:
  explicit ResetIdle(Duration limit) : limit_(limit) {}

  [[nodiscard]] std::string_view kind() const override { return "reset_idle"; }

  [[nodiscard]] FaultShape shape() const override { return FaultShape::connection; }

  [[nodiscard]] InSimulation in_simulation() const override { return InSimulation::exact; }

  [[nodiscard]] std::optional<Duration> idle_limit() const override { return limit_; }

 private:
  Duration limit_;
};

}  // namespace gatedrill::chaos
