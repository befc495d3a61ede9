// Puts IP datagrams together from their fragments. Pure, and bounded: the oldest unfinished
// datagram makes room for a new one. Where fragments overlap, the first to arrive wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "replay/capture/packet.hpp"

namespace gatedrill::replay::capture {

class IpFragments {
 public:
  struct Limits {
    std::size_t datagrams = 256;
    std::size_t datagram_bytes = 65'535;
  };

  IpFragments() = default;

  explicit IpFragments(Limits limits) : limits_(limits) {}

  // A datagram that this fragment completes, else nothing.
  std::optional<std::string> add(const IpFragment& fragment);

  // Fragments of datagrams that were never completed, so far given up or still waiting.
  [[nodiscard]] std::uint64_t unfinished() const;

 private:
  struct Datagram {
    IpFragment first;  // only its addresses, id and protocol
    std::string bytes;
    std::string filled;  // one mark for each 8 bytes
    std::optional<std::size_t> size;
    std::uint64_t fragments = 0;
  };

  Limits limits_;
  std::list<Datagram> datagrams_;  // oldest first
  std::uint64_t given_up_ = 0;
};

}  // namespace gatedrill::replay::capture
