#include "gateway/http/h1/head_parser.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace gatedrill::http::h1 {
namespace {

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

constexpr auto kValue = make_value_table();

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

int parse_version(std::string_view text, Defects& defects) {
  if (text == "HTTP/1.1") return 11;
  if (text == "HTTP/1.0") return 10;
  defects.add(Defect::bad_version);
  return 11;
}

// What has come of the start line, its line end not included: it may not have come whole. Not
// beyond where it would have been found too long.
std::string_view start_of_line(std::string_view bytes, std::size_t limit) {
  bytes = bytes.substr(0, limit);
  std::string_view text = bytes.substr(0, bytes.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// A method is wrong with its first wrong byte: whoever speaks TLS to us will send no line end.
void check_method(std::string_view start, Defects& defects) {
  const std::string_view method = start.substr(0, start.find(' '));
  if (!method.empty() && !is_token(method)) defects.add(Defect::bad_method);
}

// The same for an answer of another protocol.
void check_protocol(std::string_view start, Defects& defects) {
  constexpr std::string_view kProtocol = "HTTP/1.";
  const std::size_t size = std::min(start.size(), kProtocol.size());
  if (start.substr(0, size) != kProtocol.substr(0, size)) defects.add(Defect::bad_version);
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
  if (head.method.empty()) defects.add(Defect::bad_method);
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
  if (rest.size() == code.size()) {
    defects.add(Defect::bad_start_line);  // a space follows even where no reason does
  } else {
    head.reason = rest.substr(code.size() + 1);
  }
  check_value(head.reason, defects);
}

// The lines after the start line.
HeadResult parse_lines(std::string_view bytes,
                       std::size_t offset,
                       const HeadLimits& limits,
                       std::vector<Field>& fields,
                       Defects defects) {
  fields.clear();
  for (;;) {
    const auto line = next_line(bytes.substr(offset));
    if (!line) {
      // The line's CR may be here already.
      const bool too_large =
          bytes.size() >= limits.head_bytes || bytes.size() - offset > limits.line_bytes + 1;
      return {too_large ? HeadState::head_too_large : HeadState::incomplete, 0, defects};
    }
    offset += line->size;
    // Before the line is looked at: it might as well be here in part only.
    if (offset > limits.head_bytes || line->text.size() > limits.line_bytes) {
      return {HeadState::head_too_large, 0, defects};
    }
    const bool folded = !line->text.empty() && is_space(line->text.front()) && !fields.empty();
    if (!line->text.empty() && !folded && fields.size() >= limits.fields) {
      return {HeadState::head_too_large, 0, defects};
    }
    if (line->bare_lf) defects.add(Defect::bare_lf);
    if (line->text.empty()) return {HeadState::complete, offset, defects};
    if (folded) {
      // A continuation: the value is widened to span it, line ends and all.
      defects.add(Defect::obs_fold);
      check_value(line->text, defects);
      Field& last = fields.back();
      const char* begin = last.value.empty() ? line->text.data() : last.value.data();
      last.value = {begin, static_cast<std::size_t>(line->text.data() + line->text.size() - begin)};
      continue;
    }
    fields.push_back(parse_field_line(line->text, defects));
  }
}

}  // namespace

Field parse_field_line(std::string_view line, Defects& defects) {
  if (!line.empty() && is_space(line.front())) defects.add(Defect::first_line_space);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    defects.add(Defect::missing_colon);
    check_value(line, defects);
    return {line, {}};
  }
  std::string_view name = line.substr(0, colon);
  if (!name.empty() && is_space(name.back())) {
    defects.add(Defect::space_before_colon);
    while (!name.empty() && is_space(name.back()))
      name.remove_suffix(1);
  }
  if (!is_token(name)) defects.add(Defect::bad_field_name);
  const std::string_view value = trim(line.substr(colon + 1));
  check_value(value, defects);
  return {name, value};
}

std::string_view first_defect(Defects defects) {
  if (defects.none()) return {};
  switch (defects.first()) {
    case Defect::bare_lf:
      return "bare_lf";
    case Defect::bare_cr:
      return "bare_cr";
    case Defect::nul_byte:
      return "nul_byte";
    case Defect::control_byte:
      return "control_byte";
    case Defect::obs_fold:
      return "obs_fold";
    case Defect::space_before_colon:
      return "space_before_colon";
    case Defect::bad_field_name:
      return "bad_field_name";
    case Defect::missing_colon:
      return "missing_colon";
    case Defect::bad_start_line:
      return "bad_start_line";
    case Defect::bad_method:
      return "bad_method";
    case Defect::bad_target:
      return "bad_target";
    case Defect::bad_version:
      return "bad_version";
    case Defect::bad_status:
      return "bad_status";
    case Defect::first_line_space:
      return "first_line_space";
  }
  return {};
}

HeadResult parse_request_head(std::string_view bytes, const HeadLimits& limits, RequestHead& head) {
  std::size_t offset = 0;
  while (bytes.substr(offset).starts_with("\r\n"))
    offset += 2;
  // Of what is wrong and the two limits the one that is met first, however many bytes have come.
  const std::size_t line_bytes_max = limits.target_bytes + kMethodAndVersionBytesMax;
  const std::size_t head_bytes_left = limits.head_bytes - std::min(offset, limits.head_bytes);
  Defects defects;
  check_method(start_of_line(bytes.substr(offset), std::min(head_bytes_left, line_bytes_max + 1)),
               defects);
  const auto line = next_line(bytes.substr(offset));
  const std::size_t line_bytes = line ? line->size - 1 : bytes.size() - offset;
  if (line_bytes > line_bytes_max && line_bytes_max < head_bytes_left) {
    return {HeadState::target_too_long, 0, defects};
  }
  const std::size_t end = line ? offset + line->size : bytes.size();
  if (end > limits.head_bytes || (!line && end == limits.head_bytes)) {
    return {HeadState::head_too_large, 0, defects};
  }
  if (!line) return {HeadState::incomplete, 0, defects};
  if (line->bare_lf) defects.add(Defect::bare_lf);
  parse_request_line(line->text, head, defects);
  if (head.target.size() > limits.target_bytes) return {HeadState::target_too_long, 0, defects};
  return parse_lines(bytes, end, limits, head.fields, defects);
}

HeadResult parse_response_head(std::string_view bytes,
                               const HeadLimits& limits,
                               ResponseHead& head) {
  Defects defects;
  check_protocol(start_of_line(bytes, std::min(limits.head_bytes, limits.line_bytes + 2)), defects);
  const auto line = next_line(bytes);
  const std::size_t line_bytes = line ? line->size - 1 : bytes.size();
  if (line_bytes > limits.line_bytes + 1) return {HeadState::head_too_large, 0, defects};
  const std::size_t end = line ? line->size : bytes.size();
  if (end > limits.head_bytes || (!line && end == limits.head_bytes)) {
    return {HeadState::head_too_large, 0, defects};
  }
  if (!line) return {HeadState::incomplete, 0, defects};
  if (line->bare_lf) defects.add(Defect::bare_lf);
  parse_status_line(line->text, head, defects);
  return parse_lines(bytes, end, limits, head.fields, defects);
}

HeadResult parse_field_lines(std::string_view bytes,
                             const HeadLimits& limits,
                             std::vector<Field>& fields) {
  return parse_lines(bytes, 0, limits, fields, Defects{});
}

}  // namespace gatedrill::http::h1
