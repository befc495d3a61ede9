// Bytes take longer: a fixed time or a distribution, drawn once a message and direction, so that
// all bytes of one message travel alike and their order is kept.
#pragma once

#include "chaos/fault/fault.hpp"
#include "gateway/core/distribution.hpp"

namespace gatedrill::chaos {

class Latency final : public Fault {
 public:
  struct Settings {
    Distribution to_origin;
    Distribution to_gateway;
  };

  explicit Latency(Settings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] std::string_view kind() const override { return "latency"; }

  [[nodiscard]] FaultShape shape() const override { return FaultShape::bytes; }

  [[nodiscard]] InSimulation in_simulation() const override { return InSimulation::exact; }

  [[nodiscard]] Duration delay(Direction direction, double draw) const override {
    return direction == Direction::to_origin ? settings_.to_origin.at(draw)
                                             : settings_.to_gateway.at(draw);
  }

 private:
  Settings settings_;
};

}  // namespace gatedrill::chaos
