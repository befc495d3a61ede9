// TLS connections of any bytes, with gaps, and any key log (the text before the first empty line):
// whole sums, nothing held once the connection is closed, and without a key nothing is read.
#include <string>

#include "replay/capture/http_assembly.hpp"
#include "replay/capture/tls_reader.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/connection_script.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  using namespace gatedrill::replay::capture;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t log_end = std::min(input.find("\n\n"), input.size());
  KeyLog keys;
  keys.add(input.substr(0, log_end));
  fuzz::Choices choices(input.substr(std::min(log_end + 2, input.size())));
  keys.expect_more(choices.chance(0.3));
  fuzz::Sink sink;
  Ledger ledger;
  HttpContext context{.sink = sink, .ledger = ledger};
  context.held.max = 100'000;
  ConnectionStart start;
  start.client = Side::first;
  {
    TlsReader tls(start, context, keys, [&](const ConnectionStart& inside) {
      return std::make_unique<HttpAssembly>(inside, context);
    });
    fuzz::Ledgered reader(tls, ledger);
    fuzz::play(choices, reader);
  }
  fuzz::require(context.held.now == 0 && context.bytes == 0, "nothing is held after the end");
  fuzz::require(ledger.open_sums().empty(), "the account closes");
  if (keys.connections() == 0) fuzz::require(ledger.decrypted.bytes == 0, "no key opens nothing");
  return 0;
}
