// RST on the n-th request of a live keep-alive connection: what a gateway meets when it reuses a
// connection that its backend has already given up. Also by how long the connection was idle
// before.
#pragma once

#include "chaos/fault/fault.hpp"

namespace gatedrill::chaos {

class ResetOnRequest final : public Fault {
 public:
  struct Settings {
    std::uint32_t ordinal_min = 2;           // which requests of a connection, from 1
    std::uint32_t ordinal_max = UINT32_MAX;  // equal to ordinal_min: exactly that one
    Duration idle_min{0};                    // and only after that much idleness
    ResetMoment moment = ResetMoment::before_origin;
  };

  explicit ResetOnRequest(Settings settings) : settings_(settings) {}

  [[nodiscard]] std::string_view kind() const override { return "reset_on_request"; }

  [[nodiscard]] FaultShape shape() const override { return FaultShape::connection; }

  [[nodiscard]] InSimulation in_simulation() const override { return InSimulation::exact; }

  [[nodiscard]] std::optional<ResetMoment> on_request(const RequestSight& sight) const override {
    const bool hit = sight.ordinal >= settings_.ordinal_min &&
                     sight.ordinal <= settings_.ordinal_max && sight.idle >= settings_.idle_min;
    return hit ? std::optional(settings_.moment) : std::nullopt;
  }

 private:
  Settings settings_;
};

}  // namespace gatedrill::chaos
