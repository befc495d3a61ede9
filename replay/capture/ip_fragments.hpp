// Puts IP datagrams together from their fragments. Pure, and bounded: the oldest unfinished
// datagram makes room for a new one, and none waits for ever: their numbers come round. Where
// fragments overlap, the first to arrive wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "gateway/core/time.hpp"
#include "replay/capture/packet.hpp"

namespace gatedrill::replay::capture {

class IpFragments {
 public:
  struct Limits {
    std::size_t datagrams = 256;
    std::size_t datagram_bytes = 65'535;
    Duration wait = std::chrono::seconds(60);  // for the rest; RFC 8200 4.5
  };

  IpFragments() = default;

  explicit IpFragments(Limits limits) : limits_(limits) {}

  // A datagram that this fragment completes, else nothing.
  std::optional<std::string> add(const IpFragment& fragment, UnixTime at);

  // Fragments of datagrams that were never completed, so far given up or still waiting.
  [[nodiscard]] std::uint64_t unfinished() const;

  // Bytes that came again in another fragment, and were not the same.
  [[nodiscard]] std::uint64_t conflicting_bytes() const { return conflicting_bytes_; }

 private:
  struct Datagram {
    IpFragment first;  // only its addresses, id and protocol
    std::string bytes;
    std::string filled;  // one mark for each 8 bytes
    std::optional<std::size_t> size;
    std::uint64_t fragments = 0;
    UnixTime begun{};
  };

  void fill(Datagram& datagram, const IpFragment& fragment);

  Limits limits_;
  std::list<Datagram> datagrams_;  // oldest first
  std::uint64_t given_up_ = 0;
  std::uint64_t conflicting_bytes_ = 0;
};

}  // namespace gatedrill::replay::capture
