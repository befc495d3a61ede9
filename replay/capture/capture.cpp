#include "replay/capture/capture.hpp"

#include <algorithm>
#include <utility>

#include "replay/capture/tls_reader.hpp"

namespace gatedrill::replay::capture {

Capture::Capture(CaptureOptions options, ExchangeSink& sink)
    : options_(std::move(options)),
      sink_(sink, ledger_),
      context_{.sink = sink_,
               .ledger = ledger_,
               .limits = options_.http,
               .held = {.max = options_.http.held_bytes}},
      reassembly_(
          options_.reassembly,
          [this](const ConnectionStart& start) {
            return std::make_unique<TlsReader>(
                start, context_, keys_, [this](const ConnectionStart& inside) {
                  return std::make_unique<HttpAssembly>(inside, context_);
                });
          },
          ledger_) {}

bool Capture::wanted(const TcpSegment& segment) const {
  const auto& ports = options_.ports;
  if (ports.empty()) return true;
  return std::any_of(ports.begin(), ports.end(), [&](std::uint16_t port) {
    return port == segment.source.port || port == segment.destination.port;
  });
}

void Capture::add(const Packet& packet) {
  const std::size_t wire = std::max(packet.wire_bytes, packet.bytes.size());
  ledger_.frames.add(wire);
  if (wire > packet.bytes.size()) ledger_.cut_frames.add(wire - packet.bytes.size());
  if (packet.at < latest_) ++ledger_.stamped_earlier;
  latest_ = packet.at;
  const DecodedPacket decoded = decode_frame(packet.link_type, packet.bytes, wire);
  if (decoded.kind == PacketKind::unknown_link) {
    ledger_.unknown_link.add(wire);
    ledger_.unknown_link_types.insert(packet.link_type);
    return;
  }
  add_decoded(decoded, wire, packet.at);
}

void Capture::add_decoded(const DecodedPacket& packet, std::size_t wire_bytes, UnixTime at) {
  switch (packet.kind) {
    case PacketKind::tcp:
      if (!wanted(packet.tcp)) {
        ledger_.other_ports.add(wire_bytes);
        return;
      }
      ledger_.segments.add(wire_bytes);
      reassembly_.add(packet.tcp, at);
      return;
    case PacketKind::fragment:
      ledger_.fragments.add(wire_bytes);
      add_fragment(packet.fragment, at);
      return;
    case PacketKind::not_ip:
      ledger_.not_ip.add(wire_bytes);
      return;
    case PacketKind::not_tcp:
      ledger_.not_tcp.add(wire_bytes);
      return;
    case PacketKind::unknown_link:
    case PacketKind::undecodable:
      ledger_.undecodable.add(wire_bytes);
      return;
    case PacketKind::cut_header:
      ledger_.cut_headers.add(wire_bytes);
      return;
  }
}

// What a datagram carries may be a fragment again, in a tunnel.
void Capture::add_fragment(IpFragment fragment, UnixTime at) {
  constexpr int kNestingMax = 4;
  std::optional<std::string> datagram;
  for (int nesting = 0; nesting < kNestingMax; ++nesting) {
    auto whole = fragments_.add(fragment, at);
    if (!whole) return;
    datagram = std::move(whole);  // the next one's bytes lie in it
    ledger_.datagrams.add(datagram->size());
    const DecodedPacket packet = decode_datagram(fragment, *datagram);
    if (packet.kind == PacketKind::tcp && wanted(packet.tcp)) {
      reassembly_.add(packet.tcp, at);
      return;
    }
    if (packet.kind != PacketKind::fragment) break;
    fragment = packet.fragment;
  }
  ledger_.datagrams_other.add(datagram->size());
}

void Capture::pass(UnixTime now) {
  keys_.serve_waiting(now);
  reassembly_.pass(now);
}

void Capture::finish() {
  reassembly_.finish();
  ledger_.fragments_unfinished = fragments_.unfinished();
  ledger_.fragment_conflict_bytes = fragments_.conflicting_bytes();
}

}  // namespace gatedrill::replay::capture
