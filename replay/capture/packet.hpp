// From the bytes of one captured frame to the TCP segment in it. Pure: no state, nothing copied;
// the views live as long as the frame.
//
//   frame ─► link (Ethernet, VLAN, MPLS, PPPoE, SLL, ...) ─► IPv4 or IPv6 ─► TCP
//                      ▲                                         └─► VXLAN, Geneve, GRE, ERSPAN,
//                      └────────────────── an inner frame ◄───────── IP in IP
//
// Checksums are not looked at: a capture on the sending host sees them before the card fills
// them in.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gatedrill::replay::capture {

// IPv4 addresses are held as IPv4-mapped IPv6 ones.
struct Endpoint {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  auto operator<=>(const Endpoint&) const = default;
};

// "10.0.0.1:80", "[::1]:80".
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

struct TcpSegment {
  Endpoint source;
  Endpoint destination;
  std::uint64_t network = 0;  // which VLAN, virtual network or tunnel; 0 if none
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  bool has_ack = false;
  bool syn = false;
  bool fin = false;
  bool rst = false;
  std::uint16_t window = 0xffff;    // as it stands in the header, not scaled
  std::string_view payload;         // what was captured of it
  std::uint32_t payload_bytes = 0;  // what was sent; more than `payload` if the frame was cut
};

// One fragment of an IP datagram.
struct IpFragment {
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};
  std::uint64_t network = 0;
  std::uint32_t id = 0;
  std::uint8_t protocol = 0;
  std::uint32_t offset = 0;
  bool more = false;
  std::string_view payload;
  bool cut = false;
};

enum class PacketKind {
  tcp,
  fragment,
  not_ip,        // ARP, LLDP, ...
  not_tcp,       // UDP, ICMP, ...
  unknown_link,  // of a link type that cannot be read
  undecodable,   // its headers contradict themselves
  cut_header,    // the frame was cut inside its headers
};

struct DecodedPacket {
  PacketKind kind = PacketKind::undecodable;
  TcpSegment tcp;       // of kind tcp
  IpFragment fragment;  // of kind fragment
};

// The pcap link types that decode_frame understands.
[[nodiscard]] bool is_known_link_type(int link_type);

// `wire_bytes` is the frame's length on the wire, `frame` what was captured of it.
[[nodiscard]] DecodedPacket decode_frame(int link_type,
                                         std::string_view frame,
                                         std::size_t wire_bytes);

// The same for the payload of a datagram that was put together from fragments.
[[nodiscard]] DecodedPacket decode_datagram(const IpFragment& first, std::string_view payload);

}  // namespace gatedrill::replay::capture
