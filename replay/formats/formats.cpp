#include "replay/formats/formats.hpp"

#include <algorithm>

#include "gateway/config/suggestion.hpp"
#include "replay/formats/access_log.hpp"
#include "replay/formats/curl.hpp"
#include "replay/formats/gor.hpp"
#include "replay/formats/har.hpp"
#include "replay/formats/jsonl.hpp"
#include "replay/formats/mitmproxy.hpp"
#include "replay/formats/pcap.hpp"
#include "replay/formats/vegeta.hpp"

namespace gatedrill::replay::formats {
namespace {

bool can(const Format& format, Direction direction) {
  return direction == Direction::read ? format.read != nullptr : format.write != nullptr;
}

// Files of other kinds that end up here.
struct OtherKind {
  std::string_view begins;
  std::string_view advice;
};

constexpr std::string_view kCapture = "it is a packet capture: use gatedrill capture -r";
constexpr OtherKind kOthers[] = {
    {"SQLite format 3", "it is an SQLite file; recordings are read as they are"},
    {"\xD4\xC3\xB2\xA1", kCapture},
    {"\xA1\xB2\xC3\xD4", kCapture},
    {"\x4D\x3C\xB2\xA1", kCapture},
    {"\xA1\xB2\x3C\x4D", kCapture},
    {"\x0A\x0D\x0D\x0A", kCapture},
    {"PK\x03\x04", "it is a zip archive: unpack it first"},
    {"\x28\xB5\x2F\xFD", "it is packed with zstd: unpack it first"},
};

}  // namespace

const std::vector<Format>& all_formats() {
  static const std::vector<Format> formats = {
      gor_format(),   har_format(),  access_log_format(), mitmproxy_format(),
      jsonl_format(), curl_format(), pcap_format(),       vegeta_format()};
  return formats;
}

Result<const Format*> find_format(std::string_view name, Direction direction) {
  std::vector<std::string> names;
  const Format* meant = nullptr;
  for (const Format& format : all_formats()) {
    if (format.name == name && can(format, direction)) return &format;
    if (can(format, direction)) names.emplace_back(format.name);
    const auto& aliases = format.aliases;
    const bool alias = std::find(aliases.begin(), aliases.end(), name) != aliases.end();
    if (format.name == name || (alias && can(format, direction))) meant = &format;
  }
  if (meant != nullptr && meant->name == name) {
    const bool reading = direction == Direction::read;
    std::string text = std::string(name) + (reading ? " is only written" : " is only read");
    if (reading && !meant->read_by.empty()) text.append("; to read it: ").append(meant->read_by);
    return usage_error(text + gateway::suggestion("", names));
  }
  const std::string unknown = "there is no format \"" + std::string(name) + "\"";
  if (meant != nullptr) {
    return usage_error(unknown + "; did you mean " + std::string(meant->name) + " (" +
                       std::string(meant->title) + ")?");
  }
  return usage_error(unknown + gateway::suggestion(name, names));
}

std::string advice_about(std::string_view beginning, const Format& expected) {
  for (const OtherKind& other : kOthers) {
    if (beginning.starts_with(other.begins)) return std::string(other.advice);
  }
  if (expected.looks_like(beginning)) return {};
  for (const Format& format : all_formats()) {
    if (format.looks_like != nullptr && format.read != nullptr && format.looks_like(beginning)) {
      return "it looks like a " + std::string(format.title) + ": gatedrill import " +
             std::string(format.name);
    }
  }
  return {};
}

}  // namespace gatedrill::replay::formats
