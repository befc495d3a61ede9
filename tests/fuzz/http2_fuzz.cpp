// HTTP/2 connections of any bytes, with gaps and from the middle: nothing but whole sums, and
// nothing is held once the connection is closed.
#include <string>

#include "replay/capture/http_assembly.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/connection_script.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  using namespace gatedrill::replay::capture;
  fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  fuzz::Sink sink;
  Ledger ledger;
  HttpContext context{.sink = sink, .ledger = ledger};
  context.limits.outstanding = 20;
  context.held.max = 100'000;
  ConnectionStart start;
  const bool from_start = choices.chance(0.7);
  if (from_start) start.client = Side::first;
  {
    HttpAssembly assembly(start, context);
    fuzz::Ledgered reader(assembly, ledger);
    if (from_start) reader.data(Side::first, kHttp2Preface);
    fuzz::play(choices, reader);
  }
  fuzz::require(context.held.now == 0 && context.bytes == 0, "nothing is held after the end");
  fuzz::require(ledger.open_sums().empty(), "the account closes");
  fuzz::require(sink.exchanges <= size, "no more exchanges than bytes");
  return 0;
}
