// Writes heads anew, canonically: nobody's framing bytes, connection options or forbidden names
// pass through (gateway reference 2.8, "canonical rewrite rule"). What is written goes to the end
// of one buffer that the caller keeps, so nothing is allocated once it has grown.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "gateway/http/framing.hpp"
#include "gateway/http/head.hpp"
#include "gateway/http/options.hpp"

namespace gatedrill::http {

// How a request is sent on.
struct RequestRewrite {
  Framing framing;
  std::string_view host;    // of the verdict: the absolute-form target's wins
  std::string_view via;     // our name in Via; empty: none
  std::string_view client;  // for X-Forwarded-For
  // The client is a trusted proxy: its X-Forwarded-* and Forwarded fields are kept and continued.
  // Nobody else's pass, and a Forwarded field is not begun by us: one chain is enough.
  bool trusts_forwarded = false;
  std::string_view strip_prefix;          // taken off the path
  std::string_view request_id;            // always sent as x-request-id
  std::span<const std::string> trailers;  // that pass; where there are any, so does TE: trailers
  std::string_view upgrade;               // the protocol to ask the upstream for; empty: none
};

// The head for the upstream, its attempt count 1. Returns where the count's digit stands in `out`.
std::size_t write_request_head(const RequestHead& head,
                               const RequestOptions& options,
                               const RequestRewrite& rewrite,
                               std::string& out);

// How an answer's body and end are told to the client.
struct ResponseRewrite {
  Framing framing = {};       // until_close: neither length nor coding is written
  bool bodiless = false;      // HEAD, 204, 304: the upstream's Content-Length is told, if it is one
  std::string_view via = {};  // our name in Via; empty: none
  // Told where the upstream told none (RFC 9110 6.6.1); empty: not even then.
  std::string_view date = {};
  std::span<const std::string> trailers = {};  // that pass
  bool close = false;                          // Connection: close
  bool keep_alive = false;                     // Connection: keep-alive (for a client of HTTP/1.0)
};

void write_response_head(const ResponseHead& head,
                         const ResponseOptions& options,
                         const ResponseRewrite& rewrite,
                         std::string& out);

// An interim answer (1xx), without framing; a 101 says to which protocol it changes.
void write_interim_head(const ResponseHead& head, std::string& out, std::string_view upgrade = {});

// A gateway's name as Via may carry it (RFC 9110 7.6.3): what is no token becomes dashes.
[[nodiscard]] std::string via_name(std::string_view name);

// The reason phrase of a status; empty for an unknown one.
[[nodiscard]] std::string_view reason_of(int status);

}  // namespace gatedrill::http
