// When and in which order the bytes of a connection are delivered, and when one stops waiting for
// those that are missing.
#include <algorithm>
#include <cassert>
#include <utility>

#include "replay/capture/tcp_connection.hpp"

namespace gatedrill::replay::capture {
namespace {

// A stream whose beginning is not known begins with the first of so many segments.
constexpr std::size_t kGuessPieces = 8;

}  // namespace

// Bytes that were delivered already. What a cut frame does not hold of them is no news.
void TcpReassembly::take_again(Connection& connection, Side side, const Piece& piece) {
  ledger_.duplicate.add(piece.bytes.size());
  // One byte is how some systems ask whether the peer is still there, and it may be any.
  if (piece.sent <= 1) return;
  const Half& half = connection.half(side);
  report_conflict(connection, delivered_bytes_.differing(half.marks, piece.begin, piece.bytes));
}

void TcpReassembly::report_conflict(const Connection& connection, std::size_t bytes) {
  if (bytes == 0) return;
  if (ledger_.conflicting.count == 0) {
    ledger_.first_conflict =
        to_string(connection.start.first) + " and " + to_string(connection.start.second);
  }
  ledger_.conflicting.add(bytes);
}

// Keeps the parts of the piece that nothing held covers yet.
void TcpReassembly::hold(Connection& connection, Side side, const Piece& piece) {
  Half& half = connection.half(side);
  std::int64_t cursor = piece.begin;
  auto after = half.held.upper_bound(cursor);
  if (after != half.held.begin()) --after;
  while (cursor < piece.end()) {
    while (after != half.held.end() && after->second.end() <= cursor)
      ++after;
    const std::int64_t covered = after == half.held.end() ? piece.end() : after->first;
    if (covered > cursor) {
      const std::int64_t end = std::min(covered, piece.end());
      hold_part(half, piece.part(cursor, end));
      cursor = end;
    } else {
      const std::int64_t end = std::min(after->second.end(), piece.end());
      const std::string_view again = piece.part(cursor, end).bytes;
      const Piece& held = after->second;
      const std::string_view first = held.part(cursor, end).bytes;
      ledger_.duplicate.add(again.size());
      report_conflict(connection, differing(first, again));
      cursor = end;
    }
  }
}

void TcpReassembly::hold_part(Half& half, const Piece& piece) {
  Piece& held = half.held[piece.begin];
  held = piece;
  held.storage = piece.bytes;
  held.bytes = held.storage;
  half.held_bytes += held.cost();
  held_bytes_ += held.cost();
}

// Its `bytes` are the caller's to set: they lie in its storage, which moves.
TcpReassembly::Piece TcpReassembly::release_first(Half& half) {
  const auto first = half.held.begin();
  half.held_bytes -= first->second.cost();
  held_bytes_ -= first->second.cost();
  Piece piece = std::move(first->second);
  half.held.erase(first);
  return piece;
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
    delivered_bytes_.remember(half.marks, piece.begin, piece.bytes);
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
    Piece piece = release_first(half);
    piece.bytes = piece.storage;
    // Only where a late SYN named the beginning, there may be something before it.
    const std::int64_t begin = std::clamp(half.next, piece.begin, piece.end());
    if (begin > piece.begin) {
      ledger_.duplicate.add(piece.part(piece.begin, begin).bytes.size());
    }
    if (begin < piece.end()) deliver(connection, side, piece.part(begin, piece.end()));
    progress = true;
    if (ignore_peer) break;
  }
  if (half.settled && half.fin && !half.ended && half.held.empty() && half.next >= *half.fin) {
    half.ended = true;
    // One that is empty so far may turn out to begin earlier; it ends with the connection.
    if (connection.reader && half.delivered) connection.reader->on_end(side, connection.last_at);
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
  if (connection.held_bytes() > limits_.held_bytes_per_connection) give_up_waiting(connection);
}

// For want of memory.
void TcpReassembly::give_up_waiting(Connection& connection) {
  ledger_.given_up_waiting.add(connection.held_bytes());
  flush(connection);
  note_waiting(connection);
}

void TcpReassembly::note_waiting(Connection& connection) {
  const bool waits = connection.held_bytes() > 0;
  if (waits == connection.waiting.has_value()) return;
  if (waits) {
    connection.waiting = waiting_.insert(waiting_.end(), &connection);
  } else {
    waiting_.erase(*connection.waiting);
    connection.waiting.reset();
  }
}

// Delivers everything that is held.
void TcpReassembly::flush(Connection& connection) {
  while (!connection.closed && declare_gap(connection))
    drain(connection);
}

}  // namespace gatedrill::replay::capture
