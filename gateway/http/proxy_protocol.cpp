#include "gateway/http/proxy_protocol.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <arpa/inet.h>

namespace gatedrill::http {
namespace {

using State = ProxyHeader::State;

constexpr std::string_view kV1Prefix = "PROXY ";
constexpr std::size_t kV1BytesMax = 107;  // with its CRLF
constexpr std::string_view kForbidden{"\r\n\0\t", 4};
constexpr std::string_view kV2Signature{"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::size_t kV2HeadBytes = 16;

ProxyHeader malformed() {
  return {State::malformed, 0, std::nullopt};
}

// Whether the shorter of the two begins the longer.
bool agree(std::string_view bytes, std::string_view expected) {
  const std::size_t common = std::min(bytes.size(), expected.size());
  return bytes.substr(0, common) == expected.substr(0, common);
}

template <std::size_t Size>
std::string address_text(int family, const std::array<unsigned char, Size>& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, address.data(), text.data(), text.size());
  return text.data();
}

// The address in its usual spelling; nothing if it is not one. inet_pton takes no leading zeros,
// no missing parts and no scope, as the specification wants it.
template <std::size_t Size>
std::optional<std::string> parse_address(int family, std::string_view text) {
  std::array<unsigned char, Size> address{};
  if (::inet_pton(family, std::string(text).c_str(), address.data()) != 1) return std::nullopt;
  return address_text(family, address);
}

bool is_port(std::string_view text) {
  std::uint32_t port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  return rest == end && error == std::errc{} && port <= 65535 && !leading_zero;
}

// The next part of a line whose parts are separated by one space each.
std::string_view take_part(std::string_view& line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view part = line.substr(0, space);
  line.remove_prefix(std::min(space + 1, line.size()));
  return part;
}

ProxyHeader parse_v1(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kV1BytesMax).find("\r\n");
  if (end == std::string_view::npos) {
    // A lone CR at the very end may still become the line's end.
    const std::size_t stray = bytes.find_first_of("\r\n");
    const bool may_end =
        stray == std::string_view::npos || (bytes[stray] == '\r' && stray + 1 == bytes.size());
    return may_end && bytes.size() < kV1BytesMax ? ProxyHeader{} : malformed();
  }
  std::string_view line = bytes.substr(0, end);
  ProxyHeader header{State::complete, end + 2, std::nullopt};
  line.remove_prefix(kV1Prefix.size());
  if (line.find_first_of(kForbidden) != std::string_view::npos) return malformed();
  const bool ends_in_space = line.ends_with(' ');
  const std::string_view family = take_part(line);
  if (family == "UNKNOWN") return header;  // whatever follows up to the line's end
  const bool v4 = family == "TCP4";
  if ((!v4 && family != "TCP6") || ends_in_space) return malformed();
  const auto address = [v4](std::string_view text) {
    return v4 ? parse_address<4>(AF_INET, text) : parse_address<16>(AF_INET6, text);
  };
  header.source = address(take_part(line));
  const bool destination = address(take_part(line)).has_value();
  const bool ports = is_port(take_part(line)) && is_port(take_part(line));
  return header.source && destination && ports && line.empty() ? header : malformed();
}

template <std::size_t Size>
std::string source_of(int family, std::string_view addresses) {
  std::array<unsigned char, Size> address{};
  std::transform(addresses.begin(), addresses.begin() + Size, address.begin(),
                 [](char c) { return static_cast<unsigned char>(c); });
  return address_text(family, address);
}

ProxyHeader parse_v2(std::string_view bytes) {
  const auto byte = [bytes](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
  const bool knows_command = bytes.size() > 12;
  if (knows_command && (byte(12) >> 4U) != 2) return malformed();
  const unsigned command = knows_command ? byte(12) & 0xfU : 0;
  if (command > 1) return malformed();  // neither LOCAL nor PROXY
  const bool knows_family = bytes.size() > 13;
  const unsigned family = knows_family ? byte(13) >> 4U : 0;
  const unsigned protocol = knows_family ? byte(13) & 0xfU : 0;
  if (family > 3 || protocol > 2) return malformed();
  if (bytes.size() < kV2HeadBytes) return {};
  const std::size_t length = static_cast<std::size_t>(byte(14) << 8U) + byte(15);
  const std::size_t size = kV2HeadBytes + length;
  if (size > kProxyHeaderBytesMax) return malformed();
  // UNIX and unspecified addresses are nobody's on a TCP connection, and are skipped with the TLVs.
  const bool tcp = command == 1 && protocol == 1;
  const bool v4 = tcp && family == 1;
  const bool v6 = tcp && family == 2;
  if ((v4 && length < 12) || (v6 && length < 36)) return malformed();
  if (bytes.size() < size) return {};
  ProxyHeader header{State::complete, size, std::nullopt};
  const std::string_view addresses = bytes.substr(kV2HeadBytes, length);
  if (v4) header.source = source_of<4>(AF_INET, addresses);
  if (v6) header.source = source_of<16>(AF_INET6, addresses);
  return header;
}

}  // namespace

ProxyHeader parse_proxy_header(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (agree(bytes, kV1Prefix)) {
    return bytes.size() < kV1Prefix.size() ? ProxyHeader{} : parse_v1(bytes);
  }
  if (agree(bytes, kV2Signature)) {
    return bytes.size() < kV2Signature.size() ? ProxyHeader{} : parse_v2(bytes);
  }
  return malformed();
}

}  // namespace gatedrill::http
