#include "tests/support/pcap_builder.hpp"

#include <algorithm>

namespace gatedrill::tests {
namespace {

std::string le32(std::uint32_t value) {
  std::string bytes = be32(value);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

}  // namespace

std::string be16(unsigned value) {
  return {static_cast<char>(value >> 8U & 0xffU), static_cast<char>(value & 0xffU)};
}

std::string be32(std::uint32_t value) {
  return be16(value >> 16U) + be16(value & 0xffffU);
}

std::string tcp_bytes(const SegmentSpec& spec) {
  unsigned flags = 0;
  if (spec.fin) flags |= 1U;
  if (spec.syn) flags |= 2U;
  if (spec.rst) flags |= 4U;
  if (spec.has_ack) flags |= 16U;
  constexpr unsigned kFiveWords = 0x5000;
  return be16(spec.source_port) + be16(spec.destination_port) + be32(spec.seq) +
         be32(spec.has_ack ? spec.ack : 0) + be16(kFiveWords | flags) + be16(spec.window) +
         be32(0) + spec.payload;
}

std::string ipv4_packet(const SegmentSpec& spec) {
  const std::string tcp = tcp_bytes(spec);
  return be16(0x4500) + be16(static_cast<unsigned>(20 + tcp.size())) + be32(0x00010000) +
         be16(0x4006) + be16(0) + be32(spec.source_ip) + be32(spec.destination_ip) + tcp;
}

std::string ipv6_packet(const SegmentSpec& spec) {
  const std::string tcp = tcp_bytes(spec);
  const std::string prefix(12, '\x20');
  return be32(0x60000000) + be16(static_cast<unsigned>(tcp.size())) + be16(0x0640) + prefix +
         be32(spec.source_ip) + prefix + be32(spec.destination_ip) + tcp;
}

std::string ethernet(std::string_view packet,
                     std::uint16_t type,
                     const std::vector<std::uint16_t>& vlans) {
  std::string frame(12, '\x02');
  for (const std::uint16_t vlan : vlans)
    frame += be16(0x8100) + be16(vlan);
  return frame + be16(type) + std::string(packet);
}

std::string ethernet_udp(unsigned port, std::string_view payload) {
  const auto size = static_cast<unsigned>(payload.size() + 8);
  return ethernet(be16(0x4500) + be16(20 + size) + be32(0) + be16(0x4011) + be16(0) + be32(1) +
                  be32(2) + be16(5555) + be16(port) + be16(size) + be16(0) + std::string(payload));
}

SegmentSpec Conversation::segment(bool from_client) const {
  SegmentSpec spec;
  spec.source_ip = options_.client_ip;
  spec.destination_ip = options_.server_ip;
  spec.source_port = from_client ? options_.client_port : options_.server_port;
  spec.destination_port = from_client ? options_.server_port : options_.client_port;
  if (!from_client) std::swap(spec.source_ip, spec.destination_ip);
  spec.seq = from_client ? client_next_ : server_next_;
  spec.ack = from_client ? server_next_ : client_next_;
  return spec;
}

void Conversation::push(const SegmentSpec& spec) {
  frames_.push_back({UnixTime{options_.begin.ns + elapsed_.count()},
                     ethernet(ipv4_packet(spec), 0x0800, options_.vlans)});
  elapsed_ += options_.step;
}

void Conversation::handshake() {
  SegmentSpec syn = segment(true);
  syn.syn = true;
  syn.has_ack = false;
  push(syn);
  ++client_next_;
  SegmentSpec answer = segment(false);
  answer.syn = true;
  push(answer);
  ++server_next_;
  push(segment(true));
}

void Conversation::send(bool from_client, std::string_view bytes) {
  std::uint32_t& next = from_client ? client_next_ : server_next_;
  while (!bytes.empty()) {
    SegmentSpec spec = segment(from_client);
    spec.payload = bytes.substr(0, options_.segment_bytes);
    push(spec);
    next += static_cast<std::uint32_t>(spec.payload.size());
    bytes.remove_prefix(spec.payload.size());
    if (options_.acknowledge) push(segment(!from_client));
  }
}

void Conversation::end(bool from_client, bool reset) {
  SegmentSpec spec = segment(from_client);
  spec.fin = !reset;
  spec.rst = reset;
  push(spec);
  ++(from_client ? client_next_ : server_next_);
}

void Conversation::close() {
  client_fin();
  server_fin();
  push(segment(true));
}

std::string pcap_file(const std::vector<Frame>& frames, std::uint32_t link_type) {
  std::string file =
      le32(0xa1b23c4d) + le32(0x00040002) + le32(0) + le32(0) + le32(262'144) + le32(link_type);
  for (const Frame& frame : frames) {
    file += le32(static_cast<std::uint32_t>(frame.at.ns / 1'000'000'000)) +
            le32(static_cast<std::uint32_t>(frame.at.ns % 1'000'000'000)) +
            le32(static_cast<std::uint32_t>(frame.bytes.size())) +
            le32(static_cast<std::uint32_t>(frame.wire())) + frame.bytes;
  }
  return file;
}

}  // namespace gatedrill::tests
