#include "replay/formats/vegeta.hpp"

#include <nlohmann/json.hpp>

#include "gateway/http/head.hpp"
#include "replay/formats/text_coding.hpp"
#include "replay/formats/url.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay::formats {
namespace {

using Json = nlohmann::ordered_json;

// Why a request cannot be a target, or nothing.
std::string_view reason_to_leave_out(const RecordedExchange& exchange, std::string_view url) {
  if (!exchange.request) return "exchanges left out: the request was not seen";
  if (!is_whole(*exchange.request)) return "exchanges left out: the request is not whole";
  if (exchange.tunnel || exchange.request->method == "CONNECT") {
    return "exchanges left out: a tunnel";
  }
  const bool text = is_utf8(url) && is_utf8(exchange.request->method);
  if (!text) return "exchanges left out: a target that is not UTF-8";
  if (!exchange.request->target.starts_with('/')) {
    return "exchanges left out: a target that is no path";
  }
  return {};
}

// Go's client frames the body itself.
bool is_framing(std::string_view name) {
  return name.starts_with(':') || http::equals_ignoring_case(name, "Content-Length") ||
         http::equals_ignoring_case(name, "Transfer-Encoding");
}

Json target_of(const RecordedExchange& exchange, const std::string& url, ExportNotes& notes) {
  const RecordedRequest& request = *exchange.request;
  Json target = {{"method", request.method}, {"url", url}};
  if (!request.body.empty()) target["body"] = base64_encoded(request.body);
  Json& header = target["header"] = Json::object();
  for (const RecordedField& field : request.fields) {
    if (is_framing(field.name)) continue;
    if (!is_utf8(field.name) || !is_utf8(field.value)) {
      notes.add("requests with fields that are not UTF-8, left out", exchange.id);
      continue;
    }
    header[field.name].push_back(field.value);
  }
  return target;
}

}  // namespace

Result<void> write_vegeta(const Recording& recording, Output& output, ExportNotes& notes) {
  return recording.for_each([&](const RecordedExchange& exchange) {
    const std::string url = url_of(exchange);
    const std::string_view reason = reason_to_leave_out(exchange, url);
    if (reason.empty()) {
      note_guessed_scheme(exchange, notes);
      output.write(target_of(exchange, url, notes).dump() + "\n");
    } else {
      notes.add(reason, exchange.id);
    }
    return !output.failed();
  });
}

Format vegeta_format() {
  return {.name = "vegeta",
          .title = "targets for vegeta attack -format=json",
          .aliases = {"targets"},
          .write = write_vegeta};
}

}  // namespace gatedrill::replay::formats
