// Every connection is reset: live ones when the fault begins, new ones as soon as they are
// accepted.
#pragma once

#include "chaos/fault/fault.hpp"

namespace gatedrill::chaos {

class ResetAll final : public Fault {
 public:
  [[nodiscard]] std::string_view kind() const override { return "reset_all"; }

  [[nodiscard]] FaultShape shape() const override { return FaultShape::connection; }

  [[nodiscard]] InSimulation in_simulation() const override { return InSimulation::exact; }

  [[nodiscard]] bool resets_at_once() const override { return true; }
};

}  // namespace gatedrill::chaos
