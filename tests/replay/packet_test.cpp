#include "replay/capture/packet.hpp"

#include <string>

#include <gtest/gtest.h>

#include "replay/capture/ip_fragments.hpp"
#include "tests/support/pcap_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

using tests::be16;
using tests::be32;
using tests::ethernet;
using tests::ipv4_packet;
using tests::ipv6_packet;
using tests::SegmentSpec;

constexpr int kNull = 0;
constexpr int kEthernet = 1;
constexpr int kRaw = 101;
constexpr int kHdlc = 104;
constexpr int kSll = 113;
constexpr int kSll2 = 276;

const SegmentSpec kHello = {.seq = 7, .payload = "hello"};

void expect_hello(int link_type, const std::string& frame) {
  const DecodedPacket packet = decode_frame(link_type, frame, frame.size());
  ASSERT_EQ(packet.kind, PacketKind::tcp);
  EXPECT_EQ(packet.tcp.payload, "hello");
  EXPECT_EQ(packet.tcp.payload_bytes, 5U);
  EXPECT_EQ(packet.tcp.seq, 7U);
  EXPECT_EQ(packet.tcp.source.port, 40000);
  EXPECT_EQ(packet.tcp.destination.port, 80);
}

TEST(Packet, EveryLinkTypeLeadsToTheSameSegment) {
  const std::string v4 = ipv4_packet(kHello);
  const std::string v6 = ipv6_packet(kHello);
  expect_hello(kEthernet, ethernet(v4));
  expect_hello(kEthernet, ethernet(v6, 0x86dd));
  expect_hello(kRaw, v4);
  expect_hello(12, v6);
  expect_hello(14, v4);
  expect_hello(228, v4);
  expect_hello(229, v6);
  expect_hello(kNull, std::string("\x02\0\0\0", 4) + v4);
  // IPv6 is another number on each system: Linux, NetBSD and OpenBSD, FreeBSD, macOS.
  for (const char family : {'\x0a', '\x18', '\x1c', '\x1e'}) {
    expect_hello(kNull, std::string(1, family) + std::string(3, '\0') + v6);
    expect_hello(kNull, std::string(3, '\0') + std::string(1, family) + v6);
  }
  expect_hello(108, std::string("\0\0\0\x02", 4) + v4);
  expect_hello(kHdlc, std::string("\x0f\0", 2) + be16(0x0800) + v4);
  expect_hello(kSll, std::string(14, '\0') + be16(0x0800) + v4);
  expect_hello(kSll2, be16(0x86dd) + std::string(18, '\0') + v6);
  expect_hello(9, std::string("\xff\x03\x00\x21", 4) + v4);
  expect_hello(50, std::string("\xff\x03\x57", 3) + v6);
  expect_hello(51, be16(0x1100) + be16(7) + be16(static_cast<unsigned>(v4.size() + 2)) +
                       be16(0x0021) + v4 + "padding");
  expect_hello(219, be32(0x00001000) + be32(0x00002100) + v4);
  // Linux's firewall log, of a host of either byte order; an attribute stands before the packet.
  const auto size = static_cast<unsigned>(v4.size() + 4);
  const auto swapped = [](unsigned value) { return be16((value & 0xffU) << 8U | value >> 8U); };
  const std::string family("\x02\0\0\x05", 4);
  expect_hello(239, family + swapped(6) + swapped(10) + "12" + std::string(2, '\0') +
                        swapped(size) + swapped(9) + v4);
  expect_hello(
      239, family + be16(6) + be16(10) + "12" + std::string(2, '\0') + be16(size) + be16(9) + v4);
}

TEST(Packet, AnEthernetFrameWithALengthNamesItsTypeBehindIt) {
  const std::string v4 = ipv4_packet(kHello);
  const auto length = static_cast<std::uint16_t>(v4.size() + 8);
  const std::string snap = be32(0xaaaa0300) + be16(0) + be16(0x0800) + v4;
  expect_hello(kEthernet, ethernet(snap + "padding", length));
  const std::string spanning_tree = ethernet(std::string("\x42\x42\x03", 3), 3);
  EXPECT_EQ(decode_frame(kEthernet, spanning_tree, 0).kind, PacketKind::not_ip);
}

TEST(Packet, AnUnknownLinkTypeIsNamedAsSuch) {
  EXPECT_EQ(decode_frame(147, "anything", 8).kind, PacketKind::unknown_link);
  EXPECT_EQ(decode_frame(-1, "anything", 8).kind, PacketKind::unknown_link);
}

TEST(Packet, TagsOfNetworksAreReadAndTellThemApart) {
  const std::string v4 = ipv4_packet(kHello);
  const auto network = [&](const std::vector<std::uint16_t>& vlans) {
    const std::string frame = ethernet(v4, 0x0800, vlans);
    expect_hello(kEthernet, frame);
    return decode_frame(kEthernet, frame, frame.size()).tcp.network;
  };
  EXPECT_EQ(network({}), 0U);
  EXPECT_EQ(network({0}), 0U) << "a priority tag names no network";
  EXPECT_EQ(network({0, 0}), 0U);
  EXPECT_NE(network({5}), 0U);
  EXPECT_NE(network({5}), network({6}));
  EXPECT_NE(network({5, 6}), network({6, 5}));
}

TEST(Packet, ReadsThroughVxlanGeneveMplsAndIpInIp) {
  const std::string v4 = ipv4_packet(kHello);
  const std::string vxlan =
      tests::ethernet_udp(4789, be32(0x08000000) + be32(0x00002a00) + ethernet(v4));
  expect_hello(kEthernet, vxlan);
  EXPECT_NE(decode_frame(kEthernet, vxlan, vxlan.size()).tcp.network, 0U);
  expect_hello(kEthernet, tests::ethernet_udp(
                              6081, be32(0x01006558) + be32(0x00002a00) + be32(0) + ethernet(v4)));
  expect_hello(kEthernet, ethernet(be32(0x00001000) + be32(0x00002100) + v4, 0x8847));
  expect_hello(kEthernet, ethernet(be16(0x4500) + be16(static_cast<unsigned>(20 + v4.size())) +
                                   be32(0) + be16(0x4004) + be16(0) + be32(1) + be32(2) + v4));
}

// IPv4 without options that carries `payload` as `protocol`.
std::string ipv4_of(unsigned protocol, const std::string& payload) {
  return be16(0x4500) + be16(static_cast<unsigned>(20 + payload.size())) + be32(0) +
         be16(0x4000U | protocol) + be16(0) + be32(1) + be32(2) + payload;
}

std::uint64_t network_of(const std::string& ip_packet) {
  expect_hello(kRaw, ip_packet);
  return decode_frame(kRaw, ip_packet, ip_packet.size()).tcp.network;
}

std::string gre(unsigned flags, unsigned type, const std::string& rest) {
  return ipv4_of(47, be16(flags) + be16(type) + rest);
}

TEST(Packet, ReadsThroughGreWithWhatItsFlagsName) {
  const std::string v4 = ipv4_packet(kHello);
  EXPECT_EQ(network_of(gre(0, 0x0800, v4)), 0U);
  EXPECT_EQ(network_of(gre(0x8000, 0x0800, be32(1) + v4)), 0U) << "a checksum";
  const std::uint64_t one = network_of(gre(0xb000, 0x0800, be32(1) + be32(1) + be32(9) + v4));
  EXPECT_NE(one, 0U);
  EXPECT_EQ(one, network_of(gre(0x2000, 0x0800, be32(1) + v4))) << "the key alone counts";
  EXPECT_NE(one, network_of(gre(0x2000, 0x0800, be32(2) + v4)));
  EXPECT_EQ(one, network_of(gre(0x2000, 0x6558, be32(1) + ethernet(v4)))) << "bridged";
  network_of(gre(0, 0x86dd, ipv6_packet(kHello)));
  network_of(gre(0, 0x8847, be32(0x00002100) + v4));
  // PPTP: its key is another one in each direction, so it tells nothing.
  EXPECT_EQ(network_of(gre(0x3081, 0x880b, be32(5) + be32(1) + be32(2) + be16(0x0021) + v4)), 0U);
}

TEST(Packet, ReadsMirroredPortsInEveryVersionOfErspan) {
  const std::string frame = ethernet(ipv4_packet(kHello));
  EXPECT_EQ(network_of(gre(0, 0x88be, frame)), 0U) << "the first has no header";
  const auto second = [&](unsigned session) {
    return network_of(
        gre(0x1000, 0x88be, be32(7) + be16(0x1064) + be16(session) + be32(3) + frame));
  };
  EXPECT_NE(second(5), second(6));
  const auto third = [&](unsigned last, const std::string& more) {
    return network_of(gre(0x1000, 0x22eb,
                          be32(7) + be16(0x2064) + be16(5) + be32(3) + be32(last) + more + frame));
  };
  EXPECT_EQ(third(0, ""), third(1, "platform"));
}

TEST(Packet, ReadsThroughPseudowires) {
  const std::string v4 = ipv4_packet(kHello);
  expect_hello(kEthernet, ethernet(be32(0x00002100) + be32(0) + ethernet(v4), 0x8847));
  expect_hello(kEthernet, ethernet(be32(0x00002100) + std::string(6, '\x22') + std::string(6, 'b') +
                                       be16(0x0800) + v4,
                                   0x8848));
}

TEST(Packet, EachDirectionHasItsOwnLabelsSoTheyTellNoNetworksApart) {
  const std::string v4 = ipv4_packet(kHello);
  const auto network = [&](std::uint32_t label) {
    const std::string frame = ethernet(be32(label << 12U | 0x140U) + v4, 0x8847);
    return decode_frame(kEthernet, frame, frame.size()).tcp.network;
  };
  EXPECT_EQ(network(100), network(200));
}

TEST(Packet, ThePppoeSessionTellsSubscribersApart) {
  const std::string v4 = ipv4_packet(kHello);
  const auto network = [&](unsigned session) {
    const std::string frame =
        ethernet(be16(0x1100) + be16(session) + be16(static_cast<unsigned>(v4.size() + 2)) +
                     be16(0x0021) + v4,
                 0x8864);
    expect_hello(kEthernet, frame);
    return decode_frame(kEthernet, frame, frame.size()).tcp.network;
  };
  EXPECT_NE(network(1), network(2));
}

TEST(Packet, HeadersInHeadersAreFollowedOnlySoFar) {
  std::string packet = ipv4_packet(kHello);
  for (int i = 0; i < 5; ++i)
    packet = ipv4_of(4, packet);
  expect_hello(kRaw, packet);
  for (int i = 0; i < 20; ++i)
    packet = ipv4_of(4, packet);
  EXPECT_EQ(decode_frame(kRaw, packet, packet.size()).kind, PacketKind::undecodable);
}

TEST(Packet, PaddingIsNotPayload) {
  std::string frame = ethernet(ipv4_packet({.payload = "x"}));
  frame += "padding";
  EXPECT_EQ(decode_frame(kEthernet, frame, frame.size()).tcp.payload, "x");
}

TEST(Packet, ALengthOfZeroMeansAllOfTheFrame) {
  std::string packet = ipv4_packet({.payload = std::string(3000, 'x')});
  packet.replace(2, 2, be16(0));
  const std::string frame = ethernet(packet);
  EXPECT_EQ(decode_frame(kEthernet, frame, frame.size()).tcp.payload.size(), 3000U);
}

TEST(Packet, Ipv6ExtensionHeadersAreSkipped) {
  std::string packet = ipv6_packet(kHello);
  const std::string options = std::string("\x2b\x00", 2) + std::string(6, '\0');   // then routing
  const std::string routing = std::string("\x06\x01", 2) + std::string(14, '\0');  // then TCP
  packet.insert(40, options + routing);
  packet.replace(4, 2, be16(static_cast<unsigned>(packet.size() - 40)));
  packet[6] = 0;
  expect_hello(kRaw, packet);
}

TEST(Packet, ACutFrameSaysHowMuchIsMissing) {
  const std::string frame = ethernet(ipv4_packet({.payload = std::string(100, 'x')}));
  const auto cut = std::string_view(frame).substr(0, frame.size() - 60);
  const DecodedPacket packet = decode_frame(kEthernet, cut, frame.size());
  ASSERT_EQ(packet.kind, PacketKind::tcp);
  EXPECT_EQ(packet.tcp.payload.size(), 40U);
  EXPECT_EQ(packet.tcp.payload_bytes, 100U);
  EXPECT_EQ(decode_frame(kEthernet, frame.substr(0, 40), frame.size()).kind,
            PacketKind::cut_header);
}

TEST(Packet, WhatIsNotTcpIsNamed) {
  const auto kind = [](const std::string& frame) {
    return decode_frame(kEthernet, frame, frame.size()).kind;
  };
  EXPECT_EQ(kind(ethernet("arp", 0x0806)), PacketKind::not_ip);
  std::string icmp = ipv4_packet(kHello);
  icmp[9] = 1;
  EXPECT_EQ(kind(ethernet(icmp)), PacketKind::not_tcp);
  std::string short_header = ipv4_packet(kHello);
  short_header[0] = '\x42';
  EXPECT_EQ(kind(ethernet(short_header)), PacketKind::undecodable);
  EXPECT_EQ(kind("tiny"), PacketKind::undecodable);
  EXPECT_EQ(kind(""), PacketKind::undecodable);
}

TEST(Packet, EveryPrefixOfAFrameIsDecodedWithoutACrash) {
  const std::string v4 = ipv4_packet(kHello);
  for (const std::string& frame :
       {ethernet(v4), ethernet(ipv6_packet(kHello), 0x86dd, {1, 2}),
        ethernet(gre(0xb000, 0x6558, be32(1) + be32(1) + be32(9) + ethernet(v4))),
        ethernet(gre(0x1000, 0x22eb,
                     be32(7) + be32(0x20640005) + be32(3) + be32(1) + "platform" + ethernet(v4))),
        ethernet(be32(0x00002100) + be32(0) + ethernet(v4), 0x8847)}) {
    for (std::size_t size = 0; size <= frame.size(); ++size) {
      const auto packet = decode_frame(kEthernet, frame.substr(0, size), frame.size());
      EXPECT_LE(packet.tcp.payload.size(), 5U);
    }
  }
}

TEST(Packet, EndpointsReadAsUsersWriteThem) {
  const auto v4 = decode_frame(kRaw, ipv4_packet(kHello), 0).tcp;
  EXPECT_EQ(to_string(v4.source), "10.0.0.1:40000");
  const std::string packet = ipv6_packet(kHello);
  EXPECT_EQ(to_string(decode_frame(kRaw, packet, 0).tcp.destination),
            "[2020:2020:2020:2020:2020:2020:a00:2]:80");
}

std::vector<std::string> fragments_of(const std::string& packet, std::size_t size) {
  std::vector<std::string> out;
  const std::string payload = packet.substr(20);
  for (std::size_t at = 0; at < payload.size(); at += size) {
    const std::string part = payload.substr(at, size);
    const bool more = at + size < payload.size();
    std::string header = packet.substr(0, 20);
    header.replace(2, 2, be16(static_cast<unsigned>(20 + part.size())));
    header.replace(6, 2, be16(static_cast<unsigned>(at / 8) | (more ? 0x2000U : 0U)));
    out.push_back(header + part);
  }
  return out;
}

std::string put_together(const std::vector<std::string>& packets) {
  IpFragments fragments;
  for (const std::string& packet : packets) {
    const auto decoded = decode_frame(kRaw, packet, packet.size());
    EXPECT_EQ(decoded.kind, PacketKind::fragment);
    const auto datagram = fragments.add(decoded.fragment, {});
    if (datagram) return std::string(decode_datagram(decoded.fragment, *datagram).tcp.payload);
  }
  return "incomplete, " + std::to_string(fragments.unfinished());
}

TEST(IpFragments, AnyOrderGivesTheDatagram) {
  const std::string payload(200, 'p');
  auto fragments = fragments_of(ipv4_packet({.payload = payload}), 64);
  EXPECT_EQ(put_together(fragments), payload);
  std::reverse(fragments.begin(), fragments.end());
  EXPECT_EQ(put_together(fragments), payload);
  fragments.insert(fragments.begin() + 1, fragments[0]);
  EXPECT_EQ(put_together(fragments), payload);
}

TEST(IpFragments, Ipv6HasThemInAnExtensionHeader) {
  const std::string payload(200, 'p');
  const std::string tcp = ipv6_packet({.payload = payload}).substr(40);
  const std::string header = ipv6_packet({}).substr(0, 40);
  constexpr std::size_t kPartBytes = 64;
  std::vector<std::string> fragments;
  for (std::size_t at = 0; at < tcp.size(); at += kPartBytes) {
    const std::string part = tcp.substr(at, kPartBytes);
    const bool more = at + kPartBytes < tcp.size();
    std::string packet = header + std::string("\x06\0", 2) +
                         be16(static_cast<unsigned>(at) | (more ? 1U : 0U)) + be32(77) + part;
    packet.replace(4, 2, be16(static_cast<unsigned>(8 + part.size())));
    packet[6] = 44;
    fragments.push_back(packet);
  }
  EXPECT_EQ(put_together(fragments), payload);
  std::reverse(fragments.begin(), fragments.end());
  EXPECT_EQ(put_together(fragments), payload);
}

TEST(IpFragments, AMissingOneLeavesItIncompleteAndCounted) {
  auto fragments = fragments_of(ipv4_packet({.payload = std::string(200, 'p')}), 64);
  fragments.erase(fragments.begin() + 1);
  EXPECT_EQ(put_together(fragments), "incomplete, 3");
}

TEST(IpFragments, WhatIsOldIsNotMixedWithADatagramOfTheSameNumber) {
  const auto old = fragments_of(ipv4_packet({.payload = std::string(100, 'o')}), 64);
  const auto young = fragments_of(ipv4_packet({.payload = std::string(100, 'y')}), 64);
  IpFragments fragments;
  const auto add = [&](const std::string& packet, std::int64_t seconds) {
    const DecodedPacket decoded = decode_frame(kRaw, packet, packet.size());
    return fragments.add(decoded.fragment, UnixTime{seconds * 1'000'000'000});
  };
  EXPECT_FALSE(add(old[0], 0));
  EXPECT_FALSE(add(young[0], 100));
  const auto datagram = add(young[1], 100);
  ASSERT_TRUE(datagram);
  EXPECT_EQ(datagram->substr(20), std::string(100, 'y'));
  EXPECT_EQ(fragments.unfinished(), 1U);
}

TEST(IpFragments, BytesThatComeAgainAndAreOthersAreCounted) {
  const auto first = fragments_of(ipv4_packet({.payload = std::string(100, 'o')}), 64);
  const auto other = fragments_of(ipv4_packet({.payload = std::string(100, 'y')}), 64);
  IpFragments fragments;
  const auto add = [&](const std::string& packet) {
    return fragments.add(decode_frame(kRaw, packet, packet.size()).fragment, {});
  };
  EXPECT_FALSE(add(first[0]));
  EXPECT_FALSE(add(first[0]));
  EXPECT_EQ(fragments.conflicting_bytes(), 0U);
  EXPECT_FALSE(add(other[0]));
  EXPECT_EQ(add(first[1])->substr(20), std::string(100, 'o')) << "the first to arrive wins";
  EXPECT_GT(fragments.conflicting_bytes(), 32U);
}

TEST(IpFragments, HoldsABoundedNumberOfDatagrams) {
  IpFragments fragments({.datagrams = 10});
  for (unsigned i = 0; i < 1000; ++i) {
    IpFragment fragment;
    fragment.id = i;
    fragment.more = true;
    fragment.payload = "12345678";
    EXPECT_FALSE(fragments.add(fragment, {}));
  }
  EXPECT_EQ(fragments.unfinished(), 1000U);
}

}  // namespace
}  // namespace gatedrill::replay::capture
