#include "replay/redact.hpp"

#include <algorithm>
#include <array>

#include "gateway/http/head.hpp"
#include "replay/content_coding.hpp"
#include "replay/redact/encodings.hpp"
#include "replay/redact/text.hpp"

namespace gatedrill::replay {
namespace {

using http::equals_ignoring_case;
constexpr auto kField = SecretNames::Place::field;

// A cookie's or token's value however it is written: s%3Aabc, quoted, or plain.
std::string canonical(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  return percent_decoded(value, Plus::is_itself);
}

// Credentials without a scheme may have spaces, except in the fields that have one (RFC 9110 11.6).
bool is_scheme(std::string_view field, std::string_view word) {
  constexpr std::size_t kBytesMax = 20;
  if (is_credential_scheme(word)) return true;
  return (equals_ignoring_case(field, "Authorization") ||
          equals_ignoring_case(field, "Proxy-Authorization")) &&
         word.size() <= kBytesMax &&
         std::all_of(word.begin(), word.end(), [](char c) { return is_letter(c) || c == '-'; });
}

bool names_a_host(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"Host", "X-Forwarded-Host", "X-Original-Host",
                                                      ":authority"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view host) { return equals_ignoring_case(name, host); });
}

// Fields that say what the bytes of a body add up to. Of a redacted one they would be wrong, and
// of a short secret they would tell it.
bool is_digest(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"Content-MD5", "Digest", "Content-Digest",
                                                      "Repr-Digest"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view digest) { return equals_ignoring_case(name, digest); });
}

}  // namespace

// "a=1; b=2", or with `attributes` one Set-Cookie value, of which only the first pair is secret.
std::string Redactor::redact_cookies(std::string_view value, bool attributes) {
  std::string out;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(';'), value.size());
    const std::string_view pair = value.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      out.append(trimmed(pair).empty() ? std::string(pair) : pseudonym(trimmed(pair)));
    } else {
      const std::string_view secret = trimmed(pair.substr(equals + 1));
      const bool allowed =
          content_.kind(trimmed(pair.substr(0, equals)), kField) == NameKind::allowed;
      out.append(pair.substr(0, equals + 1));
      if (allowed) {
        out.append(pair.substr(equals + 1));
      } else if (!secret.empty()) {
        out.append(pseudonym(canonical(secret)));
      }
    }
    value.remove_prefix(end);
    if (attributes) return out.append(value);
    if (!value.empty()) {
      out.push_back(';');
      value.remove_prefix(1);
    }
  }
  return out;
}

// "Bearer abc" keeps its scheme. Basic credentials are the same as "user:password" in a URL.
std::string Redactor::redact_credentials(std::string_view name, std::string_view value) {
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos || !is_scheme(name, value.substr(0, space))) {
    return pseudonym(canonical(value));
  }
  const std::string_view secret = trimmed(value.substr(space + 1));
  const std::string scheme(value.substr(0, space + 1));
  if (equals_ignoring_case(value.substr(0, space), "Basic")) {
    if (const auto decoded = base64_decoded(secret)) return scheme + pseudonym(*decoded);
  }
  return scheme + pseudonym(canonical(secret));
}

// Browsers can send a token only as a protocol: "bearer, abc", or "base64url.bearer.x.abc".
bool Redactor::redact_protocols(std::string& list) {
  std::string out;
  bool secret = false;  // as the protocol before says
  bool changed = false;
  for (std::string_view rest = list; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const std::string_view protocol = trimmed(item);
    const std::size_t point = protocol.rfind('.');
    const bool holds = contains_ignoring_case(protocol, "bearer.");
    const std::string_view kept = secret || !holds ? "" : protocol.substr(0, point + 1);
    const bool hidden = (secret || holds) && !protocol.empty();
    if (hidden) {
      out.append(item.substr(0, item.find(protocol))).append(kept);
      out.append(pseudonym(protocol.substr(kept.size())));
    } else {
      out.append(item);
    }
    changed = changed || hidden;
    secret = secret || content_.kind(protocol, kField) == NameKind::secret;
    rest.remove_prefix(item.size());
    if (rest.empty()) break;
    out.push_back(',');
    rest.remove_prefix(1);
  }
  if (changed) list = std::move(out);
  return changed;
}

bool Redactor::redact_field(RecordedField& field) {
  // A line without a colon is all name; a damaged credential line must not slip through as one.
  if (field.value.empty()) {
    const std::size_t space = field.name.find_first_of(" \t=");
    if (space == std::string::npos) return false;
    const std::string_view word = std::string_view(field.name).substr(0, space);
    if (content_.kind(word, kField) != NameKind::secret &&
        !contains_ignoring_case(word, "cookie")) {
      auto redacted = content_.loose(field.name);
      if (redacted) field.name = std::move(*redacted);
      return redacted.has_value();
    }
    field.name =
        std::string(word) + " " + pseudonym(std::string_view(field.name).substr(space + 1));
    return true;
  }
  const NameKind kind = content_.kind(field.name, kField);
  if (kind == NameKind::allowed) return false;
  if (kind == NameKind::secret) {
    field.value = redact_credentials(field.name, field.value);
    return true;
  }
  const std::string_view name = field.name;
  if (name.size() >= 6 && name.size() <= 11) {
    if (equals_ignoring_case(name, "Cookie") || equals_ignoring_case(name, "Cookie2")) {
      field.value = redact_cookies(field.value, false);
      return true;
    }
    if (equals_ignoring_case(name, "Set-Cookie") || equals_ignoring_case(name, "Set-Cookie2")) {
      field.value = redact_cookies(field.value, true);
      return true;
    }
  }
  if (names_a_host(name)) {
    auto redacted = content_.authority(field.value);
    if (redacted) field.value = std::move(*redacted);
    return redacted.has_value();
  }
  const bool protocols =
      equals_ignoring_case(name, "Sec-WebSocket-Protocol") && redact_protocols(field.value);
  auto redacted = content_.value(field.value, kind);
  if (redacted) field.value = std::move(*redacted);
  return protocols || redacted.has_value();
}

// It may hold a secret that cannot be seen.
template <class Message>
void Redactor::drop_body(Message& message, RedactedBody& body) {
  ++counts_.dropped_bodies;
  counts_.dropped_bytes += message.body.size();
  body.dropped_bytes = message.body.size();
  body.plain.reset();
  message.body.clear();
  message.body_dropped = true;
  for (RecordedField& field : message.fields) {
    if (is_digest(field.name)) field.value = pseudonym(field.value);
  }
}

template <class Message>
bool Redactor::redact_body(Message& message, RedactedBody& body) {
  if (message.body.empty()) return false;
  const std::string_view type = value_of(message.fields, "Content-Type");
  const std::string_view coding = value_of(message.fields, "Content-Encoding");
  std::optional<std::string> redacted;
  if (is_coded(coding)) {
    auto decoded = decode_prefix(message.body, coding, searched_bytes_max(message.body.size()));
    // Of a message that breaks off, so does the coding. Else it is not what it says.
    const bool readable =
        decoded && (decoded->ended || (!message.complete && !decoded->content.empty()));
    if (!readable) {
      drop_body(message, body);
      return true;
    }
    auto redacted_plain = content_.body(decoded->content, type);
    // What could not be read is taken away.
    const bool unread = !decoded->ended || decoded->trailing;
    const bool changed = redacted_plain.has_value() || unread;
    body.plain = redacted_plain ? std::move(*redacted_plain) : std::move(decoded->content);
    decoded.reset();  // a large one is not kept beside its copy
    redacted_plain.reset();
    if (changed) {
      redacted = encode_content(*body.plain, coding);
      if (!redacted) {
        drop_body(message, body);
        return true;
      }
    }
  } else {
    redacted = content_.body(message.body, type);
  }
  if (!redacted) return false;
  ++counts_.bodies;
  for (RecordedField& field : message.fields) {
    if (message.complete && equals_ignoring_case(field.name, "Content-Length")) {
      field.value = std::to_string(redacted->size());
    } else if (is_digest(field.name)) {
      field.value = pseudonym(field.value);
    }
  }
  message.body = std::move(*redacted);
  return true;
}

template <class Message>
RedactedBody Redactor::redact_message(Message& message) {
  for (auto* fields : {&message.fields, &message.trailers}) {
    for (RecordedField& field : *fields) {
      if (!redact_field(field)) continue;
      ++counts_.fields;
      message.redacted = true;
    }
  }
  RedactedBody body;
  if (redact_body(message, body)) message.redacted = true;
  return body;
}

// Of CONNECT the target is an authority; of HTTP/2 the host stands in no field.
void Redactor::redact_authority(RecordedExchange& exchange, RecordedRequest& request) {
  if (request.method == "CONNECT") {
    if (auto target = content_.authority(request.target)) {
      request.target = std::move(*target);
      request.redacted = true;
    }
  }
  if (auto host = content_.authority(exchange.host)) {
    exchange.host = std::move(*host);
    request.redacted = true;
  }
}

RedactedBodies Redactor::redact(RecordedExchange& exchange) {
  RedactedBodies bodies;
  if (exchange.request) {
    RecordedRequest& request = *exchange.request;
    redact_authority(exchange, request);
    if (auto target = content_.url(request.target)) {
      request.target = std::move(*target);
      request.redacted = true;
    }
    bodies.request = redact_message(request);
  }
  if (exchange.response) {
    RecordedResponse& response = *exchange.response;
    if (auto reason = response.reason.size() < kFormBytesMin ? std::nullopt
                                                             : content_.loose(response.reason)) {
      response.reason = std::move(*reason);
      response.redacted = true;
    }
    bodies.response = redact_message(response);
  }
  return bodies;
}

RedactionCounts Redactor::counts() const {
  RedactionCounts counts = counts_;
  counts.content = content_.counts();
  return counts;
}

}  // namespace gatedrill::replay
