// One shard's end of the tap: copies what its connections read and write into a ring, and never
// waits. What finds no room is counted; the places in each event tell the other end where it is
// missing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/core/time.hpp"
#include "gateway/core/traffic_tap.hpp"
#include "replay/spsc_ring.hpp"

namespace gatedrill::replay {

struct TapEvent {
  enum class Kind : std::uint8_t {
    opened,  // its bytes are the own address, a line feed, the peer's
    connected,
    received,
    sent,
    ended,
  };

  Kind kind = Kind::opened;
  ConnectionEnding ending = ConnectionEnding::own_fin;
  bool accepted = false;
  bool closed = false;
  std::uint64_t connection = 0;
  UnixTime at{};
  // How many bytes had been received and sent before this event.
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
};

using TapRing = SpscRing<TapEvent>;

class ShardTap final : public TrafficTap {
 public:
  // `clock` and `next_id`, which all shards share, outlive it.
  ShardTap(std::size_t buffer_bytes, const Clock& clock, std::atomic<std::uint64_t>& next_id)
      : ring_(buffer_bytes), clock_(clock), next_id_(next_id) {}

  void on_opened(TappedConnection& connection,
                 bool accepted,
                 std::string_view own,
                 std::string_view peer) noexcept override;
  void on_connected(TappedConnection& connection) noexcept override;
  void on_received(TappedConnection& connection, std::string_view bytes) noexcept override;
  void on_sent(TappedConnection& connection, std::string_view bytes) noexcept override;
  void on_ended(TappedConnection& connection,
                ConnectionEnding ending,
                bool closed) noexcept override;

  // The taking end.
  [[nodiscard]] TapRing& ring() { return ring_; }

  // From any thread.
  [[nodiscard]] std::uint64_t lost_bytes() const { return lost_bytes_.load(); }

  [[nodiscard]] std::uint64_t lost_connections() const { return lost_connections_.load(); }

 private:
  [[nodiscard]] TapEvent event(TapEvent::Kind kind, const TappedConnection& connection) const;
  void push_bytes(TapEvent::Kind kind, const TappedConnection& connection, std::string_view bytes);

  TapRing ring_;
  const Clock& clock_;
  std::atomic<std::uint64_t>& next_id_;
  std::atomic<std::uint64_t> lost_bytes_ = 0;
  std::atomic<std::uint64_t> lost_connections_ = 0;
};

}  // namespace gatedrill::replay
