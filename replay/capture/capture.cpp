#include "replay/capture/capture.hpp"

#include <algorithm>
#include <utility>

#include "replay/capture/tls_reader.hpp"

namespace gatedrill::replay::capture {

Capture::Capture(CaptureOptions options, ExchangeSink& sink)
    : options_(std::move(options)),
      context_{.sink = sink,
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

void Capture::add(std::string_view frame, std::size_t wire_bytes, UnixTime at) {
  const std::size_t wire = std::max(wire_bytes, frame.size());
  ledger_.frames.add(wire);
  if (wire > frame.size()) ledger_.cut_frames.add(wire - frame.size());
  add_decoded(decode_frame(options_.link_type, frame, wire), wire, at);
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
    case PacketKind::fragment: {
      ledger_.fragments.add(wire_bytes);
      const auto datagram = fragments_.add(packet.fragment);
      if (!datagram) return;
      ledger_.datagrams.add(datagram->size());
      const DecodedPacket whole = decode_datagram(packet.fragment, *datagram);
      if (whole.kind == PacketKind::tcp && wanted(whole.tcp)) reassembly_.add(whole.tcp, at);
      return;
    }
    case PacketKind::not_ip:
      ledger_.not_ip.add(wire_bytes);
      return;
    case PacketKind::not_tcp:
      ledger_.not_tcp.add(wire_bytes);
      return;
    case PacketKind::undecodable:
      ledger_.undecodable.add(wire_bytes);
      return;
    case PacketKind::cut_header:
      ledger_.cut_headers.add(wire_bytes);
      return;
  }
}

void Capture::finish() {
  reassembly_.finish();
  ledger_.fragments_unfinished = fragments_.unfinished();
}

}  // namespace gatedrill::replay::capture
