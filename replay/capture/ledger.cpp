#include "replay/capture/ledger.hpp"

#include "replay/capture/packet_source.hpp"

namespace gatedrill::replay::capture {
namespace {

void check(std::vector<std::string>& open,
           std::string_view what,
           std::uint64_t whole,
           std::uint64_t parts) {
  if (whole == parts) return;
  open.push_back(std::string(what) + ": " + std::to_string(whole) + " in, " +
                 std::to_string(parts) + " accounted for");
}

std::string names_of(const std::set<int>& link_types) {
  constexpr std::size_t kNamesMax = 300;
  std::string names;
  for (const int type : link_types) {
    if (names.size() > kNamesMax) return names + ", ...";
    names += (names.empty() ? "" : ", ") + link_type_name(type);
  }
  return names;
}

}  // namespace

std::string_view to_string(LossReason reason) {
  switch (reason) {
    case LossReason::gap:
      return "gap";
    case LossReason::cut_frame:
      return "cut_frame";
    case LossReason::began_mid_message:
      return "began_mid_message";
    case LossReason::capture_ended:
      return "capture_ended";
    case LossReason::closed_early:
      return "closed_early";
    case LossReason::reset:
      return "reset";
    case LossReason::forgotten:
      return "forgotten";
    case LossReason::malformed_framing:
      return "malformed_framing";
    case LossReason::not_a_message:
      return "not_a_message";
    case LossReason::head_too_large:
      return "head_too_large";
    case LossReason::body_limit:
      return "body_limit";
    case LossReason::memory_limit:
      return "memory_limit";
    case LossReason::unanswered:
      return "unanswered";
    case LossReason::answer_unknown:
      return "answer_unknown";
    case LossReason::no_key:
      return "no_key";
    case LossReason::handshake_missing:
      return "handshake_missing";
    case LossReason::unsupported_cipher:
      return "unsupported_cipher";
    case LossReason::broken_record:
      return "broken_record";
    case LossReason::early_data:
      return "early_data";
    case LossReason::head_lost:
      return "head_lost";
    case LossReason::unknown_fields:
      return "unknown_fields";
    case LossReason::reset_by_client:
      return "reset_by_client";
    case LossReason::reset_by_server:
      return "reset_by_server";
    case LossReason::damaged_file:
      return "damaged_file";
    case LossReason::goaway:
      return "goaway";
    case LossReason::evicted:
      return "evicted";
  }
  return "gap";
}

std::string_view note_of(LossReason reason) {
  switch (reason) {
    case LossReason::no_key:
      return "no key for this connection in the key log; let the client or the server write one "
             "(SSLKEYLOGFILE) and name it with --keylog";
    case LossReason::handshake_missing:
      return "TLS whose handshake was not captured; begin the capture before the connections";
    case LossReason::unsupported_cipher:
      return "only TLS 1.2 and 1.3 with AEAD or CBC suites are read";
    case LossReason::broken_record:
      return "TLS records that do not open with their key";
    case LossReason::early_data:
      return "TLS 1.3 early data";
    case LossReason::head_lost:
      return "bodies of HTTP/2 streams whose head was not captured";
    case LossReason::unknown_fields:
      return "HTTP/2 fields that refer to some that were not captured";
    case LossReason::reset_by_client:
    case LossReason::reset_by_server:
      return "HTTP/2 RST_STREAM";
    case LossReason::goaway:
      return "HTTP/2 requests that the server did not take before it closed";
    case LossReason::evicted:
      return "inside connections that were given up for others; narrow the capture with --port";
    case LossReason::gap:
    case LossReason::cut_frame:
    case LossReason::damaged_file:
    case LossReason::began_mid_message:
    case LossReason::capture_ended:
    case LossReason::closed_early:
    case LossReason::reset:
    case LossReason::forgotten:
    case LossReason::malformed_framing:
    case LossReason::not_a_message:
    case LossReason::head_too_large:
    case LossReason::body_limit:
    case LossReason::memory_limit:
    case LossReason::unanswered:
    case LossReason::answer_unknown:
      return {};
  }
  return {};
}

std::string_view to_string(StreamEnd end) {
  switch (end) {
    case StreamEnd::ended:
      return "ended";
    case StreamEnd::reset_by_client:
      return "reset by the client";
    case StreamEnd::reset_by_server:
      return "reset by the server";
    case StreamEnd::goaway:
      return "not taken by the server";
    case StreamEnd::given_up:
      return "given up here";
  }
  return "ended";
}

std::vector<std::string> Ledger::open_sums() const {
  std::vector<std::string> open;
  check(open, "frames", frames.count,
        segments.count + fragments.count + not_ip.count + not_tcp.count + other_ports.count +
            unknown_link.count + undecodable.count + cut_headers.count);
  check(open, "bytes on the wire", frames.bytes,
        segments.bytes + fragments.bytes + not_ip.bytes + not_tcp.bytes + other_ports.bytes +
            unknown_link.bytes + undecodable.bytes + cut_headers.bytes);
  for (const ByteSum& sum : byte_sums())
    check(open, sum.what, sum.in, sum.accounted);
  check(open, "requests", requests.paired + requests.alone,
        requests.complete.count + requests.partial.count);
  check(open, "answers", responses.paired + responses.alone,
        responses.complete.count + responses.partial.count);
  check(open, "pairs", requests.paired, responses.paired);
  const std::uint64_t partial = requests.partial.count + responses.partial.count;
  check(open, "partial messages by their reasons", partial, partial - partial_without_reason);
  return open;
}

std::array<Ledger::ByteSum, 3> Ledger::byte_sums() const {
  return {{{"stream bytes", stream.bytes,
            delivered.bytes + duplicate.bytes + after_close.bytes + out_of_window.bytes},
           {"delivered bytes", delivered.bytes + decrypted.bytes,
            http.bytes + tunnel.bytes + tls.bytes + http2.bytes + other_protocols.bytes +
                skipped.bytes},
           {"TLS bytes", tls.bytes, tls_opened.bytes + tls_protocol.bytes + tls_unread.bytes}}};
}

std::vector<LedgerLine> Ledger::pending() const {
  const auto [streamed, assigned, opened] = byte_sums();
  return {{"stream", 0, streamed.in - streamed.accounted, "not delivered yet"},
          {"delivered", 0, assigned.in - assigned.accounted, "in no message yet"},
          {"delivered: TLS", 0, opened.in - opened.accounted, "in no whole record yet"}};
}

std::vector<LedgerLine> Ledger::lines() const {
  std::vector<LedgerLine> lines;
  const auto line = [&](std::string what, const Tally& tally, std::string note = {}) {
    lines.push_back({std::move(what), tally.count, tally.bytes, std::move(note)});
  };
  const auto count = [&](std::string what, std::uint64_t number, std::string note = {}) {
    lines.push_back({std::move(what), number, 0, std::move(note)});
  };
  line("packets", frames, "bytes on the wire");
  line("packets: TCP segments", segments);
  line("packets: IP fragments", fragments);
  line("packets: not IP", not_ip);
  line("packets: not TCP", not_tcp);
  line("packets: other ports", other_ports);
  line("packets: unknown link type", unknown_link, names_of(unknown_link_types));
  line("packets: undecodable", undecodable);
  line("packets: cut inside their headers", cut_headers);
  line("packets cut short", cut_frames, "bytes that the capture did not keep");
  count("packets stamped earlier than the one before", stamped_earlier);
  line("datagrams put together", datagrams);
  line("datagrams: not TCP, or other ports", datagrams_other);
  count("fragments never completed", fragments_unfinished);
  if (fragment_conflict_bytes > 0) {
    line("fragments sent again, different", {0, fragment_conflict_bytes}, "the first was taken");
  }
  count("kernel drops", kernel_drops, "packets that the capture was too slow for");
  count("interface drops", interface_drops, "packets that never reached the kernel's capture");
  count("queue drops", queue_drops, "packets that the recording was too slow for");
  line("file end cut", file_end, "bytes that are no whole packet");
  if (file_damage.count > 0) line("file damaged", file_damage, file_damage_places);
  if (!file_rest_unknown.empty()) line("file: a rest that is not known", {1, 0}, file_rest_unknown);
  if (stopped_at) {
    line("stopped early", {1, *stopped_at}, "bytes of the file that had been read by then");
  }
  const std::vector<LedgerLine> of_streams = stream_lines();
  lines.insert(lines.end(), of_streams.begin(), of_streams.end());
  return lines;
}

std::vector<LedgerLine> Ledger::stream_lines() const {
  std::vector<LedgerLine> lines;
  const auto line = [&](std::string what, const Tally& tally, std::string note = {}) {
    lines.push_back({std::move(what), tally.count, tally.bytes, std::move(note)});
  };
  const auto count = [&](std::string what, std::uint64_t number, std::string note = {}) {
    lines.push_back({std::move(what), number, 0, std::move(note)});
  };
  count("connections", connections);
  count("connections forgotten", connections_forgotten, "silent for too long");
  if (connections_evicted > 0) {
    count("connections evicted", connections_evicted,
          "more than can be followed at once; one that goes on is counted as another");
  }
  if (given_up_waiting.count > 0) {
    line("stream: not waited for", given_up_waiting, "too much was held back for missing bytes");
  }
  line("stream", stream, "TCP payload in segments");
  line("stream: delivered", delivered);
  line("stream: sent again", duplicate);
  if (conflicting.count > 0) {
    line("stream: sent again, different", conflicting,
         "the first was taken; the first time between " + first_conflict);
  }
  line("stream: after the close", after_close);
  line("stream: outside of any window", out_of_window);
  line("gaps", gaps, "bytes that were sent and not captured");
  line("delivered: HTTP/1", http);
  line("delivered: tunnels", tunnel);
  line("delivered: TLS", tls, "as sealed; what was inside is counted again where it belongs");
  line("TLS: opened", tls_opened);
  line("TLS: handshakes, alerts", tls_protocol);
  line("TLS: not opened", tls_unread);
  line("TLS: lost records", tls_lost, "and bytes inside them, as far as that is known");
  line("TLS: inside", decrypted, "bytes of the application");
  line("delivered: HTTP/2", http2);
  line("delivered: other protocols", other_protocols);
  line("delivered: skipped", skipped, "belong to no message");
  line("requests complete", requests.complete, "bytes of bodies");
  line("requests partial", requests.partial);
  count("requests answered", requests.paired);
  count("requests without answer", requests.alone);
  line("answers complete", responses.complete, "bytes of bodies");
  line("answers partial", responses.partial);
  count("answers without request", responses.alone);
  line("informational answers", informational, "1xx");
  line("tunnels", tunnels, "CONNECT, 101");
  line("pushed answers", pushes, "of HTTP/2 servers; not recorded");
  for (int i = 0; i < kStreamEndCount; ++i) {
    const auto end = static_cast<StreamEnd>(i);
    const Tally& tally = late_frames[static_cast<std::size_t>(i)];
    if (tally.count == 0) continue;
    line("HTTP/2 frames of closed streams: " + std::string(to_string(end)), tally,
         end == StreamEnd::reset_by_client ? "the answer was on its way, and is recorded"
                                           : "bytes of bodies");
  }
  line("messages with defects", defective);
  line("own replays left out", own_replays, "exchanges of the above; bytes of bodies");
  count("own replays left out: connections", own_replay_connections, "of the above");
  for (int i = 0; i < kLossReasonCount; ++i) {
    const Tally& tally = losses[static_cast<std::size_t>(i)];
    if (tally.count == 0) continue;
    const auto reason = static_cast<LossReason>(i);
    line("lost: " + std::string(to_string(reason)), tally, std::string(note_of(reason)));
  }
  return lines;
}

}  // namespace gatedrill::replay::capture
