// The PROXY protocol's header, whole, in pieces and wrong.
#include "gateway/http/proxy_protocol.hpp"

#include <string>

#include <gtest/gtest.h>

namespace gatedrill::http {
namespace {

using State = ProxyHeader::State;
using namespace std::string_literals;

// Version and command, family and protocol, then length and what it counts.
std::string v2(unsigned char command, unsigned char family, const std::string& rest) {
  const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xffU); };
  return "\r\n\r\n\0\r\nQUIT\n"s + byte(command) + byte(family) + byte(rest.size() >> 8U) +
         byte(rest.size()) + rest;
}

const std::string kV4 = "\xcb\x00\x71\x09\xc0\x00\x02\x01\xc8\x22\x01\xbb"s;  // 203.0.113.9
const std::string kV6 = "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07"s +
                        std::string(15, '\0') + "\x01\xc8\x22\x01\xbb"s;

struct Case {
  std::string bytes;
  std::string source;  // empty: the connection's own
};

std::vector<Case> sound_headers() {
  return {
      {"PROXY TCP4 203.0.113.9 192.0.2.1 51234 443\r\n", "203.0.113.9"},
      {"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255"},
      {"PROXY TCP4 1.2.3.4 5.6.7.8 0 1\r\n", "1.2.3.4"},
      {"PROXY TCP6 2001:DB8::7 ::1 51234 443\r\n", "2001:db8::7"},
      {"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
       "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
       "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
      {"PROXY UNKNOWN\r\n", ""},
      {"PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
       "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
       ""},  // 107 bytes, the longest
      {v2(0x21, 0x11, kV4), "203.0.113.9"},
      {v2(0x21, 0x21, kV6), "2001:db8::7"},
      {v2(0x21, 0x11, kV4 + "\x04\x00\x03xyz"s), "203.0.113.9"},  // a TLV
      {v2(0x21, 0x11, kV4 + std::string(4000, 'x')), "203.0.113.9"},
      {v2(0x20, 0x00, ""), ""},                     // LOCAL
      {v2(0x20, 0x11, kV4), ""},                    // LOCAL, addresses skipped
      {v2(0x21, 0x00, "whatever"), ""},             // UNSPEC
      {v2(0x21, 0x31, std::string(216, 'u')), ""},  // UNIX
      {v2(0x21, 0x12, kV4), ""},                    // UDP
  };
}

TEST(ProxyProtocol, ASoundHeaderNamesTheClientOrNobody) {
  for (const Case& each : sound_headers()) {
    const ProxyHeader header = parse_proxy_header(each.bytes + "GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(header.state, State::complete) << each.bytes;
    EXPECT_EQ(header.size, each.bytes.size()) << each.bytes;
    EXPECT_EQ(header.source.value_or(""), each.source) << each.bytes;
    EXPECT_EQ(header.source.has_value(), !each.source.empty()) << each.bytes;
  }
}

TEST(ProxyProtocol, EveryBeginningOfASoundHeaderIsIncomplete) {
  for (const Case& each : sound_headers()) {
    for (std::size_t size = 0; size < each.bytes.size(); ++size) {
      EXPECT_EQ(parse_proxy_header(std::string_view(each.bytes).substr(0, size)).state,
                State::incomplete)
          << size << " of " << each.bytes;
    }
  }
}

TEST(ProxyProtocol, AnythingElseIsMalformed) {
  const std::string cases[] = {
      "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
      "proxy TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
      "PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
      "PROXY TCP4 1.2.3.4  5.6.7.8 1 2\r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 1 \r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 -1 2\r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 1 99999999999\r\n",
      "PROXY TCP4 1.2.3.04 5.6.7.8 1 2\r\n",
      "PROXY TCP4 1.2.3.256 5.6.7.8 1 2\r\n",
      "PROXY TCP4 1.2.3 5.6.7.8 1 2\r\n",
      "PROXY TCP4 ::1 ::1 1 2\r\n",  // the wrong family
      "PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n",
      "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
      "PROXY TCP5 1.2.3.4 5.6.7.8 1 2\r\n",
      "PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n",
      "PROXY UNKNOWNS\r\n",
      "PROXY \r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n",  // LF alone
      "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\rX",
      "PROXY TCP4 1.2.3.4\0 5.6.7.8 1 2\r\n"s,
      "PROXY TCP4 1.2.3.4\t5.6.7.8 1 2\r\n",
      "PROXY UNKNOWN" + std::string(93, 'x') + "\r\n",  // 108 bytes
      "PROXY UNKNOWN" + std::string(94, 'x'),           // no end in 107
      v2(0x11, 0x11, kV4),                              // version 1 in a header of version 2
      v2(0x22, 0x11, kV4),                              // an unknown command
      v2(0x21, 0x41, kV4),                              // an unknown family
      v2(0x21, 0x13, kV4),                              // an unknown protocol
      v2(0x21, 0x11, kV4.substr(1)),                    // too short for its addresses
      v2(0x21, 0x21, kV4),
      v2(0x21, 0x11, kV4 + std::string(5000, 'x')),
      "\r\n\r\n\0\r\nQUIX\n"s + "rest of it",
  };
  for (const std::string& bytes : cases)
    EXPECT_EQ(parse_proxy_header(bytes).state, State::malformed) << bytes;
}

TEST(ProxyProtocol, WhatCannotBecomeAHeaderIsMalformedAtOnce) {
  for (const std::string bytes : {"G", "PROXX", "PROXY TCP4 \n", "\r\n\r\nX", "\n"})
    EXPECT_EQ(parse_proxy_header(bytes).state, State::malformed) << bytes;
}

}  // namespace
}  // namespace gatedrill::http
