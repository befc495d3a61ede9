#include "replay/capture/packet.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace gatedrill::replay::capture {
namespace {

// https://www.tcpdump.org/linktypes.html
enum LinkType {
  null = 0,
  ethernet = 1,
  ppp = 9,
  raw_bsd = 12,
  raw_openbsd = 14,
  raw = 101,
  cisco_hdlc = 104,
  loop = 108,
  linux_sll = 113,
  ipv4 = 228,
  ipv6 = 229,
  linux_sll2 = 276,
};

enum EtherType : unsigned {
  ether_ipv4 = 0x0800,
  ether_vlan = 0x8100,
  ether_ipv6 = 0x86dd,
  ether_mpls = 0x8847,
  ether_pppoe = 0x8864,
  ether_qinq = 0x88a8,
  ether_old_qinq = 0x9100,
};

enum IpProtocol : unsigned {
  ip_hop_by_hop = 0,
  ip_in_ip = 4,
  ip_tcp = 6,
  ip_udp = 17,
  ip_ipv6 = 41,
  ip_routing = 43,
  ip_fragment = 44,
  ip_authentication = 51,
  ip_destination = 60,
  ip_mobility = 135,
};

constexpr unsigned kVxlanPort = 4789;
constexpr unsigned kGenevePort = 6081;
constexpr unsigned kTransparentEthernet = 0x6558;
constexpr int kNestingMax = 8;

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

unsigned u16(std::string_view bytes, std::size_t at) {
  return byte_at(bytes, at) << 8U | byte_at(bytes, at + 1);
}

std::uint32_t u32(std::string_view bytes, std::size_t at) {
  return u16(bytes, at) << 16U | u16(bytes, at + 2);
}

// A part of a frame: what was captured of it and how long it was on the wire.
struct Part {
  std::string_view bytes;
  std::size_t wire = 0;

  [[nodiscard]] Part after(std::size_t count) const {
    return {bytes.substr(std::min(count, bytes.size())), wire - std::min(count, wire)};
  }

  [[nodiscard]] bool has(std::size_t count) const { return bytes.size() >= count; }

  // What it is to end inside a header: the capture cut it, or it never was whole.
  [[nodiscard]] DecodedPacket too_short() const {
    DecodedPacket packet;
    packet.kind = wire > bytes.size() ? PacketKind::cut_header : PacketKind::undecodable;
    return packet;
  }
};

DecodedPacket of_kind(PacketKind kind) {
  DecodedPacket packet;
  packet.kind = kind;
  return packet;
}

// What the layers found so far.
struct Context {
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};
  std::uint32_t network = 0;
  int depth = 0;

  // Every tag that tells networks apart goes into one number; 0 means that there was none.
  void enter_network(std::uint32_t tag) {
    if (tag != 0) network = network * 0x01000193U + tag;
  }
};

DecodedPacket decode_ethertype(unsigned type, Part part, Context context);
DecodedPacket decode_ethernet(Part part, Context context);
DecodedPacket decode_ip(Part part, Context context);

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

// RFC 7348 and RFC 8926: an inner Ethernet frame behind UDP.
DecodedPacket decode_udp(Part part, Context context) {
  constexpr std::size_t kUdpBytes = 8;
  constexpr std::size_t kTunnelBytes = 8;
  if (!part.has(kUdpBytes + kTunnelBytes)) return of_kind(PacketKind::not_tcp);
  const unsigned port = u16(part.bytes, 2);
  const Part tunnel = part.after(kUdpBytes);
  context.enter_network(0x10000000U | u32(tunnel.bytes, 4) >> 8U);
  if (port == kVxlanPort && (byte_at(tunnel.bytes, 0) & 0x08U) != 0) {
    return decode_ethernet(tunnel.after(kTunnelBytes), context);
  }
  if (port == kGenevePort && byte_at(tunnel.bytes, 0) >> 6U == 0) {
    const std::size_t options = (byte_at(tunnel.bytes, 0) & 0x3fU) * std::size_t{4};
    const unsigned type = u16(tunnel.bytes, 2);
    const Part inner = tunnel.after(kTunnelBytes + options);
    if (type == kTransparentEthernet) return decode_ethernet(inner, context);
    return decode_ethertype(type, inner, context);
  }
  return of_kind(PacketKind::not_tcp);
}

DecodedPacket decode_protocol(unsigned protocol, Part part, const Context& context) {
  switch (protocol) {
    case ip_tcp:
      return decode_tcp(part, context);
    case ip_udp:
      return decode_udp(part, context);
    case ip_in_ip:
    case ip_ipv6:
      return decode_ip(part, context);
    default:
      return of_kind(PacketKind::not_tcp);
  }
}

// The part that the IP header's length names. Zero means that the card splits the packet later
// (segmentation offload), or an IPv6 jumbogram: then all of the frame counts.
Part limit_to(Part part, std::size_t length) {
  if (length == 0) return part;
  return {part.bytes.substr(0, length), length};
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

DecodedPacket decode_ip(Part part, Context context) {
  if (++context.depth > kNestingMax) return of_kind(PacketKind::undecodable);
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

DecodedPacket decode_ppp(Part part, const Context& context) {
  if (part.has(2) && byte_at(part.bytes, 0) == 0xff && byte_at(part.bytes, 1) == 0x03) {
    part = part.after(2);
  }
  if (!part.has(2)) return part.too_short();
  const unsigned protocol = u16(part.bytes, 0);
  constexpr unsigned kPppIpv4 = 0x0021;
  constexpr unsigned kPppIpv6 = 0x0057;
  if (protocol == kPppIpv4 || protocol == kPppIpv6) return decode_ip(part.after(2), context);
  return of_kind(PacketKind::not_ip);
}

DecodedPacket decode_mpls(Part part, const Context& context) {
  constexpr std::size_t kLabelBytes = 4;
  for (;;) {
    if (!part.has(kLabelBytes)) return part.too_short();
    const bool bottom = (byte_at(part.bytes, 2) & 1U) != 0;
    part = part.after(kLabelBytes);
    if (bottom) return decode_ip(part, context);
  }
}

DecodedPacket decode_ethertype(unsigned type, Part part, Context context) {
  if (++context.depth > kNestingMax) return of_kind(PacketKind::undecodable);
  switch (type) {
    case ether_ipv4:
    case ether_ipv6:
      return decode_ip(part, context);
    case ether_vlan:
    case ether_qinq:
    case ether_old_qinq: {
      constexpr std::size_t kTagBytes = 4;
      if (!part.has(kTagBytes)) return part.too_short();
      context.enter_network(u16(part.bytes, 0) & 0xfffU);
      return decode_ethertype(u16(part.bytes, 2), part.after(kTagBytes), context);
    }
    case ether_mpls:
      return decode_mpls(part, context);
    case ether_pppoe:
      return decode_ppp(part.after(6), context);
    default:
      return of_kind(PacketKind::not_ip);
  }
}

DecodedPacket decode_ethernet(Part part, Context context) {
  constexpr std::size_t kHeaderBytes = 14;
  if (!part.has(kHeaderBytes)) return part.too_short();
  return decode_ethertype(u16(part.bytes, 12), part.after(kHeaderBytes), context);
}

// The address family in the byte order of the capturing host; IPv6's number differs by system.
DecodedPacket decode_null(Part part, const Context& context) {
  constexpr std::size_t kHeaderBytes = 4;
  if (!part.has(kHeaderBytes)) return part.too_short();
  std::uint32_t family = u32(part.bytes, 0);
  if (family > 0xffff) family = __builtin_bswap32(family);
  constexpr std::array<std::uint32_t, 5> kFamilies = {2, 10, 24, 28, 30};
  if (std::find(kFamilies.begin(), kFamilies.end(), family) == kFamilies.end()) {
    return of_kind(PacketKind::not_ip);
  }
  return decode_ip(part.after(kHeaderBytes), context);
}

// A header of fixed size that holds an EtherType.
DecodedPacket decode_cooked(Part part, std::size_t header, std::size_t type, Context context) {
  if (!part.has(header)) return part.too_short();
  return decode_ethertype(u16(part.bytes, type), part.after(header), context);
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const std::string port = ":" + std::to_string(endpoint.port);
  const auto& address = endpoint.address;
  const bool mapped = std::all_of(address.begin(), address.begin() + 10,
                                  [](std::uint8_t byte) { return byte == 0; }) &&
                      address[10] == 0xff && address[11] == 0xff;
  if (mapped) {
    inet_ntop(AF_INET, address.data() + 12, text.data(), text.size());
    return text.data() + port;
  }
  inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  return "[" + std::string(text.data()) + "]" + port;
}

bool is_known_link_type(int link_type) {
  switch (link_type) {
    case null:
    case ethernet:
    case ppp:
    case raw_bsd:
    case raw_openbsd:
    case raw:
    case cisco_hdlc:
    case loop:
    case linux_sll:
    case ipv4:
    case ipv6:
    case linux_sll2:
      return true;
    default:
      return false;
  }
}

DecodedPacket decode_frame(int link_type, std::string_view frame, std::size_t wire_bytes) {
  const Part part{frame, std::max(wire_bytes, frame.size())};
  const Context context;
  switch (link_type) {
    case null:
    case loop:
      return decode_null(part, context);
    case ethernet:
      return decode_ethernet(part, context);
    case ppp:
      return decode_ppp(part, context);
    case raw_bsd:
    case raw_openbsd:
    case raw:
    case ipv4:
    case ipv6:
      return decode_ip(part, context);
    case cisco_hdlc:
      return decode_cooked(part, 4, 2, context);
    case linux_sll:
      return decode_cooked(part, 16, 14, context);
    case linux_sll2:
      return decode_cooked(part, 20, 0, context);
    default:
      return of_kind(PacketKind::undecodable);
  }
}

DecodedPacket decode_datagram(const IpFragment& first, std::string_view payload) {
  const Context context{first.source, first.destination, first.network, 0};
  return decode_protocol(first.protocol, {payload, payload.size()}, context);
}

}  // namespace gatedrill::replay::capture
