// One line of a JSON log: nginx's variables by their names (log_format ... escape=json), or
// gatedrill's own (docs/access-log.md).
#include <algorithm>
#include <charconv>
#include <limits>

#include <nlohmann/json.hpp>

#include "gateway/core/ascii.hpp"
#include "gateway/http/head.hpp"
#include "replay/formats/access_log.hpp"
#include "replay/formats/text_coding.hpp"
#include "replay/formats/timestamps.hpp"

namespace gatedrill::replay::formats {
namespace {

using Json = nlohmann::json;

bool shallow(int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
  constexpr int kDepthMax = 8;
  return depth <= kDepthMax;
}

// The members of a line. nginx writes bytes above 0x7f as they are, which is no JSON unless they
// happen to be UTF-8; then the line was read as Latin-1 and its texts are made bytes again.
class LogMembers {
 public:
  LogMembers(const Json& json, bool latin1) : json_(json), latin1_(latin1) {}

  [[nodiscard]] bool has(const char* name) const { return json_.contains(name); }

  // Numbers may be quoted or not. Empty where there is nothing, or "-".
  [[nodiscard]] std::string text(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) return {};
    if (found->is_number()) return found->dump();
    return found->is_string() ? bytes(found->get_ref<const std::string&>()) : std::string();
  }

  [[nodiscard]] std::string bytes(const std::string& text) const {
    if (text == "-") return {};
    return latin1_ ? utf8_to_latin1(text).value_or(text) : text;
  }

  [[nodiscard]] std::uint64_t number(const char* name) const {
    const std::string digits = text(name);
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc{} && rest == end ? value : 0;
  }

  [[nodiscard]] int status(const char* name) const {
    return parse_log_status(text(name)).value_or(0);
  }

  [[nodiscard]] const Json& json() const { return json_; }

 private:
  const Json& json_;
  bool latin1_;
};

// "User-Agent" of "http_user_agent".
std::string field_name(std::string_view variable) {
  std::string name;
  bool first = true;
  for (const char c : variable) {
    if (c == '_') {
      name.push_back('-');
    } else {
      name.push_back(first ? to_capital(c) : c);
    }
    first = c == '_';
  }
  return name;
}

void add_fields(const LogMembers& members,
                std::string_view prefix,
                std::vector<RecordedField>& fields) {
  for (const auto& [name, value] : members.json().items()) {
    if (!name.starts_with(prefix) || !value.is_string()) continue;
    std::string text = members.bytes(value.get<std::string>());
    if (text.empty()) continue;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
    fields.push_back({field_name(std::string_view(name).substr(prefix.size())), std::move(text)});
  }
}

std::string endpoint(const std::string& address, const std::string& port) {
  if (address.empty() || port.empty()) return address;
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" + port;
}

LogVerdict nginx_entry(const LogMembers& members) {
  LogEntry entry;
  const auto end = parse_epoch_seconds(members.text("msec"));
  if (!end) return {{}, "a JSON line whose msec is no time"};
  const auto taken = parse_epoch_seconds(members.text("request_time"));
  if (taken) entry.latency = Duration{taken->ns};
  entry.at = UnixTime{end->ns - (taken ? taken->ns : 0)};  // nginx logs when a request has ended
  entry.client = endpoint(members.text("remote_addr"), members.text("remote_port"));
  entry.server = endpoint(members.text("server_addr"), members.text("server_port"));
  entry.connection = members.text("connection");
  entry.ordinal = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      members.number("connection_requests"), std::numeric_limits<std::uint32_t>::max()));
  entry.status = members.status("status");
  entry.response_bytes = members.number("body_bytes_sent");
  add_fields(members, "sent_http_", entry.response_fields);
  RecordedRequest request;
  request.method = members.text("request_method");
  request.target = members.text("request_uri");
  request.version = members.text("server_protocol");
  if (request.method.empty() && members.has("request")) {
    if (auto parsed = parse_request_line(members.text("request"))) request = std::move(*parsed);
  }
  if (request.version == "HTTP/2.0") request.version = "HTTP/2";
  if (request.version == "HTTP/3.0") request.version = "HTTP/3";
  if (request.version.empty()) request.version = "HTTP/1.1";
  entry.host = members.text("http_host");
  if (entry.host.empty()) entry.host = members.text("host");
  if (!http::is_token(request.method) || request.target.empty()) {
    return {std::move(entry), {}};
  }
  add_fields(members, "http_", request.fields);
  for (const char* name : {"content_type", "content_length"}) {
    if (std::string value = members.text(name); !value.empty())
      request.fields.push_back({field_name(name), std::move(value)});
  }
  // Host first, as clients send it.
  std::stable_partition(request.fields.begin(), request.fields.end(),
                        [](const RecordedField& field) { return field.name == "Host"; });
  request.body = members.text("request_body");
  const std::uint64_t length = members.number("content_length");
  entry.request_bytes = length > request.body.size() ? length - request.body.size() : 0;
  entry.request = std::move(request);
  return {std::move(entry), {}};
}

LogVerdict gatedrill_entry(const LogMembers& members) {
  LogEntry entry;
  const auto at = parse_iso8601(members.text("time"));
  if (!at) return {{}, "a JSON line whose time is no time"};
  entry.at = *at;
  entry.client = members.text("client");
  entry.host = members.text("host");
  entry.status = members.status("status");
  entry.response_bytes = members.number("body_out");
  entry.request_bytes = members.number("body_in");
  const auto latency = members.json().find("latency_ms");
  constexpr double kMsMax = 1e10;
  if (latency != members.json().end() && latency->is_number() && *latency >= 0.0 &&
      *latency < kMsMax) {
    entry.latency = from_ms(latency->get<double>());
  }
  RecordedRequest request;
  request.method = members.text("method");
  request.target = members.text("target");
  request.version = "HTTP/1.1";
  if (!entry.host.empty()) request.fields.push_back({"Host", entry.host});
  if (http::is_token(request.method) && !request.target.empty()) {
    entry.request = std::move(request);
  }
  return {std::move(entry), {}};
}

}  // namespace

LogVerdict parse_json_log_line(std::string_view line) {
  const bool latin1 = !is_utf8(line);
  Json json;
  try {
    json = Json::parse(latin1 ? latin1_to_utf8(line) : std::string(line), shallow);
  } catch (const Json::exception&) {  // a number that is too large is no parse_error
    return {{}, "a line that is no JSON"};
  }
  if (!json.is_object()) return {{}, "a line that is no JSON object"};
  const LogMembers members(json, latin1);
  if (members.has("msec")) return nginx_entry(members);
  if (members.has("time") && members.has("target") && members.has("cause")) {
    return gatedrill_entry(members);
  }
  return {{}, "a JSON line that has neither nginx's msec nor gatedrill's time, target and cause"};
}

}  // namespace gatedrill::replay::formats
