// The pcap-filter(7) expression that leaves other ports out in the kernel, where they cost least,
// and lets through whatever may hide a wanted port: what is inside is looked at after decoding.
//
//   TCP with such a port at either end
//   later fragments of IPv4, and fragments of IPv6: they have no ports
//   up to two VLAN tags in front of any of these
//   VXLAN, Geneve, GRE, MPLS, PPPoE: whole
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gatedrill::replay::capture {

// From the most that it lets through to the least: what a link type does not know (tags, on some)
// does not compile. The first that does is the one to use. Needs at least one port.
[[nodiscard]] std::vector<std::string> port_filters(const std::vector<std::uint16_t>& ports);

// The same in words, for the user.
[[nodiscard]] std::string port_filter_text(const std::vector<std::uint16_t>& ports);

}  // namespace gatedrill::replay::capture
