#include "gateway/http/h1/head_parser.hpp"

#include <array>
#include <optional>

namespace gatedrill::http::h1 {
namespace {

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c)
    table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c)
    table[c] = true;
  for (unsigned c = 'A'; c <= 'Z'; ++c)
    table[c] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}

// Bytes that need no second look in a field value: HTAB, SP, visible ASCII, obs-text.
constexpr std::array<bool, 256> make_value_table() {
  std::array<bool, 256> table{};
  table['\t'] = true;
  for (unsigned c = 0x20; c < 0x100; ++c)
    table[c] = c != 0x7f;
  return table;
}

// Room in the request line beside the target.
constexpr std::size_t kMethodAndVersionBytesMax = 64;

constexpr auto kToken = make_token_table();
constexpr auto kValue = make_value_table();

bool is_token(std::string_view text) {
  for (const char c : text) {
    if (!kToken[static_cast<unsigned char>(c)]) return false;
  }
  return !text.empty();
}

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

// One line of the head; `text` without its line end.
struct Line {
  std::string_view text;
  std::size_t size = 0;  // with its line end
  bool bare_lf = false;
};

std::optional<Line> next_line(std::string_view bytes) {
  const std::size_t length = bytes.find('\n');
  if (length == std::string_view::npos) return std::nullopt;
  Line line;
  line.size = length + 1;
  line.bare_lf = length == 0 || bytes[length - 1] != '\r';
  line.text = bytes.substr(0, line.bare_lf ? length : length - 1);
  return line;
}

void check_value(std::string_view value, Defects& defects) {
  for (const char c : value) {
    if (kValue[static_cast<unsigned char>(c)]) continue;
    if (c == '\r') {
      defects.add(Defect::bare_cr);
    } else if (c == '\0') {
      defects.add(Defect::nul_byte);
    } else if (c != '\n') {
      defects.add(Defect::control_byte);
    }
  }
}

void parse_field(std::string_view line, std::vector<Field>& fields, Defects& defects) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    defects.add(Defect::missing_colon);
    check_value(line, defects);
    fields.push_back({line, {}});
    return;
  }
  std::string_view name = line.substr(0, colon);
  if (!name.empty() && is_space(name.back())) {
    defects.add(Defect::space_before_colon);
    while (!name.empty() && is_space(name.back()))
      name.remove_suffix(1);
  }
  if (!is_token(name)) defects.add(Defect::bad_field_name);
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && is_space(value.front()))
    value.remove_prefix(1);
  while (!value.empty() && is_space(value.back()))
    value.remove_suffix(1);
  check_value(value, defects);
  fields.push_back({name, value});
}

int parse_version(std::string_view text, Defects& defects) {
  if (text == "HTTP/1.1") return 11;
  if (text == "HTTP/1.0") return 10;
  defects.add(Defect::bad_version);
  return 11;
}

void parse_request_line(std::string_view line, RequestHead& head, Defects& defects) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  head.method = line.substr(0, first);
  if (first == std::string_view::npos || first == last) {
    defects.add(Defect::bad_start_line);
    head.target = first == std::string_view::npos ? std::string_view{} : line.substr(first + 1);
    head.version = 11;
    return;
  }
  head.target = line.substr(first + 1, last - first - 1);
  head.version = parse_version(line.substr(last + 1), defects);
  if (!is_token(head.method)) defects.add(Defect::bad_method);
  if (head.target.empty()) defects.add(Defect::bad_target);
  for (const char c : head.target) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '#') defects.add(Defect::bad_target);
  }
}

void parse_status_line(std::string_view line, ResponseHead& head, Defects& defects) {
  const std::size_t first = line.find(' ');
  head.version = parse_version(line.substr(0, first), defects);
  head.status = 0;
  head.reason = {};
  if (first == std::string_view::npos) {
    defects.add(Defect::bad_start_line);
    return;
  }
  const std::string_view rest = line.substr(first + 1);
  const std::string_view code = rest.substr(0, rest.find(' '));
  int status = 0;
  bool digits = code.size() == 3;
  for (const char c : code.substr(0, 3)) {
    if (c < '0' || c > '9') digits = false;
    status = status * 10 + (c - '0');
  }
  if (!digits || status < 100 || status > 599) defects.add(Defect::bad_status);
  head.status = digits ? status : 0;
  // "HTTP/1.1 200" without the space that must follow is common and harmless: framing is not
  // touched by it. RFC 9112 section 4 has the space, so a strict reader may still care.
  if (rest.size() > code.size()) head.reason = rest.substr(code.size() + 1);
  check_value(head.reason, defects);
}

// The lines after the start line.
HeadResult parse_lines(std::string_view bytes,
                       std::size_t offset,
                       const HeadLimits& limits,
                       std::vector<Field>& fields,
                       Defects defects) {
  fields.clear();
  HeadResult result;
  for (;;) {
    const auto line = next_line(bytes.substr(offset));
    if (!line) {
      // The line's CR may be here already.
      const bool too_large =
          bytes.size() >= limits.head_bytes || bytes.size() - offset > limits.line_bytes + 1;
      result.state = too_large ? HeadState::head_too_large : HeadState::incomplete;
      result.defects = defects;
      return result;
    }
    if (line->bare_lf) defects.add(Defect::bare_lf);
    offset += line->size;
    if (offset > limits.head_bytes || line->text.size() > limits.line_bytes) {
      return {HeadState::head_too_large, 0, defects};
    }
    if (line->text.empty()) return {HeadState::complete, offset, defects};
    if (is_space(line->text.front())) {
      if (fields.empty()) {
        defects.add(Defect::first_line_space);
        parse_field(line->text, fields, defects);
        continue;
      }
      // A continuation: the value is widened to span it, line ends and all.
      defects.add(Defect::obs_fold);
      check_value(line->text, defects);
      Field& last = fields.back();
      const char* begin = last.value.empty() ? line->text.data() : last.value.data();
      last.value = {begin, static_cast<std::size_t>(line->text.data() + line->text.size() - begin)};
      continue;
    }
    if (fields.size() >= limits.fields) return {HeadState::head_too_large, 0, defects};
    parse_field(line->text, fields, defects);
  }
}

}  // namespace

std::string_view first_defect(Defects defects) {
  constexpr std::array<std::string_view, 14> kNames = {
      "bare_lf",        "bare_cr",         "nul_byte",
      "control_byte",   "obs_fold",        "space_before_colon",
      "bad_field_name", "missing_colon",   "bad_start_line",
      "bad_method",     "bad_target",      "bad_version",
      "bad_status",     "first_line_space"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if ((defects.bits() >> i & 1U) != 0) return kNames[i];
  }
  return {};
}

HeadResult parse_request_head(std::string_view bytes, const HeadLimits& limits, RequestHead& head) {
  std::size_t offset = 0;
  while (bytes.substr(offset).starts_with("\r\n"))
    offset += 2;
  const auto line = next_line(bytes.substr(offset));
  const std::size_t line_bytes = line ? line->size - 1 : bytes.size() - offset;
  if (line_bytes > limits.target_bytes + kMethodAndVersionBytesMax) {
    return {HeadState::target_too_long, 0, Defects{}};
  }
  if (!line) {
    HeadResult result;
    if (bytes.size() >= limits.head_bytes) result.state = HeadState::head_too_large;
    return result;
  }
  Defects defects;
  if (line->bare_lf) defects.add(Defect::bare_lf);
  parse_request_line(line->text, head, defects);
  if (head.target.size() > limits.target_bytes) return {HeadState::target_too_long, 0, defects};
  return parse_lines(bytes, offset + line->size, limits, head.fields, defects);
}

HeadResult parse_response_head(std::string_view bytes,
                               const HeadLimits& limits,
                               ResponseHead& head) {
  const auto line = next_line(bytes);
  const std::size_t line_bytes = line ? line->size - 1 : bytes.size();
  if (line_bytes > limits.line_bytes + 1) return {HeadState::head_too_large, 0, Defects{}};
  if (!line) return {};
  Defects defects;
  if (line->bare_lf) defects.add(Defect::bare_lf);
  parse_status_line(line->text, head, defects);
  return parse_lines(bytes, line->size, limits, head.fields, defects);
}

HeadResult parse_field_lines(std::string_view bytes,
                             const HeadLimits& limits,
                             std::vector<Field>& fields) {
  return parse_lines(bytes, 0, limits, fields, Defects{});
}

}  // namespace gatedrill::http::h1
