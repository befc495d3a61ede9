// Whole connections of any bytes: read as the gateway reads them they tell the same story however
// they are cut, and what is sent on holds exactly the requests that were read.
#include <algorithm>
#include <string>

#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/gateway/http/wire.hpp"

namespace gatedrill::fuzz {
namespace {

using namespace http;

wire::Ends cuts(Choices& choices, std::size_t size) {
  wire::Ends ends;
  for (std::uint64_t n = choices.below(6); n > 0 && size > 0; --n)
    ends.push_back((choices.byte() * 256U + choices.byte()) % size);
  std::sort(ends.begin(), ends.end());
  return ends;
}

// Up to the first request that did not come whole.
std::string sound_part(const std::string& story, std::size_t requests) {
  std::size_t end = 0;
  for (; requests > 0 && end != std::string::npos; --requests)
    end = story.find(" | ", end + 1);
  return story.substr(0, end);
}

void check_requests(std::string_view bytes, const wire::Ends& ends) {
  const wire::Reading whole = wire::read_requests(bytes);
  const wire::Reading parts = wire::read_requests(bytes, ends);
  require(whole.story == parts.story, "requests are read the same however they are cut");
  require(whole.requests == parts.requests, "and as many");
  // Fields of ours are added on the way.
  h1::HeadLimits wide;
  wide.head_bytes *= 2;
  wide.line_bytes *= 2;
  wide.fields *= 2;
  const wire::Reading next = wire::read_requests(parts.upstream, {}, wide);
  require(next.requests == whole.requests, "the next hop finds the same requests");
  const wire::Reading third = wire::read_requests(next.upstream, {}, wide);
  require(sound_part(third.story, third.requests) == sound_part(next.story, next.requests),
          "and the one after it reads what that one read");
}

}  // namespace
}  // namespace gatedrill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  const bool request = choices.chance(0.6);
  const std::string_view method = choices.chance(0.2) ? "HEAD" : "GET";
  const http::wire::Ends ends = fuzz::cuts(choices, size);
  const std::string_view bytes = choices.rest();
  http::wire::Ends inside;
  for (const std::size_t end : ends)
    inside.push_back(std::min(end, bytes.size()));
  if (request) {
    fuzz::check_requests(bytes, inside);
  } else {
    fuzz::require(http::wire::read_response(bytes, method) ==
                      http::wire::read_response(bytes, method, inside),
                  "answers are read the same however they are cut");
  }
  return 0;
}
