// What two peers send, in pieces and with gaps, as HTTP: the account closes and no memory is left
// charged. The input is records: what, length, bytes.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "replay/capture/http_assembly.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace gatedrill::replay;
using namespace gatedrill::replay::capture;
using gatedrill::UnixTime;
using gatedrill::fuzz::Choices;
using gatedrill::fuzz::require;

class Checker final : public ExchangeSink {
 public:
  void on_exchange(RecordedExchange exchange) override {
    require(exchange.request || exchange.response, "an exchange has a message");
    ++exchanges;
    if (exchange.request) require(!exchange.request->method.empty(), "a request has a method");
    if (exchange.response) {
      const int status = exchange.response->status;
      require(status >= 0 && status <= 999, "a status has three digits");
    }
  }

  void on_connection(const RecordedConnection&) override { ++connections; }

  void on_loss(const RecordedLoss&) override {}

  int exchanges = 0;
  int connections = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({reinterpret_cast<const char*>(data), size});
  std::string_view rest = choices.rest();
  Checker sink;
  Ledger ledger;
  HttpContext context{
      .sink = sink,
      .ledger = ledger,
      .limits = {.body_bytes = 300, .total_bytes = 3'000, .held_bytes = 2'000, .outstanding = 5},
      .held = {.max = 2'000}};
  ConnectionStart start;
  start.connection = 1;
  const auto byte = [&]() -> std::uint8_t {
    if (rest.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest.front());
    rest.remove_prefix(1);
    return value;
  };
  const std::uint8_t known = byte();
  if (known % 3 == 1) start.client = Side::first;
  if (known % 3 == 2) start.client = Side::second;
  UnixTime now{1'000};
  {
    HttpAssembly assembly(start, context);
    std::array<bool, 2> ended{};
    while (!rest.empty()) {
      const std::uint8_t what = byte();
      const std::size_t length = byte();
      const Side from = (what & 1U) == 0 ? Side::first : Side::second;
      bool& end = ended[static_cast<std::size_t>(from)];
      now.ns += what;
      if (end) continue;
      if ((what & 0x0eU) == 2) {
        if (length > 0) assembly.on_gap(from, length, LossReason::gap, now);
      } else if ((what & 0x0eU) == 4) {
        assembly.on_end(from, now);
        end = true;
      } else {
        const std::string_view bytes = rest.substr(0, length);
        rest.remove_prefix(bytes.size());
        if (bytes.empty()) continue;
        ledger.delivered.add(bytes.size());
        assembly.on_data(from, bytes, now);
      }
    }
    ConnectionEnd last;
    last.how = static_cast<CloseKind>(known / 3 % 4);
    assembly.on_closed(last, now);
  }
  ledger.stream = ledger.delivered;
  for (const std::string& sum : ledger.open_sums())
    require(false, sum);
  require(context.bytes == 0 && context.held.now == 0, "nothing stays charged");
  require(sink.connections <= 1, "a connection is told once");
  return 0;
}
