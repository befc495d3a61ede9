// The dice of one rule: numbers that depend on the seed, the rule's name and the request only,
// never on order or time. Two runs with other concurrency, or one live and one simulated, hit the
// same requests (the attempt counts, so a retry rolls its own).
#pragma once

#include <cstdint>
#include <string_view>

#include "chaos/fault/fault.hpp"

namespace gatedrill::chaos {

class Draw {
 public:
  Draw(std::uint64_t seed, std::string_view rule);

  // In [0, 1). A request without id is known by its link, connection and ordinal.
  [[nodiscard]] double of_request(std::string_view link,
                                  const RequestSight& sight,
                                  std::string_view what) const;
  [[nodiscard]] double of_connection(std::string_view link,
                                     std::uint64_t connection,
                                     std::string_view what) const;

 private:
  std::uint64_t seed_;
};

}  // namespace gatedrill::chaos
