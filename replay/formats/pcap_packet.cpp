#include <algorithm>
#include <limits>

#include "replay/formats/pcap.hpp"

namespace gatedrill::replay::formats {
namespace {

constexpr std::size_t kIpv4HeaderBytes = 20;
constexpr std::size_t kIpv6HeaderBytes = 40;
constexpr std::size_t kTcpHeaderBytes = 20;
constexpr std::uint8_t kTcp = 6;

void be16(std::string& out, std::uint32_t value) {
  out.push_back(static_cast<char>(value >> 8U & 0xFFU));
  out.push_back(static_cast<char>(value & 0xFFU));
}

void be32(std::string& out, std::uint32_t value) {
  be16(out, value >> 16U);
  be16(out, value & 0xFFFFU);
}

void le32(std::string& out, std::uint32_t value) {
  for (const unsigned shift : {0U, 8U, 16U, 24U})
    out.push_back(static_cast<char>(value >> shift & 0xFFU));
}

void append_address(std::string& out, const Endpoint& endpoint) {
  const std::size_t size = endpoint.is_v6 ? 16 : 4;
  for (std::size_t i = 0; i < size; ++i)
    out.push_back(static_cast<char>(endpoint.address.at(i)));
}

// RFC 1071.
std::uint32_t sum(std::string_view bytes, std::uint32_t before = 0) {
  std::uint64_t total = before;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const auto high = static_cast<unsigned char>(bytes[i]);
    const unsigned low = i + 1 < bytes.size() ? static_cast<unsigned char>(bytes[i + 1]) : 0U;
    total += static_cast<std::uint64_t>(high) << 8U | low;
  }
  while (total > 0xFFFF)
    total = (total & 0xFFFFU) + (total >> 16U);
  return static_cast<std::uint32_t>(total);
}

void put16(std::string& bytes, std::size_t at, std::uint32_t value) {
  bytes[at] = static_cast<char>(value >> 8U & 0xFFU);
  bytes[at + 1] = static_cast<char>(value & 0xFFU);
}

std::string tcp_bytes(const TcpSegment& segment) {
  constexpr std::size_t kSynOptionBytes = 12;
  constexpr std::uint32_t kWindow = 65535;
  constexpr char kWindowShift = 8;  // 16 MiB
  constexpr std::size_t kChecksumAt = 16;
  const TcpFlags& flags = segment.flags;
  std::string bytes;
  be16(bytes, segment.source.port);
  be16(bytes, segment.destination.port);
  be32(bytes, segment.seq);
  be32(bytes, flags.ack ? segment.ack : 0);
  const std::size_t header = kTcpHeaderBytes + (flags.syn ? kSynOptionBytes : 0);
  const bool push = !segment.payload.empty();
  const std::uint32_t bits = (flags.fin ? 1U : 0U) | (flags.syn ? 2U : 0U) | (flags.rst ? 4U : 0U) |
                             (push ? 8U : 0U) | (flags.ack ? 16U : 0U);
  be16(bytes, static_cast<std::uint32_t>(header / 4) << 12U | bits);
  be16(bytes, flags.rst ? 0 : kWindow);
  be16(bytes, 0);  // checksum
  be16(bytes, 0);  // urgent pointer
  if (flags.syn) {
    bytes.append("\x02\x04");  // maximum segment size
    be16(bytes, static_cast<std::uint32_t>(mss(segment.source.is_v6)));
    bytes.append("\x04\x02\x01\x03\x03");  // selective acknowledgements; padding; window scale
    bytes.push_back(kWindowShift);
    bytes.append("\x01\x01");
  }
  bytes.append(segment.payload);
  std::string pseudo;
  append_address(pseudo, segment.source);
  append_address(pseudo, segment.destination);
  be32(pseudo, static_cast<std::uint32_t>(bytes.size()));
  be32(pseudo, kTcp);
  put16(bytes, kChecksumAt, ~sum(bytes, sum(pseudo)) & 0xFFFFU);
  return bytes;
}

}  // namespace

std::size_t mss(bool v6) {
  return kMtu - kTcpHeaderBytes - (v6 ? kIpv6HeaderBytes : kIpv4HeaderBytes);
}

std::string pcap_file_header() {
  constexpr std::uint32_t kMagicNanoseconds = 0xA1B23C4D;
  constexpr std::uint32_t kVersion24 = 0x00040002;
  constexpr std::uint32_t kSnapLength = 262'144;
  constexpr std::uint32_t kLinkTypeRaw = 101;
  std::string header;
  le32(header, kMagicNanoseconds);
  le32(header, kVersion24);
  le32(header, 0);
  le32(header, 0);
  le32(header, kSnapLength);
  le32(header, kLinkTypeRaw);
  return header;
}

std::string pcap_packet(const TcpSegment& segment, UnixTime at, std::uint16_t ip_id) {
  constexpr std::uint32_t kTtl = 64;
  constexpr std::size_t kIpChecksumAt = 10;
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::string tcp = tcp_bytes(segment);
  std::string packet;
  if (segment.source.is_v6) {
    be32(packet, 0x60000000);
    be16(packet, static_cast<std::uint32_t>(tcp.size()));
    be16(packet, kTcp << 8U | kTtl);
    append_address(packet, segment.source);
    append_address(packet, segment.destination);
  } else {
    be16(packet, 0x4500);
    be16(packet, static_cast<std::uint32_t>(kIpv4HeaderBytes + tcp.size()));
    be16(packet, ip_id);
    be16(packet, 0x4000);  // do not fragment
    be16(packet, kTtl << 8U | kTcp);
    be16(packet, 0);
    append_address(packet, segment.source);
    append_address(packet, segment.destination);
    put16(packet, kIpChecksumAt, ~sum(packet) & 0xFFFFU);
  }
  packet.append(tcp);
  const std::int64_t latest =
      std::int64_t{std::numeric_limits<std::uint32_t>::max()} * kSecond + kSecond - 1;
  const std::int64_t ns = std::clamp<std::int64_t>(at.ns, 0, latest);
  std::string record;
  le32(record, static_cast<std::uint32_t>(ns / kSecond));
  le32(record, static_cast<std::uint32_t>(ns % kSecond));
  le32(record, static_cast<std::uint32_t>(packet.size()));
  le32(record, static_cast<std::uint32_t>(packet.size()));
  return record + packet;
}

}  // namespace gatedrill::replay::formats
