// The layers of a frame, for packet.cpp, packet_ip.cpp and packet_tunnel.cpp only. Each function
// reads one header and calls the next.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "replay/capture/packet.hpp"

namespace gatedrill::replay::capture {

enum EtherType : unsigned {
  ether_ipv4 = 0x0800,
  ether_vlan = 0x8100,
  ether_ipv6 = 0x86dd,
  ether_ppp = 0x880b,
  ether_mpls = 0x8847,
  ether_mpls_multicast = 0x8848,
  ether_pppoe = 0x8864,
  ether_qinq = 0x88a8,
  ether_erspan = 0x88be,
  ether_erspan_3 = 0x22eb,
  ether_bridged = 0x6558,  // an Ethernet frame
  ether_old_qinq = 0x9100,
  ether_older_qinq = 0x9200,
};

// Numbers in network byte order. The caller has checked that they are there.
inline unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

inline unsigned u16(std::string_view bytes, std::size_t at) {
  return byte_at(bytes, at) << 8U | byte_at(bytes, at + 1);
}

inline std::uint32_t u32(std::string_view bytes, std::size_t at) {
  return u16(bytes, at) << 16U | u16(bytes, at + 2);
}

inline DecodedPacket of_kind(PacketKind kind) {
  DecodedPacket packet;
  packet.kind = kind;
  return packet;
}

// A part of a frame: what was captured of it and how long it was on the wire.
struct Part {
  std::string_view bytes;
  std::size_t wire = 0;

  [[nodiscard]] Part after(std::size_t count) const {
    return {bytes.substr(std::min(count, bytes.size())), wire - std::min(count, wire)};
  }

  // The part that a header's length names; what is behind it is padding.
  [[nodiscard]] Part first(std::size_t length) const { return {bytes.substr(0, length), length}; }

  [[nodiscard]] bool has(std::size_t count) const { return bytes.size() >= count; }

  // What it is to end inside a header: the capture cut it, or it never was whole.
  [[nodiscard]] DecodedPacket too_short() const {
    return of_kind(wire > bytes.size() ? PacketKind::cut_header : PacketKind::undecodable);
  }
};

// What the layers found so far.
struct Context {
  // What tells networks apart. The labels of MPLS do not: each direction has its own.
  enum class Tag : std::uint8_t { vlan = 1, vxlan, geneve, gre_key, erspan_session, pppoe_session };

  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};
  std::uint64_t network = 0;
  int depth = 0;

  // All tags go into one number; 0 means that there was none.
  void enter(Tag kind, std::uint32_t tag) {
    std::uint64_t mixed = network + (std::uint64_t{static_cast<std::uint8_t>(kind)} << 32U | tag);
    mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9U;  // SplitMix64's finaliser
    mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebU;
    network = mixed ^ mixed >> 31U;
  }

  // Headers in headers are followed so far.
  [[nodiscard]] bool nest() {
    constexpr int kNestingMax = 12;
    return ++depth <= kNestingMax;
  }
};

[[nodiscard]] DecodedPacket decode_ethernet(Part part, Context context);
[[nodiscard]] DecodedPacket decode_ethertype(unsigned type, Part part, Context context);
[[nodiscard]] DecodedPacket decode_ip(Part part, Context context);
[[nodiscard]] DecodedPacket decode_protocol(unsigned protocol, Part part, const Context& context);
[[nodiscard]] DecodedPacket decode_udp(Part part, Context context);
[[nodiscard]] DecodedPacket decode_gre(Part part, Context context);
[[nodiscard]] DecodedPacket decode_mpls(Part part, const Context& context);
[[nodiscard]] DecodedPacket decode_ppp(Part part, const Context& context);
[[nodiscard]] DecodedPacket decode_pppoe(Part part, Context context);

}  // namespace gatedrill::replay::capture
