#include <algorithm>

#include "gateway/http/head.hpp"
#include "replay/content_coding.hpp"
#include "replay/formats/har.hpp"
#include "replay/formats/redaction_note.hpp"
#include "replay/formats/text_coding.hpp"
#include "replay/formats/timestamps.hpp"
#include "replay/formats/url.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMicroseconds = 6;  // what readers take; the rest is in _gatedrill

// JSON has no bytes but text. What is not UTF-8 is told as Latin-1.
std::string text(std::string_view bytes) {
  return is_utf8(bytes) ? std::string(bytes) : latin1_to_utf8(bytes);
}

Json headers_of(const std::vector<RecordedField>& fields) {
  Json headers = Json::array();
  for (const RecordedField& field : fields) {
    Json header = {{"name", text(field.name)}, {"value", text(field.value)}};
    if (!is_utf8(field.name) || !is_utf8(field.value)) header["_latin1"] = true;
    headers.push_back(std::move(header));
  }
  return headers;
}

// "a=1" and "b=2" of "a=1; b=2".
Json pairs_of(std::string_view list, char separator) {
  Json pairs = Json::array();
  while (!list.empty()) {
    const std::size_t end = list.find(separator);
    const std::string_view pair = http::trim(list.substr(0, end));
    const std::size_t equals = pair.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    if (!pair.empty()) {
      pairs.push_back({{"name", text(pair.substr(0, equals))}, {"value", text(value)}});
    }
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
  return pairs;
}

Json set_cookies_of(const std::vector<RecordedField>& fields) {
  Json cookies = Json::array();
  for (const RecordedField& field : fields) {
    if (!http::equals_ignoring_case(field.name, "Set-Cookie")) continue;
    const std::string_view value = field.value;
    for (Json& cookie : pairs_of(value.substr(0, value.find(';')), ';'))
      cookies.push_back(std::move(cookie));
  }
  return cookies;
}

// Whether the reader finds the target again in the URL.
bool url_holds(std::string_view target) {
  return target.starts_with('/') && is_utf8(target) && target.find('#') == std::string_view::npos;
}

template <class Message>
Json message_own(const Message& message) {
  Json own = {{"complete", message.complete}};
  if (message.redacted) own["redacted"] = true;
  if (message.body_dropped) own["body_dropped"] = true;
  if (!message.defects.empty()) own["defects"] = text(message.defects);
  return own;
}

std::string mime_type(const std::vector<RecordedField>& fields) {
  const std::string_view type = value_of(fields, "Content-Type");
  return type.empty() ? "x-unknown" : text(type);
}

Json request_json(const RecordedExchange& exchange) {
  const RecordedRequest none;
  const RecordedRequest& request = exchange.request ? *exchange.request : none;
  const std::string_view target = request.target;
  const std::size_t query = std::min(target.find('?'), target.size());
  Json json = {{"method", text(request.method)},
               {"url", text(url_of(exchange))},
               {"httpVersion", text(request.version)},
               {"cookies", pairs_of(value_of(request.fields, "Cookie"), ';')},
               {"headers", headers_of(request.fields)},
               {"queryString",
                query < target.size() ? pairs_of(target.substr(query + 1), '&') : Json::array()},
               {"headersSize", -1},
               {"bodySize", request.body.size()}};
  if (!request.body.empty()) {
    Json& post_data = json["postData"];
    post_data["mimeType"] = mime_type(request.fields);
    if (is_utf8(request.body)) {
      post_data["text"] = request.body;
    } else {
      post_data["_base64"] = base64_encoded(request.body);
      post_data["comment"] = "no text; HAR 1.2 has no place for other bytes";
    }
  }
  json["_gatedrill"] = message_own(request);
  if (exchange.request && !url_holds(request.target)) {
    json["_gatedrill"]["target"] = text(request.target);
    if (!is_utf8(request.target)) json["_gatedrill"]["target_latin1"] = true;
  }
  return json;
}

Json content_of(const RecordedResponse& response) {
  const std::string_view coding = value_of(response.fields, "Content-Encoding");
  std::optional<std::string> decoded;
  if (is_coded(coding) && !response.body.empty()) decoded = decode_content(response.body, coding);
  const std::string& shown = decoded ? *decoded : response.body;
  Json content = {{"size", shown.size()}, {"mimeType", mime_type(response.fields)}};
  if (decoded && shown.size() > response.body.size()) {
    content["compression"] = shown.size() - response.body.size();
  }
  if (!shown.empty()) {
    const bool plain = is_utf8(shown);
    content["text"] = plain ? shown : base64_encoded(shown);
    if (!plain) content["encoding"] = "base64";
  }
  // The reader codes the text again; if that does not give these bytes, they stand here.
  const bool again = is_coded(coding) ? encode_content(shown, coding) == response.body : true;
  if (!response.body.empty() && !again) content["_wire_base64"] = base64_encoded(response.body);
  return content;
}

Json response_json(const RecordedExchange& exchange) {
  const RecordedResponse none;
  const RecordedResponse& response = exchange.response ? *exchange.response : none;
  Json json = {{"status", response.status},
               {"statusText", text(response.reason)},
               {"httpVersion", text(response.version)},
               {"cookies", set_cookies_of(response.fields)},
               {"headers", headers_of(response.fields)},
               {"content", content_of(response)},
               {"redirectURL", text(value_of(response.fields, "Location"))},
               {"headersSize", -1},
               {"bodySize", exchange.response ? Json(response.body.size()) : Json(-1)}};
  if (exchange.response) {
    json["_gatedrill"] = message_own(response);
  }
  return json;
}

// "[::1]" of "[::1]:80", without brackets.
std::string address_of(const std::string& endpoint) {
  std::string address = endpoint.substr(0, endpoint.rfind(':'));
  if (address.size() > 2 && address.front() == '[') address = address.substr(1, address.size() - 2);
  return address;
}

// The phases of which the times are known; the rest of the latency is the wait.
Json timings_of(const RecordedExchange& exchange) {
  const double all = exchange.latency ? to_ms(*exchange.latency) : 0;
  const auto since = [](UnixTime begin, std::optional<UnixTime> end) {
    return end && *end > begin ? to_ms(between(begin, *end)) : 0.0;
  };
  const double send = since(exchange.at, exchange.request_end);
  const double receive =
      exchange.response_begin ? since(*exchange.response_begin, exchange.response_end) : 0.0;
  return {{"send", send}, {"wait", std::max(all - send - receive, 0.0)}, {"receive", receive}};
}

Json entry_of(const RecordedExchange& exchange) {
  const double ms = exchange.latency ? to_ms(*exchange.latency) : 0;
  Json entry = {{"startedDateTime", to_iso8601(exchange.at, kMicroseconds)},
                {"time", ms},
                {"request", request_json(exchange)},
                {"response", response_json(exchange)},
                {"cache", Json::object()},
                {"timings", timings_of(exchange)},
                {"serverIPAddress", address_of(exchange.server)},
                {"connection", std::to_string(exchange.connection)}};
  Json own = {{"at_ns", exchange.at.ns},
              {"id", exchange.id},
              {"connection", exchange.connection},
              {"client", text(exchange.client)},
              {"server", text(exchange.server)},
              {"host", text(exchange.host)},
              {"protocol", text(exchange.protocol)}};
  if (exchange.latency) own["latency_ns"] = exchange.latency->count();
  if (exchange.request_end) own["request_end_ns"] = exchange.request_end->ns;
  if (exchange.response_begin) own["response_begin_ns"] = exchange.response_begin->ns;
  if (exchange.response_end) own["response_end_ns"] = exchange.response_end->ns;
  if (!exchange.informational.empty()) own["informational"] = exchange.informational;
  if (exchange.tunnel) own["tunnel"] = true;
  if (!exchange.request) {
    own["request_seen"] = false;
    entry["comment"] = "the request was not seen";
  }
  if (exchange.tls) own["tls"] = *exchange.tls;
  entry["_gatedrill"] = std::move(own);
  return entry;
}

void note(const RecordedExchange& exchange, ExportNotes& notes) {
  if (!exchange.request) notes.add("entries whose request was not seen", exchange.id);
  if (!exchange.response) notes.add("entries without an answer (status 0)", exchange.id);
  if (exchange.request && !exchange.request->complete) {
    notes.add("requests that are not whole (_gatedrill.complete is false)", exchange.id);
  }
  if (exchange.response && !exchange.response->complete) {
    notes.add("answers that are not whole (_gatedrill.complete is false)", exchange.id);
  }
  if ((exchange.request && exchange.request->body_dropped) ||
      (exchange.response && exchange.response->body_dropped)) {
    notes.add("bodies that redaction dropped (_gatedrill.body_dropped)", exchange.id);
  }
  if (exchange.request && !is_utf8(exchange.request->body)) {
    notes.add("binary request bodies, which other programs do not find (postData._base64)",
              exchange.id);
  }
}

}  // namespace

Result<void> write_har(const Recording& recording, Output& output, ExportNotes& notes) {
  auto redaction = redaction_note(recording);
  if (!redaction) return redaction.error();
  Json log = {{"version", "1.2"}, {"creator", {{"name", "gatedrill"}, {"version", GD_VERSION}}}};
  if (!redaction->empty()) log["comment"] = *redaction;
  std::string head = log.dump();
  head.pop_back();
  output.write("{\"log\":" + head + ",\"entries\":[");
  bool first = true;
  auto done = recording.for_each([&](const RecordedExchange& exchange) {
    note(exchange, notes);
    note_guessed_scheme(exchange, notes);
    output.write(first ? "\n" : ",\n");
    output.write(entry_of(exchange).dump());
    first = false;
    return !output.failed();
  });
  if (!done) return done;
  output.write("\n]}}\n");
  return {};
}

}  // namespace gatedrill::replay::formats
