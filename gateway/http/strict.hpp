// The gateway's verdict on a head: refuse every shape that another HTTP parser might read
// differently (gateway reference 2.8, "desync classes"). Independent of any library's parser.
#pragma once

#include <optional>
#include <string_view>

#include "gateway/core/cause.hpp"
#include "gateway/http/framing.hpp"
#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/options.hpp"

namespace gatedrill::http {

struct Refusal {
  Cause cause = Cause::malformed_request;
  int status = 400;
  std::string_view reason;  // one word for logs, such as "length_and_coding"
};

struct RequestVerdict {
  std::optional<Refusal> refusal;
  Framing framing;
  std::string_view host;  // of the absolute-form target, or else of the Host field
};

// Of a head that is whole, too long or wrong already; the verdict on a wrong one is the same when
// more of it has come.
[[nodiscard]] RequestVerdict judge_request(const RequestHead& head, const h1::HeadResult& parsed);

// What a sound head may still not ask for.
[[nodiscard]] std::optional<Refusal> judge_options(const RequestHead& head,
                                                   const RequestOptions& options,
                                                   const Framing& framing);

struct ResponseVerdict {
  std::string_view malformed;  // empty when the head is sound
  Framing framing;
  bool reusable = false;  // the connection may carry another request once the body has ended
};

[[nodiscard]] ResponseVerdict judge_response(const ResponseHead& head,
                                             const h1::HeadResult& parsed,
                                             std::string_view request_method);

}  // namespace gatedrill::http
