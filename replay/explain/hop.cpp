#include "replay/explain/hop.hpp"

#include <algorithm>
#include <array>

#include "gateway/core/random.hpp"
#include "gateway/http/head.hpp"

namespace gatedrill::replay::explain {
namespace {

struct KeyField {
  std::string_view name;
  KeyKind kind;
  // Which part of the value stays the same along the way.
  enum class Part { whole, second_of_dashes, before_dash, before_colon, amazon_root } part;
};

using Part = KeyField::Part;

constexpr std::array<KeyField, 17> kKeyFields = {{
    {"x-request-id", KeyKind::request_id, Part::whole},
    {"x-correlation-id", KeyKind::request_id, Part::whole},
    {"request-id", KeyKind::request_id, Part::whole},
    {"x-amzn-requestid", KeyKind::request_id, Part::whole},
    {"x-kong-request-id", KeyKind::request_id, Part::whole},
    {"x-apigw-request-id", KeyKind::request_id, Part::whole},
    {"x-ms-request-id", KeyKind::request_id, Part::whole},
    {"cf-ray", KeyKind::request_id, Part::before_dash},
    {"traceparent", KeyKind::trace, Part::second_of_dashes},
    {"x-b3-traceid", KeyKind::trace, Part::whole},
    {"b3", KeyKind::trace, Part::before_dash},
    {"uber-trace-id", KeyKind::trace, Part::before_colon},
    {"x-amzn-trace-id", KeyKind::trace, Part::amazon_root},
    {"x-cloud-trace-context", KeyKind::trace, Part::whole},
    {"x-datadog-trace-id", KeyKind::trace, Part::whole},
    {"sw8", KeyKind::trace, Part::second_of_dashes},
    {"x-trace-id", KeyKind::trace, Part::whole},
}};

std::string_view part_of(std::string_view value, Part part) {
  switch (part) {
    case Part::whole:
      // x-cloud-trace-context is trace/span.
      return value.substr(0, value.find('/'));
    case Part::second_of_dashes: {
      const std::size_t first = value.find('-');
      if (first == std::string_view::npos) return {};
      const std::string_view rest = value.substr(first + 1);
      return rest.substr(0, rest.find('-'));
    }
    case Part::before_dash:
      return value.substr(0, value.find('-'));
    case Part::before_colon:
      return value.substr(0, value.find(':'));
    case Part::amazon_root: {
      constexpr std::string_view kRoot = "Root=";
      const std::size_t root = value.find(kRoot);
      if (root == std::string_view::npos) return {};
      const std::string_view rest = value.substr(root + kRoot.size());
      return rest.substr(0, rest.find(';'));
    }
  }
  return value;
}

template <class Use>
void for_each_field(std::string_view lines, Use use) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) use(line.substr(0, colon), line.substr(colon + 2));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void read_key(std::string_view name, std::string_view value, Hop& hop) {
  constexpr std::size_t kShortestId = 4;  // what is shorter names no request
  for (const KeyField& known : kKeyFields) {
    if (!http::equals_ignoring_case(name, known.name)) continue;
    const std::string_view id = part_of(value, known.part);
    if (id.size() < kShortestId) return;
    // Not of the field's name: the id may come in another one on the next leg.
    const JoinKey key{known.kind, stable_hash(id, static_cast<std::uint64_t>(known.kind))};
    if (std::find(hop.keys.begin(), hop.keys.end(), key) != hop.keys.end()) return;
    const auto place = std::find_if(hop.keys.begin(), hop.keys.end(),
                                    [&](const JoinKey& other) { return other.kind > key.kind; });
    if (place == hop.keys.begin()) hop.request_id = id;
    hop.keys.insert(place, key);
    return;
  }
}

}  // namespace

std::string_view to_string(KeyKind kind) {
  switch (kind) {
    case KeyKind::request_id:
      return "request id";
    case KeyKind::trace:
      return "trace id";
    case KeyKind::content:
      return "content and time";
  }
  return "content and time";
}

std::optional<Duration> Hop::age() const {
  if (!connection.opened) return std::nullopt;
  return Duration{std::max<std::int64_t>(begin.ns - connection.opened->ns, 0)};
}

std::optional<UnixTime> Hop::end() const {
  if (answer_end && (answer_whole || tunnel)) return answer_end;
  if (reset && reset->at >= begin) return std::max(answer_end.value_or(reset->at), reset->at);
  const std::array<std::optional<UnixTime>, 4> ends = {
      connection.client_side.fin, connection.client_side.rst, connection.server_side.fin,
      connection.server_side.rst};
  std::optional<UnixTime> first;
  for (const auto& end : ends) {
    if (end && *end >= begin && (!first || *end < *first)) first = end;
  }
  if (first) return first;
  return connection.closed && *connection.closed >= begin ? connection.closed : std::nullopt;
}

std::uint64_t Hop::missing_bytes() const {
  // What a side acknowledged was sent; a FIN, which may be missing too, counts as one more.
  const auto unseen = [](const RecordedSide& side) {
    return side.acked > side.sent + 1 ? static_cast<std::uint64_t>(side.acked - side.sent) : 0;
  };
  return connection.gap_bytes + unseen(connection.client_side) + unseen(connection.server_side);
}

bool Hop::upload_cut() const {
  const auto ended = [](const RecordedSide& side) { return side.fin || side.rst; };
  const bool over = reset || ended(connection.client_side) || ended(connection.server_side);
  return has_request() && !request_whole && status && over && missing_bytes() == 0;
}

std::optional<Duration> Hop::first_byte() const {
  if (!answer_begin) return std::nullopt;
  return Duration{answer_begin->ns - request_end.value_or(begin).ns};
}

std::string Hop::name() const {
  if (!has_request()) return "(request not seen)";
  return method + " " + target.substr(0, target.find('?'));
}

void read_request_fields(std::string_view lines, Hop& hop) {
  for_each_field(lines, [&](std::string_view name, std::string_view value) {
    hop.request_head_bytes += name.size() + value.size() + 4;
    const auto is = [&](std::string_view other) { return http::equals_ignoring_case(name, other); };
    if (hop.identity == 0 && (is("authorization") || is("x-api-key") || is("cookie"))) {
      hop.identity = stable_hash(value) | 1U;
    }
    if (hop.forwarded_for.empty() && (is("x-forwarded-for") || is("x-real-ip"))) {
      hop.forwarded_for = value.substr(0, value.find(','));
    }
    read_key(name, value, hop);
  });
}

void read_answer_fields(std::string_view lines, Hop& hop) {
  for_each_field(
      lines, [&](std::string_view name, std::string_view value) { read_key(name, value, hop); });
}

JoinKey content_key(const Hop& hop, std::string_view body_hash) {
  std::string text = hop.method;
  text.append(" ").append(hop.target).append("\n").append(body_hash);
  return {KeyKind::content, stable_hash(text)};
}

std::string_view address_of(std::string_view endpoint) {
  return endpoint.substr(0, endpoint.rfind(':'));
}

}  // namespace gatedrill::replay::explain
