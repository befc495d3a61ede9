// New connections are refused (the listening socket is closed), live ones go on.
#pragma once

#include "chaos/fault/fault.hpp"

namespace gatedrill::chaos {

class Refuse final : public Fault {
 public:
  [[nodiscard]] std::string_view kind() const override { return "refuse"; }

  [[nodiscard]] FaultShape shape() const override { return FaultShape::connection; }

  [[nodiscard]] InSimulation in_simulation() const override { return InSimulation::exact; }

  [[nodiscard]] bool refuses() const override { return true; }
};

}  // namespace gatedrill::chaos
