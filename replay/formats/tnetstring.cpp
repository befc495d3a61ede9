#include "replay/formats/tnetstring.hpp"

#include <algorithm>
#include <charconv>

namespace gatedrill::replay::formats {
namespace {

constexpr std::size_t kDigitsMax = 12;
constexpr int kDepthMax = 32;

// Where the digits of the length end, and the length.
struct Prefix {
  std::size_t colon = 0;
  std::size_t length = 0;
};

std::optional<Prefix> parse_prefix(std::string_view bytes) {
  const std::size_t colon = bytes.substr(0, kDigitsMax + 1).find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Prefix prefix{colon, 0};
  const auto [rest, error] = std::from_chars(bytes.data(), bytes.data() + colon, prefix.length);
  if (error != std::errc{} || rest != bytes.data() + colon) return std::nullopt;
  return prefix;
}

bool parse(std::string_view& bytes, int depth, Tnet& value) {
  const auto prefix = parse_prefix(bytes);
  if (!prefix || depth > kDepthMax || bytes.size() - prefix->colon - 1 <= prefix->length) {
    return false;
  }
  std::string_view payload = bytes.substr(prefix->colon + 1, prefix->length);
  value.tag = bytes[prefix->colon + 1 + prefix->length];
  bytes.remove_prefix(prefix->colon + prefix->length + 2);
  if (std::string_view(",;#^!~]}").find(value.tag) == std::string_view::npos) return false;
  if (value.tag != ']' && value.tag != '}') {
    value.bytes = payload;
    return true;
  }
  while (!payload.empty()) {
    if (!parse(payload, depth + 1, value.items.emplace_back())) return false;
  }
  return value.tag == ']' || value.items.size() % 2 == 0;
}

}  // namespace

const Tnet& Tnet::at(std::string_view name) const {
  static const Tnet kNull;
  if (tag != '}') return kNull;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].is_text() && items[i].bytes == name) return items[i + 1];
  }
  return kNull;
}

std::string_view Tnet::text() const {
  return is_text() ? bytes : std::string_view{};
}

std::optional<std::int64_t> Tnet::integer() const {
  if (tag != '#') return std::nullopt;
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
  if (error != std::errc{} || rest != bytes.data() + bytes.size()) return std::nullopt;
  return value;
}

TnetSize tnet_size(std::string_view bytes) {
  using State = TnetSize::State;
  const std::string_view digits =
      bytes.substr(0, std::min(bytes.find_first_not_of("0123456789"), bytes.size()));
  if (digits.size() > kDigitsMax) return {State::wrong, 0};
  if (digits.size() == bytes.size()) return {State::more, 0};
  const auto prefix = parse_prefix(bytes);
  if (!prefix) return {State::wrong, 0};
  return {State::known, prefix->colon + prefix->length + 2};
}

std::optional<Tnet> parse_tnet(std::string_view bytes) {
  Tnet value;
  if (!parse(bytes, 0, value) || !bytes.empty()) return std::nullopt;
  return value;
}

}  // namespace gatedrill::replay::formats
