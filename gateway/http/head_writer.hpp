// Writes heads anew, canonically: nobody's framing bytes, connection options or forbidden names
// pass through (gateway reference 2.8, "canonical rewrite rule"). What is written goes to the end
// of one buffer that the caller keeps, so nothing is allocated once it has grown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/time.hpp"
#include "gateway/http/framing.hpp"
#include "gateway/http/head.hpp"

namespace gatedrill::http {

// What a request's fields say to the gateway itself.
struct RequestOptions {
  bool keep_alive = true;                // the client's connection may carry another request
  bool expects_continue = false;         // Expect: 100-continue
  std::string_view refused_expectation;  // another Expect (417)
  std::string_view protected_option;     // Connection names a field that it must not (400)
  bool names_fields = false;             // Connection names fields, to be dropped with it
  std::string_view request_id;           // x-request-id
};

[[nodiscard]] RequestOptions request_options(const RequestHead& head);

// How a request is sent on.
struct RequestRewrite {
  Framing framing;
  std::string_view host;          // of the verdict: the absolute-form target's wins
  std::string_view via;           // the pseudonym in "Via: 1.1 <pseudonym>"
  std::string_view client;        // for X-Forwarded-For
  bool trusts_forwarded = false;  // the client is a trusted proxy: its X-Forwarded-* are kept
  std::string_view strip_prefix;  // taken off the path
  std::string_view request_id;    // always sent as x-request-id
  std::string_view upgrade;       // the protocol to ask the upstream for; empty: none
};

// The head for the upstream, its attempt count 1. Returns where the count's digit stands in `out`.
std::size_t write_request_head(const RequestHead& head,
                               const RequestOptions& options,
                               const RequestRewrite& rewrite,
                               std::string& out);

// What an answer's fields say to the gateway itself.
struct ResponseOptions {
  bool names_fields = false;
  std::optional<Duration> keep_alive_timeout;  // Keep-Alive: timeout=
};

[[nodiscard]] ResponseOptions response_options(const ResponseHead& head);

// How an answer's body and end are told to the client.
struct ResponseRewrite {
  Framing framing;          // until_close: neither length nor coding is written
  bool bodiless = false;    // HEAD, 204, 304: the upstream's Content-Length is told, if it is one
  bool close = false;       // Connection: close
  bool keep_alive = false;  // Connection: keep-alive (for a client of HTTP/1.0)
};

void write_response_head(const ResponseHead& head,
                         const ResponseOptions& options,
                         const ResponseRewrite& rewrite,
                         std::string& out);

// An interim answer (1xx), without framing; a 101 says to which protocol it changes.
void write_interim_head(const ResponseHead& head, std::string& out, std::string_view upgrade = {});

// The reason phrase of a status; empty for an unknown one.
[[nodiscard]] std::string_view reason_of(int status);

}  // namespace gatedrill::http
