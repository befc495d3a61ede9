// Lines of any bytes: each is an entry or has a reason, and nothing in an entry could not stand in
// a request. mitmproxy's flows too, whose lengths are theirs to say.
#include <string>
#include <string_view>

#include "replay/formats/access_log.hpp"
#include "replay/formats/mitmproxy.hpp"
#include "tests/fuzz/format_reader.hpp"

namespace gatedrill::fuzz {
namespace {

using replay::formats::LogVerdict;

void check(const LogVerdict& verdict) {
  require(verdict.entry.has_value() == verdict.wrong.empty(), "an entry, or a reason");
  if (!verdict.entry) return;
  const auto& entry = *verdict.entry;
  require(entry.status >= 0 && entry.status <= 999, "a status is one");
  if (!entry.request) return;
  require(!entry.request->target.empty(), "a request has a target");
  for (const replay::RecordedField& field : entry.request->fields) {
    require(!field.name.empty(), "a field has a name");
    require(field.value.find_first_of("\r\n") == std::string::npos, "a field is one line");
  }
}

}  // namespace
}  // namespace gatedrill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  fuzz::check(replay::formats::parse_combined_line(line));
  fuzz::check(replay::formats::parse_json_log_line(line));
  fuzz::ReadExchanges log;
  fuzz::read_bytes(replay::formats::access_log_format(), bytes, log);
  fuzz::ReadExchanges flows;
  fuzz::read_bytes(replay::formats::mitmproxy_format(), bytes, flows);
  return 0;
}
