// Changing the protocol of a connection (RFC 9110 7.8). Upgrade is a hop-by-hop field: what a
// client asks for goes no further unless the gateway itself asks the upstream for it, so that no
// protocol is spoken through us which we do not know of (h2c smuggling).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/framing.hpp"
#include "gateway/http/head.hpp"

namespace gatedrill::http {

// The first of the `allowed` protocols that the request asks to change to; empty if it asks for
// none of them, or not in a way that every server understands alike: a GET of HTTP/1.1 without a
// body whose Connection names upgrade. The view is into `allowed`.
[[nodiscard]] std::string_view requested_upgrade(const RequestHead& head,
                                                 const Framing& framing,
                                                 const std::vector<std::string>& allowed);

// Whether a 101 changes to that protocol and to no other.
[[nodiscard]] bool accepts_upgrade(const ResponseHead& head, std::string_view protocol);

}  // namespace gatedrill::http
