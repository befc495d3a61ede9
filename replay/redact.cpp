#include "replay/redact.hpp"

#include <algorithm>
#include <array>

#include "gateway/http/head.hpp"
#include "replay/content_coding.hpp"
#include "replay/redact/encodings.hpp"

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
std::string Redactor::redact_credentials(std::string_view value) {
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos) return pseudonym(canonical(value));
  const std::string_view secret = trimmed(value.substr(space + 1));
  const std::string scheme(value.substr(0, space + 1));
  if (equals_ignoring_case(value.substr(0, space), "Basic")) {
    if (const auto decoded = base64_decoded(secret)) return scheme + pseudonym(*decoded);
  }
  return scheme + pseudonym(canonical(secret));
}

bool Redactor::redact_field(RecordedField& field) {
  // A line without a colon is all name; a damaged credential line must not slip through as one.
  if (field.value.empty()) {
    const std::size_t space = field.name.find_first_of(" \t=");
    if (space == std::string::npos) return false;
    const std::string_view word = std::string_view(field.name).substr(0, space);
    if (content_.kind(word, kField) != NameKind::secret &&
        !contains_ignoring_case(word, "cookie")) {
      return false;
    }
    field.name =
        std::string(word) + " " + pseudonym(std::string_view(field.name).substr(space + 1));
    return true;
  }
  const NameKind kind = content_.kind(field.name, kField);
  if (kind == NameKind::allowed) return false;
  if (kind == NameKind::secret) {
    field.value = redact_credentials(field.value);
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
  auto redacted = content_.value(field.value, kind);
  if (redacted) field.value = std::move(*redacted);
  return redacted.has_value();
}

template <class Message>
bool Redactor::redact_body(Message& message, std::optional<std::string>& plain) {
  if (message.body.empty()) return false;
  const std::string_view type = value_of(message.fields, "Content-Type");
  const std::string_view coding = value_of(message.fields, "Content-Encoding");
  std::optional<std::string> redacted;
  if (is_coded(coding)) {
    plain = decode_content(message.body, coding, searched_bytes_max(message.body.size()));
    if (plain) {
      auto redacted_plain = content_.body(*plain, type);
      if (redacted_plain) redacted = encode_content(*redacted_plain, coding);
      if (redacted) plain = std::move(redacted_plain);
    } else if (contains_ignoring_case(type, "json") || contains_ignoring_case(type, "form")) {
      // It may hold a secret that cannot be seen.
      ++counts_.dropped_bodies;
      counts_.dropped_bytes += message.body.size();
      message.body.clear();
      message.complete = false;
      return true;
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
void Redactor::redact_message(Message& message, std::optional<std::string>& plain) {
  for (auto* fields : {&message.fields, &message.trailers}) {
    for (RecordedField& field : *fields) {
      if (!redact_field(field)) continue;
      ++counts_.fields;
      message.redacted = true;
    }
  }
  if (redact_body(message, plain)) message.redacted = true;
}

PlainBodies Redactor::redact(RecordedExchange& exchange) {
  PlainBodies plain;
  if (exchange.request) {
    RecordedRequest& request = *exchange.request;
    if (auto target = content_.url(request.target)) {
      request.target = std::move(*target);
      request.redacted = true;
    }
    redact_message(request, plain.request);
  }
  if (exchange.response) redact_message(*exchange.response, plain.response);
  return plain;
}

RedactionCounts Redactor::counts() const {
  RedactionCounts counts = counts_;
  counts.content = content_.counts();
  return counts;
}

}  // namespace gatedrill::replay
