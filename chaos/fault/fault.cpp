#include "chaos/fault/fault.hpp"

namespace gatedrill::chaos {

std::string_view to_string(FaultShape shape) {
  switch (shape) {
    case FaultShape::connection:
      return "connection";
    case FaultShape::bytes:
      return "bytes";
    case FaultShape::message:
      return "message";
  }
  return "";
}

std::string_view to_string(InSimulation how) {
  switch (how) {
    case InSimulation::exact:
      return "exact";
    case InSimulation::outcome:
      return "outcome";
    case InSimulation::no:
      return "no";
  }
  return "";
}

std::string_view to_string(Direction direction) {
  switch (direction) {
    case Direction::to_origin:
      return "to_origin";
    case Direction::to_gateway:
      return "to_gateway";
  }
  return "";
}

std::string_view to_string(ResetMoment moment) {
  switch (moment) {
    case ResetMoment::before_origin:
      return "before_origin";
    case ResetMoment::after_origin:
      return "after_origin";
  }
  return "";
}

}  // namespace gatedrill::chaos
