#include "gateway/http/head.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "gateway/core/ascii.hpp"

namespace gatedrill::http {
namespace {

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < table.size(); ++c)
    table[c] = is_digit(static_cast<char>(c)) || is_letter(static_cast<char>(c));
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}

constexpr auto kToken = make_token_table();

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return to_small(x) == to_small(y);
         });
}

bool is_token_char(char c) {
  return kToken[static_cast<unsigned char>(c)];
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

std::optional<std::string_view> find_field(const std::vector<Field>& fields,
                                           std::string_view name) {
  for (const Field& field : fields) {
    if (equals_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

bool has_token(const std::vector<Field>& fields, std::string_view name, std::string_view token) {
  for (const Field& field : fields) {
    if (!equals_ignoring_case(field.name, name)) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      if (equals_ignoring_case(trim(rest.substr(0, comma)), token)) return true;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

std::optional<Duration> retry_after(const std::vector<Field>& fields) {
  const auto value = find_field(fields, "Retry-After");
  if (!value) return std::nullopt;
  std::uint32_t seconds = 0;
  const char* end = value->data() + value->size();
  const auto [rest, error] = std::from_chars(value->data(), end, seconds);
  if (rest != end || error != std::errc{}) return Duration::max();
  return std::chrono::seconds{seconds};
}

std::string_view path_of(std::string_view target) {
  if (const std::size_t scheme = target.find("://");
      scheme != std::string_view::npos && !target.starts_with('/')) {
    target.remove_prefix(scheme + 3);
    const std::size_t path = target.find_first_of("/?");
    target = path == std::string_view::npos ? std::string_view{} : target.substr(path);
  }
  target = target.substr(0, target.find_first_of("?#"));
  return target.empty() ? std::string_view{"/"} : target;
}

bool is_safe(std::string_view method) {
  constexpr std::array<std::string_view, 4> kSafe = {"GET", "HEAD", "OPTIONS", "TRACE"};
  return std::find(kSafe.begin(), kSafe.end(), method) != kSafe.end();
}

bool is_idempotent(std::string_view method) {
  return is_safe(method) || method == "PUT" || method == "DELETE";
}

}  // namespace gatedrill::http
