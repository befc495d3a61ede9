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
constexpr unsigned kVersion = 2;
constexpr std::size_t kPacketHeaderBytes = 16;
constexpr std::size_t kPatchedHeaderBytes = 24;
// A packet that says it is longer than both this and the snapshot length is damaged.
constexpr std::size_t kPacketBytesUsual = 262'144;
constexpr std::size_t kPacketBytesMax = std::size_t{16} << 20U;

using State = ByteWindow::State;

bool is_magic(std::uint32_t word) {
  return word == kMicroseconds || word == kNanoseconds || word == kPatched;
}

// Of a file that begins with this header.
ByteOrder order_of(const char* header) {
  return ByteOrder(!is_magic(ByteOrder(false).u32(header)));
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
  const unsigned version = order_of(header).u16(header + 4);
  if (version != kVersion) {
    return usage_error(name + ": byte 4: pcap version " + std::to_string(version) +
                       " is not known, only 2");
  }
  file->take_file_header();
  if (!is_known_link_type(file->link_type_)) {
    return usage_error(name + ": byte 20: its link type " + link_type_name(file->link_type_) +
                       " is not one that can be read");
  }
  return std::unique_ptr<PacketSource>(std::move(file));
}

void PcapFile::take_file_header() {
  const char* header = window_.bytes().data();
  order_ = order_of(header);
  const std::uint32_t magic = order_.u32(header);
  nanoseconds_ = magic == kNanoseconds;
  header_bytes_ = magic == kPatched ? kPatchedHeaderBytes : kPacketHeaderBytes;
  packet_bytes_max_ =
      std::clamp<std::size_t>(order_.u32(header + 16), kPacketBytesUsual, kPacketBytesMax);
  link_type_ = static_cast<int>(order_.u32(header + 20) & 0xffffU);  // above: about checksums
  latest_.reset();
  window_.consume(kFileHeaderBytes);
}

// No record looks like one: it would be of no bytes, in 2055 or 2083.
bool PcapFile::is_file_header(std::size_t place) const {
  if (window_.bytes().size() < place + kFileHeaderBytes) return false;
  const char* header = window_.bytes().data() + place;
  const ByteOrder order = order_of(header);
  return is_magic(order.u32(header)) && order.u16(header + 4) == kVersion &&
         order.u32(header + 8) == 0 && order.u32(header + 12) == 0;
}

// The file's end, a pause, or what cannot be read.
PacketSource::Next PcapFile::ended(ByteWindow::State state) {
  if (state == ByteWindow::State::quiet) return Next::quiet;
  over_ = true;
  const std::uint64_t from = lost_ ? lost_->at : window_.offset();
  end_.cut_bytes = window_.end() - from;
  end_.rest_unknown = state == ByteWindow::State::failed;
  std::string what = state == ByteWindow::State::failed ? window_.failure()
                     : lost_                            ? lost_->what
                                                        : std::string();
  if (what.empty() && end_.cut_bytes > header_bytes_ + packet_bytes_max_) {
    what = "a packet that reaches beyond the end of the file";
  }
  if (!what.empty()) end_.damage = "byte " + std::to_string(from) + ": " + what;
  return Next::end;
}

PcapFile::Header PcapFile::header_at(std::size_t place) const {
  const char* header = window_.bytes().data() + place;
  const std::uint32_t unit = nanoseconds_ ? 1 : 1000;
  const std::uint32_t most = 1'000'000'000 / unit - 1;
  const std::uint32_t fraction = order_.u32(header + 4);
  return {.captured = order_.u32(header + 8),
          .sent = order_.u32(header + 12),
          .at = UnixTime{std::int64_t{order_.u32(header)} * 1'000'000'000 +
                         std::int64_t{std::min(fraction, most)} * unit},
          .exact = fraction <= most};
}

// Where any bytes may be.
bool PcapFile::is_plausible(const Header& header, std::optional<UnixTime> near) const {
  return header.captured > 0 && header.captured <= packet_bytes_max_ && header.exact &&
         header.sent >= header.captured && header.sent <= kPacketBytesMax &&
         (!near || are_near(header.at, *near));
}

// Whether records follow one another from there; `near` is the time of the one before.
PcapFile::Verdict PcapFile::lead_on(std::size_t place, std::optional<UnixTime> near) {
  constexpr int kEnough = 3;
  const bool timed = near.has_value();
  for (int count = 0; count < kEnough; ++count) {
    const auto state = window_.require(place + header_bytes_);
    if (state == ByteWindow::State::quiet) return Verdict::more;
    if (state != ByteWindow::State::ready) {
      const int least = window_.bytes().size() == place ? 1 : 2;
      return count >= least ? Verdict::good : Verdict::bad;
    }
    const Header header = header_at(place);
    if (!is_plausible(header, near)) {
      return is_file_header(place) && count > 0 ? Verdict::good : Verdict::bad;
    }
    if (timed) near = header.at;
    place += header_bytes_ + header.captured;
  }
  return Verdict::good;
}

// A header that is odd is only damaged if what follows makes no sense with it: times may jump. Of a
// pipe, what has not come yet is not waited for.
PcapFile::Verdict PcapFile::judge(const Header& header) {
  const std::size_t whole = header_bytes_ + header.captured;
  if (latest_ && !are_near(header.at, *latest_)) return judge_jump(whole);
  const std::size_t with_next = whole + header_bytes_;
  const bool can_look = window_.is_regular() ? window_.require(with_next) == State::ready
                                             : window_.bytes().size() >= with_next;
  if (!can_look) return Verdict::good;
  const Header next = header_at(whole);
  if (next.captured <= packet_bytes_max_ && are_near(next.at, header.at)) return Verdict::good;
  if (is_file_header(whole)) return Verdict::good;
  // The next header is damaged, or this one is and the next lies inside of its packet.
  for (std::size_t place = 1; place + header_bytes_ <= whole; ++place) {
    const Verdict verdict = lead_on(place, latest_);
    if (verdict == Verdict::more) return verdict;
    if (verdict == Verdict::good) {
      lose_place("a packet that reaches into the next one");
      return Verdict::bad;
    }
  }
  if (is_plausible(header, latest_)) return Verdict::good;
  lose_place("a packet header that makes no sense");
  return Verdict::bad;
}

// Of a record of `whole` bytes whose time is far from that of the one before it.
PcapFile::Verdict PcapFile::judge_jump(std::size_t whole) {
  const auto state = window_.require(whole + header_bytes_);
  if (state == State::quiet) return Verdict::more;
  if (state == State::ready && !is_file_header(whole) && is_plausible(header_at(whole), latest_)) {
    lose_place("a packet whose time is far from those beside it");
    return Verdict::bad;
  }
  const Verdict verdict = lead_on(0, std::nullopt);
  if (verdict == Verdict::bad) lose_place("a packet header that makes no sense");
  return verdict;
}

void PcapFile::lose_place(std::string what) {
  lost_ = {.at = window_.offset(), .what = std::move(what), .after = latest_.value_or(UnixTime{})};
  window_.consume(1);
}

ByteWindow::State PcapFile::find_place() {
  for (;;) {
    if (const auto state = window_.require(header_bytes_); state != State::ready) return state;
    const Verdict verdict = lead_on(0, latest_);
    if (verdict == Verdict::more) return State::quiet;
    if (verdict == Verdict::good) break;
    window_.consume(1);
  }
  if (lost_->what.empty()) lost_->what = "a packet that reaches beyond the end of the file";
  lost_->bytes = window_.offset() - lost_->at;
  end_.add(*std::exchange(lost_, std::nullopt));
  return State::ready;
}

Result<PacketSource::Next> PcapFile::next(Packet& packet) {
  if (over_) return Next::end;
  window_.consume(std::exchange(used_, 0));
  for (;;) {
    if (lost_) {
      if (const auto state = find_place(); state != State::ready) return ended(state);
    }
    auto state = window_.require(header_bytes_);
    if (state != State::ready) return ended(state);
    if (begins(window_.bytes())) {
      if (window_.require(kFileHeaderBytes) == State::quiet) return Next::quiet;
      if (is_file_header(0)) {
        take_file_header();
        continue;
      }
    }
    const Header header = header_at(0);
    if (header.captured > packet_bytes_max_) {
      lose_place("a packet of " + std::to_string(header.captured) + " bytes is longer than any");
      continue;
    }
    const std::size_t whole = header_bytes_ + header.captured;
    state = window_.require(whole);
    if (state == State::end) {
      lose_place({});  // it breaks off, or says that it is longer than it is
      continue;
    }
    if (state != State::ready) return ended(state);
    const Verdict verdict = judge(header);
    if (verdict == Verdict::more) return Next::quiet;
    if (verdict == Verdict::bad) continue;
    packet.at = header.at;
    packet.bytes = window_.bytes().substr(header_bytes_, header.captured);
    packet.wire_bytes = header.sent;
    packet.link_type = link_type_;
    latest_ = header.at;
    used_ = whole;
    return Next::packet;
  }
}

}  // namespace gatedrill::replay::capture
