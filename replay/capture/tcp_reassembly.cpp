#include "replay/capture/tcp_reassembly.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

// Farther from the expected place than this, a segment is a stray.
constexpr std::int64_t kStrayBytes = std::int64_t{1} << 30U;
// No window is larger: an acknowledgement that far ahead, or a reset, is not believed.
constexpr std::int64_t kWindowBytes = std::int64_t{16} << 20U;
// Before the first delivery, the beginning of a stream may turn out to be this much earlier.
constexpr std::int64_t kReorderBytes = std::int64_t{1} << 20U;
constexpr std::size_t kGuessPieces = 8;
constexpr std::size_t kClosedMax = 20'000;
constexpr Duration kClosedFor = std::chrono::minutes(1);
constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();
// No sender repeats a segment that soon: where it is captured again, it was captured in two places.
constexpr Duration kCapturedTwice = std::chrono::milliseconds(1);

std::size_t index(Side side) {
  return static_cast<std::size_t>(side);
}

Duration between(UnixTime from, UnixTime to) {
  return Duration{to.ns - from.ns};
}

}  // namespace

// Bytes that were captured and cannot be delivered yet. Places in a stream are 64-bit offsets, so
// that sequence numbers may wrap.
struct TcpReassembly::Piece {
  std::int64_t begin = 0;
  std::string_view bytes;         // in `storage` once held
  std::size_t sent = 0;           // more than `bytes` where the frame was cut
  std::int64_t needs = kNothing;  // what of the peer's stream the sender had acknowledged
  UnixTime at{};
  std::uint64_t number = 0;  // of the segment, on its connection
  std::string storage{};

  [[nodiscard]] std::int64_t end() const { return begin + static_cast<std::int64_t>(sent); }
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
  std::size_t held_bytes = 0;
  UnixTime news_at{};  // of the last segment with data that was not sent before
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

  Half& half(Side side) { return halves[index(side)]; }

  [[nodiscard]] const Half& half(Side side) const { return halves[index(side)]; }

  RecordedSide& facts_of(Side side) { return facts.sides[index(side)]; }

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

std::size_t TcpReassembly::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15U ^ key.network;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32U;
  };
  for (const Endpoint* endpoint : {&key.low, &key.high}) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), endpoint->address.data(), sizeof words);
    mix(words[0]);
    mix(words[1] ^ std::uint64_t{endpoint->port} << 48U);
  }
  return hash;
}

TcpReassembly::TcpReassembly(ReassemblyLimits limits, OpenStream open, Ledger& ledger)
    : limits_(limits), open_(std::move(open)), ledger_(ledger) {}

TcpReassembly::~TcpReassembly() = default;

void TcpReassembly::add(const TcpSegment& segment, UnixTime at) {
  latest_ = std::max(latest_, at);
  ledger_.stream.bytes += segment.payload.size();
  if (!segment.payload.empty()) ++ledger_.stream.count;
  Connection& connection = find_or_open(segment, at);
  const Side side = segment.source == connection.start.first ? Side::first : Side::second;
  connection.last_at = at;
  connection.touched = latest_;
  ++connection.segments;
  Half& half = connection.half(side);
  half.seen = true;
  if (connection.closed) {
    if (!segment.payload.empty()) ledger_.after_close.add(segment.payload.size());
    return;
  }
  if (segment.syn) take_handshake(connection, side, segment, at);
  if (segment.has_ack) take_acknowledgement(connection, side, segment);
  take_facts(connection, side, segment, at);
  if (segment.payload_bytes > 0) take_payload(connection, side, segment, at);
  if (segment.fin) {
    const std::uint32_t seq = segment.seq + segment.payload_bytes + (segment.syn ? 1U : 0U);
    if (!half.anchored) {
      half.anchor(seq);
      half.settled = true;
    }
    if (!half.fin) half.fin = half.offset(seq);
    RecordedSide& facts = connection.facts_of(side);
    const Half& peer = connection.half(other(side));
    if (!facts.fin) {
      facts.fin = at;
      if (segment.has_ack && peer.anchored) facts.fin_acked = peer.acknowledged(segment.ack);
    }
    if (!connection.end.closed_by) {
      connection.end.how = CloseKind::fin;
      connection.end.closed_by = side;
      connection.end.closed = at;
    }
  }
  drain(connection);
  if (segment.rst && !connection.closed) take_reset(connection, side, segment, at);
  if (!connection.closed) check_stall(connection, at);
  forget_old();
}

TcpReassembly::Connection& TcpReassembly::find_or_open(const TcpSegment& segment, UnixTime at) {
  Key key{segment.source, segment.destination, segment.network};
  if (key.high < key.low) std::swap(key.low, key.high);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return open(key, segment);
  Connection& connection = *found->second;
  const Side side = segment.source == connection.start.first ? Side::first : Side::second;
  if (connection.begins_anew(side, segment)) {
    // The port was used again.
    if (!connection.closed) close(connection, CloseKind::timeout, at);
    erase(closed_, found->second);
    return open(key, segment);
  }
  Connections& list = connection.closed ? closed_ : connections_;
  list.splice(list.end(), list, found->second);
  return connection;
}

TcpReassembly::Connection& TcpReassembly::open(const Key& key, const TcpSegment& segment) {
  connections_.emplace_back();
  const auto self = std::prev(connections_.end());
  Connection& connection = *self;
  connection.key = key;
  connection.self = self;
  connection.start.first = segment.source;
  connection.start.second = segment.destination;
  connection.start.tcp = &connection.facts;
  by_key_.emplace(key, self);
  return connection;
}

void TcpReassembly::take_handshake(Connection& connection,
                                   Side side,
                                   const TcpSegment& segment,
                                   UnixTime at) {
  connection.start.client = segment.has_ack ? other(side) : side;
  if (!segment.has_ack && !connection.start.opened) connection.start.opened = at;
  if (segment.has_ack) {
    if (!connection.facts.answered) connection.facts.answered = at;
  } else {
    ++connection.facts.syns;
  }
  Half& half = connection.half(side);
  if (half.firm || half.delivered) return;
  // What was held under a guessed beginning keeps its place under the true one.
  std::map<std::int64_t, Piece> held;
  const std::int64_t shift = half.anchored ? -half.offset(segment.seq + 1) : 0;
  for (auto& [begin, piece] : half.held) {
    piece.begin = begin + shift;
    held.emplace(piece.begin, std::move(piece));
  }
  if (half.fin) *half.fin += shift;
  RecordedSide& own = connection.facts_of(side);
  own.sent += shift;
  own.acked += shift;
  RecordedSide& peer = connection.facts_of(other(side));
  if (peer.fin_acked) *peer.fin_acked += shift;
  half.held = std::move(held);
  half.anchor(segment.seq + 1);
  half.firm = true;
  half.settled = true;
}

void TcpReassembly::take_acknowledgement(Connection& connection,
                                         Side side,
                                         const TcpSegment& segment) {
  Half& peer = connection.half(other(side));
  if (!peer.anchored) {
    if (segment.rst) return;  // the acknowledgement of a refusal says nothing of a stream
    peer.anchor(segment.ack);
    peer.settled = true;
    peer.acked = 0;
    return;
  }
  const std::int64_t acked = peer.offset(segment.ack);
  if (acked - peer.next > kStrayBytes) return;
  peer.acked = std::max(peer.acked, acked);
  std::int64_t& known = connection.facts_of(other(side)).acked;
  known = std::max(known, peer.acknowledged(segment.ack));
  if (!peer.settled && !peer.held.empty() && acked > peer.held.begin()->first) {
    peer.next = peer.held.begin()->first;
    peer.settled = true;
  }
}

// What is not about the bytes themselves. Comes before them, so that their reader sees it.
void TcpReassembly::take_facts(Connection& connection,
                               Side side,
                               const TcpSegment& segment,
                               UnixTime at) {
  TcpFacts& facts = connection.facts;
  Half& half = connection.half(side);
  RecordedSide& own = connection.facts_of(side);
  const bool plain = !segment.syn && !segment.rst;
  if (plain && facts.answered && !facts.established && side == connection.start.client) {
    facts.established = at;
  }
  if (plain) {
    const bool zero = segment.window == 0;
    if (zero && !half.window_zero) ++own.zero_windows;
    half.window_zero = zero;
  }
  if (segment.payload_bytes == 0) return;
  const std::uint32_t seq = segment.seq + (segment.syn ? 1U : 0U);
  if (!half.anchored) half.anchor(seq);
  const std::int64_t begin = half.offset(seq);
  const std::int64_t end = begin + segment.payload_bytes;
  if (std::abs(begin - half.next) > kStrayBytes) return;
  if (!half.covers(begin, end)) {
    half.news_at = at;
  } else if (segment.payload_bytes > 1 && between(half.news_at, at) >= kCapturedTwice) {
    ++own.retransmissions;  // one byte is how some systems ask whether the peer is still there
  }
  own.sent = std::max(own.sent, end);
}

void TcpReassembly::take_payload(Connection& connection,
                                 Side side,
                                 const TcpSegment& segment,
                                 UnixTime at) {
  Half& half = connection.half(side);
  const std::uint32_t seq = segment.seq + (segment.syn ? 1U : 0U);
  Piece piece{.begin = half.offset(seq),
              .bytes = segment.payload,
              .sent = segment.payload_bytes,
              .at = at,
              .number = connection.segments};
  if (segment.has_ack) piece.needs = connection.half(other(side)).offset(segment.ack);
  if (std::abs(piece.begin - half.next) > kStrayBytes) {
    ledger_.out_of_window.add(piece.bytes.size());
    return;
  }
  if (half.movable() && piece.begin < half.next && half.next - piece.begin <= kReorderBytes) {
    half.next = piece.begin;
  }
  if (piece.begin < half.next) {
    const auto known = static_cast<std::size_t>(half.next - piece.begin);
    const std::size_t again = std::min(known, piece.bytes.size());
    ledger_.duplicate.add(again);
    if (known >= piece.sent) {
      // What a cut frame does not hold may still be news of nothing: all of it is behind.
      ledger_.duplicate.bytes += piece.bytes.size() - again;
      return;
    }
    piece.bytes.remove_prefix(again);
    piece.sent -= known;
    piece.begin = half.next;
  }
  const bool next_in_turn = half.settled && half.held.empty() && piece.begin == half.next &&
                            connection.peer_ready(side, piece.needs);
  if (next_in_turn) {
    deliver(connection, side, piece);
  } else {
    hold(connection, side, piece);
  }
}

// Keeps the parts of the piece that nothing held covers yet.
void TcpReassembly::hold(Connection& connection, Side side, const Piece& piece) {
  Half& half = connection.half(side);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    Piece out = piece;
    const auto skipped = static_cast<std::size_t>(begin - piece.begin);
    out.begin = begin;
    out.sent = static_cast<std::size_t>(end - begin);
    out.bytes = piece.bytes.substr(std::min(skipped, piece.bytes.size()), out.sent);
    return out;
  };
  std::int64_t cursor = piece.begin;
  auto after = half.held.upper_bound(cursor);
  if (after != half.held.begin()) --after;
  while (cursor < piece.end()) {
    while (after != half.held.end() && after->second.end() <= cursor)
      ++after;
    const std::int64_t covered = after == half.held.end() ? piece.end() : after->first;
    if (covered > cursor) {
      const std::int64_t end = std::min(covered, piece.end());
      hold_part(half, part(cursor, end));
      cursor = end;
    } else {
      const std::int64_t end = std::min(after->second.end(), piece.end());
      ledger_.duplicate.add(part(cursor, end).bytes.size());
      cursor = end;
    }
  }
}

void TcpReassembly::hold_part(Half& half, const Piece& piece) {
  Piece& held = half.held[piece.begin];
  held = piece;
  held.storage = piece.bytes;
  held.bytes = held.storage;
  half.held_bytes += held.bytes.size();
  held_bytes_ += held.bytes.size();
}

void TcpReassembly::deliver(Connection& connection, Side side, const Piece& piece) {
  Half& half = connection.half(side);
  half.next = piece.begin + static_cast<std::int64_t>(piece.bytes.size());
  half.delivered = true;
  connection.end.had_data = true;
  const Half& peer = connection.half(other(side));
  connection.facts.delivery = {
      .begin = piece.begin, .end = half.next, .after_fin = peer.fin && piece.needs > *peer.fin};
  if (!connection.end.closed_by) connection.end.last_data = piece.at;
  if (!piece.bytes.empty()) {
    ledger_.delivered.add(piece.bytes.size());
    reader(connection).on_data(side, piece.bytes, piece.at);
  }
  if (piece.sent > piece.bytes.size()) {
    const std::size_t cut = piece.sent - piece.bytes.size();
    ledger_.gaps.add(cut);
    ledger_.lose(LossReason::cut_frame, cut);
    connection.end.gap_bytes += cut;
    half.next += static_cast<std::int64_t>(cut);
    reader(connection).on_gap(side, cut, LossReason::cut_frame, piece.at);
  }
}

bool TcpReassembly::drain_half(Connection& connection, Side side, bool ignore_peer) {
  Half& half = connection.half(side);
  bool progress = false;
  while (half.settled && !half.held.empty()) {
    const auto first = half.held.begin();
    if (first->first > half.next) break;
    if (!ignore_peer && !connection.peer_ready(side, first->second.needs)) break;
    Piece piece = std::move(first->second);
    piece.bytes = piece.storage;
    half.held.erase(first);
    half.held_bytes -= piece.bytes.size();
    held_bytes_ -= piece.bytes.size();
    if (piece.begin < half.next) {
      // Only what lies before a beginning that a late SYN named.
      ledger_.duplicate.add(piece.bytes.size());
    } else {
      deliver(connection, side, piece);
    }
    progress = true;
    if (ignore_peer) break;
  }
  if (half.settled && half.fin && !half.ended && half.held.empty() && half.next >= *half.fin) {
    half.ended = true;
    if (connection.reader) connection.reader->on_end(side, connection.last_at);
    progress = true;
  }
  return progress;
}

void TcpReassembly::drain(Connection& connection) {
  while (drain_half(connection, Side::first, false) ||
         drain_half(connection, Side::second, false)) {
  }
  if (connection.closed) return;
  if (connection.halves[0].ended && connection.halves[1].ended) {
    close(connection, CloseKind::fin, connection.last_at);
  }
}

void TcpReassembly::gap(Connection& connection, Side side, std::int64_t until, UnixTime at) {
  Half& half = connection.half(side);
  assert(until > half.next);
  const auto bytes = static_cast<std::uint64_t>(until - half.next);
  ledger_.gaps.add(bytes);
  ledger_.lose(LossReason::gap, bytes);
  connection.end.gap_bytes += bytes;
  RecordedSide& facts = connection.facts_of(side);
  facts.sent = std::max(facts.sent, until);
  half.next = until;
  half.delivered = true;
  reader(connection).on_gap(side, bytes, LossReason::gap, at);
}

// Gives up waiting in one place, the one where the oldest piece waits. False if nothing waits.
bool TcpReassembly::declare_gap(Connection& connection) {
  std::optional<Side> oldest;
  for (const Side side : {Side::first, Side::second}) {
    const Half& half = connection.half(side);
    if (half.held.empty()) continue;
    if (!oldest ||
        half.held.begin()->second.number < connection.half(*oldest).held.begin()->second.number) {
      oldest = side;
    }
  }
  if (!oldest) return false;
  Half& half = connection.half(*oldest);
  const Piece& piece = half.held.begin()->second;
  if (!half.settled) {
    half.next = half.held.begin()->first;
    half.settled = true;
    return true;
  }
  if (half.has_hole()) {
    gap(connection, *oldest, half.held.begin()->first, piece.at);
    return true;
  }
  // It waits for the peer's bytes.
  Half& peer = connection.half(other(*oldest));
  std::int64_t until = peer.fin ? std::min(piece.needs, *peer.fin) : piece.needs;
  if (!peer.held.empty()) until = std::min(until, peer.held.begin()->first);
  if (!connection.peer_ready(*oldest, piece.needs) && until > peer.next) {
    gap(connection, other(*oldest), until, piece.at);
    return true;
  }
  return drain_half(connection, *oldest, true);
}

void TcpReassembly::check_stall(Connection& connection, UnixTime at) {
  const auto stalled = [&](Side side) {
    const Half& half = connection.half(side);
    if (half.held.empty()) return false;
    const Piece& piece = half.held.begin()->second;
    const bool waited =
        connection.segments - piece.number >= static_cast<std::uint64_t>(limits_.gap_segments) ||
        between(piece.at, at) >= limits_.gap_wait;
    if (!half.settled) return waited || half.held.size() >= kGuessPieces;
    // A hole that the receiver has not acknowledged may still be filled by a retransmission.
    const bool received = !half.has_hole() || half.acked >= half.held.begin()->first ||
                          !connection.half(other(side)).seen;
    return waited && received;
  };
  while (!connection.closed && (stalled(Side::first) || stalled(Side::second))) {
    if (!declare_gap(connection)) break;
    drain(connection);
  }
  const std::size_t held = connection.halves[0].held_bytes + connection.halves[1].held_bytes;
  if (held > limits_.held_bytes_per_connection || (held > 0 && held_bytes_ > limits_.held_bytes)) {
    flush(connection);
  }
}

// Delivers everything that is held.
void TcpReassembly::flush(Connection& connection) {
  while (!connection.closed && declare_gap(connection))
    drain(connection);
}

void TcpReassembly::take_reset(Connection& connection,
                               Side side,
                               const TcpSegment& segment,
                               UnixTime at) {
  const Half& half = connection.half(side);
  // Zero is what the reset of a refused connection carries.
  const bool plausible = !half.anchored || segment.seq == 0 ||
                         std::abs(half.offset(segment.seq) - half.next) <= kWindowBytes;
  if (!plausible) return;
  RecordedSide& facts = connection.facts_of(side);
  facts.rst = at;
  const Half& peer = connection.half(other(side));
  if (segment.has_ack && peer.anchored) facts.rst_acked = peer.acknowledged(segment.ack);
  if (connection.start.client && side != *connection.start.client && !connection.facts.answered) {
    connection.facts.refused = true;
  }
  flush(connection);
  if (connection.closed) return;
  if (!connection.end.closed_by) {
    connection.end.closed_by = side;
    connection.end.closed = at;
    connection.end.how = CloseKind::rst;
  }
  close(connection, CloseKind::rst, at);
}

// `how` is what ends it now; a FIN that came first stays what closed it.
void TcpReassembly::close(Connection& connection, CloseKind how, UnixTime at) {
  flush(connection);
  if (connection.closed) return;
  if (!connection.end.closed_by) connection.end.how = how;
  // A connection that carried nothing is worth a line if it was tried: a refusal, a port scan.
  if (connection.reader || connection.start.client) {
    reader(connection).on_closed(connection.end, how == CloseKind::open ? latest_ : at);
  }
  connection.reader.reset();
  connection.closed = true;
  closed_.splice(closed_.end(), connections_, connection.self);
}

void TcpReassembly::erase(Connections& from, Connections::iterator connection) {
  by_key_.erase(connection->key);
  from.erase(connection);
}

void TcpReassembly::forget_old() {
  while (!closed_.empty() &&
         (closed_.size() > kClosedMax || between(closed_.front().touched, latest_) > kClosedFor)) {
    erase(closed_, closed_.begin());
  }
  while (!connections_.empty() && (connections_.size() > limits_.connections ||
                                   between(connections_.front().touched, latest_) > limits_.idle)) {
    ++ledger_.connections_forgotten;
    close(connections_.front(), CloseKind::timeout, latest_);
  }
}

void TcpReassembly::finish() {
  while (!connections_.empty())
    close(connections_.front(), CloseKind::open, latest_);
}

StreamReader& TcpReassembly::reader(Connection& connection) {
  if (!connection.reader) {
    connection.start.connection = next_id_++;
    ++ledger_.connections;
    connection.reader = open_(connection.start);
  }
  return *connection.reader;
}

}  // namespace gatedrill::replay::capture
