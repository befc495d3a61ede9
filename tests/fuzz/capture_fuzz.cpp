// Any bytes as a capture file, read into exchanges: no crash, and the account closes.
#include "replay/capture/capture.hpp"
#include "replay/capture/packet_source.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace gatedrill::replay;
using gatedrill::fuzz::require;

class Nowhere final : public capture::ExchangeSink {
 public:
  void on_exchange(RecordedExchange exchange) override {
    require(exchange.request || exchange.response, "an exchange has a message");
  }

  void on_connection(const RecordedConnection&) override {}

  void on_loss(const RecordedLoss&) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto source = capture::open_bytes(bytes, "");
  if (!source) {
    require(!source.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  Nowhere sink;
  capture::CaptureOptions options;
  options.reassembly.remembered_bytes = 4096;  // quick to make
  capture::Capture capture(options, sink);
  capture::Packet packet;
  for (;;) {
    const auto next = (*source)->next(packet);
    require(next.has_value(), "without a filter, reading a file does not fail");
    if (*next == capture::PacketSource::Next::end) break;
    if (*next == capture::PacketSource::Next::packet) {
      capture.add(packet);
    } else {
      capture.key_log().add((*source)->take_key_log());
    }
  }
  capture.finish();
  const capture::FileEnd end = (*source)->file_end();
  require(end.cut_bytes + end.damaged_bytes <= size, "no more is lost than there was");
  require(end.damages.size() <= capture::FileEnd::kDamagesKept, "what is kept is bounded");
  for (const std::string& sum : capture.ledger().open_sums())
    require(false, sum);
  return 0;
}
