// .gor files of any bytes: the reader takes or refuses them with a place, and a message that was
// whole and sound is the same after it was written and read again.
#include <string>
#include <string_view>

#include "replay/formats/gor.hpp"
#include "replay/formats/wire_message.hpp"
#include "tests/fuzz/format_reader.hpp"

namespace gatedrill::fuzz {
namespace {

using namespace replay;
using namespace replay::formats;

void check_request(const RecordedRequest& request, std::string_view host) {
  if (!request.complete || !request.defects.empty()) return;
  for (const std::string_view cut : {std::string_view{}, kGorMonkeys}) {
    const auto wire = to_wire(request, host, cut);
    if (!wire && !cut.empty()) continue;
    require(wire.has_value(), "a sound request can be written");
    require(!wire->changes.framing || !cut.empty(), "its framing was right");
    const auto again = read_request(wire->bytes);
    require(again && again->rest.empty() && again->message.complete, "what is written is one");
    require(again->message.body == request.body, "its body is the same");
    if (cut.empty()) require(again->message == request, "it is the same");
  }
}

void check_answer(const RecordedResponse& response, std::string_view method) {
  if (!response.complete || !response.defects.empty()) return;
  const auto wire = to_wire(response, method);
  require(wire.has_value(), "a sound answer can be written");
  const auto again = read_response(wire->bytes, method);
  require(again && again->rest.empty() && again->message == response, "it is the same");
}

}  // namespace
}  // namespace gatedrill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::ReadExchanges read;
  fuzz::read_bytes(replay::formats::gor_format(), bytes, read);
  for (const replay::RecordedExchange& exchange : read.exchanges) {
    if (exchange.request) fuzz::check_request(*exchange.request, exchange.host);
    if (exchange.response) {
      fuzz::check_answer(*exchange.response, replay::formats::method_of(exchange));
    }
  }
  return 0;
}
