#include "replay/capture/port_filter.hpp"

namespace gatedrill::replay::capture {

std::vector<std::string> port_filters(const std::vector<std::uint16_t>& ports) {
  std::string plain;
  for (const std::uint16_t port : ports)
    plain += (plain.empty() ? "tcp port " : " or tcp port ") + std::to_string(port);
  plain += " or ip[6:2] & 0x1fff != 0 or ip6 proto 44";
  const std::string tunnels = plain +
                              " or udp port 4789 or udp port 6081"  // VXLAN, Geneve
                              " or ip proto 47 or ip6 proto 47";    // GRE
  const std::string link = tunnels + " or ether proto 0x8847 or ether proto 0x8864";  // MPLS, PPPoE
  // `vlan` moves all that stands behind it by a tag, so it comes last.
  const std::string tagged = link + " or (vlan and (" + link + " or (vlan and (" + link + "))))";
  return {tagged, link, tunnels, plain};
}

std::string port_filter_text(const std::vector<std::uint16_t>& ports) {
  std::string text = ports.size() == 1 ? "TCP port " : "TCP ports ";
  for (std::size_t i = 0; i < ports.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ports[i]);
  return text + ", also tagged (VLAN) or in fragments, VXLAN, Geneve, GRE, MPLS or PPPoE";
}

}  // namespace gatedrill::replay::capture
