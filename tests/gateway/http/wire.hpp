// What the gateway makes of a connection's bytes, without sockets: heads parsed and judged, bodies
// followed, requests written anew, one after another as a session does it. The bytes arrive in
// pieces, and what becomes of them must not depend on where they were cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/h1/head_parser.hpp"

namespace gatedrill::http::wire {

// Where the pieces end; the last one ends with the bytes.
using Ends = std::vector<std::size_t>;

struct Reading {
  // One entry a message, as in "POST /a 'body' | GET /b '' close | 400 bare_lf"; "..." for one that
  // has not come whole, "close" where nothing more is read from the connection.
  std::string story;
  std::string upstream;      // the requests as they are sent on, one after another
  std::size_t requests = 0;  // that came whole

  bool operator==(const Reading&) const = default;
};

[[nodiscard]] Reading read_requests(std::string_view bytes,
                                    const Ends& ends = {},
                                    const h1::HeadLimits& limits = {});

// One answer to a request of that method, the interim ones before it, and whether the connection
// may be kept: "103 | 200 'body' keep", "200 'bo' cut close", "502 bare_lf close". All bytes are
// read and then the peer closes.
[[nodiscard]] std::string read_response(std::string_view bytes,
                                        std::string_view method = "GET",
                                        const Ends& ends = {},
                                        const h1::HeadLimits& limits = {});

// Every way to cut the bytes in two, and all bytes one by one.
[[nodiscard]] std::vector<Ends> every_split(std::size_t size);

}  // namespace gatedrill::http::wire
