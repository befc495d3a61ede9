// Packets from a capture file (pcap, pcapng) or a live interface, through libpcap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::replay::capture {

struct Packet {
  UnixTime at;
  std::string_view bytes;      // what was captured; lives until the next call
  std::size_t wire_bytes = 0;  // what was sent
};

// Not thread-safe.
class PacketSource {
 public:
  enum class Next {
    packet,
    quiet,  // live: nothing came for a moment
    end,
  };

  struct Drops {
    std::uint64_t kernel = 0;
    std::uint64_t interface = 0;
  };

  // `filter` is a pcap-filter(7) expression, empty for everything. "-" reads standard input.
  // Fails (outside) if the file is missing or unreadable, (usage) if it is no capture or the
  // filter is wrong, (evidence) if it is empty or cut before its first packet.
  static Result<PacketSource> open_file(const std::string& path, const std::string& filter);
  // Fails (outside) without the permission to capture, (usage) for an unknown interface.
  static Result<PacketSource> open_interface(const std::string& name, const std::string& filter);

  PacketSource(PacketSource&&) noexcept;
  PacketSource& operator=(PacketSource&&) noexcept;
  ~PacketSource();

  // Live, returns after at most 100 ms. A file that breaks off inside a packet ends there.
  Result<Next> next(Packet& packet);

  [[nodiscard]] int link_type() const;
  // Of a live interface.
  [[nodiscard]] Drops drops() const;
  // The bytes behind the last whole packet of a file that breaks off.
  [[nodiscard]] std::uint64_t cut_bytes() const;
  // Why reading ended before the end of the file, if that is not because it breaks off.
  [[nodiscard]] const std::string& damage() const;

 private:
  struct State;
  explicit PacketSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::replay::capture
