// The bytes of the gateway's connections as they go by, for somebody who records them. Both legs:
// what clients send us and we them, and what we send endpoints and they us.
//
//   connect ──► on_opened ──► on_connected ──► on_received, on_sent, ... ──► on_ended (each side)
//   accept  ──► on_opened ──────────────────►
//
// Told on the hot path, so whoever implements it takes a copy and returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/core/result.hpp"

namespace gatedrill {

// What a tap keeps with each connection; it belongs to the tap.
struct TappedConnection {
  std::uint64_t id = 0;  // 0: nobody is told of this connection
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
};

enum class ConnectionEnding : std::uint8_t {
  peer_fin,
  peer_reset,
  own_fin,
  own_reset,
  not_connected,  // nobody answered, or it was given up before
};

// One thread's part; used on that thread only.
class TrafficTap {
 public:
  TrafficTap() = default;
  TrafficTap(const TrafficTap&) = delete;
  TrafficTap& operator=(const TrafficTap&) = delete;
  virtual ~TrafficTap() = default;

  // Addresses are "10.0.0.1:80", "[::1]:80". An accepted connection is a client's, any other ours.
  virtual void on_opened(TappedConnection& connection,
                         bool accepted,
                         std::string_view own,
                         std::string_view peer) noexcept = 0;
  virtual void on_connected(TappedConnection& connection) noexcept = 0;
  virtual void on_received(TappedConnection& connection, std::string_view bytes) noexcept = 0;
  virtual void on_sent(TappedConnection& connection, std::string_view bytes) noexcept = 0;
  // FIN may come from both sides; after an own_fin that `closed`, or a reset, nothing follows.
  virtual void on_ended(TappedConnection& connection,
                        ConnectionEnding ending,
                        bool closed) noexcept = 0;
};

// A whole gateway's, which outlives its taps' users.
class TrafficRecorder {
 public:
  struct Report {
    std::uint64_t exchanges = 0;
    std::uint64_t lost_bytes = 0;  // that came faster than they could be written
  };

  TrafficRecorder() = default;
  TrafficRecorder(const TrafficRecorder&) = delete;
  TrafficRecorder& operator=(const TrafficRecorder&) = delete;
  virtual ~TrafficRecorder() = default;

  // Of the shard with that index; each is used by one thread.
  virtual TrafficTap& tap(std::size_t shard) = 0;
  // Once no tap is used any more: writes the rest.
  virtual Result<Report> finish() = 0;
};

}  // namespace gatedrill
