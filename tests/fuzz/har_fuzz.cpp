// HAR files and JSON lines of any bytes: the readers take or refuse them with a place, and what a
// HAR gave comes back from JSON lines as it was.
#include <string>
#include <string_view>

#include "replay/formats/har.hpp"
#include "replay/formats/jsonl.hpp"
#include "tests/fuzz/format_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::ReadExchanges lines;
  fuzz::read_bytes(replay::formats::jsonl_format(), bytes, lines);
  fuzz::ReadExchanges read;
  fuzz::read_bytes(replay::formats::har_format(), bytes, read);
  for (const replay::RecordedExchange& exchange : read.exchanges) {
    fuzz::ReadExchanges again;
    const std::string line = replay::formats::to_json(exchange).dump();
    fuzz::require(fuzz::read_bytes(replay::formats::jsonl_format(), line, again) &&
                      again.exchanges.size() == 1 && again.exchanges[0] == exchange,
                  "an exchange comes back from its line");
  }
  return 0;
}
