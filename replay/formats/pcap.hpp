// A recording as a packet capture that Wireshark opens: each connection is written as its packets
// could have been, from its handshake to its end, at the recorded times.
//
// What is not recorded is not made up, with one exception that is noted: addresses, where a
// recording knows none, are of the ranges for documentation (RFC 5737, RFC 3849). A message that is
// not whole ends its connection without a FIN.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "replay/formats/endpoint.hpp"
#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

Result<void> write_pcap(const Recording& recording, Output& output, ExportNotes& notes);

[[nodiscard]] Format pcap_format();

// Private to the format: bytes of packets.

struct TcpFlags {
  bool syn = false;
  bool fin = false;
  bool rst = false;
  bool ack = false;
};

struct TcpSegment {
  Endpoint source{};
  Endpoint destination{};  // of the same family
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  TcpFlags flags{};
  std::string_view payload{};
};

inline constexpr std::size_t kMtu = 1500;
[[nodiscard]] std::size_t mss(bool v6);

// The header of a pcap file: nanoseconds, raw IP packets.
[[nodiscard]] std::string pcap_file_header();
// A packet with its record header, checksums right. Times outside of 1970 to 2106 are not possible
// in the format; they become the nearest that is.
[[nodiscard]] std::string pcap_packet(const TcpSegment& segment, UnixTime at, std::uint16_t ip_id);

}  // namespace gatedrill::replay::formats
