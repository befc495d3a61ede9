// Bodies of any bytes: payload and fields lie in what was given, nothing beyond the end is touched,
// cuts change nothing, and whatever a strict reader takes a lenient one takes to be the same.
#include <algorithm>
#include <string>
#include <vector>

#include "gateway/http/framing.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/require.hpp"

namespace gatedrill::fuzz {
namespace {

using http::BodyReader;
using http::Framing;

struct Read {
  std::string payload;
  std::string trailers;
  std::size_t consumed = 0;
  bool malformed = false;
  bool done = false;

  bool operator==(const Read&) const = default;
};

bool lies_in(std::string_view view, std::string_view bytes) {
  return view.empty() ||
         (view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size());
}

Read read(const Framing& framing,
          BodyReader::Strictness strictness,
          std::string_view bytes,
          std::vector<std::size_t> ends) {
  ends.push_back(bytes.size());
  BodyReader reader(framing, strictness);
  Read read;
  for (const std::size_t end : ends) {
    while (!reader.done() && !read.malformed) {
      const std::string_view available = bytes.substr(read.consumed, end - read.consumed);
      const BodyReader::Step step = reader.read(available);
      require(step.consumed <= available.size(), "no more is consumed than there is");
      require(lies_in(step.payload, available.substr(0, step.consumed)), "payload is consumed");
      require(lies_in(step.trailer.name, available) && lies_in(step.trailer.value, available),
              "fields lie in the bytes");
      read.payload += step.payload;
      if (!step.malformed && !step.trailer.name.empty()) {
        read.trailers.append(step.trailer.name).append(":").append(step.trailer.value).append("\n");
      }
      read.consumed += step.consumed;
      read.malformed = step.malformed;
      if (step.consumed == 0) break;
    }
  }
  require(reader.payload_bytes() == read.payload.size(), "payload is counted");
  require(!read.malformed || !reader.done(), "what is malformed has no end");
  read.done = reader.done();
  if (read.done) require(reader.read("x").consumed == 0, "nothing is read beyond the end");
  return read;
}

}  // namespace
}  // namespace gatedrill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  using Strictness = http::BodyReader::Strictness;
  fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  http::Framing framing{http::BodyKind::chunked, 0};
  if (choices.chance(0.1)) framing = {http::BodyKind::length, choices.below(200)};
  std::vector<std::size_t> cuts;
  for (std::uint64_t n = choices.below(6); n > 0; --n)
    cuts.push_back(choices.byte() * 256U + choices.byte());
  const std::string_view bytes = choices.rest();
  std::vector<std::size_t> ends;
  for (const std::size_t cut : cuts)
    ends.push_back(bytes.empty() ? 0 : cut % bytes.size());
  std::sort(ends.begin(), ends.end());

  const fuzz::Read strict = fuzz::read(framing, Strictness::strict, bytes, {});
  fuzz::require(fuzz::read(framing, Strictness::strict, bytes, ends) == strict,
                "a strict reader reads the same however it is cut");
  const fuzz::Read lenient = fuzz::read(framing, Strictness::lenient, bytes, {});
  fuzz::require(fuzz::read(framing, Strictness::lenient, bytes, ends) == lenient,
                "a lenient reader reads the same however it is cut");
  if (strict.done) fuzz::require(lenient == strict, "what is sound is sound to both");
  return 0;
}
