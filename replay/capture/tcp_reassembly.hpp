// Turns TCP segments, as they were captured, into the two byte streams of each connection. Pure:
// the only time it knows is that of the packets.
//
//   segment ─► connection by addresses, ports and network
//                └─► held until both the bytes before it in its own stream and the bytes of the
//                    peer that it acknowledges were delivered ─► StreamReader
//
// - Where segments overlap, the bytes that arrived first win. Others in their place are counted.
// - Both streams come in the order in which the peers saw them: an answer is never delivered before
//   the request that its sender had read, however the capture shuffled the packets.
// - Bytes that the receiver acknowledged and the capture does not hold are a gap. It is declared
//   when it cannot fill any more: enough packets or time later, at the end, or when too much waits.
// - A connection whose beginning was not captured starts at its first segment. Where its numbers
//   jump farther than any gap can be and go on from there, it goes on there too.
// - Everything is bounded: per connection, in total, and the number of connections. What waited
//   longest is given up first. Of connections, those that carried nothing yet keep a sixteenth of
//   the room and give up the rest first; then the one that was silent longest goes.
// - A connection that was given up and goes on starts again at its next segment, like any whose
//   beginning was not captured.
// - One wrong time stamp forgets nothing: the clock is moved in small steps.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "gateway/core/time.hpp"
#include "replay/capture/delivered_bytes.hpp"
#include "replay/capture/ledger.hpp"
#include "replay/capture/packet.hpp"
#include "replay/capture/tcp_facts.hpp"

namespace gatedrill::replay::capture {

struct ConnectionStart {
  std::int64_t connection = 0;
  Endpoint first;
  Endpoint second;
  std::optional<Side> client;      // known where a SYN was seen
  std::optional<UnixTime> opened;  // of the client's SYN
  bool tls = false;                // what its readers get was inside TLS
  const TcpFacts* tcp = nullptr;   // lives as long as the reader; null where nothing knows it
};

enum class CloseKind : std::uint8_t {
  fin,
  rst,
  timeout,
  replaced,  // its ports were used again, and its end was not seen
  open,
};

struct ConnectionEnd {
  CloseKind how = CloseKind::open;
  std::optional<Side> closed_by;
  std::optional<UnixTime> closed;
  std::optional<UnixTime> last_data;  // before the close
  std::uint64_t gap_bytes = 0;
  bool had_data = false;
  bool evicted = false;  // for want of room: it may go on
};

// Of a gap whose length cannot be told, as inside a TLS connection.
inline constexpr std::uint64_t kUnknownBytes = std::numeric_limits<std::uint64_t>::max();

// Reads one connection. The views live as long as the call.
class StreamReader {
 public:
  StreamReader() = default;
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;
  virtual ~StreamReader() = default;
  virtual void on_data(Side from, std::string_view bytes, UnixTime at) = 0;
  virtual void on_gap(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) = 0;
  // FIN: this side sends nothing more.
  virtual void on_end(Side from, UnixTime at) = 0;
  // The last call.
  virtual void on_closed(const ConnectionEnd& end, UnixTime at) = 0;
};

using OpenStream = std::function<std::unique_ptr<StreamReader>(const ConnectionStart&)>;

struct ReassemblyLimits {
  // Of what waits, with the memory around it.
  std::size_t held_bytes_per_connection = 4U * 1024U * 1024U;
  std::size_t held_bytes = 48U * 1024U * 1024U;
  // Delivered bytes that are remembered, of all connections, to compare repetitions with.
  std::size_t remembered_bytes = 1024U * 1024U;
  std::size_t connections = 65'536;
  // A gap is declared this many segments of its connection later, or this long after.
  int gap_segments = 64;
  Duration gap_wait = std::chrono::seconds(1);
  Duration idle = std::chrono::minutes(10);
};

class TcpReassembly {
 public:
  // `ledger` outlives this object.
  TcpReassembly(ReassemblyLimits limits, OpenStream open, Ledger& ledger);
  ~TcpReassembly();
  TcpReassembly(const TcpReassembly&) = delete;
  TcpReassembly& operator=(const TcpReassembly&) = delete;

  void add(const TcpSegment& segment, UnixTime at);
  // No packet from before `now` comes any more: ends waits that packets would end later.
  void pass(UnixTime now);
  // The capture is over: what is held is delivered, gaps and all, and every connection closed.
  void finish();

  // That are open.
  [[nodiscard]] std::size_t connections() const { return opening_.size() + connections_.size(); }

  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  struct Connection;
  struct Half;
  struct Piece;

  struct Key {
    Endpoint low;
    Endpoint high;
    std::uint64_t network = 0;
    bool operator==(const Key&) const = default;
  };

  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  using Connections = std::list<Connection>;  // least recently used first
  using Waiting = std::list<Connection*>;

  Connection& find_or_open(const TcpSegment& segment, UnixTime at);
  Connection& open(const Key& key, const TcpSegment& segment);
  void take_handshake(Connection& connection, Side side, const TcpSegment& segment, UnixTime at);
  void take_acknowledgement(Connection& connection, Side side, const TcpSegment& segment);
  void take_facts(Connection& connection, Side side, const TcpSegment& segment, UnixTime at);
  void take_payload(Connection& connection, Side side, const TcpSegment& segment, UnixTime at);
  void take_fin(Connection& connection, Side side, const TcpSegment& segment, UnixTime at);
  void take_reset(Connection& connection, Side side, const TcpSegment& segment, UnixTime at);
  bool back_in_step(Connection& connection, Side side, const TcpSegment& segment, UnixTime at);
  void take_again(Connection& connection, Side side, const Piece& piece);
  void report_conflict(const Connection& connection, std::size_t bytes);
  void hold(Connection& connection, Side side, const Piece& piece);
  void hold_part(Half& half, const Piece& piece);
  Piece release_first(Half& half);
  void drain(Connection& connection);
  bool drain_half(Connection& connection, Side side, bool ignore_peer);
  void deliver(Connection& connection, Side side, const Piece& piece);
  void gap(Connection& connection, Side side, std::int64_t until, UnixTime at);
  bool declare_gap(Connection& connection);
  void check_stall(Connection& connection, UnixTime at);
  void flush(Connection& connection);
  void give_up_waiting(Connection& connection);
  void note_waiting(Connection& connection);
  void move_to(Connections& list, Connection& connection);
  void move_clock(UnixTime at);
  void close(Connection& connection, CloseKind how, UnixTime at);
  void erase(Connections& from, Connections::iterator connection);
  void forget(Connection& connection);
  void evict();
  void forget_old();
  StreamReader& reader(Connection& connection);

  ReassemblyLimits limits_;
  OpenStream open_;
  Ledger& ledger_;
  Connections opening_;  // that carried nothing yet
  Connections connections_;
  Connections closed_;  // remembered for a while, so that late segments open nothing
  std::unordered_map<Key, Connections::iterator, KeyHash> by_key_;
  Waiting waiting_;  // connections that hold bytes back, in the order in which they began to
  std::size_t held_bytes_ = 0;
  DeliveredBytes delivered_bytes_;
  std::int64_t next_id_ = 1;
  UnixTime latest_{};  // of all packets
  UnixTime clock_{};   // which moves in small steps
};

}  // namespace gatedrill::replay::capture
