// What TCP has shown of one connection, apart from its bytes: who opened, acknowledged, repeated
// and closed what, and when. `traffic explain` tells from it who broke a connection.
//
// TcpReassembly keeps it up to date; a StreamReader may look at it during its calls, and then also
// sees which bytes of the stream are being delivered to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "gateway/core/time.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay::capture {

// The two ends of a connection: `first` sent the first segment that was captured.
enum class Side : std::uint8_t { first = 0, second = 1 };

[[nodiscard]] constexpr Side other(Side side) {
  return side == Side::first ? Side::second : Side::first;
}

[[nodiscard]] constexpr std::size_t index(Side side) {
  return static_cast<std::size_t>(side);
}

struct TcpFacts {
  // The delivery that is going on. Its place ends behind it even while only a part was handed on.
  struct Delivery {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool after_fin = false;  // its sender's TCP had the peer's FIN before it sent it
  };

  std::array<RecordedSide, 2> sides{};  // by Side
  std::uint32_t syns = 0;               // without acknowledgement: the client's
  std::optional<UnixTime> answered{};
  std::optional<UnixTime> established{};
  bool refused = false;
  Delivery delivery{};

  [[nodiscard]] const RecordedSide& side(Side which) const {
    return sides[static_cast<std::size_t>(which)];
  }

  [[nodiscard]] std::uint32_t retransmissions() const {
    return sides[0].retransmissions + sides[1].retransmissions;
  }
};

// Puts the facts into the connection's row.
void describe(const TcpFacts& facts, Side client, RecordedConnection& connection);

}  // namespace gatedrill::replay::capture
