// URLs, and the lists of parameters in them and in forms.
#include <algorithm>
#include <optional>
#include <utility>

#include "replay/redact/content.hpp"
#include "replay/redact/encodings.hpp"
#include "replay/redact/text.hpp"

namespace gatedrill::replay {
namespace {

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit);
}

// An authorization code (RFC 6749 4.1.2) comes with the state that was sent along.
bool are_of_login(std::string_view parameters) {
  return parameters.starts_with("state=") || parameters.find("&state=") != std::string_view::npos;
}

}  // namespace

// Nothing if the value, as it is written in a URL or a form, is to stay.
std::optional<std::string> ContentRedactor::parameter_value(std::string_view name,
                                                            std::string_view value) {
  const bool coded = name.find('%') != std::string_view::npos;
  const NameKind kind = coded ? names_.kind(percent_decoded(name), SecretNames::Place::parameter)
                              : names_.kind(name, SecretNames::Place::parameter);
  if (kind == NameKind::secret) {
    ++counts_.parameters;
    return pseudonym(percent_decoded(value));
  }
  if (value.find_first_of("%+") == std::string_view::npos) return this->value(value, kind);
  auto inner = this->value(percent_decoded(value), kind);
  if (inner) *inner = percent_encoded(*inner);
  return inner;
}

std::optional<std::string> ContentRedactor::parameters(std::string_view parameters) {
  Patch patch(parameters);
  std::optional<bool> of_login;
  std::size_t begin = 0;
  while (begin < parameters.size()) {
    const std::size_t end = std::min(parameters.find_first_of("&;", begin), parameters.size());
    const std::string_view parameter = parameters.substr(begin, end - begin);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos) {
      if (const auto redacted = value(parameter)) patch.replace(begin, end, *redacted);
    } else if (equals + 1 < parameter.size()) {
      const std::string_view name = parameter.substr(0, equals);
      const std::string_view raw = parameter.substr(equals + 1);
      std::optional<std::string> redacted;
      if (name == "code" && !of_login) of_login = are_of_login(parameters);
      if (name == "code" && *of_login) {
        redacted = pseudonym(percent_decoded(raw));
        ++counts_.parameters;
      } else {
        redacted = parameter_value(name, raw);
      }
      if (redacted) patch.replace(begin + equals + 1, end, *redacted);
    }
    begin = end + 1;
  }
  return patch.result();
}

// Tokens in a path: by their form, or behind a segment whose name says so: /reset-password/x1y2z3.
std::optional<std::string> ContentRedactor::path(std::string_view path) {
  constexpr std::size_t kTokenBytesMin = 8;
  Patch patch(path);
  std::string_view before;
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    const bool may_be_token = segment.size() >= kTokenBytesMin && has_digit(segment);
    if (may_be_token && names_.kind(before, SecretNames::Place::parameter) == NameKind::secret) {
      patch.replace(begin, end, pseudonym(percent_decoded(segment)));
      ++counts_.parameters;
    } else if (const auto redacted = text(segment)) {
      patch.replace(begin, end, *redacted);
    }
    before = segment;
    begin = end + 1;
  }
  return patch.result();
}

std::optional<std::string> ContentRedactor::url(std::string_view url) {
  Patch patch(url);
  std::size_t at = 0;
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos && scheme < url.find_first_of("/?#")) {
    const std::size_t authority = scheme + 3;
    at = std::min(url.find_first_of("/?#", authority), url.size());
    const std::size_t user_end = url.substr(0, at).rfind('@');
    if (user_end != std::string_view::npos && user_end > authority) {
      // The same as in Basic credentials.
      const std::string_view user = url.substr(authority, user_end - authority);
      patch.replace(authority, user_end, pseudonym(percent_decoded(user)));
      ++counts_.parameters;
    }
  }
  const std::size_t path_end = std::min(url.find_first_of(";?#", at), url.size());
  if (const auto redacted = path(url.substr(at, path_end - at))) {
    patch.replace(at, path_end, *redacted);
  }
  // Path parameters (";jsessionid="), the query and the fragment, each a list of parameters.
  at = path_end;
  while (at < url.size()) {
    const bool in_path = url[at] == ';';
    const std::size_t begin = at + 1;
    const std::size_t end = std::min(url.find_first_of(in_path ? "/?#;" : "?#", begin), url.size());
    if (const auto redacted = parameters(url.substr(begin, end - begin))) {
      patch.replace(begin, end, *redacted);
    }
    at = std::min(url.find_first_of(";?#", end), url.size());
  }
  return patch.result();
}

}  // namespace gatedrill::replay
