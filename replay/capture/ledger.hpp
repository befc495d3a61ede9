// The account of a capture: everything that came in and what became of it. Each counter belongs to
// one of the sums in `open_sums`, so nothing can be lost without a line that says so.
//
//   frames = segments + fragments + not IP + not TCP + other ports + unknown link types
//          + undecodable + cut headers
//   stream bytes (segments with data) = delivered + duplicate + after close + out of window
//   delivered and decrypted bytes = HTTP + tunnels + TLS + HTTP/2 + other protocols + skipped
//   TLS = opened records + handshakes and alerts + unread
//   requests, answers = complete + partial, and = paired + alone
//   each partial one has a reason in `losses`
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "replay/recording.hpp"

namespace gatedrill::replay::capture {

// Why a message is not whole, or why bytes belong to no message.
enum class LossReason : std::uint8_t {
  gap,                // bytes are missing from the capture
  cut_frame,          // the capture kept only the beginning of a frame
  began_mid_message,  // the capture begins inside a message
  capture_ended,      // the connection was still open
  closed_early,       // FIN before the end that the framing promised
  reset,              // RST before it
  forgotten,          // no packet for too long
  malformed_framing,
  not_a_message,  // bytes where a message should begin and none does
  head_too_large,
  body_limit,          // the body is longer than what is kept of one message
  memory_limit,        // too many bytes in unfinished messages at once
  unanswered,          // more requests without answers than are waited for
  answer_unknown,      // after a loss it cannot be said which request this answer belongs to
  no_key,              // TLS whose secrets are not in the key log
  handshake_missing,   // TLS whose beginning was not captured
  unsupported_cipher,  // a TLS version or suite that cannot be read
  broken_record,       // a TLS record that does not open with the key it should
  early_data,          // TLS 1.3 data before the server's first words
  head_lost,           // HTTP/2 body bytes of a stream whose head was not captured
  unknown_fields,      // HTTP/2 fields that refer to some that were not captured
  reset_by_client,     // RST_STREAM
  reset_by_server,
  damaged_file,  // a part of the file makes no sense
  goaway,        // the server closes the connection and has not taken this request
  evicted,       // too many connections at once: this one was given up inside
};

inline constexpr int kLossReasonCount = static_cast<int>(LossReason::evicted) + 1;

// Why a stream of HTTP/2 was over when frames of it came.
enum class StreamEnd : std::uint8_t {
  ended,            // its sender had said that nothing more comes
  reset_by_client,  // the answer was on its way
  reset_by_server,  // the request was
  goaway,
  given_up,  // here: too many streams were open, or its end may lie in a gap
};

inline constexpr int kStreamEndCount = static_cast<int>(StreamEnd::given_up) + 1;

[[nodiscard]] std::string_view to_string(StreamEnd end);

// A message may claim to be longer than anything; of what is missing of one, no more is counted.
inline constexpr std::uint64_t kLossBytesMax = std::uint64_t{1} << 40U;

// What is missing from a stream is in the account before its reader hears of it.
[[nodiscard]] constexpr bool counted_with_stream(LossReason reason) {
  return reason == LossReason::gap || reason == LossReason::cut_frame;
}

[[nodiscard]] std::string_view to_string(LossReason reason);
// What it means and, where something can be done about it, what; empty if the name says it.
[[nodiscard]] std::string_view note_of(LossReason reason);

struct Tally {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // stays at the largest integer of SQL once it is there

  void add(std::uint64_t more_bytes, std::uint64_t more = 1) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    count += more;
    bytes = more_bytes > kMost - std::min(bytes, kMost) ? kMost : bytes + more_bytes;
  }
};

struct MessageTally {
  Tally complete;  // bytes of bodies
  Tally partial;
  std::uint64_t paired = 0;
  std::uint64_t alone = 0;
};

struct Ledger {
  // Frames; bytes are those on the wire.
  Tally frames;
  Tally segments;
  Tally fragments;
  Tally not_ip;
  Tally not_tcp;
  Tally other_ports;
  Tally unknown_link;
  std::set<int> unknown_link_types{};
  Tally undecodable;
  Tally cut_headers;
  Tally cut_frames;       // of the above, those of which only a part was captured; bytes missing
  Tally datagrams;        // put together from fragments
  Tally datagrams_other;  // of these, those that are no segment of a wanted port
  std::uint64_t fragments_unfinished = 0;
  std::uint64_t fragment_conflict_bytes = 0;
  std::uint64_t stamped_earlier = 0;  // frames with an earlier time than the frame before them
  std::uint64_t kernel_drops = 0;
  std::uint64_t interface_drops = 0;
  std::uint64_t queue_drops = 0;  // taken from the kernel, and then there was no room
  Tally file_end;                 // bytes at the end of the file that are no whole packet
  Tally file_damage;              // bytes inside of the file that make no sense
  std::string file_damage_places{};
  std::string file_rest_unknown{};            // why nobody can tell how much more the file held
  std::optional<std::uint64_t> stopped_at{};  // byte of the file up to which it was read, if so

  // TCP payload.
  Tally stream;
  Tally delivered;
  Tally duplicate;
  Tally after_close;
  Tally out_of_window;
  Tally conflicting;           // of the duplicate ones, those that are not what came first
  std::string first_conflict;  // between whom
  Tally given_up_waiting;      // for want of memory; bytes that were held then
  Tally gaps;                  // bytes that were sent and are in no frame

  // Delivered bytes by what they are; count is of pieces.
  Tally http;
  Tally tunnel;
  Tally tls;
  Tally http2;
  Tally other_protocols;
  Tally skipped;

  // TLS by what became of it; bytes are of whole records.
  Tally tls_opened;
  Tally tls_protocol;
  Tally tls_unread;
  Tally tls_lost;   // records that were not captured or are damaged, as far as that is known
  Tally decrypted;  // what was inside the opened records

  std::uint64_t connections = 0;
  std::uint64_t connections_forgotten = 0;  // silent for too long
  std::uint64_t connections_evicted = 0;    // too many at once

  MessageTally requests;
  MessageTally responses;
  std::uint64_t partial_without_reason = 0;
  Tally informational;  // 1xx answers
  Tally tunnels;        // exchanges that ended in one; bytes of those inside HTTP/2
  Tally pushes;         // answers that an HTTP/2 server promised unasked; bytes of their bodies
  std::array<Tally, kStreamEndCount> late_frames{};  // bytes of bodies
  Tally defective;    // messages with a defect in their head or framing
  Tally own_replays;  // of these, exchanges of replays of ours, which were left out
  std::uint64_t own_replay_connections = 0;  // of the connections, those that carried nothing else
  std::array<Tally, kLossReasonCount> losses{};

  [[nodiscard]] const Tally& lost(LossReason reason) const {
    return losses[static_cast<std::size_t>(reason)];
  }

  [[nodiscard]] Tally& late(StreamEnd end) { return late_frames[static_cast<std::size_t>(end)]; }

  void lose(LossReason reason, std::uint64_t bytes) {
    losses[static_cast<std::size_t>(reason)].add(bytes);
  }

  // The sums that do not close, in words; empty when all is accounted for.
  [[nodiscard]] std::vector<std::string> open_sums() const;
  // What has come in and is in no message yet: what the sums lack while the capture goes on.
  [[nodiscard]] std::vector<LedgerLine> pending() const;
  // The lines of the `ledger` view: of frames, and of the streams in them.
  [[nodiscard]] std::vector<LedgerLine> lines() const;
  // The second half alone, for streams that came in no frames.
  [[nodiscard]] std::vector<LedgerLine> stream_lines() const;

 private:
  // Bytes that are accounted for as they are read on: equal once all is over.
  struct ByteSum {
    std::string_view what;
    std::uint64_t in = 0;
    std::uint64_t accounted = 0;
  };

  [[nodiscard]] std::array<ByteSum, 3> byte_sums() const;
};

}  // namespace gatedrill::replay::capture
