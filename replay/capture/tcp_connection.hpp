// What TcpReassembly knows of one connection; for tcp_reassembly.cpp and tcp_delivery.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "replay/capture/delivered_bytes.hpp"
#include "replay/capture/tcp_reassembly.hpp"

namespace gatedrill::replay::capture {

// Farther ahead of the expected place, or behind it, a segment is a stray.
inline constexpr std::int64_t kStrayBytes = std::int64_t{1} << 30U;
inline constexpr std::int64_t kOldBytes = std::int64_t{64} << 20U;
// No window is larger: an acknowledgement that far ahead, or a reset, is not believed.
inline constexpr std::int64_t kWindowBytes = std::int64_t{16} << 20U;
// Before the first delivery, the beginning of a stream may turn out to be this much earlier.
inline constexpr std::int64_t kReorderBytes = std::int64_t{1} << 20U;
// The memory that a held piece takes beside its bytes.
inline constexpr std::size_t kPieceBytes = 160;
inline constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();

inline Duration between(UnixTime from, UnixTime to) {
  return Duration{to.ns - from.ns};
}

// Bytes that were captured and cannot be delivered yet. Places in a stream are 64-bit offsets, so
// that sequence numbers may wrap.
struct TcpReassembly::Piece {
  std::int64_t begin = 0;
  std::string_view bytes{};       // in `storage` once held
  std::size_t sent = 0;           // more than `bytes` where the frame was cut
  std::int64_t needs = kNothing;  // what of the peer's stream the sender had acknowledged
  UnixTime at{};
  std::uint64_t number = 0;  // of the segment, on its connection
  std::string storage{};

  [[nodiscard]] std::int64_t end() const { return begin + static_cast<std::int64_t>(sent); }

  // What it costs to hold it, the memory around its bytes too.
  [[nodiscard]] std::size_t cost() const { return bytes.size() + kPieceBytes; }

  // The part from `from` to `to`.
  [[nodiscard]] Piece part(std::int64_t from, std::int64_t to) const {
    Piece out{.begin = from, .needs = needs, .at = at, .number = number};
    out.sent = static_cast<std::size_t>(to - from);
    out.bytes =
        bytes.substr(std::min(static_cast<std::size_t>(from - begin), bytes.size()), out.sent);
    return out;
  }
};

// One direction.
struct TcpReassembly::Half {
  bool anchored = false;  // offsets can be told
  bool firm = false;      // by a SYN
  bool settled = false;   // `next` may be delivered
  bool seen = false;      // this side sent something
  bool delivered = false;
  bool ended = false;
  std::uint32_t base = 0;  // the sequence number of offset 0
  std::int64_t next = 0;
  std::int64_t acked = kNothing;  // by the peer
  std::optional<std::int64_t> fin;
  std::map<std::int64_t, Piece> held;
  std::size_t held_bytes = 0;  // as Piece::cost counts
  DeliveredBytes::Marks marks;
  std::uint32_t stray_next = 0;  // behind the last stray
  int strays = 0;                // that followed one another
  UnixTime news_at{};            // of the last segment with data that was not sent before
  bool window_zero = false;

  void anchor(std::uint32_t seq) {
    anchored = true;
    base = seq;
    next = 0;
  }

  [[nodiscard]] std::int64_t offset(std::uint32_t seq) const {
    const std::uint32_t expected = base + static_cast<std::uint32_t>(next);
    return next + static_cast<std::int32_t>(seq - expected);
  }

  [[nodiscard]] bool is_stray(std::int64_t begin) const {
    return begin - next > kStrayBytes || next - begin > kOldBytes;
  }

  // Before the first delivery, and without a SYN, the stream may turn out to begin earlier.
  [[nodiscard]] bool movable() const { return !firm && !delivered; }

  // How far an acknowledgement of this stream reaches; that of a FIN counts for nothing.
  [[nodiscard]] std::int64_t acknowledged(std::uint32_t ack) const {
    const std::int64_t place = offset(ack);
    return fin ? std::min(place, *fin) : place;
  }

  // Whether every byte from `begin` to `end` was captured before.
  [[nodiscard]] bool covers(std::int64_t begin, std::int64_t end) const {
    if (movable() && begin < next) return false;
    std::int64_t cursor = std::max(begin, next);
    auto piece = held.upper_bound(cursor);
    if (piece != held.begin()) --piece;
    for (; cursor < end && piece != held.end() && piece->first <= cursor; ++piece) {
      cursor = std::max(cursor, piece->second.end());
    }
    return cursor >= end;
  }

  // What it cannot deliver because something before it is missing.
  [[nodiscard]] bool has_hole() const {
    return settled && !held.empty() && held.begin()->first > next;
  }
};

struct TcpReassembly::Connection {
  Key key;
  ConnectionStart start;
  std::array<Half, 2> halves;
  std::unique_ptr<StreamReader> reader;
  ConnectionEnd end;
  TcpFacts facts;
  bool closed = false;
  std::uint64_t segments = 0;
  UnixTime last_at{};  // of its packets
  UnixTime touched{};  // how far the capture was then: packets may be stamped out of order
  Connections::iterator self;
  Connections* list = nullptr;                 // that it is in
  std::optional<Waiting::iterator> waiting{};  // its place there

  Half& half(Side side) { return halves[index(side)]; }

  [[nodiscard]] const Half& half(Side side) const { return halves[index(side)]; }

  RecordedSide& facts_of(Side side) { return facts.sides[index(side)]; }

  [[nodiscard]] std::size_t held_bytes() const {
    return halves[0].held_bytes + halves[1].held_bytes;
  }

  // Whether the peer's stream has been delivered as far as the sender had seen it.
  [[nodiscard]] bool peer_ready(Side side, std::int64_t needs) const {
    const Half& peer = half(other(side));
    if (!peer.seen || !peer.settled || peer.ended) return true;
    const std::int64_t wanted = peer.fin ? std::min(needs, *peer.fin) : needs;
    return peer.next >= wanted || wanted - peer.next > kWindowBytes;
  }

  // A SYN that cannot belong to this connection, or data far outside of what it was.
  [[nodiscard]] bool begins_anew(Side side, const TcpSegment& segment) const {
    const Half& sender = half(side);
    const std::int64_t begin = sender.offset(segment.seq + (segment.syn ? 1U : 0U));
    if (!segment.syn) {
      return closed && !segment.payload.empty() && sender.anchored &&
             std::abs(begin - sender.next) > kWindowBytes;
    }
    if (!sender.anchored) return closed;
    if (sender.firm) return segment.seq + 1 != sender.base;
    // A handshake that the capture holds behind the first data.
    return closed || begin > 0 || begin < -kReorderBytes;
  }
};

}  // namespace gatedrill::replay::capture
