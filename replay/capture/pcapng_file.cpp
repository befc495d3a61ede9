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
constexpr std::size_t kBlockBytesMax = std::size_t{16} << 20U;   // of a block that is read
constexpr std::size_t kPassedBytesMax = std::size_t{64} << 20U;  // of one that is passed over
constexpr std::size_t kInterfacesMax = 65'536;
constexpr std::size_t kKeyLogBytesMax = std::size_t{64} << 20U;
constexpr std::uint32_t kTlsKeyLog = 0x544c534b;
constexpr std::size_t kPacketBytes = 20;             // of a packet's block, before the packet
constexpr std::int64_t kSecondsMax = 9'000'000'000;  // the year 2255

// Of what is so far defined; what a search may take for a block.
bool is_defined(std::uint32_t type) {
  constexpr std::uint32_t kLast = 16;
  constexpr std::uint32_t kCustom = 0x0bad;
  constexpr std::uint32_t kCustomNotCopied = 0x40000bad;
  return (type > 0 && type <= kLast) || type == section_header || type == kCustom ||
         type == kCustomNotCopied;
}

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
      case Step::wrong:
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
  end_.rest_unknown = state == ByteWindow::State::failed;
  if (end_.rest_unknown) return damaged(window_.failure());
  if (lost_) return damaged(lost_->what);
  over_ = true;
  end_.cut_bytes = window_.end() - block_at_;
  return Step::end;
}

PcapngFile::Step PcapngFile::damaged(const std::string& what) {
  over_ = true;
  const std::uint64_t from = lost_ ? lost_->at : block_at_;
  end_.cut_bytes = window_.end() - from;
  if (!what.empty()) end_.damage = "byte " + std::to_string(from) + ": " + what;
  return Step::end;
}

PcapngFile::Step PcapngFile::pass_damaged(const std::string& what) {
  end_.add({block_at_, used_, what, latest_.value_or(UnixTime{})});
  return Step::passed;
}

PcapngFile::Step PcapngFile::lose_place(const std::string& what) {
  if (!begun_) return damaged(what);
  lost_ = {.at = block_at_, .what = what, .after = latest_.value_or(UnixTime{})};
  blocks_lost_ = true;
  used_ = 0;
  window_.consume(1);
  return Step::passed;
}

// Nothing is known of what follows, up to the next section.
PcapngFile::Step PcapngFile::lose_section(const std::string& what) {
  only_section_ = begun_;
  return lose_place(what);
}

// Whether a block lies there, as far as its two lengths say: `passed`. `end` if the file ends
// inside of it.
PcapngFile::Step PcapngFile::block_at(std::size_t place, ByteOrder& order, std::size_t& length) {
  auto state = window_.require(place + kFrameBytes);
  if (state == ByteWindow::State::quiet) return Step::quiet;
  if (state != ByteWindow::State::ready) return Step::end;
  const char* block = window_.bytes().data() + place;
  const std::uint32_t type = order.u32(block);
  if (type == section_header) {
    order = ByteOrder(ByteOrder().u32(block + 8) != kByteOrderMark);
    if (order.u32(block + 8) != kByteOrderMark) return Step::wrong;
  }
  length = order.u32(block + 4);
  const bool possible = length >= kFrameBytes && length % 4 == 0 && length <= kBlockBytesMax;
  if (!possible || !is_defined(type)) return Step::wrong;
  state = window_.require(place + length);
  if (state == ByteWindow::State::quiet) return Step::quiet;
  if (state != ByteWindow::State::ready) return Step::end;
  const char* again = window_.bytes().data() + place + length - 4;
  return order.u32(again) == length ? Step::passed : Step::wrong;
}

// Whether blocks follow one another from here.
PcapngFile::Step PcapngFile::lead_on() {
  ByteOrder order = order_;
  std::size_t length = 0;
  const Step first = block_at(0, order, length);
  if (first == Step::quiet) return first;
  if (first != Step::passed) return Step::wrong;
  const char* block = window_.bytes().data();
  const std::uint32_t type = order.u32(block);
  if (only_section_ && type != section_header) return Step::wrong;
  if (type == enhanced_packet && !is_plausible_packet({block + 8, length - kFrameBytes})) {
    return Step::wrong;
  }
  std::size_t next_length = 0;
  const Step second = block_at(length, order, next_length);
  return second == Step::end ? Step::passed : second;
}

bool PcapngFile::is_plausible_packet(std::string_view body) const {
  if (body.size() < kPacketBytes) return false;
  const std::uint32_t interface = order_.u32(body.data());
  if (order_.u32(body.data() + 12) > body.size() - kPacketBytes) return false;
  if (interface >= interfaces_.size() || !latest_) return true;
  return are_near(interfaces_[interface].time.time(high_low(order_, body.data() + 4)), *latest_);
}

PcapngFile::Step PcapngFile::find_place() {
  for (;;) {
    const auto state = window_.require(kFrameBytes);
    if (state != ByteWindow::State::ready) return ended(state);
    const Step step = lead_on();
    if (step == Step::quiet) return step;
    if (step == Step::passed) break;
    window_.consume(1);
  }
  lost_->bytes = window_.offset() - lost_->at;
  if (lost_->what.empty()) lost_->what = "a block that reaches beyond the end of the file";
  end_.add(*std::exchange(lost_, std::nullopt));
  only_section_ = false;
  return Step::passed;
}

PcapngFile::Step PcapngFile::read_block(Packet& packet) {
  if (over_) return Step::end;
  window_.consume(std::exchange(used_, 0));
  if (lost_) {
    if (const Step step = find_place(); step != Step::passed) return step;
  }
  block_at_ = window_.offset();
  auto state = window_.require(kFrameBytes);
  if (state != ByteWindow::State::ready) return ended(state);
  const char* block = window_.bytes().data();
  const std::uint32_t type = order_.u32(block);
  if (type == section_header) {  // it reads the same in either order
    const bool swapped = ByteOrder().u32(block + 8) != kByteOrderMark;
    order_ = ByteOrder(swapped);
    if (order_.u32(block + 8) != kByteOrderMark)
      return lose_section("a section without a byte order");
  }
  const std::size_t length = order_.u32(block + 4);
  if (length < kFrameBytes || length % 4 != 0) {
    return lose_place("a block of " + std::to_string(length) + " bytes");
  }
  if (length > (is_read(type) ? kBlockBytesMax : kPassedBytesMax)) {
    return lose_place("a block of " + std::to_string(length) + " bytes is longer than any");
  }
  state = window_.require(length);
  // It breaks off, or says that it is longer than it is.
  if (state == ByteWindow::State::end && begun_) return lose_place({});
  if (state != ByteWindow::State::ready) return ended(state);
  const std::string_view bytes = window_.bytes().substr(0, length);
  if (order_.u32(bytes.data() + length - 4) != length) {
    return lose_place("a block whose two lengths differ");
  }
  used_ = length;
  if (!is_read(type)) return Step::passed;
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
      if (body.size() < 2) return pass_damaged("a packet block that is too short");
      return take_packet(order_.u16(body.data()), body, packet);
    default:
      if (body.size() < 4) return pass_damaged("a packet block that is too short");
      return take_packet(order_.u32(body.data()), body, packet);
  }
}

PcapngFile::Step PcapngFile::begin_section(std::string_view body) {
  constexpr std::size_t kBytes = 16;  // byte order, version, length of the section
  if (body.size() < kBytes) return lose_section("a section header that is too short");
  const unsigned version = order_.u16(body.data() + 4);
  if (version != 1) {
    return lose_section("pcapng version " + std::to_string(version) + " is not known, only 1");
  }
  drops_ = drops();
  interfaces_.clear();
  alike_ = true;
  numbers_unknown_ = false;
  begun_ = true;
  blocks_lost_ = false;
  return Step::passed;
}

PcapngFile::Step PcapngFile::add_interface(std::string_view body) {
  constexpr std::size_t kBytes = 8;
  constexpr unsigned kResolution = 9;
  constexpr unsigned kOffset = 14;
  if (interfaces_.size() >= kInterfacesMax)
    return pass_damaged("more interfaces than any section has");
  if (body.size() < kBytes) {
    interfaces_.push_back({.link_type = kNoLinkType});
    alike_ = false;
    return pass_damaged("an interface block that is too short");
  }
  constexpr std::uint8_t kMicroseconds = 6;
  std::uint8_t resolution = kMicroseconds;
  std::int64_t offset_s = 0;
  each_option(order_, body.substr(kBytes), [&](unsigned code, std::string_view value) {
    if (code == kResolution && !value.empty()) resolution = static_cast<std::uint8_t>(value[0]);
    if (code == kOffset && value.size() == 8) {
      offset_s = static_cast<std::int64_t>(order_.u64(value.data()));
    }
  });
  const Interface added{.link_type = order_.u16(body.data()),
                        .snapshot_bytes = order_.u32(body.data() + 4),
                        .time = TimeUnit(resolution, offset_s)};
  interfaces_.push_back(added);
  alike_ = alike_ && interfaces_.front().is_like(added);
  if (!blocks_lost_) return Step::passed;
  // Which number it has is not known, and so not what is whose, unless all are alike.
  if (numbers_unknown_) {
    interfaces_.back().link_type = kNoLinkType;
  } else if (interfaces_.size() == 1 || !alike_) {
    numbers_unknown_ = true;
    for (Interface& one : interfaces_)
      one.link_type = kNoLinkType;
  }
  return Step::passed;
}

PcapngFile::Step PcapngFile::add_statistics(std::string_view body) {
  constexpr std::size_t kBytes = 12;
  constexpr unsigned kInterfaceDrops = 5;
  constexpr unsigned kSystemDrops = 7;
  if (body.size() < kBytes) return pass_damaged("a statistics block that is too short");
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
  if (body.size() < kBytes) return pass_damaged("a secrets block that is too short");
  const std::size_t length = order_.u32(body.data() + 4);
  if (length > body.size() - kBytes) return pass_damaged("secrets longer than their block");
  if (order_.u32(body.data()) != kTlsKeyLog) return Step::passed;
  key_log_bytes_ += length;
  if (key_log_bytes_ > kKeyLogBytesMax) return pass_damaged("more secrets than any capture needs");
  key_log_.append(body.substr(kBytes, length)).push_back('\n');
  return Step::key_log;
}

// An enhanced packet and one of the old kind differ only in how they name the interface.
PcapngFile::Step PcapngFile::take_packet(std::uint32_t interface,
                                         std::string_view body,
                                         Packet& packet) {
  if (body.size() < kPacketBytes) return pass_damaged("a packet block that is too short");
  const std::size_t captured = order_.u32(body.data() + 12);
  if (captured > body.size() - kPacketBytes) return pass_damaged("a packet longer than its block");
  const bool declared = interface < interfaces_.size();
  const TimeUnit time = declared ? interfaces_[interface].time : TimeUnit();
  latest_ = time.time(high_low(order_, body.data() + 4));
  packet.at = *latest_;
  packet.bytes = body.substr(kPacketBytes, captured);
  packet.wire_bytes = order_.u32(body.data() + 16);
  packet.link_type = declared ? interfaces_[interface].link_type : kNoLinkType;
  return Step::packet;
}

PcapngFile::Step PcapngFile::take_simple_packet(std::string_view body, Packet& packet) {
  constexpr std::size_t kBytes = 4;
  if (body.size() < kBytes) return pass_damaged("a packet block that is too short");
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
  packet.at = latest_.value_or(UnixTime{});
  packet.bytes = body.substr(kBytes, captured);
  packet.wire_bytes = sent;
  return Step::packet;
}

}  // namespace gatedrill::replay::capture
