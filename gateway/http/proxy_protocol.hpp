// The PROXY protocol's header (versions 1 and 2, proxy-protocol.txt of HAProxy): what a load
// balancer that passes connections on says of the client, before the client's own first byte.
//
//   v1   PROXY TCP4 203.0.113.9 192.0.2.1 51234 443\r\n      at most 107 bytes
//   v2   12 bytes of signature, version and command, family, length, addresses, TLVs
//
// It is believed only from peers that are known to send it, and then it must be there: whoever may
// connect could forge it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gatedrill::http {

struct ProxyHeader {
  enum class State { incomplete, complete, malformed };

  State state = State::incomplete;
  std::size_t size = 0;  // of a complete one
  // The client's address as text. Nothing where the header names none (UNKNOWN, LOCAL, a family
  // other than TCP over IPv4 or IPv6): the connection's own holds.
  std::optional<std::string> source;
};

// `bytes`: all that has arrived. Malformed as soon as no continuation could be well-formed.
[[nodiscard]] ProxyHeader parse_proxy_header(std::string_view bytes);

// A longer one is malformed: a version 2 header with more TLVs than anybody sends.
inline constexpr std::size_t kProxyHeaderBytesMax = 4096;

}  // namespace gatedrill::http
