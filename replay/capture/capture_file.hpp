// How far a capture file is whole. libpcap says that a file breaks off, but not where.
#pragma once

#include <cstdint>
#include <string>

namespace gatedrill::replay::capture {

// The length of the part of a pcap or pcapng file that holds whole packets (or blocks); 0 if it
// cannot be told.
[[nodiscard]] std::uint64_t whole_bytes(const std::string& path);

}  // namespace gatedrill::replay::capture
