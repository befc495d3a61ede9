// Where packets come from: a capture file, a pipe or a live interface.
//
//   open_file ──► PcapFile | PcapngFile ──► (FilteredSource) ──┐
//                   over a ByteWindow                          ├─► Packet, one at a time
//   open_interface ──► LiveSource, which is libpcap ───────────┘
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::replay::capture {

struct Packet {
  UnixTime at;
  std::string_view bytes;      // what was captured; lives until the next call
  std::size_t wire_bytes = 0;  // what was sent
  int link_type = 0;           // see packet.hpp; kNoLinkType if the file does not say
};

inline constexpr int kNoLinkType = -1;

// "147 (Reserved for private use)".
[[nodiscard]] std::string link_type_name(int link_type);

// Packets that lie further apart than a month are not taken for neighbours without more evidence.
[[nodiscard]] bool are_near(UnixTime a, UnixTime b);

// A part of a file that makes no sense, and behind which reading went on.
struct FileDamage {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::string what{};
  UnixTime after{};  // of the packet before it
};

// How far a file could be read, and what of it could not.
struct FileEnd {
  static constexpr std::size_t kDamagesKept = 20;

  std::uint64_t cut_bytes = 0;  // behind the last whole packet
  std::string damage{};         // what is wrong there; empty if the file just breaks off
  bool rest_unknown = false;    // more may follow there, nobody can tell how much: it was packed
  std::uint64_t damaged_places = 0;
  std::uint64_t damaged_bytes = 0;
  std::vector<FileDamage> damages{};  // the first of them

  void add(FileDamage one);
  // "byte 40: a packet of ... (20 bytes), byte ..."; empty if nothing is damaged.
  [[nodiscard]] std::string places() const;
};

// Not thread-safe.
class PacketSource {
 public:
  enum class Next : std::uint8_t {
    packet,
    quiet,  // no packet for a moment, 100 ms at most
    end,
  };

  struct Drops {
    std::uint64_t kernel = 0;
    std::uint64_t interface = 0;
    std::uint64_t queue = 0;  // taken from the kernel, and then there was no room for them
  };

  PacketSource() = default;
  PacketSource(const PacketSource&) = delete;
  PacketSource& operator=(const PacketSource&) = delete;
  virtual ~PacketSource() = default;

  // A damaged file goes on where it makes sense again; if it does not, it ends there.
  virtual Result<Next> next(Packet& packet) = 0;

  // Live: what is stamped later than this is not wanted any more, and the end comes soon.
  virtual void stop(UnixTime /*now*/) {}

  // What was sent and is not among the packets, as far as whoever captured them knew.
  [[nodiscard]] virtual Drops drops() const { return {}; }

  [[nodiscard]] virtual FileEnd file_end() const { return {}; }

  // Of a file: how many bytes of it have been read, once unpacked.
  [[nodiscard]] virtual std::uint64_t offset() const { return 0; }

  // The TLS key log lines that the file brought, after Next::quiet. They come before the packets
  // that they are for.
  virtual std::string take_key_log() { return {}; }
};

// pcap or pcapng, as it is or packed by gzip. `filter` is a pcap-filter(7) expression, empty for
// everything. "-" reads standard input. Fails (outside) if the file is missing or unreadable,
// (usage) if it is no capture or the filter is wrong, (evidence) if it is empty or ends inside its
// header.
[[nodiscard]] Result<std::unique_ptr<PacketSource>> open_file(const std::string& path,
                                                              const std::string& filter);
// The same for a file in memory, not packed, that outlives the source.
[[nodiscard]] Result<std::unique_ptr<PacketSource>> open_bytes(std::string_view bytes,
                                                               const std::string& filter);

struct LiveOptions {
  std::string filter{};                // pcap-filter(7)
  std::vector<std::uint16_t> ports{};  // without a filter: what may hold TCP with one of these
  std::size_t buffer_bytes = std::size_t{64} * 1024 * 1024;  // the kernel's, for packets
};

// Fails (outside) without the permission to capture, (usage) for an unknown interface.
[[nodiscard]] Result<std::unique_ptr<PacketSource>> open_interface(const std::string& name,
                                                                   const LiveOptions& options);

}  // namespace gatedrill::replay::capture
