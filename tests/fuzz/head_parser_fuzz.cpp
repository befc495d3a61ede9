// Heads of any bytes: every view lies in the buffer, a part is never read otherwise than the whole,
// and what passes the judge says the same after it was written anew.
#include <algorithm>
#include <string>
#include <string_view>

#include "gateway/http/head_writer.hpp"
#include "gateway/http/strict.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/require.hpp"

namespace gatedrill::fuzz {
namespace {

using namespace http;

void require_inside(std::string_view view, std::string_view bytes) {
  if (view.empty()) return;
  require(view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size(),
          "views lie in the buffer");
}

void require_inside(const std::vector<Field>& fields, std::string_view bytes) {
  for (const Field& field : fields) {
    require_inside(field.name, bytes);
    require_inside(field.value, bytes);
  }
}

// Limits that small inputs reach.
h1::HeadLimits limits_of(Choices& choices) {
  h1::HeadLimits limits;
  if (choices.chance(0.5)) return limits;
  limits.head_bytes = 1 + choices.below(256);
  limits.line_bytes = 1 + choices.below(100);
  limits.fields = 1 + choices.below(8);
  limits.target_bytes = 1 + choices.below(40);
  return limits;
}

// What a reader who wants no defect makes of it: nothing yet, or its end.
struct Reading {
  bool decided = false;
  std::string_view defect;
  h1::HeadState state = h1::HeadState::incomplete;
  std::size_t size = 0;

  bool operator==(const Reading&) const = default;
};

Reading reading_of(const h1::HeadResult& result) {
  if (!result.defects.none()) return {true, h1::first_defect(result.defects), {}, 0};
  return {result.state != h1::HeadState::incomplete, {}, result.state, result.size};
}

template <class Head, class Parse>
void require_the_same_in_parts(std::string_view bytes, Parse parse) {
  Head head;
  const Reading whole = reading_of(parse(bytes, head));
  // All parts of a small input, some of a large one.
  const std::size_t step = 1 + bytes.size() / 256;
  for (std::size_t size = 0; size < bytes.size(); size += step) {
    Head part;
    const Reading reading = reading_of(parse(bytes.substr(0, size), part));
    if (!reading.decided) continue;
    require(reading == whole, "a part decides as the whole does");
    return;
  }
}

void check_request(std::string_view bytes, const h1::HeadLimits& limits) {
  RequestHead head;
  const h1::HeadResult parsed = h1::parse_request_head(bytes, limits, head);
  if (parsed.state != h1::HeadState::complete) return;
  require(parsed.size <= bytes.size(), "the head ends in the buffer");
  require_inside(head.method, bytes);
  require_inside(head.target, bytes);
  require_inside(head.fields, bytes);
  const RequestVerdict verdict = judge_request(head, parsed);
  if (verdict.refusal) return;
  const RequestOptions options = request_options(head);
  if (judge_options(head, options, verdict.framing) || options.max_forwards == 0U) return;

  const std::vector<std::string> trailers = {"x-sum"};
  RequestRewrite how;
  how.framing = verdict.framing;
  how.host = verdict.host;
  how.via = "gw";
  how.client = "::1";
  how.request_id = "id";
  how.trusts_forwarded = true;
  how.trailers = trailers;
  std::string written;
  write_request_head(head, options, how, written);
  h1::HeadLimits wide;
  wide.head_bytes = wide.line_bytes = wide.target_bytes = written.size() + 1;
  wide.fields = head.fields.size() + 20;
  RequestHead again;
  const h1::HeadResult reread = h1::parse_request_head(written, wide, again);
  const RequestVerdict second = judge_request(again, reread);
  require(reread.size == written.size(), "what is written is one head");
  require(!second.refusal, "what is written passes");
  require(second.framing == verdict.framing, "it frames the same");
  require(second.host == verdict.host, "it is for the same host");
  require(again.method == head.method, "it asks the same");
  require(again.target == "*" || path_of(again.target) == path_of(head.target), "of the same");
}

void check_response(std::string_view bytes, const h1::HeadLimits& limits) {
  ResponseHead head;
  const h1::HeadResult parsed = h1::parse_response_head(bytes, limits, head);
  if (parsed.state != h1::HeadState::complete) return;
  require(parsed.size <= bytes.size(), "the head ends in the buffer");
  require_inside(head.reason, bytes);
  require_inside(head.fields, bytes);
  const ResponseVerdict verdict = judge_response(head, parsed, "GET");
  if (!verdict.malformed.empty()) return;
  std::string written;
  if (head.status < 200) {
    write_interim_head(head, written);
  } else {
    ResponseRewrite how;
    how.framing = verdict.framing;
    how.bodiless = head.status == 204 || head.status == 304;
    how.via = "gw";
    write_response_head(head, response_options(head), how, written);
  }
  h1::HeadLimits wide;
  wide.head_bytes = wide.line_bytes = written.size() + 1;
  wide.fields = head.fields.size() + 20;
  ResponseHead again;
  const h1::HeadResult reread = h1::parse_response_head(written, wide, again);
  const ResponseVerdict second = judge_response(again, reread, "GET");
  require(reread.size == written.size(), "what is written is one head");
  require(second.malformed.empty(), "what is written passes");
  require(second.framing == verdict.framing, "it frames the same");
  require(again.status == head.status, "it says the same");
}

}  // namespace
}  // namespace gatedrill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  const bool request = choices.chance(0.6);
  const http::h1::HeadLimits limits = fuzz::limits_of(choices);
  const std::string_view bytes = choices.rest();
  if (request) {
    fuzz::require_the_same_in_parts<http::RequestHead>(bytes, [&](auto part, auto& head) {
      return http::h1::parse_request_head(part, limits, head);
    });
    fuzz::check_request(bytes, limits);
  } else {
    fuzz::require_the_same_in_parts<http::ResponseHead>(bytes, [&](auto part, auto& head) {
      return http::h1::parse_response_head(part, limits, head);
    });
    fuzz::check_response(bytes, limits);
  }
  return 0;
}
