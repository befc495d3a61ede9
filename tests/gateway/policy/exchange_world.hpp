// Many exchanges of one upstream, interleaved, each told any event that is legal in its state; and
// what holds for every request on every path, checked after every event.
#pragma once

#include <cstdint>

namespace gatedrill::gateway {

// Where the decisions come from: a seed, or the bytes of a fuzz input.
class Choices {
 public:
  Choices() = default;
  Choices(const Choices&) = delete;
  Choices& operator=(const Choices&) = delete;
  virtual ~Choices() = default;
  // There is nothing left to decide by: everything ends.
  [[nodiscard]] virtual bool empty() const = 0;
  // From 0 to limit - 1; limit at most 256.
  virtual std::uint64_t below(std::uint64_t limit) = 0;
  virtual bool chance(double probability) = 0;
};

// Throws std::logic_error if something did not hold.
void play_exchanges(Choices& choices, int events);

}  // namespace gatedrill::gateway
