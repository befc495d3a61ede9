// Which frames the kernel's filter of --port lets through, by libpcap itself.
#include "replay/capture/port_filter.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include "tests/support/pcap_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

using tests::be16;
using tests::be32;
using tests::ethernet;
using tests::SegmentSpec;

class Filter {
 public:
  // The first that compiles for the link type.
  Filter(int link_type, const std::vector<std::uint16_t>& ports) {
    pcap_t* pcap = pcap_open_dead(link_type, 65'535);
    for (const std::string& text : port_filters(ports)) {
      compiled_ = pcap_compile(pcap, &program_, text.c_str(), 1, PCAP_NETMASK_UNKNOWN) == 0;
      if (compiled_) break;
    }
    pcap_close(pcap);
  }

  ~Filter() {
    if (compiled_) pcap_freecode(&program_);
  }

  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  [[nodiscard]] bool compiled() const { return compiled_; }

  [[nodiscard]] bool passes(std::string_view frame) const {
    pcap_pkthdr header{};
    header.caplen = header.len = static_cast<bpf_u_int32>(frame.size());
    return pcap_offline_filter(&program_, &header, reinterpret_cast<const u_char*>(frame.data())) !=
           0;
  }

 private:
  bpf_program program_{};
  bool compiled_ = false;
};

SegmentSpec to_port(std::uint16_t port) {
  SegmentSpec spec;
  spec.destination_port = port;
  spec.payload = "GET / HTTP/1.1\r\n\r\n";
  return spec;
}

// IPv4 with that protocol and fragment field, and nothing true inside.
std::string ipv4(std::uint8_t protocol, unsigned fragment, const std::string& payload) {
  return std::string("\x45\x00", 2) + be16(static_cast<unsigned>(20 + payload.size())) + be16(7) +
         be16(fragment) + std::string(1, '\x40') + std::string(1, static_cast<char>(protocol)) +
         be16(0) + be32(0x0a000001) + be32(0x0a000002) + payload;
}

std::string udp(std::uint16_t port) {
  return ipv4(17, 0, be16(5555) + be16(port) + be16(8 + 20) + be16(0) + std::string(20, '\0'));
}

TEST(PortFilter, WantedPortsPassAtEitherEndAndOthersDoNot) {
  const Filter filter(DLT_EN10MB, {8080, 9000});
  ASSERT_TRUE(filter.compiled());
  for (const std::uint16_t port : std::vector<std::uint16_t>{8080, 9000}) {
    EXPECT_TRUE(filter.passes(ethernet(ipv4_packet(to_port(port)))));
    EXPECT_TRUE(filter.passes(ethernet(ipv6_packet(to_port(port)), 0x86dd)));
    SegmentSpec back = to_port(40'000);
    back.source_port = port;
    EXPECT_TRUE(filter.passes(ethernet(ipv4_packet(back))));
  }
  EXPECT_FALSE(filter.passes(ethernet(ipv4_packet(to_port(8081)))));
  EXPECT_FALSE(filter.passes(ethernet(udp(8080))));
  EXPECT_FALSE(filter.passes(ethernet(udp(53))));
  EXPECT_FALSE(filter.passes(ethernet(std::string(28, '\0'), 0x0806)));
}

TEST(PortFilter, WhatMayHideAWantedPortPassesToo) {
  const Filter filter(DLT_EN10MB, {8080});
  ASSERT_TRUE(filter.compiled());
  const std::string segment = ipv4_packet(to_port(8080));
  EXPECT_TRUE(filter.passes(ethernet(segment, 0x0800, {7}))) << "a tag";
  EXPECT_TRUE(filter.passes(ethernet(segment, 0x0800, {7, 8}))) << "two tags";
  EXPECT_FALSE(filter.passes(ethernet(ipv4_packet(to_port(8081)), 0x0800, {7}))) << "another port";
  EXPECT_TRUE(filter.passes(ethernet(ipv4(6, 0x00b9, "rest")))) << "a later fragment";
  EXPECT_TRUE(filter.passes(ethernet(ipv4(6, 0x00b9, "rest"), 0x0800, {7}))) << "and tagged";
  EXPECT_TRUE(filter.passes(ethernet(udp(4789)))) << "VXLAN";
  EXPECT_TRUE(filter.passes(ethernet(udp(4789), 0x0800, {7}))) << "tagged VXLAN";
  EXPECT_TRUE(filter.passes(ethernet(udp(6081)))) << "Geneve";
  EXPECT_TRUE(filter.passes(ethernet(ipv4(47, 0, std::string(8, '\0'))))) << "GRE";
  EXPECT_TRUE(filter.passes(ethernet(std::string(40, '\0'), 0x8847))) << "MPLS";
  EXPECT_TRUE(filter.passes(ethernet(std::string(40, '\0'), 0x8864))) << "PPPoE";
}

TEST(PortFilter, EveryLinkTypeOfAnInterfaceHasOne) {
  for (const int link_type : {DLT_EN10MB, DLT_LINUX_SLL, 276, DLT_RAW, DLT_NULL, DLT_PPP}) {
    EXPECT_TRUE(Filter(link_type, {8080}).compiled()) << link_type;
  }
  const Filter raw(DLT_RAW, {8080});
  EXPECT_TRUE(raw.passes(ipv4_packet(to_port(8080))));
  EXPECT_TRUE(raw.passes(ipv4(6, 0x00b9, "rest")));
  EXPECT_FALSE(raw.passes(ipv4_packet(to_port(8081))));
}

}  // namespace
}  // namespace gatedrill::replay::capture
