// The gateway's verdict on a head: refuse every shape that another HTTP parser might read
// differently (gateway reference 2.8, "desync classes"). Independent of any library's parser.
#pragma once

#include <optional>
#include <string_view>

#include "gateway/core/cause.hpp"
#include "gateway/http/framing.hpp"
#include "gateway/http/h1/head_parser.hpp"

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

[[nodiscard]] RequestVerdict judge_request(const RequestHead& head, const h1::HeadResult& parsed);

struct ResponseVerdict {
  std::string_view malformed;  // empty when the head is sound
  Framing framing;
  bool reusable = false;  // the connection may carry another request once the body has ended
};

[[nodiscard]] ResponseVerdict judge_response(const ResponseHead& head,
                                             const h1::HeadResult& parsed,
                                             std::string_view request_method);

}  // namespace gatedrill::http
