#include "replay/capture/pcap_file.hpp"

#include <algorithm>
#include <utility>

#include "replay/capture/packet.hpp"

namespace gatedrill::replay::capture {
namespace {

// As they are when the file has this machine's byte order.
constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
// Of patched kernels around 2000; each packet's header has eight bytes more.
constexpr std::uint32_t kPatched = 0xa1b2cd34;
constexpr std::size_t kFileHeaderBytes = 24;
constexpr std::size_t kPacketHeaderBytes = 16;
constexpr std::size_t kPatchedHeaderBytes = 24;
// A packet that says it is longer than both this and the snapshot length is damaged.
constexpr std::size_t kPacketBytesUsual = 262'144;
constexpr std::size_t kPacketBytesMax = std::size_t{16} << 20U;

bool is_magic(std::uint32_t word) {
  return word == kMicroseconds || word == kNanoseconds || word == kPatched;
}

}  // namespace

bool PcapFile::begins(std::string_view bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) return false;
  return is_magic(ByteOrder(false).u32(bytes.data())) ||
         is_magic(ByteOrder(true).u32(bytes.data()));
}

Result<std::unique_ptr<PacketSource>> PcapFile::open(ByteWindow window, const std::string& name) {
  auto file = std::make_unique<PcapFile>(std::move(window));
  auto state = ByteWindow::State::quiet;
  while (state == ByteWindow::State::quiet)
    state = file->window_.require(kFileHeaderBytes);
  if (state != ByteWindow::State::ready) {
    return evidence_error(name + ": breaks off inside its header; nothing in it can be used");
  }
  const char* header = file->window_.bytes().data();
  file->order_ = ByteOrder(!is_magic(ByteOrder(false).u32(header)));
  const ByteOrder order = file->order_;
  const std::uint32_t magic = order.u32(header);
  const unsigned version = order.u16(header + 4);
  if (version != 2) {
    return usage_error(name + ": byte 4: pcap version " + std::to_string(version) +
                       " is not known, only 2");
  }
  file->nanoseconds_ = magic == kNanoseconds;
  file->header_bytes_ = magic == kPatched ? kPatchedHeaderBytes : kPacketHeaderBytes;
  file->packet_bytes_max_ =
      std::clamp<std::size_t>(order.u32(header + 16), kPacketBytesUsual, kPacketBytesMax);
  file->link_type_ = static_cast<int>(order.u32(header + 20) & 0xffffU);  // above: about checksums
  if (!is_known_link_type(file->link_type_)) {
    return usage_error(name + ": byte 20: its link type " + link_type_name(file->link_type_) +
                       " is not one that can be read");
  }
  file->window_.consume(kFileHeaderBytes);
  return std::unique_ptr<PacketSource>(std::move(file));
}

// The file's end, a pause, or what cannot be read.
PacketSource::Next PcapFile::ended(ByteWindow::State state) {
  if (state == ByteWindow::State::quiet) return Next::quiet;
  over_ = true;
  end_.cut_bytes = window_.end() - window_.offset();
  if (state == ByteWindow::State::failed) {
    end_.damage = "byte " + std::to_string(window_.offset()) + ": " + window_.failure();
  }
  return Next::end;
}

Result<PacketSource::Next> PcapFile::next(Packet& packet) {
  if (over_) return Next::end;
  window_.consume(std::exchange(used_, 0));
  auto state = window_.require(header_bytes_);
  if (state != ByteWindow::State::ready) return ended(state);
  const std::size_t captured = order_.u32(window_.bytes().data() + 8);
  if (captured > packet_bytes_max_) {
    end_.damage = "byte " + std::to_string(window_.offset()) + ": a packet of " +
                  std::to_string(captured) + " bytes is longer than any";
    return ended(ByteWindow::State::end);
  }
  state = window_.require(header_bytes_ + captured);
  if (state != ByteWindow::State::ready) return ended(state);
  const char* header = window_.bytes().data();
  const std::uint32_t unit = nanoseconds_ ? 1 : 1000;
  const std::uint32_t fraction = std::min(order_.u32(header + 4), 1'000'000'000 / unit - 1);
  packet.at =
      UnixTime{std::int64_t{order_.u32(header)} * 1'000'000'000 + std::int64_t{fraction} * unit};
  packet.bytes = window_.bytes().substr(header_bytes_, captured);
  packet.wire_bytes = order_.u32(header + 12);
  packet.link_type = link_type_;
  used_ = header_bytes_ + captured;
  return Next::packet;
}

}  // namespace gatedrill::replay::capture
