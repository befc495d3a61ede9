#include "replay/capture/packet.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "replay/capture/packet_layers.hpp"

namespace gatedrill::replay::capture {
namespace {

// https://www.tcpdump.org/linktypes.html
enum LinkType {
  null = 0,
  ethernet = 1,
  ppp = 9,
  raw_bsd = 12,
  raw_openbsd = 14,
  ppp_hdlc = 50,
  pppoe = 51,
  raw = 101,
  cisco_hdlc = 104,
  loop = 108,
  linux_sll = 113,
  mpls = 219,
  ipv4 = 228,
  ipv6 = 229,
  nflog = 239,
  linux_sll2 = 276,
};

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

// What Linux's firewall logs: family, version, resource, then attributes (length, type, value,
// filled up to four bytes), one of which is the packet. Their numbers are in the byte order of the
// capturing host; no type is above 255, so the type's zero byte tells which that is.
DecodedPacket decode_nflog(Part part, const Context& context) {
  constexpr std::size_t kHeaderBytes = 4;
  constexpr std::size_t kAttributeBytes = 4;
  constexpr unsigned kPayload = 9;
  if (!part.has(kHeaderBytes)) return part.too_short();
  part = part.after(kHeaderBytes);
  for (;;) {
    if (!part.has(kAttributeBytes)) return part.too_short();
    unsigned length = u16(part.bytes, 0);
    unsigned type = u16(part.bytes, 2);
    if (byte_at(part.bytes, 3) == 0) {
      length = __builtin_bswap16(static_cast<std::uint16_t>(length));
      type = byte_at(part.bytes, 2);
    }
    if (length < kAttributeBytes) return of_kind(PacketKind::undecodable);
    if (type == kPayload) return decode_ip(part.first(length).after(kAttributeBytes), context);
    part = part.after((length + 3) / 4 * 4);
  }
}

}  // namespace

DecodedPacket decode_ethertype(unsigned type, Part part, Context context) {
  if (!context.nest()) return of_kind(PacketKind::undecodable);
  switch (type) {
    case ether_ipv4:
    case ether_ipv6:
      return decode_ip(part, context);
    case ether_vlan:
    case ether_qinq:
    case ether_old_qinq:
    case ether_older_qinq: {
      constexpr std::size_t kTagBytes = 4;
      if (!part.has(kTagBytes)) return part.too_short();
      const unsigned vlan = u16(part.bytes, 0) & 0xfffU;
      if (vlan != 0) context.enter(Context::Tag::vlan, vlan);  // 0 is about priority only
      return decode_ethertype(u16(part.bytes, 2), part.after(kTagBytes), context);
    }
    case ether_mpls:
    case ether_mpls_multicast:
      return decode_mpls(part, context);
    case ether_pppoe:
      return decode_pppoe(part, context);
    case ether_ppp:
      return decode_ppp(part, context);
    case ether_bridged:
      return decode_ethernet(part, context);
    default:
      return of_kind(PacketKind::not_ip);
  }
}

DecodedPacket decode_ethernet(Part part, Context context) {
  constexpr std::size_t kHeaderBytes = 14;
  constexpr unsigned kLengthMax = 1500;
  constexpr std::size_t kSnapBytes = 8;
  if (!part.has(kHeaderBytes)) return part.too_short();
  const unsigned type = u16(part.bytes, 12);
  part = part.after(kHeaderBytes);
  if (type > kLengthMax) return decode_ethertype(type, part, context);
  // IEEE 802.3: a length, and the type behind it if there is one (RFC 1042).
  const bool snap =
      part.has(kSnapBytes) && u32(part.bytes, 0) == 0xaaaa0300U && u16(part.bytes, 4) == 0;
  if (!snap) return of_kind(PacketKind::not_ip);
  return decode_ethertype(u16(part.bytes, 6), part.first(type).after(kSnapBytes), context);
}

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
    case ppp_hdlc:
    case pppoe:
    case raw:
    case cisco_hdlc:
    case loop:
    case linux_sll:
    case mpls:
    case ipv4:
    case ipv6:
    case nflog:
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
    case ppp_hdlc:
      return decode_ppp(part, context);
    case pppoe:
      return decode_pppoe(part, context);
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
    case mpls:
      return decode_mpls(part, context);
    case nflog:
      return decode_nflog(part, context);
    case linux_sll2:
      return decode_cooked(part, 20, 0, context);
    default:
      return of_kind(PacketKind::unknown_link);
  }
}

}  // namespace gatedrill::replay::capture
