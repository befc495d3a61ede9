#include "replay/capture/packet_source.hpp"

#include <algorithm>
#include <utility>

#include <pcap/pcap.h>

#include "replay/capture/byte_window.hpp"
#include "replay/capture/filtered_source.hpp"
#include "replay/capture/pcap_file.hpp"
#include "replay/capture/pcapng_file.hpp"

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kMagicBytes = 4;

// Files that people take for captures, or captures that are packed in another way.
std::string what_it_is(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x28\xb5\x2f\xfd"sv)) {
    return "is packed by zstd; unpack it: zstd -dc FILE | gatedrill capture -r - ...";
  }
  if (bytes.starts_with("\xfd"
                        "7zX"sv)) {
    return "is packed by xz; unpack it: xz -dc FILE | gatedrill capture -r - ...";
  }
  if (bytes.starts_with("BZh"sv)) {
    return "is packed by bzip2; unpack it: bzip2 -dc FILE | gatedrill capture -r - ...";
  }
  if (bytes.starts_with("PK\x03\x04"sv)) return "is a zip archive; unpack it first";
  if (bytes.starts_with("snoop\0"sv)) return "is a snoop file; convert it: editcap -F pcapng";
  if (bytes.starts_with("SQLi"sv)) return "is a recording already; see gatedrill traffic";
  return "is not a capture file (pcap or pcapng)";
}

Result<std::unique_ptr<PacketSource>> open_window(ByteWindow window, const std::string& name) {
  auto state = ByteWindow::State::quiet;
  while (state == ByteWindow::State::quiet)
    state = window.require(kMagicBytes);
  if (state == ByteWindow::State::failed) return evidence_error(name + ": " + window.failure());
  const std::string_view bytes = window.bytes();
  if (bytes.empty()) {
    return evidence_error(name + ": is empty; nothing was captured into it");
  }
  if (PcapFile::begins(bytes)) return PcapFile::open(std::move(window), name);
  if (PcapngFile::begins(bytes)) return PcapngFile::open(std::move(window), name);
  if (bytes.size() < kMagicBytes) {
    return evidence_error(name + ": breaks off inside its header; nothing in it can be used");
  }
  return usage_error(name + ": " + what_it_is(bytes));
}

Result<std::unique_ptr<PacketSource>> filtered(Result<std::unique_ptr<PacketSource>> source,
                                               const std::string& filter) {
  if (!source || filter.empty()) return source;
  return std::unique_ptr<PacketSource>(
      std::make_unique<FilteredSource>(std::move(*source), filter));
}

}  // namespace

bool are_near(UnixTime a, UnixTime b) {
  constexpr std::uint64_t kNearNs = std::uint64_t{30} * 24 * 3600 * 1'000'000'000;
  const auto [earlier, later] = std::minmax(a.ns, b.ns);
  return static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier) <= kNearNs;
}

void FileEnd::add(FileDamage one) {
  ++damaged_places;
  damaged_bytes += one.bytes;
  if (damages.size() < kDamagesKept) damages.push_back(std::move(one));
}

std::string FileEnd::places() const {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (const FileDamage& one : damages) {
    if (&one - damages.data() == kShown) break;
    text += (text.empty() ? "byte " : ", byte ") + std::to_string(one.at) + ": " + one.what + " (" +
            std::to_string(one.bytes) + " bytes skipped)";
  }
  return damaged_places > kShown ? text + ", ..." : text;
}

std::string link_type_name(int link_type) {
  if (link_type == kNoLinkType) return "that the file does not say";
  const char* text = pcap_datalink_val_to_description(link_type);
  return std::to_string(link_type) + " (" + (text == nullptr ? "unknown" : text) + ")";
}

Result<std::unique_ptr<PacketSource>> open_file(const std::string& path,
                                                const std::string& filter) {
  auto window = ByteWindow::open(path);
  if (!window) return window.error();
  return filtered(open_window(std::move(*window), path), filter);
}

Result<std::unique_ptr<PacketSource>> open_bytes(std::string_view bytes,
                                                 const std::string& filter) {
  return filtered(open_window(ByteWindow::over(bytes), "the capture"), filter);
}

}  // namespace gatedrill::replay::capture
