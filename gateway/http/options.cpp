#include "gateway/http/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string>

#include "gateway/http/field_kind.hpp"

namespace gatedrill::http {
namespace {

bool same(std::string_view name, std::string_view lower_case) {
  return equals_ignoring_case(name, lower_case);
}

bool begins(std::string_view name, std::string_view lower_case) {
  return same(name.substr(0, lower_case.size()), lower_case);
}

// Calls `use` for every element of a comma-separated list.
template <class Use>
void for_each_element(std::string_view list, Use use) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view element = trim(list.substr(0, comma));
    if (!element.empty()) use(element);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

std::optional<std::uint32_t> parse_number(std::string_view digits) {
  std::uint32_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (rest != end || error != std::errc{}) return std::nullopt;
  return number;
}

// Options of Connection that name no field.
bool is_plain_option(std::string_view option) {
  return same(option, "close") || same(option, "keep-alive");
}

void take_connection(std::string_view value, RequestOptions& options, bool& close, bool& keep) {
  for_each_element(value, [&](std::string_view option) {
    close = close || same(option, "close");
    keep = keep || same(option, "keep-alive");
    if (is_plain_option(option)) return;
    options.names_fields = true;
    if (is_protected(option)) options.protected_option = option;
  });
}

}  // namespace

bool is_protected(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {
      "host", "transfer-encoding", "authorization", "cookie",      "expect",
      "via",  "forwarded",         "x-request-id",  "max-forwards"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [name](std::string_view each) { return same(name, each); }) ||
         begins(name, "content-") || begins(name, "x-forwarded-");
}

std::string_view to_string(UnderscoreNames names) {
  switch (names) {
    case UnderscoreNames::drop:
      return "drop";
    case UnderscoreNames::pass:
      return "pass";
    case UnderscoreNames::refuse:
      return "refuse";
  }
  return "drop";
}

bool is_dropped_name(std::string_view name, UnderscoreNames underscores) {
  if (name.find('_') == std::string_view::npos) return false;
  if (underscores != UnderscoreNames::pass) return true;
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return kind_of(dashed) != FieldKind::plain || is_protected(dashed);
}

RequestOptions request_options(const RequestHead& head, UnderscoreNames underscores) {
  RequestOptions options;
  options.underscores = underscores;
  bool close = false;
  bool keep_alive = false;
  bool expected = false;
  const bool counts_hops = head.method == "OPTIONS" || head.method == "TRACE";
  for (const Field& field : head.fields) {
    if (is_dropped_name(field.name, underscores)) {
      options.dropped_name = field.name;
      continue;
    }
    switch (kind_of(field.name)) {
      case FieldKind::connection:
        take_connection(field.value, options, close, keep_alive);
        break;
      case FieldKind::expect:
        if (same(field.value, "100-continue") && !expected) {
          options.expects_continue = head.version >= 11;
        } else {
          options.refused_expectation = field.value.empty() ? field.name : field.value;
        }
        expected = true;
        break;
      case FieldKind::request_id:
        if (options.request_id.empty()) options.request_id = field.value;
        break;
      case FieldKind::max_forwards:
        if (!counts_hops) break;
        options.bad_max_forwards = options.bad_max_forwards || options.max_forwards.has_value();
        options.max_forwards = parse_number(field.value);
        options.bad_max_forwards = options.bad_max_forwards || !options.max_forwards;
        break;
      case FieldKind::te:
        for_each_element(field.value, [&](std::string_view coding) {
          options.takes_trailers = options.takes_trailers || same(coding, "trailers");
        });
        break;
      case FieldKind::forwarded:
        options.has_forwarded = true;
        break;
      default:
        break;
    }
  }
  options.keep_alive = head.version >= 11 ? !close : keep_alive && !close;
  return options;
}

ResponseOptions response_options(const ResponseHead& head) {
  ResponseOptions options;
  for (const Field& field : head.fields) {
    const FieldKind kind = kind_of(field.name);
    if (kind == FieldKind::connection) {
      for_each_element(field.value, [&](std::string_view option) {
        if (!is_plain_option(option)) options.names_fields = true;
      });
    } else if (kind == FieldKind::keep_alive) {
      for_each_element(field.value, [&](std::string_view parameter) {
        if (parameter.size() <= 8 || !begins(parameter, "timeout=")) return;
        if (const auto seconds = parse_number(parameter.substr(8))) {
          options.keep_alive_timeout = std::chrono::seconds{*seconds};
        }
      });
    }
  }
  return options;
}

}  // namespace gatedrill::http
