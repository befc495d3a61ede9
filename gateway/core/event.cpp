#include "gateway/core/event.hpp"

namespace gatedrill {

std::string_view to_string(Transition::Kind kind) {
  switch (kind) {
    case Transition::Kind::breaker:
      return "breaker";
    case Transition::Kind::health:
      return "health";
    case Transition::Kind::ejection:
      return "ejection";
    case Transition::Kind::limiter:
      return "limiter";
    case Transition::Kind::level:
      return "level";
    case Transition::Kind::config:
      return "config";
    case Transition::Kind::canary:
      return "canary";
    case Transition::Kind::drain:
      return "drain";
  }
  return "config";
}

}  // namespace gatedrill
