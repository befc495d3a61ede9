#include "replay/capture/tcp_reassembly.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include "replay/capture/tcp_connection.hpp"

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kClosedMax = 20'000;
// So large a share of the connections may be opening, whatever else is open.
constexpr std::size_t kOpeningShare = 16;
constexpr Duration kClosedFor = std::chrono::minutes(1);
// No sender repeats a segment that soon: where it is captured again, it was captured in two places.
constexpr Duration kCapturedTwice = std::chrono::milliseconds(1);
// So many strays that follow one another are where the connection is now.
constexpr int kStraysMax = 4;
// The clock moves on by no more with each packet.
constexpr Duration kClockStep = std::chrono::minutes(1);

}  // namespace

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
    : limits_(limits),
      open_(std::move(open)),
      ledger_(ledger),
      delivered_bytes_(limits.remembered_bytes) {}

TcpReassembly::~TcpReassembly() = default;

void TcpReassembly::add(const TcpSegment& segment, UnixTime at) {
  move_clock(at);
  ledger_.stream.bytes += segment.payload.size();
  if (!segment.payload.empty()) ++ledger_.stream.count;
  Connection& connection = find_or_open(segment, at);
  const Side side = segment.source == connection.start.first ? Side::first : Side::second;
  connection.last_at = at;
  connection.touched = clock_;
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
  if (segment.rst) {
    // What a reset carries is for people (RFC 9293 3.5.3).
    if (!segment.payload.empty()) ledger_.after_close.add(segment.payload.size());
  } else if (segment.payload_bytes > 0) {
    take_payload(connection, side, segment, at);
  }
  if (segment.fin) take_fin(connection, side, segment, at);
  drain(connection);
  if (segment.rst && !connection.closed) take_reset(connection, side, segment, at);
  if (!connection.closed) check_stall(connection, at);
  note_waiting(connection);
  while (held_bytes_ > limits_.held_bytes && !waiting_.empty())
    give_up_waiting(*waiting_.front());
  forget_old();
}

void TcpReassembly::pass(UnixTime now) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    Connection& connection = **next++;
    check_stall(connection, now);
    note_waiting(connection);
  }
}

void TcpReassembly::move_clock(UnixTime at) {
  latest_ = std::max(latest_, at);
  const bool first = clock_ == UnixTime{};
  if (first || between(clock_, at) <= kClockStep) {
    clock_ = std::max(clock_, at);
  } else {
    clock_.ns += kClockStep.count();
  }
}

void TcpReassembly::move_to(Connections& list, Connection& connection) {
  list.splice(list.end(), *connection.list, connection.self);
  connection.list = &list;
}

TcpReassembly::Connection& TcpReassembly::find_or_open(const TcpSegment& segment, UnixTime at) {
  Key key{segment.source, segment.destination, segment.network};
  if (key.high < key.low) std::swap(key.low, key.high);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return open(key, segment);
  Connection& connection = *found->second;
  const Side side = segment.source == connection.start.first ? Side::first : Side::second;
  if (connection.begins_anew(side, segment)) {
    if (!connection.closed) close(connection, CloseKind::replaced, at);
    erase(closed_, found->second);
    return open(key, segment);
  }
  move_to(*connection.list, connection);
  return connection;
}

TcpReassembly::Connection& TcpReassembly::open(const Key& key, const TcpSegment& segment) {
  opening_.emplace_back();
  const auto self = std::prev(opening_.end());
  Connection& connection = *self;
  connection.list = &opening_;
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
    Piece& moved = held.emplace(piece.begin, std::move(piece)).first->second;
    moved.bytes = moved.storage;
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
  if (segment.payload_bytes == 0 || segment.rst) return;
  const std::uint32_t seq = segment.seq + (segment.syn ? 1U : 0U);
  if (!half.anchored) half.anchor(seq);
  const std::int64_t begin = half.offset(seq);
  const std::int64_t end = begin + segment.payload_bytes;
  if (half.is_stray(begin)) return;
  if (!half.covers(begin, end)) {
    half.news_at = at;
  } else if (segment.payload_bytes > 1 && between(half.news_at, at) >= kCapturedTwice) {
    ++own.retransmissions;  // one byte is how some systems ask whether the peer is still there
  }
  own.sent = std::max(own.sent, end);
}

void TcpReassembly::take_fin(Connection& connection,
                             Side side,
                             const TcpSegment& segment,
                             UnixTime at) {
  Half& half = connection.half(side);
  const std::uint32_t seq = segment.seq + segment.payload_bytes + (segment.syn ? 1U : 0U);
  if (!half.anchored) {
    half.anchor(seq);
    half.settled = true;
  }
  const std::int64_t end = half.offset(seq);
  if (!half.fin) {
    // Nobody ends a stream before bytes that were sent already.
    std::int64_t earliest = half.movable() ? half.next - kReorderBytes : half.next;
    if (!half.held.empty()) earliest = std::max(earliest, half.held.rbegin()->second.end());
    if (end < earliest || half.is_stray(end)) {
      ledger_.out_of_window.add(0);
      return;
    }
    half.fin = end;
  }
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

void TcpReassembly::take_payload(Connection& connection,
                                 Side side,
                                 const TcpSegment& segment,
                                 UnixTime at) {
  if (connection.list == &opening_) move_to(connections_, connection);
  Half& half = connection.half(side);
  const std::uint32_t seq = segment.seq + (segment.syn ? 1U : 0U);
  const bool stray = half.is_stray(half.offset(seq));
  if (stray && !back_in_step(connection, side, segment, at)) {
    ledger_.out_of_window.add(segment.payload.size());
    return;
  }
  Piece piece{.begin = half.offset(seq),
              .bytes = segment.payload,
              .sent = segment.payload_bytes,
              .at = at,
              .number = connection.segments};
  if (segment.has_ack) piece.needs = connection.half(other(side)).offset(segment.ack);
  if (half.fin && piece.end() > *half.fin) {
    const std::int64_t cut = std::max(*half.fin, piece.begin);
    ledger_.after_close.add(piece.part(cut, piece.end()).bytes.size());
    piece = piece.part(piece.begin, cut);
    if (piece.sent == 0) return;
  }
  if (half.movable() && piece.begin < half.next && half.next - piece.begin <= kReorderBytes) {
    half.next = piece.begin;
    half.ended = false;
  }
  if (piece.begin < half.next) {
    take_again(connection, side, piece.part(piece.begin, std::min(half.next, piece.end())));
    if (piece.end() <= half.next) return;
    piece = piece.part(half.next, piece.end());
  }
  const bool next_in_turn = half.settled && half.held.empty() && piece.begin == half.next &&
                            connection.peer_ready(side, piece.needs);
  if (next_in_turn) {
    deliver(connection, side, piece);
  } else {
    hold(connection, side, piece);
  }
}

// A segment far from the expected place may be damaged or forged. Where several follow one another
// there, the capture has lost more than numbers can tell, and goes on there.
bool TcpReassembly::back_in_step(Connection& connection,
                                 Side side,
                                 const TcpSegment& segment,
                                 UnixTime at) {
  Half& half = connection.half(side);
  half.strays = half.strays > 0 && half.stray_next == segment.seq ? half.strays + 1 : 1;
  half.stray_next = segment.seq + segment.payload_bytes;
  if (half.strays < kStraysMax || half.fin) return false;
  half.strays = 0;
  flush(connection);
  if (connection.closed) return false;
  const std::uint32_t expected = half.base + static_cast<std::uint32_t>(half.next);
  gap(connection, side, half.next + std::int64_t{segment.seq - expected}, at);
  half.settled = true;
  return true;
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
  // A side that stayed empty ends only now (see drain_half).
  for (const Side side : {Side::first, Side::second}) {
    const Half& half = connection.half(side);
    if (connection.reader && half.ended && !half.delivered) connection.reader->on_end(side, at);
  }
  // A connection that carried nothing is worth a line if it was tried: a refusal, a port scan.
  if (connection.reader || connection.start.client) {
    reader(connection).on_closed(connection.end, how == CloseKind::open ? latest_ : at);
  }
  connection.reader.reset();
  connection.closed = true;
  for (Half& half : connection.halves)
    half.marks = {};
  note_waiting(connection);
  move_to(closed_, connection);
}

void TcpReassembly::erase(Connections& from, Connections::iterator connection) {
  by_key_.erase(connection->key);
  from.erase(connection);
}

// Nothing is remembered of it: where it goes on, it is taken up as from the middle.
void TcpReassembly::forget(Connection& connection) {
  close(connection, CloseKind::timeout, latest_);
  erase(closed_, connection.self);
}

void TcpReassembly::evict() {
  const std::size_t spared = std::max<std::size_t>(limits_.connections / kOpeningShare, 1);
  const bool flooded = opening_.size() > spared || connections_.empty();
  Connection& connection = (flooded ? opening_ : connections_).front();
  ++ledger_.connections_evicted;
  connection.end.evicted = true;
  forget(connection);
}

void TcpReassembly::forget_old() {
  while (!closed_.empty() &&
         (closed_.size() > kClosedMax || between(closed_.front().touched, clock_) > kClosedFor)) {
    erase(closed_, closed_.begin());
  }
  while (connections() > limits_.connections)
    evict();
  for (Connections* list : {&opening_, &connections_}) {
    while (!list->empty() && between(list->front().touched, clock_) > limits_.idle) {
      ++ledger_.connections_forgotten;
      forget(list->front());
    }
  }
}

void TcpReassembly::finish() {
  for (Connections* list : {&connections_, &opening_}) {
    while (!list->empty())
      close(list->front(), CloseKind::open, latest_);
  }
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
