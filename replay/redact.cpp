#include "replay/redact.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "gateway/http/head.hpp"
#include "replay/content_coding.hpp"

namespace gatedrill::replay {
namespace {

constexpr std::string_view kPseudonymPrefix = "redacted-";
constexpr std::size_t kPseudonymDigits = 16;

// Compared with the name in lower case, without '-', '_', '.' and brackets.
constexpr std::array<std::string_view, 8> kAnywhere = {"password",   "passwd",   "passphrase",
                                                       "secret",     "apikey",   "credential",
                                                       "privatekey", "accesskey"};
constexpr std::array<std::string_view, 10> kAtTheEnd = {
    "token",      "sessionid", "sessid", "authorization", "signature",
    "cardnumber", "authkey",   "jwt",    "pwd",           "otp"};
constexpr std::array<std::string_view, 9> kWhole = {"pass", "pw",  "pin",  "sig", "auth",
                                                    "cvv",  "cvc", "csrf", "sid"};

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      out.push_back(static_cast<char>(c - 'A' + 'a'));
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      out.push_back(c);
    }
  }
  return out;
}

bool contains_ignoring_case(std::string_view text, std::string_view lower) {
  const auto equal = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), equal) != text.end();
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// As in a form or a query, so that a value has one pseudonym wherever it stands.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool looks_like_json(std::string_view body) {
  const std::string_view text = trimmed(body.substr(0, 64));
  return !text.empty() && (text.front() == '{' || text.front() == '[');
}

bool looks_like_form(std::string_view body) {
  const std::string_view text = body.substr(0, 256);
  return text.find('=') != std::string_view::npos &&
         text.find_first_of(" \r\n<{") == std::string_view::npos;
}

std::string_view boundary_of(std::string_view content_type) {
  const std::size_t at = content_type.find("boundary=");
  if (at == std::string_view::npos) return {};
  std::string_view boundary = content_type.substr(at + 9);
  if (boundary.starts_with('"')) {
    boundary.remove_prefix(1);
    return boundary.substr(0, boundary.find('"'));
  }
  return boundary.substr(0, boundary.find_first_of("; \t"));
}

// The end of the JSON string whose first character is at `begin`: its closing quote, or the end.
std::size_t json_string_end(std::string_view json, std::size_t begin) {
  std::size_t i = begin;
  while (i < json.size() && json[i] != '"')
    i += json[i] == '\\' ? 2U : 1U;
  return std::min(i, json.size());
}

std::size_t json_space_end(std::string_view json, std::size_t begin) {
  const std::size_t end = json.find_first_not_of(" \t\r\n", begin);
  return end == std::string_view::npos ? json.size() : end;
}

}  // namespace

bool names_a_secret(std::string_view name) {
  constexpr std::size_t kNameBytesMax = 128;
  if (name.empty() || name.size() > kNameBytesMax) return false;
  const std::string text = folded(name);
  for (const auto word : kAnywhere) {
    if (text.find(word) != std::string::npos) return true;
  }
  for (const auto word : kAtTheEnd) {
    if (text.ends_with(word)) return true;
  }
  return std::find(kWhole.begin(), kWhole.end(), text) != kWhole.end();
}

std::string Redactor::pseudonym(std::string_view value) {
  // Redacting what is already redacted changes nothing.
  if (value.starts_with(kPseudonymPrefix) &&
      value.size() == kPseudonymPrefix.size() + kPseudonymDigits) {
    return std::string(value);
  }
  return std::string(kPseudonymPrefix) + to_hex(key_.of(value)).substr(0, kPseudonymDigits);
}

std::optional<std::string> Redactor::redact_parameters(std::string_view parameters) {
  std::string out;
  bool changed = false;
  std::size_t begin = 0;
  while (begin <= parameters.size()) {
    const std::size_t end = std::min(parameters.find_first_of("&;", begin), parameters.size());
    const std::string_view parameter = parameters.substr(begin, end - begin);
    const std::size_t equals = parameter.find('=');
    if (equals != std::string_view::npos && equals + 1 < parameter.size() &&
        names_a_secret(percent_decoded(parameter.substr(0, equals)))) {
      out.append(parameter.substr(0, equals + 1));
      out.append(pseudonym(percent_decoded(parameter.substr(equals + 1))));
      changed = true;
      ++counts_.parameters;
    } else {
      out.append(parameter);
    }
    if (end < parameters.size()) out.push_back(parameters[end]);
    begin = end + 1;
  }
  if (!changed) return std::nullopt;
  return out;
}

std::optional<std::string> Redactor::redact_url(std::string_view url) {
  std::string out;
  bool changed = false;
  std::string_view rest = url;
  const std::size_t scheme = rest.find("://");
  if (scheme != std::string_view::npos && scheme < rest.find_first_of("/?#")) {
    const std::size_t authority = scheme + 3;
    const std::size_t authority_end = std::min(rest.find_first_of("/?#", authority), rest.size());
    const std::size_t at = rest.substr(0, authority_end).rfind('@');
    out.append(rest.substr(0, authority));
    if (at != std::string_view::npos && at > authority) {
      out.append(pseudonym(rest.substr(authority, at - authority)));
      out.append(rest.substr(at, authority_end - at));
      ++counts_.parameters;
      changed = true;
    } else {
      out.append(rest.substr(authority, authority_end - authority));
    }
    rest.remove_prefix(authority_end);
  }
  // Path parameters (";jsessionid="), the query and the fragment, each a list of parameters.
  while (!rest.empty()) {
    const std::size_t begin = rest.find_first_of(";?#");
    if (begin == std::string_view::npos) break;
    out.append(rest.substr(0, begin + 1));
    const bool in_path = rest[begin] == ';';
    rest.remove_prefix(begin + 1);
    const std::size_t end = std::min(rest.find_first_of(in_path ? "/?#;" : "?#"), rest.size());
    const auto redacted = redact_parameters(rest.substr(0, end));
    if (redacted) changed = true;
    out.append(redacted ? std::string_view(*redacted) : rest.substr(0, end));
    rest.remove_prefix(end);
  }
  if (!changed) return std::nullopt;
  out.append(rest);
  return out;
}

// Follows strings only: a string that a colon follows is a name. Anything that is not JSON passes
// unchanged, and a text that breaks off inside a secret loses what there is of it.
std::optional<std::string> Redactor::redact_json(std::string_view json) {
  std::string out;
  bool changed = false;
  std::size_t copied = 0;
  std::size_t i = 0;
  while ((i = json.find('"', i)) != std::string_view::npos) {
    const std::size_t name_end = json_string_end(json, i + 1);
    const std::string_view name = json.substr(i + 1, name_end - i - 1);
    const std::size_t colon = json_space_end(json, std::min(name_end + 1, json.size()));
    i = std::min(name_end + 1, json.size());
    if (colon >= json.size() || json[colon] != ':' || !names_a_secret(name)) continue;
    const std::size_t value = json_space_end(json, colon + 1);
    if (value >= json.size()) break;
    std::size_t value_end = value;
    std::string_view text;
    if (json[value] == '"') {
      const std::size_t quote = json_string_end(json, value + 1);
      text = json.substr(value + 1, quote - value - 1);
      value_end = std::min(quote + 1, json.size());
    } else if (json[value] == '-' || (json[value] >= '0' && json[value] <= '9')) {
      value_end = std::min(json.find_first_of(",}] \t\r\n", value), json.size());
      text = json.substr(value, value_end - value);
    }
    i = std::max(colon + 1, value_end);
    if (text.empty()) continue;
    out.append(json.substr(copied, value - copied)).push_back('"');
    out.append(pseudonym(text)).push_back('"');
    copied = value_end;
    changed = true;
  }
  if (!changed) return std::nullopt;
  out.append(json.substr(copied));
  return out;
}

std::optional<std::string> Redactor::redact_multipart(std::string_view body,
                                                      std::string_view boundary) {
  if (boundary.empty()) return std::nullopt;
  const std::string delimiter = "--" + std::string(boundary);
  std::string out;
  bool changed = false;
  std::size_t copied = 0;
  std::size_t part = body.find(delimiter);
  while (part != std::string_view::npos) {
    part += delimiter.size();
    const std::size_t next = body.find("\r\n" + delimiter, part);
    const std::size_t end = std::min(next, body.size());
    const std::size_t head_end = body.find("\r\n\r\n", part);
    if (head_end != std::string_view::npos && head_end + 4 < end) {
      const std::string_view head = body.substr(part, head_end - part);
      const std::size_t name = head.find("name=\"");
      if (name != std::string_view::npos) {
        const std::string_view text = head.substr(name + 6);
        if (names_a_secret(text.substr(0, text.find('"')))) {
          out.append(body.substr(copied, head_end + 4 - copied));
          out.append(pseudonym(body.substr(head_end + 4, end - head_end - 4)));
          copied = end;
          changed = true;
        }
      }
    }
    part = next == std::string_view::npos ? next : next + 2;
  }
  if (!changed) return std::nullopt;
  out.append(body.substr(copied));
  return out;
}

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
      out.append(pair.substr(0, equals + 1));
      if (!secret.empty()) out.append(pseudonym(secret));
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

// "Bearer abc" keeps its scheme.
std::string Redactor::redact_credentials(std::string_view value) {
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos) return pseudonym(value);
  return std::string(value.substr(0, space + 1)) + pseudonym(trimmed(value.substr(space + 1)));
}

bool Redactor::redact_field(RecordedField& field) {
  using http::equals_ignoring_case;
  // A line without a colon is all name; a damaged credential line must not slip through as one.
  if (field.value.empty()) {
    const std::size_t space = field.name.find_first_of(" \t=");
    if (space == std::string::npos) return false;
    const std::string_view word = std::string_view(field.name).substr(0, space);
    if (!names_a_secret(word) && !contains_ignoring_case(word, "cookie")) return false;
    field.name =
        std::string(word) + " " + pseudonym(std::string_view(field.name).substr(space + 1));
    return true;
  }
  if (equals_ignoring_case(field.name, "Cookie") || equals_ignoring_case(field.name, "Cookie2")) {
    field.value = redact_cookies(field.value, false);
    return true;
  }
  if (equals_ignoring_case(field.name, "Set-Cookie") ||
      equals_ignoring_case(field.name, "Set-Cookie2")) {
    field.value = redact_cookies(field.value, true);
    return true;
  }
  if (names_a_secret(field.name)) {
    field.value = redact_credentials(field.value);
    return true;
  }
  if (field.value.find_first_of("?#;@") == std::string::npos) return false;
  if (equals_ignoring_case(field.name, "Referer") || equals_ignoring_case(field.name, "Location") ||
      equals_ignoring_case(field.name, "Content-Location") ||
      equals_ignoring_case(field.name, "Link") || equals_ignoring_case(field.name, "Refresh")) {
    const auto url = redact_url(field.value);
    if (url) field.value = *url;
    return url.has_value();
  }
  return false;
}

std::optional<std::string> Redactor::redact_plain(std::string_view body,
                                                  std::string_view content_type) {
  if (contains_ignoring_case(content_type, "json")) return redact_json(body);
  if (contains_ignoring_case(content_type, "x-www-form-urlencoded")) return redact_parameters(body);
  if (contains_ignoring_case(content_type, "multipart/form-data")) {
    return redact_multipart(body, boundary_of(content_type));
  }
  if (looks_like_json(body)) return redact_json(body);
  if (looks_like_form(body)) return redact_parameters(body);
  return std::nullopt;
}

template <class Message>
bool Redactor::redact_body(Message& message) {
  if (message.body.empty()) return false;
  const std::string_view type = value_of(message.fields, "Content-Type");
  const std::string_view coding = value_of(message.fields, "Content-Encoding");
  std::optional<std::string> redacted;
  if (is_coded(coding)) {
    const auto plain = decode_content(message.body, coding);
    if (plain) {
      redacted = redact_plain(*plain, type);
      if (redacted) redacted = encode_content(*redacted, coding);
    } else if (contains_ignoring_case(type, "json") || contains_ignoring_case(type, "form")) {
      // It may hold a secret that cannot be seen.
      ++counts_.dropped_bodies;
      counts_.dropped_bytes += message.body.size();
      message.body.clear();
      message.complete = false;
      return true;
    }
  } else {
    redacted = redact_plain(message.body, type);
  }
  if (!redacted) return false;
  ++counts_.bodies;
  for (RecordedField& field : message.fields) {
    if (message.complete && http::equals_ignoring_case(field.name, "Content-Length")) {
      field.value = std::to_string(redacted->size());
    }
  }
  message.body = std::move(*redacted);
  return true;
}

template <class Message>
void Redactor::redact_message(Message& message) {
  for (RecordedField& field : message.fields) {
    if (!redact_field(field)) continue;
    ++counts_.fields;
    message.redacted = true;
  }
  if (redact_body(message)) message.redacted = true;
}

void Redactor::redact(RecordedExchange& exchange) {
  if (exchange.request) {
    RecordedRequest& request = *exchange.request;
    if (auto target = redact_url(request.target)) {
      request.target = std::move(*target);
      request.redacted = true;
    }
    redact_message(request);
  }
  if (exchange.response) redact_message(*exchange.response);
}

}  // namespace gatedrill::replay
