// What the fields of a head say to the gateway itself, apart from where its body ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/core/time.hpp"
#include "gateway/http/head.hpp"

namespace gatedrill::http {

// What becomes of a field with an underscore in its name, which CGI and its heirs cannot tell from
// a dash.
enum class UnderscoreNames {
  drop,
  pass,    // but for those that would then be a name which means something here or is protected
  refuse,  // the request (400)
};

[[nodiscard]] std::string_view to_string(UnderscoreNames names);

struct RequestOptions {
  bool keep_alive = true;                // the client's connection may carry another request
  bool expects_continue = false;         // Expect: 100-continue
  std::string_view refused_expectation;  // another Expect (417)
  std::string_view protected_option;     // Connection names a field that it must not (400)
  bool names_fields = false;             // Connection names fields, to be dropped with it
  std::string_view request_id;           // x-request-id
  // How many more hops an OPTIONS or TRACE may take; 0: it is for us to answer (RFC 9110 7.6.2).
  std::optional<std::uint32_t> max_forwards;
  bool bad_max_forwards = false;  // of those two: not one number
  bool takes_trailers = false;    // TE: trailers
  bool has_forwarded = false;     // Forwarded (RFC 7239)
  UnderscoreNames underscores = UnderscoreNames::drop;
  std::string_view dropped_name;  // a field that does not pass for the underscore in its name
};

[[nodiscard]] RequestOptions request_options(const RequestHead& head,
                                             UnderscoreNames underscores = UnderscoreNames::drop);

// Whether a field of that name goes no further for an underscore in it.
[[nodiscard]] bool is_dropped_name(std::string_view name, UnderscoreNames underscores);

struct ResponseOptions {
  bool names_fields = false;                   // Connection names fields, to be dropped with it
  std::optional<Duration> keep_alive_timeout;  // Keep-Alive: timeout=
};

[[nodiscard]] ResponseOptions response_options(const ResponseHead& head);

// Whether a field must reach whoever it is for: framing, routing, identity, the chain of proxies,
// what the content is. It is neither dropped because Connection names it, nor taken from a trailer.
[[nodiscard]] bool is_protected(std::string_view name);

}  // namespace gatedrill::http
