// What carries frames or packets inside other packets.
#include "replay/capture/packet_layers.hpp"

namespace gatedrill::replay::capture {
namespace {

constexpr unsigned kVxlanPort = 4789;
constexpr unsigned kOldVxlanPort = 8472;  // Linux's default, and what flannel uses
constexpr unsigned kGenevePort = 6081;

// RFC 7348: flags, -, virtual network, -.
DecodedPacket decode_vxlan(Part part, Context context) {
  constexpr std::size_t kBytes = 8;
  constexpr unsigned kHasNetwork = 0x08;
  if (!part.has(kBytes)) return part.too_short();
  if ((byte_at(part.bytes, 0) & kHasNetwork) == 0) return of_kind(PacketKind::not_tcp);
  context.enter(Context::Tag::vxlan, u32(part.bytes, 4) >> 8U);
  return decode_ethernet(part.after(kBytes), context);
}

// RFC 8926: version and length of the options, flags, protocol, virtual network, options.
DecodedPacket decode_geneve(Part part, Context context) {
  constexpr std::size_t kBytes = 8;
  if (!part.has(kBytes)) return part.too_short();
  if (byte_at(part.bytes, 0) >> 6U != 0) return of_kind(PacketKind::not_tcp);
  const std::size_t options = (byte_at(part.bytes, 0) & 0x3fU) * std::size_t{4};
  context.enter(Context::Tag::geneve, u32(part.bytes, 4) >> 8U);
  return decode_ethertype(u16(part.bytes, 2), part.after(kBytes + options), context);
}

// draft-foschiano-erspan: version 2 is 8 bytes, version 3 is 12 and may have 8 more.
DecodedPacket decode_erspan(Part part, Context context) {
  constexpr std::size_t kBytes2 = 8;
  constexpr std::size_t kBytes3 = 12;
  constexpr std::size_t kPlatformBytes = 8;
  if (!part.has(kBytes3)) return part.too_short();
  context.enter(Context::Tag::erspan_session, u16(part.bytes, 2) & 0x3ffU);
  if (byte_at(part.bytes, 0) >> 4U == 1) return decode_ethernet(part.after(kBytes2), context);
  const bool platform = (byte_at(part.bytes, 11) & 1U) != 0;
  return decode_ethernet(part.after(kBytes3 + (platform ? kPlatformBytes : 0)), context);
}

}  // namespace

DecodedPacket decode_udp(Part part, Context context) {
  constexpr std::size_t kBytes = 8;
  if (!part.has(kBytes)) return of_kind(PacketKind::not_tcp);
  switch (u16(part.bytes, 2)) {
    case kVxlanPort:
    case kOldVxlanPort:
      return decode_vxlan(part.after(kBytes), context);
    case kGenevePort:
      return decode_geneve(part.after(kBytes), context);
    default:
      return of_kind(PacketKind::not_tcp);
  }
}

// RFC 2784, 2890 and, with version 1, 2637: flags and version, protocol, then what the flags name.
DecodedPacket decode_gre(Part part, Context context) {
  constexpr std::size_t kBytes = 4;
  constexpr std::size_t kWord = 4;
  constexpr unsigned kChecksum = 0x8000;
  constexpr unsigned kRouting = 0x4000;
  constexpr unsigned kKey = 0x2000;
  constexpr unsigned kSequence = 0x1000;
  constexpr unsigned kAcknowledgement = 0x0080;
  constexpr unsigned kVersion = 0x0007;
  if (!context.nest()) return of_kind(PacketKind::undecodable);
  if (!part.has(kBytes)) return part.too_short();
  const unsigned flags = u16(part.bytes, 0);
  const unsigned type = u16(part.bytes, 2);
  const unsigned version = flags & kVersion;
  if (version > 1 || (flags & kRouting) != 0) return of_kind(PacketKind::not_tcp);
  part = part.after(kBytes);
  if ((flags & kChecksum) != 0) part = part.after(kWord);
  if ((flags & kKey) != 0) {
    if (!part.has(kWord)) return part.too_short();
    // Version 1 has the call's number there, which is another one in each direction.
    if (version == 0) context.enter(Context::Tag::gre_key, u32(part.bytes, 0));
    part = part.after(kWord);
  }
  if ((flags & kSequence) != 0) part = part.after(kWord);
  if (version == 1 && (flags & kAcknowledgement) != 0) part = part.after(kWord);
  switch (type) {
    case ether_erspan:
      // The first version has neither a number nor a header.
      if ((flags & kSequence) == 0) return decode_ethernet(part, context);
      return decode_erspan(part, context);
    case ether_erspan_3:
      return decode_erspan(part, context);
    default:
      return decode_ethertype(type, part, context);
  }
}

// RFC 3032: labels, the last of which is marked. Nothing says what they carry: IP begins with its
// version, the control word of a pseudowire (RFC 4385) with 0, and else it is an Ethernet frame.
DecodedPacket decode_mpls(Part part, const Context& context) {
  constexpr std::size_t kWord = 4;
  constexpr unsigned kLast = 1;
  for (bool last = false; !last; part = part.after(kWord)) {
    if (!part.has(kWord)) return part.too_short();
    last = (byte_at(part.bytes, 2) & kLast) != 0;
  }
  if (!part.has(kWord)) return part.too_short();
  switch (byte_at(part.bytes, 0) >> 4U) {
    case 4:
    case 6:
      return decode_ip(part, context);
    case 0:
      return decode_ethernet(part.after(kWord), context);
    default:
      return decode_ethernet(part, context);
  }
}

// RFC 1661 and 1662. The address and the first byte of the protocol may be left out.
DecodedPacket decode_ppp(Part part, const Context& context) {
  enum Protocol : unsigned { ipv4 = 0x21, ipv6 = 0x57, mpls = 0x281 };

  constexpr unsigned kAddress = 0xff03;
  if (part.has(2) && u16(part.bytes, 0) == kAddress) part = part.after(2);
  if (!part.has(2)) return part.too_short();
  const bool one_byte = (byte_at(part.bytes, 0) & 1U) != 0;
  const unsigned protocol = one_byte ? byte_at(part.bytes, 0) : u16(part.bytes, 0);
  part = part.after(one_byte ? 1 : 2);
  switch (protocol) {
    case ipv4:
    case ipv6:
      return decode_ip(part, context);
    case mpls:
      return decode_mpls(part, context);
    default:
      return of_kind(PacketKind::not_ip);
  }
}

// RFC 2516: version and type, code, session, length, PPP.
DecodedPacket decode_pppoe(Part part, Context context) {
  constexpr std::size_t kBytes = 6;
  constexpr unsigned kVersionAndType = 0x11;
  if (!part.has(kBytes)) return part.too_short();
  if (byte_at(part.bytes, 0) != kVersionAndType) return of_kind(PacketKind::undecodable);
  context.enter(Context::Tag::pppoe_session, u16(part.bytes, 2));
  const std::size_t length = u16(part.bytes, 4);
  return decode_ppp(part.after(kBytes).first(length), context);
}

}  // namespace gatedrill::replay::capture
