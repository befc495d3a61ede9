#include "replay/capture/pcapng_file.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

enum BlockType : std::uint32_t {
  interface_description = 1,
  old_packet = 2,
  simple_packet = 3,
  interface_statistics = 5,
  enhanced_packet = 6,
  decryption_secrets = 10,
  section_header = 0x0a0d0d0a,
};

constexpr std::uint32_t kByteOrderMark = 0x1a2b3c4d;
constexpr std::size_t kFrameBytes = 12;  // type and length, and the length again behind the body
constexpr std::size_t kBlockBytesMax = std::size_t{16} << 20U;  // of a block that is read
constexpr std::size_t kInterfacesMax = 65'536;
constexpr std::size_t kKeyLogBytesMax = std::size_t{64} << 20U;
constexpr std::uint32_t kTlsKeyLog = 0x544c534b;
constexpr std::int64_t kSecondsMax = 9'000'000'000;  // the year 2255

bool is_read(std::uint32_t type) {
  switch (type) {
    case interface_description:
    case old_packet:
    case simple_packet:
    case interface_statistics:
    case enhanced_packet:
    case decryption_secrets:
    case section_header:
      return true;
    default:
      return false;
  }
}

std::uint64_t high_low(ByteOrder order, const char* at) {
  return std::uint64_t{order.u32(at)} << 32U | order.u32(at + 4);
}

std::uint64_t power_of_ten(unsigned exponent) {
  std::uint64_t value = 1;
  for (; exponent > 0; --exponent)
    value *= 10;
  return value;
}

// Options: code, length, value, each value filled up to four bytes. Ends where they make no sense.
template <class Take>
void each_option(ByteOrder order, std::string_view options, const Take& take) {
  constexpr std::size_t kHeaderBytes = 4;
  while (options.size() >= kHeaderBytes) {
    const unsigned code = order.u16(options.data());
    const std::size_t length = order.u16(options.data() + 2);
    options.remove_prefix(kHeaderBytes);
    if (code == 0 || length > options.size()) return;
    take(code, options.substr(0, length));
    options.remove_prefix(std::min((length + 3) / 4 * 4, options.size()));
  }
}

}  // namespace

TimeUnit::TimeUnit(std::uint8_t resolution, std::int64_t offset_s)
    : offset_s_(std::clamp(offset_s, -2 * kSecondsMax, 2 * kSecondsMax)) {
  const unsigned exponent = resolution & 0x7fU;
  const bool binary = (resolution & 0x80U) != 0;
  const unsigned most = binary ? 63 : 19;  // that 64 bits hold
  const auto power = [&](unsigned value) {
    return binary ? std::uint64_t{1} << value : power_of_ten(value);
  };
  const unsigned finer = exponent > most ? exponent - most : 0;
  per_second_ = power(exponent - finer);
  divisor_ = finer > most ? 0 : power(finer);
}

UnixTime TimeUnit::time(std::uint64_t ticks) const {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kBillion = 1'000'000'000;
  ticks = divisor_ == 0 ? 0 : ticks / divisor_;
  const std::uint64_t seconds = ticks / per_second_;
  const std::uint64_t rest = ticks % per_second_;
  const std::uint64_t ns = kBillion % per_second_ == 0
                               ? rest * (kBillion / per_second_)
                               : static_cast<std::uint64_t>(Wide{rest} * kBillion / per_second_);
  const auto whole = static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, 2 * kSecondsMax));
  const std::int64_t shifted = std::clamp<std::int64_t>(whole + offset_s_, 0, kSecondsMax);
  return {shifted * static_cast<std::int64_t>(kBillion) + static_cast<std::int64_t>(ns)};
}

bool PcapngFile::begins(std::string_view bytes) {
  return bytes.size() >= 4 && ByteOrder().u32(bytes.data()) == section_header;
}

Result<std::unique_ptr<PacketSource>> PcapngFile::open(ByteWindow window, const std::string& name) {
  auto file = std::make_unique<PcapngFile>(std::move(window));
  Packet none;
  Step step = Step::quiet;
  while (step == Step::quiet)
    step = file->read_block(none);
  if (step == Step::passed) return std::unique_ptr<PacketSource>(std::move(file));
  if (!file->end_.damage.empty()) return usage_error(name + ": " + file->end_.damage);
  return evidence_error(name + ": breaks off inside its header; nothing in it can be used");
}

Result<PacketSource::Next> PcapngFile::next(Packet& packet) {
  for (;;) {
    switch (read_block(packet)) {
      case Step::packet:
        return Next::packet;
      case Step::passed:
        break;
      case Step::key_log:
      case Step::quiet:
        return Next::quiet;
      case Step::end:
        return Next::end;
    }
  }
}

PacketSource::Drops PcapngFile::drops() const {
  Drops sum = drops_;
  for (const Interface& interface : interfaces_) {
    sum.kernel += interface.drops.kernel;
    sum.interface += interface.drops.interface;
  }
  return sum;
}

PcapngFile::Step PcapngFile::ended(ByteWindow::State state) {
  if (state == ByteWindow::State::quiet) return Step::quiet;
  if (state == ByteWindow::State::failed) return damaged(window_.failure());
  over_ = true;
  end_.cut_bytes = window_.end() - block_at_;
  return Step::end;
}

PcapngFile::Step PcapngFile::damaged(const std::string& what) {
  over_ = true;
  end_.damage = "byte " + std::to_string(block_at_) + ": " + what;
  end_.cut_bytes = window_.end() - block_at_;
  return Step::end;
}

PcapngFile::Step PcapngFile::read_block(Packet& packet) {
  if (over_) return Step::end;
  window_.consume(std::exchange(used_, 0));
  auto state = window_.skip(skipping_);
  if (state != ByteWindow::State::ready) return ended(state);
  block_at_ = window_.offset();
  state = window_.require(kFrameBytes);
  if (state != ByteWindow::State::ready) return ended(state);
  const char* block = window_.bytes().data();
  const std::uint32_t type = order_.u32(block);
  if (type == section_header) {  // it reads the same in either order
    const bool swapped = ByteOrder().u32(block + 8) != kByteOrderMark;
    order_ = ByteOrder(swapped);
    if (order_.u32(block + 8) != kByteOrderMark) return damaged("a section without a byte order");
  }
  const std::size_t length = order_.u32(block + 4);
  if (length < kFrameBytes || length % 4 != 0) {
    return damaged("a block of " + std::to_string(length) + " bytes");
  }
  if (!is_read(type)) {
    skipping_ = length;
    return Step::passed;
  }
  if (length > kBlockBytesMax) {
    return damaged("a block of " + std::to_string(length) + " bytes is longer than any");
  }
  state = window_.require(length);
  if (state != ByteWindow::State::ready) return ended(state);
  const std::string_view bytes = window_.bytes().substr(0, length);
  if (order_.u32(bytes.data() + length - 4) != length) {
    return damaged("a block whose two lengths differ");
  }
  used_ = length;
  return read_body(type, bytes.substr(8, length - kFrameBytes), packet);
}

PcapngFile::Step PcapngFile::read_body(std::uint32_t type, std::string_view body, Packet& packet) {
  switch (type) {
    case section_header:
      return begin_section(body);
    case interface_description:
      return add_interface(body);
    case interface_statistics:
      return add_statistics(body);
    case decryption_secrets:
      return add_secrets(body);
    case simple_packet:
      return take_simple_packet(body, packet);
    case old_packet:
      if (body.size() < 2) return damaged("a packet block that is too short");
      return take_packet(order_.u16(body.data()), body, packet);
    default:
      if (body.size() < 4) return damaged("a packet block that is too short");
      return take_packet(order_.u32(body.data()), body, packet);
  }
}

PcapngFile::Step PcapngFile::begin_section(std::string_view body) {
  constexpr std::size_t kBytes = 16;  // byte order, version, length of the section
  if (body.size() < kBytes) return damaged("a section header that is too short");
  const unsigned version = order_.u16(body.data() + 4);
  if (version != 1) {
    return damaged("pcapng version " + std::to_string(version) + " is not known, only 1");
  }
  drops_ = drops();
  interfaces_.clear();
  return Step::passed;
}

PcapngFile::Step PcapngFile::add_interface(std::string_view body) {
  constexpr std::size_t kBytes = 8;
  constexpr unsigned kResolution = 9;
  constexpr unsigned kOffset = 14;
  if (body.size() < kBytes) return damaged("an interface block that is too short");
  if (interfaces_.size() >= kInterfacesMax) return damaged("more interfaces than any section has");
  constexpr std::uint8_t kMicroseconds = 6;
  std::uint8_t resolution = kMicroseconds;
  std::int64_t offset_s = 0;
  each_option(order_, body.substr(kBytes), [&](unsigned code, std::string_view value) {
    if (code == kResolution && !value.empty()) resolution = static_cast<std::uint8_t>(value[0]);
    if (code == kOffset && value.size() == 8) {
      offset_s = static_cast<std::int64_t>(order_.u64(value.data()));
    }
  });
  interfaces_.push_back({.link_type = order_.u16(body.data()),
                         .snapshot_bytes = order_.u32(body.data() + 4),
                         .time = TimeUnit(resolution, offset_s)});
  return Step::passed;
}

PcapngFile::Step PcapngFile::add_statistics(std::string_view body) {
  constexpr std::size_t kBytes = 12;
  constexpr unsigned kInterfaceDrops = 5;
  constexpr unsigned kSystemDrops = 7;
  if (body.size() < kBytes) return damaged("a statistics block that is too short");
  const std::uint32_t number = order_.u32(body.data());
  if (number >= interfaces_.size()) return Step::passed;
  Drops& drops = interfaces_[number].drops;  // they count from the beginning, so the last one holds
  each_option(order_, body.substr(kBytes), [&](unsigned code, std::string_view value) {
    if (value.size() != 8) return;
    if (code == kInterfaceDrops) drops.interface = order_.u64(value.data());
    if (code == kSystemDrops) drops.kernel = order_.u64(value.data());
  });
  return Step::passed;
}

PcapngFile::Step PcapngFile::add_secrets(std::string_view body) {
  constexpr std::size_t kBytes = 8;
  if (body.size() < kBytes) return damaged("a secrets block that is too short");
  const std::size_t length = order_.u32(body.data() + 4);
  if (length > body.size() - kBytes) return damaged("secrets longer than their block");
  if (order_.u32(body.data()) != kTlsKeyLog) return Step::passed;
  key_log_bytes_ += length;
  if (key_log_bytes_ > kKeyLogBytesMax) return damaged("more secrets than any capture needs");
  key_log_.append(body.substr(kBytes, length)).push_back('\n');
  return Step::key_log;
}

// An enhanced packet and one of the old kind differ only in how they name the interface.
PcapngFile::Step PcapngFile::take_packet(std::uint32_t interface,
                                         std::string_view body,
                                         Packet& packet) {
  constexpr std::size_t kBytes = 20;
  if (body.size() < kBytes) return damaged("a packet block that is too short");
  const std::size_t captured = order_.u32(body.data() + 12);
  if (captured > body.size() - kBytes) return damaged("a packet longer than its block");
  const bool declared = interface < interfaces_.size();
  const TimeUnit time = declared ? interfaces_[interface].time : TimeUnit();
  packet.at = latest_ = time.time(high_low(order_, body.data() + 4));
  packet.bytes = body.substr(kBytes, captured);
  packet.wire_bytes = order_.u32(body.data() + 16);
  packet.link_type = declared ? interfaces_[interface].link_type : kNoLinkType;
  return Step::packet;
}

PcapngFile::Step PcapngFile::take_simple_packet(std::string_view body, Packet& packet) {
  constexpr std::size_t kBytes = 4;
  if (body.size() < kBytes) return damaged("a packet block that is too short");
  const std::size_t sent = order_.u32(body.data());
  std::size_t captured = std::min(sent, body.size() - kBytes);
  packet.link_type = kNoLinkType;
  if (!interfaces_.empty()) {
    const Interface& interface = interfaces_.front();
    packet.link_type = interface.link_type;
    if (interface.snapshot_bytes > 0) {
      captured = std::min<std::size_t>(captured, interface.snapshot_bytes);
    }
  }
  packet.at = latest_;
  packet.bytes = body.substr(kBytes, captured);
  packet.wire_bytes = sent;
  return Step::packet;
}

}  // namespace gatedrill::replay::capture
