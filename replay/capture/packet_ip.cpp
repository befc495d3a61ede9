#include "replay/capture/packet_layers.hpp"

namespace gatedrill::replay::capture {
namespace {

enum IpProtocol : unsigned {
  ip_hop_by_hop = 0,
  ip_in_ip = 4,
  ip_tcp = 6,
  ip_udp = 17,
  ip_ipv6 = 41,
  ip_routing = 43,
  ip_fragment = 44,
  ip_gre = 47,
  ip_authentication = 51,
  ip_destination = 60,
  ip_mobility = 135,
  ip_mpls = 137,
};

void map_ipv4(std::string_view bytes, std::size_t at, std::array<std::uint8_t, 16>& address) {
  address = {};
  address[10] = address[11] = 0xff;
  for (std::size_t i = 0; i < 4; ++i)
    address[12 + i] = static_cast<std::uint8_t>(bytes[at + i]);
}

void copy_ipv6(std::string_view bytes, std::size_t at, std::array<std::uint8_t, 16>& address) {
  for (std::size_t i = 0; i < 16; ++i)
    address[i] = static_cast<std::uint8_t>(bytes[at + i]);
}

DecodedPacket decode_tcp(Part part, const Context& context) {
  constexpr std::size_t kHeaderBytes = 20;
  if (!part.has(kHeaderBytes)) return part.too_short();
  const std::size_t header = (byte_at(part.bytes, 12) >> 4U) * std::size_t{4};
  if (header < kHeaderBytes || header > part.wire) return of_kind(PacketKind::undecodable);
  DecodedPacket packet;
  packet.kind = PacketKind::tcp;
  TcpSegment& tcp = packet.tcp;
  tcp.source = {context.source, static_cast<std::uint16_t>(u16(part.bytes, 0))};
  tcp.destination = {context.destination, static_cast<std::uint16_t>(u16(part.bytes, 2))};
  tcp.network = context.network;
  tcp.seq = u32(part.bytes, 4);
  tcp.ack = u32(part.bytes, 8);
  const unsigned flags = byte_at(part.bytes, 13);
  tcp.fin = (flags & 1U) != 0;
  tcp.syn = (flags & 2U) != 0;
  tcp.rst = (flags & 4U) != 0;
  tcp.has_ack = (flags & 16U) != 0;
  tcp.window = static_cast<std::uint16_t>(u16(part.bytes, 14));
  const Part payload = part.after(header);
  tcp.payload = payload.bytes;
  tcp.payload_bytes = static_cast<std::uint32_t>(payload.wire);
  return packet;
}

// The part that the IP header's length names. Zero means that the card splits the packet later
// (segmentation offload), or an IPv6 jumbogram: then all of the frame counts.
Part limit_to(Part part, std::size_t length) {
  if (length == 0) return part;
  return part.first(length);
}

DecodedPacket decode_ipv4(Part part, Context context) {
  constexpr std::size_t kHeaderBytes = 20;
  if (!part.has(kHeaderBytes)) return part.too_short();
  const std::size_t header = (byte_at(part.bytes, 0) & 15U) * std::size_t{4};
  const std::size_t total = u16(part.bytes, 2);
  if (header < kHeaderBytes || (total != 0 && total < header)) {
    return of_kind(PacketKind::undecodable);
  }
  map_ipv4(part.bytes, 12, context.source);
  map_ipv4(part.bytes, 16, context.destination);
  const unsigned protocol = byte_at(part.bytes, 9);
  const unsigned fragment = u16(part.bytes, 6);
  const Part payload = limit_to(part, total).after(header);
  constexpr unsigned kMore = 0x2000;
  constexpr unsigned kOffset = 0x1fff;
  if ((fragment & (kMore | kOffset)) == 0) return decode_protocol(protocol, payload, context);
  DecodedPacket packet;
  packet.kind = PacketKind::fragment;
  packet.fragment = {.source = context.source,
                     .destination = context.destination,
                     .network = context.network,
                     .id = u16(part.bytes, 4),
                     .protocol = static_cast<std::uint8_t>(protocol),
                     .offset = (fragment & kOffset) * 8,
                     .more = (fragment & kMore) != 0,
                     .payload = payload.bytes,
                     .cut = payload.bytes.size() < payload.wire};
  return packet;
}

DecodedPacket decode_ipv6(Part part, Context context) {
  constexpr std::size_t kHeaderBytes = 40;
  constexpr std::size_t kExtensionBytes = 8;
  if (!part.has(kHeaderBytes)) return part.too_short();
  copy_ipv6(part.bytes, 8, context.source);
  copy_ipv6(part.bytes, 24, context.destination);
  unsigned next = byte_at(part.bytes, 6);
  Part payload = limit_to(part.after(kHeaderBytes), u16(part.bytes, 4));
  for (;;) {
    const bool extension = next == ip_hop_by_hop || next == ip_routing || next == ip_destination ||
                           next == ip_mobility || next == ip_authentication || next == ip_fragment;
    if (!extension) return decode_protocol(next, payload, context);
    if (!payload.has(kExtensionBytes)) return payload.too_short();
    const unsigned after = byte_at(payload.bytes, 0);
    const std::size_t length = byte_at(payload.bytes, 1);
    if (next == ip_fragment) {
      const unsigned fragment = u16(payload.bytes, 2);
      const std::uint32_t id = u32(payload.bytes, 4);
      payload = payload.after(kExtensionBytes);
      const bool more = (fragment & 1U) != 0;
      if (more || fragment >> 3U != 0) {
        DecodedPacket packet;
        packet.kind = PacketKind::fragment;
        packet.fragment = {.source = context.source,
                           .destination = context.destination,
                           .network = context.network,
                           .id = id,
                           .protocol = static_cast<std::uint8_t>(after),
                           .offset = fragment & 0xfff8U,
                           .more = more,
                           .payload = payload.bytes,
                           .cut = payload.bytes.size() < payload.wire};
        return packet;
      }
    } else if (next == ip_authentication) {
      payload = payload.after((length + 2) * 4);
    } else {
      payload = payload.after((length + 1) * 8);
    }
    next = after;
  }
}

}  // namespace

DecodedPacket decode_protocol(unsigned protocol, Part part, const Context& context) {
  switch (protocol) {
    case ip_tcp:
      return decode_tcp(part, context);
    case ip_udp:
      return decode_udp(part, context);
    case ip_gre:
      return decode_gre(part, context);
    case ip_mpls:
      return decode_mpls(part, context);
    case ip_in_ip:
    case ip_ipv6:
      return decode_ip(part, context);
    default:
      return of_kind(PacketKind::not_tcp);
  }
}

DecodedPacket decode_ip(Part part, Context context) {
  if (!context.nest()) return of_kind(PacketKind::undecodable);
  if (!part.has(1)) return part.too_short();
  switch (byte_at(part.bytes, 0) >> 4U) {
    case 4:
      return decode_ipv4(part, context);
    case 6:
      return decode_ipv6(part, context);
    default:
      return of_kind(PacketKind::not_ip);
  }
}

DecodedPacket decode_datagram(const IpFragment& first, std::string_view payload) {
  const Context context{first.source, first.destination, first.network, 0};
  return decode_protocol(first.protocol, {payload, payload.size()}, context);
}

}  // namespace gatedrill::replay::capture
