// One entry of a HAR as an exchange.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "gateway/core/ascii.hpp"
#include "gateway/http/head.hpp"
#include "replay/content_coding.hpp"
#include "replay/formats/har.hpp"
#include "replay/formats/text_coding.hpp"
#include "replay/formats/timestamps.hpp"
#include "replay/formats/wire_message.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay::formats {
namespace {

using Json = nlohmann::json;

// Members by name; null, empty or 0 where they are missing or of another type.
const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string text_of(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? value.dump() : std::string();
}

double number_of(const Json& object, const char* name, double otherwise) {
  const Json& value = member(object, name);
  return value.is_number() ? value.get<double>() : otherwise;
}

// Sizes and times that are not known are -1.
std::optional<std::int64_t> integer_of(const Json& object, const char* name) {
  const Json& value = member(object, name);
  constexpr double kMax = 9e18;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number() || std::abs(value.get<double>()) > kMax) return std::nullopt;
  return static_cast<std::int64_t>(value.get<double>());
}

std::uint64_t size_of(const Json& object, const char* name) {
  const auto size = integer_of(object, name);
  return size && *size > 0 ? static_cast<std::uint64_t>(*size) : 0;
}

std::vector<RecordedField> fields_of(const Json& message) {
  std::vector<RecordedField> fields;
  const Json& headers = member(message, "headers");
  if (!headers.is_array()) return fields;
  for (const Json& header : headers) {
    RecordedField field{text_of(header, "name"), text_of(header, "value")};
    if (field.name.empty() || field.name.starts_with(':')) continue;  // of HTTP/2, in `url` too
    if (member(header, "_latin1").is_boolean()) {
      if (auto bytes = utf8_to_latin1(field.value)) field.value = std::move(*bytes);
    }
    std::replace_if(
        field.value.begin(), field.value.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string version_of(const Json& message) {
  std::string text = text_of(message, "httpVersion");
  std::transform(text.begin(), text.end(), text.begin(), to_small);
  if (text.starts_with("http/")) text.erase(0, 5);
  if (text.starts_with("1.0")) return "HTTP/1.0";
  if (text.starts_with("h3") || text.starts_with("3") || text.find("quic") != std::string::npos)
    return "HTTP/3";
  if (text.starts_with("h2") || text.starts_with("2")) return "HTTP/2";
  if (text.starts_with("1")) return "HTTP/1.1";
  const Json& headers = member(message, "headers");
  const bool pseudo =
      headers.is_array() && !headers.empty() && text_of(headers.front(), "name").starts_with(':');
  return pseudo ? "HTTP/2" : "HTTP/1.1";
}

std::optional<std::uint64_t> content_length(const std::vector<RecordedField>& fields) {
  const std::string_view text = value_of(fields, "Content-Length");
  constexpr std::size_t kDigitsMax = 18;
  if (text.empty() || text.size() > kDigitsMax ||
      text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::stoull(std::string(text));
}

void add_defect(std::string& defects, std::string_view name) {
  if (!defects.empty()) defects.push_back(',');
  defects.append(name);
}

// A text that was made of `size` bytes, as those bytes: most are UTF-8; some programs write each
// byte as the character of that number.
std::string bytes_of(const std::string& text, std::optional<std::uint64_t> size) {
  if (!size || *size == text.size()) return text;
  auto latin1 = utf8_to_latin1(text);
  return latin1 && latin1->size() == *size ? std::move(*latin1) : text;
}

bool needs_encoding(std::string_view text) {
  return text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%+*") !=
         std::string_view::npos;
}

std::string form_of(const Json& params) {
  std::string form;
  for (const Json& param : params) {
    if (!form.empty()) form.push_back('&');
    const std::string name = text_of(param, "name");
    const std::string value = text_of(param, "value");
    form.append(needs_encoding(name) ? percent_encoded(name) : name).append("=");
    form.append(needs_encoding(value) ? percent_encoded(value) : value);
  }
  return form;
}

// Nothing without a boundary. `whole` becomes false where a part's content is not in the file.
std::optional<std::string> multipart_of(const Json& params, const std::string& type, bool& whole) {
  constexpr std::string_view kBoundary = "boundary=";
  const std::size_t at = type.find(kBoundary);
  if (at == std::string::npos) return std::nullopt;
  std::string boundary = type.substr(at + kBoundary.size());
  boundary.erase(std::min(boundary.find(';'), boundary.size()));
  if (boundary.size() > 1 && boundary.front() == '"') {
    boundary = boundary.substr(1, boundary.find('"', 1) - 1);
  }
  std::string body;
  for (const Json& param : params) {
    const std::string file = text_of(param, "fileName");
    const std::string kind = text_of(param, "contentType");
    body.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"");
    body.append(text_of(param, "name")).append("\"");
    if (!file.empty()) body.append("; filename=\"").append(file).append("\"");
    body.append("\r\n");
    if (!kind.empty()) body.append("Content-Type: ").append(kind).append("\r\n");
    body.append("\r\n").append(text_of(param, "value")).append("\r\n");
    whole = whole && (file.empty() || member(param, "value").is_string());
  }
  return body.append("--").append(boundary).append("--\r\n");
}

}  // namespace

struct HarEntryReader::Url {
  bool http = false;
  bool https = false;
  std::string host;  // with its port where the URL names one
  std::string target;

  static Url parse(std::string_view text) {
    Url url;
    const std::size_t scheme_end = text.find("://");
    if (scheme_end == std::string_view::npos) return url;
    const std::string_view scheme = text.substr(0, scheme_end);
    url.https =
        http::equals_ignoring_case(scheme, "https") || http::equals_ignoring_case(scheme, "wss");
    url.http = url.https || http::equals_ignoring_case(scheme, "http") ||
               http::equals_ignoring_case(scheme, "ws");
    text.remove_prefix(scheme_end + 3);
    text = text.substr(0, text.find('#'));
    const std::size_t path = std::min(text.find_first_of("/?"), text.size());
    std::string_view authority = text.substr(0, path);
    authority.remove_prefix(authority.rfind('@') + 1);
    url.host = authority;
    url.target = text.substr(path);
    if (!url.target.starts_with('/')) url.target.insert(url.target.begin(), '/');
    return url;
  }

  [[nodiscard]] std::string port() const {
    const std::size_t colon = host.rfind(':');
    const bool named = colon != std::string::npos && host.find(']', colon) == std::string::npos;
    return named ? host.substr(colon + 1) : https ? "443" : "80";
  }

  [[nodiscard]] std::string name() const {
    const std::size_t colon = host.rfind(':');
    const bool named = colon != std::string::npos && host.find(']', colon) == std::string::npos;
    return host.substr(0, named ? colon : host.size());
  }
};

// The exchange that is being made, and where its entry is.
struct HarEntryReader::Place {
  RecordedExchange exchange;
  const std::string& place;
};

void HarEntryReader::lose(const Place& at,
                          std::string_view direction,
                          std::string_view reason,
                          std::uint64_t bytes,
                          std::string_view detail) {
  sink_.on_loss({.place = at.place,
                 .reason = std::string(reason),
                 .detail = shown(detail),
                 .direction = std::string(direction),
                 .at = at.exchange.at,
                 .connection = at.exchange.connection,
                 .bytes = bytes});
}

void HarEntryReader::read(const Json& entry, const std::string& place) {
  Place at{{}, place};
  RecordedExchange& exchange = at.exchange;
  const Json& request = member(entry, "request");
  const Json& own = member(entry, "_gatedrill");
  bool answer_alone = own.is_object() && member(own, "request_seen") == Json(false);
  exchange.at = last_at_;
  const auto started = parse_iso8601(text_of(entry, "startedDateTime"));
  const Url url = Url::parse(text_of(request, "url"));
  if (!request.is_object() || !request.contains("url")) {
    lose(at, "", "an entry without a request", 0);
    return;
  }
  if (!url.http) {
    sink_.count("entries left out: not of HTTP", 0, "data:, blob:, file: and the like");
    return;
  }
  if (!text_of(entry, "_fromCache").empty()) {
    sink_.count("entries left out: answered from the browser's cache", 0,
                "they were never on the network");
    return;
  }
  if (started) {
    exchange.at = *started;
    last_at_ = *started;
  } else {
    lose(at, "", "an entry without a time; it has that of the one before", 0,
         text_of(entry, "startedDateTime"));
  }
  if (const auto exact = integer_of(own, "at_ns")) exchange.at = UnixTime{*exact};
  exchange.connection = connection_of(entry, url);
  exchange.client = text_of(own, "client");
  std::string address = text_of(entry, "serverIPAddress");
  if (address.find(':') != std::string::npos && !address.starts_with('[')) {
    address = "[" + address + "]";
  }
  exchange.server = (address.empty() ? url.name() : address) + ":" + url.port();
  exchange.tls = url.https;
  if (own.is_object()) {
    exchange.server = text_of(own, "server");
    exchange.tls.reset();  // the URL's scheme may be a guess
    if (const Json& tls = member(own, "tls"); tls.is_boolean()) exchange.tls = tls.get<bool>();
  }
  exchange.host = url.host;
  if (own.is_object()) exchange.host = text_of(own, "host");
  if (!answer_alone && text_of(request, "method").empty()) {
    lose(at, "request", "a request without a method", 0);
    answer_alone = true;
  }
  if (!answer_alone) read_request(request, url, at);
  read_response(entry, at);
  if (!exchange.request && !exchange.response) return;
  read_times(entry, exchange);
  const std::string version =
      exchange.request ? exchange.request->version : exchange.response->version;
  exchange.protocol = protocol_of(version);
  if (own.is_object()) {
    exchange.tunnel = member(own, "tunnel") == Json(true);
    const Json& informational = member(own, "informational");
    for (const Json& status : informational.is_array() ? informational : Json::array()) {
      if (status.is_number_integer()) exchange.informational.push_back(status.get<int>());
    }
  } else {
    exchange.tunnel = exchange.response && exchange.response->status == 101;
  }
  const Json& messages = member(entry, "_webSocketMessages");
  if (messages.is_array()) {
    for (std::size_t i = 0; i < messages.size(); ++i)
      sink_.count("WebSocket messages left out", text_of(messages[i], "data").size(), "");
  }
  sink_.on_exchange(std::move(exchange));
}

// The browser's own number of a connection, where it has one; else each entry has its own.
std::int64_t HarEntryReader::connection_of(const Json& entry, const Url& url) {
  const Json& own = member(entry, "_gatedrill");
  std::string name = text_of(own, "connection");
  if (name.empty()) {
    name = text_of(entry, "connection");
    if (name.empty() || name == "0") return ++connections_;
    name += " " + url.host;
  }
  const auto [at, fresh] = known_.try_emplace(name, connections_ + 1);
  if (fresh) ++connections_;
  return at->second;
}

void HarEntryReader::read_request(const Json& json, const Url& url, Place& at) {
  RecordedRequest& request = at.exchange.request.emplace();
  const Json& own = member(json, "_gatedrill");
  request.method = text_of(json, "method");
  request.target = url.target;
  if (member(own, "target").is_string()) {
    const std::string target = text_of(own, "target");
    const bool latin1 = member(own, "target_latin1") == Json(true);
    request.target = latin1 ? utf8_to_latin1(target).value_or(target) : target;
  }
  request.version = version_of(json);
  request.fields = fields_of(json);
  request.defects = text_of(own, "defects");
  request.redacted = member(own, "redacted") == Json(true);
  request.body_dropped = member(own, "body_dropped") == Json(true);
  const Json& post_data = member(json, "postData");
  if (post_data.is_object()) read_request_body(post_data, own.is_object(), at);
  if (own.is_object()) {
    request.complete = member(own, "complete") != Json(false);
    if (!request.complete) lose(at, "request", "a request that is not whole", 0);
    return;
  }
  const std::uint64_t expected =
      std::max(content_length(request.fields).value_or(0), size_of(json, "bodySize"));
  if (request.body.size() >= expected) return;
  request.complete = false;
  const bool some = !request.body.empty();
  lose(at, "request",
       some ? "a request's body that the file holds only in part"
            : "a request's body that is not in the file",
       expected - request.body.size());
}

// `exact`: we wrote it, and a text is what it is.
void HarEntryReader::read_request_body(const Json& post_data, bool exact, Place& at) {
  RecordedRequest& request = *at.exchange.request;
  const std::string text = text_of(post_data, "text");
  const std::string encoded = text_of(post_data, "_base64");
  const Json& params = member(post_data, "params");
  if (!encoded.empty() || text_of(post_data, "encoding") == "base64") {
    auto bytes = base64_decoded(encoded.empty() ? text : encoded, WhiteSpace::is_passed_over);
    if (bytes) {
      request.body = std::move(*bytes);
    } else {
      lose(at, "request", "a body that is not the base64 it says", text.size());
    }
    return;
  }
  if (!text.empty()) {
    request.body = exact ? text : bytes_of(text, content_length(request.fields));
    return;
  }
  if (!params.is_array() || params.empty()) return;
  std::string type(value_of(request.fields, "Content-Type"));
  if (type.empty()) type = text_of(post_data, "mimeType");
  bool whole = true;
  if (type.starts_with("multipart/")) {
    if (auto body = multipart_of(params, type, whole)) request.body = std::move(*body);
  } else {
    request.body = form_of(params);
  }
  if (!whole) request.complete = false;
  add_defect(request.defects, "body_from_parameters");
  sink_.count("request bodies made from their parameters", request.body.size(),
              "the file has no text of them");
}

void HarEntryReader::read_response(const Json& entry, Place& at) {
  const Json& json = member(entry, "response");
  const Json& own = member(entry, "_gatedrill");
  const auto status = integer_of(json, "status");
  if (!status || *status <= 0 || *status > std::numeric_limits<int>::max()) {
    if (own.is_object()) return;  // it never had one
    lose(at, "response", "an entry without an answer", 0, text_of(json, "_error"));
    return;
  }
  RecordedResponse& response = at.exchange.response.emplace();
  response.status = static_cast<int>(*status);
  response.reason = text_of(json, "statusText");
  response.version = version_of(json);
  response.fields = fields_of(json);
  const Json& response_own = member(json, "_gatedrill");
  response.defects = text_of(response_own, "defects");
  response.redacted = member(response_own, "redacted") == Json(true);
  response.body_dropped = member(response_own, "body_dropped") == Json(true);
  read_content(json, at);
  if (response_own.is_object()) {
    response.complete = member(response_own, "complete") != Json(false);
    if (!response.complete) lose(at, "response", "an answer that is not whole", 0);
  }
}

// What comes before `send` is the browser's own: queueing, the name's look-up, the connection.
void HarEntryReader::read_times(const Json& entry, RecordedExchange& exchange) {
  const Json& own = member(entry, "_gatedrill");
  if (own.is_object()) {
    const auto time = [&own](const char* name) -> std::optional<UnixTime> {
      const auto ns = integer_of(own, name);
      return ns ? std::optional(UnixTime{*ns}) : std::nullopt;
    };
    exchange.request_end = time("request_end_ns");
    exchange.response_begin = time("response_begin_ns");
    exchange.response_end = time("response_end_ns");
    if (const auto exact = integer_of(own, "latency_ns")) exchange.latency = Duration{*exact};
    return;
  }
  constexpr double kMsMax = 1e10;  // four months
  const Json& timings = member(entry, "timings");
  const double wait = number_of(timings, "wait", -1);
  const double send = std::max(number_of(timings, "send", 0), 0.0);
  const double receive = std::max(number_of(timings, "receive", 0), 0.0);
  if (!exchange.response) return;
  if (wait < 0 || send + wait + receive > kMsMax) {
    const double total = number_of(entry, "time", -1);
    if (total >= 0 && total < kMsMax) exchange.latency = from_ms(total);
    return;
  }
  const auto after = [&exchange](double ms) {
    return UnixTime{exchange.at.ns + from_ms(ms).count()};
  };
  exchange.request_end = after(send);
  exchange.response_begin = after(send + wait);
  exchange.response_end = after(send + wait + receive);
  exchange.latency = from_ms(send + wait + receive);
}

void HarEntryReader::read_content(const Json& json, Place& at) {
  RecordedResponse& response = *at.exchange.response;
  const Json& content = member(json, "content");
  const std::string wire = text_of(content, "_wire_base64");
  const std::string text = text_of(content, "text");
  const std::uint64_t size = size_of(content, "size");
  if (!may_have_body(response.status, method_of(at.exchange))) {
    if (!text.empty()) {
      sink_.count("contents left out: not of this answer", text.size(),
                  "browsers show what they have cached with a 304");
    }
    return;
  }
  if (!wire.empty()) {
    if (auto bytes = base64_decoded(wire, WhiteSpace::is_passed_over))
      response.body = std::move(*bytes);
    return;
  }
  if (text.empty()) {
    const std::uint64_t missing = std::max(size, content_length(response.fields).value_or(0));
    if (missing == 0 || member(json, "_gatedrill").is_object()) return;
    response.complete = false;
    lose(at, "response", "an answer's body that is not in the file", missing);
    return;
  }
  if (text_of(content, "encoding") == "base64") {
    auto bytes = base64_decoded(text, WhiteSpace::is_passed_over);
    if (!bytes) {
      response.complete = false;
      lose(at, "response", "a body that is not the base64 it says", size);
      return;
    }
    response.body = std::move(*bytes);
  } else {
    response.body = bytes_of(text, size == 0 ? std::nullopt : std::optional(size));
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    if (size != 0 && response.body.size() != size) {
      if (text.find(kReplacement) != std::string::npos) {
        response.complete = false;
        lose(at, "response", "an answer's body that the file holds only as damaged text", size);
      } else {
        add_defect(response.defects, "content_size_differs");
      }
    }
  }
  const std::string_view coding = value_of(response.fields, "Content-Encoding");
  if (!is_coded(coding)) return;
  auto coded = encode_content(response.body, coding);
  if (!coded) {
    add_defect(response.defects, "content_not_coded");
    return;
  }
  sink_.count("answers' bodies coded again", response.body.size(),
              "HAR holds them decoded; the bytes differ from those that were sent");
  response.body = std::move(*coded);
  for (RecordedField& field : response.fields) {
    if (http::equals_ignoring_case(field.name, "Content-Length"))
      field.value = std::to_string(response.body.size());
  }
}

}  // namespace gatedrill::replay::formats
