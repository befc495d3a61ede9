#include "tests/support/pcapng_builder.hpp"

#include <algorithm>

#include "tests/support/pcap_builder.hpp"

namespace gatedrill::tests {
namespace {

std::string filled_up(std::string_view bytes) {
  std::string out(bytes);
  out.resize((out.size() + 3) / 4 * 4, '\0');
  return out;
}

}  // namespace

std::string PcapngBuilder::ordered(std::string bytes) const {
  if (!big_) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

std::string PcapngBuilder::u16(unsigned value) const {
  return ordered(be16(value));
}

std::string PcapngBuilder::u32(std::uint32_t value) const {
  return ordered(be32(value));
}

std::string PcapngBuilder::u64(std::uint64_t value) const {
  return ordered(be32(static_cast<std::uint32_t>(value >> 32U)) +
                 be32(static_cast<std::uint32_t>(value)));
}

std::string PcapngBuilder::option(unsigned code, std::string_view value) const {
  return u16(code) + u16(static_cast<unsigned>(value.size())) + filled_up(value);
}

void PcapngBuilder::block(std::uint32_t type, std::string_view body) {
  const std::string filled = filled_up(body);
  const std::string length = u32(static_cast<std::uint32_t>(filled.size() + 12));
  bytes_ += u32(type) + length + filled + length;
}

void PcapngBuilder::section(unsigned version) {
  block(0x0a0d0d0a, u32(0x1a2b3c4d) + u16(version) + u16(0) + std::string(8, '\xff'));
}

void PcapngBuilder::interface(unsigned link_type,
                              std::uint32_t snapshot_bytes,
                              const std::string& options) {
  block(1, u16(link_type) + u16(0) + u32(snapshot_bytes) + options +
               (options.empty() ? "" : option(0, "")));
}

void PcapngBuilder::packet(std::uint32_t interface,
                           std::uint64_t ticks,
                           std::string_view frame,
                           std::size_t sent) {
  block(6, u32(interface) + u32(static_cast<std::uint32_t>(ticks >> 32U)) +
               u32(static_cast<std::uint32_t>(ticks)) +
               u32(static_cast<std::uint32_t>(frame.size())) +
               u32(static_cast<std::uint32_t>(sent == 0 ? frame.size() : sent)) + filled_up(frame));
}

void PcapngBuilder::old_packet(unsigned interface, std::uint64_t ticks, std::string_view frame) {
  block(2, u16(interface) + u16(0xffff) + u32(static_cast<std::uint32_t>(ticks >> 32U)) +
               u32(static_cast<std::uint32_t>(ticks)) +
               u32(static_cast<std::uint32_t>(frame.size())) +
               u32(static_cast<std::uint32_t>(frame.size())) + filled_up(frame));
}

void PcapngBuilder::simple_packet(std::string_view frame, std::size_t sent) {
  block(3, u32(static_cast<std::uint32_t>(sent == 0 ? frame.size() : sent)) + std::string(frame));
}

void PcapngBuilder::statistics(std::uint32_t interface,
                               std::uint64_t interface_drops,
                               std::uint64_t system_drops) {
  block(5, u32(interface) + u64(0) + option(5, u64(interface_drops)) +
               option(7, u64(system_drops)) + option(0, ""));
}

void PcapngBuilder::secrets(std::uint32_t type, std::string_view text) {
  block(10, u32(type) + u32(static_cast<std::uint32_t>(text.size())) + std::string(text));
}

}  // namespace gatedrill::tests
