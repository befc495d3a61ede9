// Names and values in what is no language of its own: logs, scripts, notes, curl commands.
//
//   password=x   token: 'x'   "pin" => "x"   X-Api-Key: x   Cookie: a=x; b=x
#include <algorithm>
#include <array>
#include <optional>

#include "gateway/http/head.hpp"
#include "replay/redact/content.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay {
namespace {

using http::equals_ignoring_case;

constexpr std::size_t kNameBytesMax = 128;

bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '$';
}

bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

struct Name {
  std::string_view text{};
  bool begins_line = false;
};

// What stands before the sign at `sign`: a name, perhaps in quotes, which may be escaped.
Name name_before(std::string_view text, std::size_t sign) {
  std::size_t end = sign;
  while (end > 0 && sign - end < kNameBytesMax && (text[end - 1] == ' ' || text[end - 1] == '\t')) {
    --end;
  }
  if (end > 0 && is_quote(text[end - 1])) --end;
  if (end > 0 && text[end - 1] == '\\') --end;
  std::size_t begin = end;
  while (begin > 0 && end - begin < kNameBytesMax && is_name_char(text[begin - 1]))
    --begin;
  return {text.substr(begin, end - begin),
          begin == 0 || text[begin - 1] == '\n' || text[begin - 1] == '\r'};
}

// A value that says that there is none, or only what it is.
bool is_no_value(std::string_view value) {
  constexpr std::array<std::string_view, 6> kNone = {"true", "false",     "null",
                                                     "nil",  "undefined", "None"};
  return value.empty() || std::find(kNone.begin(), kNone.end(), value) != kNone.end();
}

}  // namespace

bool is_credential_scheme(std::string_view word) {
  constexpr std::array<std::string_view, 12> kSchemes = {
      "Bearer", "Basic", "Digest", "Token", "ApiKey", "Negotiate",
      "NTLM",   "DPoP",  "Hawk",   "OAuth", "JWT",    "AWS4-HMAC-SHA256"};
  return std::any_of(kSchemes.begin(), kSchemes.end(),
                     [&](std::string_view scheme) { return equals_ignoring_case(word, scheme); });
}

std::optional<std::string> ContentRedactor::assignments(std::string_view text, Bare bare) {
  constexpr std::string_view kBehindWord = " \t\r\n,;&|\"'`<>(){}[]\\";
  Patch patch(text);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t sign = at++;
    if (text[sign] != ':' && text[sign] != '=') continue;
    const Name name = name_before(text, sign);
    if (std::none_of(name.text.begin(), name.text.end(), is_letter)) continue;
    const bool cookie = contains_ignoring_case(name.text, "cookie") &&
                        (equals_ignoring_case(name.text, "Cookie") ||
                         equals_ignoring_case(name.text, "Set-Cookie"));
    if (!cookie && kind(name.text, SecretNames::Place::field) != NameKind::secret &&
        kind(name.text, SecretNames::Place::member) != NameKind::secret) {
      continue;
    }
    std::size_t begin = std::min(text.find_first_not_of(":=>", sign), text.size());
    begin = std::min(text.find_first_not_of(" \t", begin), text.size());
    if (text.substr(begin).starts_with('\\')) ++begin;
    std::size_t end = begin;
    if (begin < text.size() && is_quote(text[begin])) {
      const char quote = text[begin++];
      end = begin;
      while (end < text.size() && text[end] != quote && text[end] != '\n') {
        const bool escaped = text[end] == '\\' && end + 1 < text.size();
        if (escaped && text[end + 1] == quote && text[begin - 2] == '\\') break;
        end += escaped ? 2 : 1;
      }
      end = std::min(end, text.size());
    } else if (bare == Bare::is_expression) {
      continue;
    } else {
      // A line of a head is a value to its end, or to that of the quotes around it.
      const bool line = cookie || (text[sign] == ':' && name.begins_line);
      const auto word_end = [&](std::size_t from) {
        return std::min(text.find_first_of(line ? "\r\n\"'`" : kBehindWord, from), text.size());
      };
      const std::size_t first = std::min(text.find_first_of(kBehindWord, begin), text.size());
      const std::size_t second = std::min(text.find_first_not_of(' ', first), text.size());
      if (second > first && second < text.size() &&
          is_credential_scheme(text.substr(begin, first - begin))) {
        begin = second;
      }
      end = word_end(begin);
    }
    const std::string_view value = text.substr(begin, end - begin);
    if (!is_no_value(trimmed(value))) {
      const bool escaped = value.find('\\') != std::string_view::npos;
      patch.replace(
          begin, end,
          pseudonym(escaped ? json_unescaped(value) : percent_decoded(value, Plus::is_itself)));
      ++counts_.members;
    }
    at = std::max(at, end);
  }
  return patch.result();
}

}  // namespace gatedrill::replay
