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

// The same as in Basic credentials.
std::optional<std::string> ContentRedactor::authority(std::string_view authority) {
  const std::size_t end = authority.rfind('@');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  ++counts_.parameters;
  return pseudonym(percent_decoded(authority.substr(0, end))).append(authority.substr(end));
}

std::optional<std::string> ContentRedactor::url(std::string_view url) {
  Patch patch(url);
  std::size_t at = 0;
  const std::size_t slashes = url.find("//");
  const bool has_authority =
      slashes == 0 || (slashes != std::string_view::npos && url[slashes - 1] == ':' &&
                       slashes - 1 < url.find_first_of("/?#"));
  if (has_authority) {
    const std::size_t begin = slashes + 2;
    at = std::min(url.find_first_of("/?#", begin), url.size());
    if (const auto redacted = authority(url.substr(begin, at - begin))) {
      patch.replace(begin, at, *redacted);
    }
  }
  const std::size_t path_end = std::min(url.find_first_of(";?#", at), url.size());
  // The '?' that somebody has escaped along with the path: /%3Ftoken=x.
  const std::string_view before_query = url.substr(0, path_end);
  const std::size_t coded =
      std::min({before_query.find("%3F", at), before_query.find("%3f", at), path_end});
  if (const auto redacted = path(url.substr(at, coded - at))) patch.replace(at, coded, *redacted);
  if (coded < path_end) {
    const std::string_view query = url.substr(coded, path_end - coded);
    if (const auto redacted = this->url(percent_decoded(query, Plus::is_itself))) {
      patch.replace(coded, path_end, percent_encoded(*redacted));
    }
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
