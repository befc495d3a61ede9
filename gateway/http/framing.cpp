#include "gateway/http/framing.hpp"

#include <algorithm>
#include <limits>

#include "gateway/core/ascii.hpp"
#include "gateway/http/h1/head_parser.hpp"

namespace gatedrill::http {
namespace {

std::optional<std::uint64_t> parse_length(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

struct FramingFields {
  std::optional<std::string_view> length;
  bool length_repeated = false;
  bool coding = false;
  bool bad_coding = false;
  bool unknown_coding = false;
  bool chunked_last = false;
  bool after_chunked = false;  // something follows a "chunked"
};

// The name in: token *( OWS ";" OWS transfer-parameter ).
std::string_view coding_name(std::string_view item) {
  return trim(item.substr(0, item.find(';')));
}

void take_codings(std::string_view value, FramingFields& fields) {
  fields.coding = true;
  while (true) {
    const std::size_t comma = value.find(',');
    const std::string_view item = trim(value.substr(0, comma));
    if (fields.chunked_last) fields.after_chunked = true;
    if (equals_ignoring_case(item, "chunked")) {
      fields.chunked_last = true;
    } else if (const std::string_view name = coding_name(item);
               !is_token(name) || equals_ignoring_case(name, "chunked")) {
      fields.bad_coding = true;
    } else {
      fields.unknown_coding = true;
    }
    if (comma == std::string_view::npos) return;
    value.remove_prefix(comma + 1);
  }
}

FramingFields collect(const std::vector<Field>& all) {
  FramingFields fields;
  for (const Field& field : all) {
    if (field.name.size() == 14 && equals_ignoring_case(field.name, "Content-Length")) {
      fields.length_repeated = fields.length.has_value();
      fields.length = field.value;
    } else if (field.name.size() == 17 && equals_ignoring_case(field.name, "Transfer-Encoding")) {
      take_codings(field.value, fields);
    }
  }
  return fields;
}

FramingVerdict judge(const FramingFields& fields, int version, Framing without_fields) {
  FramingVerdict verdict{without_fields, FramingDefect::none};
  if (fields.coding) {
    if (fields.chunked_last) verdict.framing = {BodyKind::chunked, 0};
    if (fields.length) {
      verdict.defect = FramingDefect::length_and_coding;
    } else if (version == 10) {
      verdict.defect = FramingDefect::coding_in_http10;
    } else if (fields.bad_coding) {
      verdict.defect = FramingDefect::bad_coding;
    } else if (fields.after_chunked) {
      verdict.defect = FramingDefect::chunked_not_last;
    } else if (fields.unknown_coding) {
      verdict.defect = FramingDefect::unknown_coding;
    }
    return verdict;
  }
  if (!fields.length) return verdict;
  const auto length = parse_length(*fields.length);
  if (fields.length_repeated) verdict.defect = FramingDefect::repeated_content_length;
  if (!length) {
    verdict.defect = FramingDefect::bad_content_length;
    return verdict;
  }
  verdict.framing = {*length == 0 ? BodyKind::none : BodyKind::length, *length};
  return verdict;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

// The front of `text` that is a token, a quoted string or white space is taken off; false if there
// is none.
bool take_token(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_token_char(text[size]))
    ++size;
  text.remove_prefix(size);
  return size > 0;
}

bool take_quoted(std::string_view& text) {
  if (!text.starts_with('"')) return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

void take_space(std::string_view& text) {
  while (text.starts_with(' ') || text.starts_with('\t'))
    text.remove_prefix(1);
}

// chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS value ] ), but without white space before the
// first ";", which some readers take for a part of the size.
bool are_extensions(std::string_view text) {
  while (!text.empty()) {
    if (!text.starts_with(';')) return false;
    text.remove_prefix(1);
    take_space(text);
    if (!take_token(text)) return false;
    take_space(text);
    if (text.starts_with('=')) {
      text.remove_prefix(1);
      take_space(text);
      if (!take_token(text) && !take_quoted(text)) return false;
      take_space(text);
    }
  }
  return true;
}

BodyReader::Step malformed() {
  BodyReader::Step step;
  step.malformed = true;
  return step;
}

}  // namespace

std::string_view to_string(FramingDefect defect) {
  switch (defect) {
    case FramingDefect::none:
      return "none";
    case FramingDefect::bad_content_length:
      return "bad_content_length";
    case FramingDefect::repeated_content_length:
      return "repeated_content_length";
    case FramingDefect::length_and_coding:
      return "length_and_coding";
    case FramingDefect::coding_in_http10:
      return "coding_in_http10";
    case FramingDefect::bad_coding:
      return "bad_coding";
    case FramingDefect::chunked_not_last:
      return "chunked_not_last";
    case FramingDefect::unknown_coding:
      return "unknown_coding";
  }
  return "none";
}

FramingVerdict request_framing(const RequestHead& head) {
  return judge(collect(head.fields), head.version, Framing{});
}

FramingVerdict response_framing(const ResponseHead& head, std::string_view request_method) {
  const FramingFields fields = collect(head.fields);
  FramingVerdict verdict = judge(fields, head.version, Framing{BodyKind::until_close, 0});
  const bool bodiless = head.status < 200 || head.status == 204 || head.status == 304 ||
                        request_method == "HEAD" ||
                        (request_method == "CONNECT" && head.status / 100 == 2);
  if (bodiless) verdict.framing = Framing{};
  return verdict;
}

BodyReader::BodyReader(Framing framing, Strictness strictness)
    : lenient_(strictness == Strictness::lenient) {
  switch (framing.kind) {
    case BodyKind::none:
      break;
    case BodyKind::length:
      state_ = framing.length == 0 ? State::done : State::counted;
      remaining_ = framing.length;
      break;
    case BodyKind::chunked:
      state_ = State::chunk_size;
      chunked_ = true;
      break;
    case BodyKind::until_close:
      state_ = State::until_close;
      break;
  }
}

BodyReader::Step BodyReader::read(std::string_view bytes) {
  switch (state_) {
    case State::done:
      return {};
    case State::until_close:
      payload_bytes_ += bytes.size();
      return {bytes.size(), bytes, {}, false};
    case State::counted:
    case State::chunk_data:
      return read_counted(bytes);
    case State::chunk_size:
      return read_chunk_size(bytes);
    case State::chunk_end:
      return read_chunk_end(bytes);
    case State::trailer:
      return read_trailer(bytes);
  }
  return {};
}

BodyReader::Step BodyReader::read_counted(std::string_view bytes) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), remaining_));
  remaining_ -= size;
  payload_bytes_ += size;
  if (remaining_ == 0) state_ = chunked_ ? State::chunk_end : State::done;
  return {size, bytes.substr(0, size), {}, false};
}

// A line of the chunked framing, without its end.
struct BodyReader::Line {
  std::string_view text;
  std::size_t size = 0;  // with its end; 0: it is not here yet
  bool bad = false;      // too long, or ended as no line is
};

BodyReader::Line BodyReader::next_line(std::string_view bytes) const {
  const std::size_t end = bytes.find('\n');
  Line line;
  if (end == std::string_view::npos) {
    line.bad = bytes.size() > kLineBytesMax;
    return line;
  }
  const bool bare_lf = end == 0 || bytes[end - 1] != '\r';
  line.text = bytes.substr(0, bare_lf ? end : end - 1);
  line.size = end + 1;
  line.bad = (bare_lf && !lenient_) || end > kLineBytesMax;
  return line;
}

// chunk-size [ chunk-ext ] CRLF. Extensions are skipped.
BodyReader::Step BodyReader::read_chunk_size(std::string_view bytes) {
  const Line line = next_line(bytes);
  if (line.bad) return malformed();
  if (line.size == 0) return {};
  if (std::any_of(line.text.begin(), line.text.end(), is_control)) return malformed();
  std::string_view rest = line.text;
  std::uint64_t size = 0;
  std::size_t digits = 0;
  for (; digits < rest.size() && hex_digit(rest[digits]) >= 0; ++digits) {
    if (size >> 58U != 0) return malformed();
    size = size * 16 + static_cast<std::uint64_t>(hex_digit(rest[digits]));
  }
  rest.remove_prefix(digits);
  extension_bytes_ += rest.size();
  if (lenient_) {
    take_space(rest);
    if (digits == 0 || (!rest.empty() && rest.front() != ';')) return malformed();
  } else if (digits == 0 || digits > kSizeDigitsMax || extension_bytes_ > kExtensionBytesMax ||
             !are_extensions(rest)) {
    return malformed();
  }
  remaining_ = size;
  state_ = size == 0 ? State::trailer : State::chunk_data;
  return {line.size, {}, {}, false};
}

BodyReader::Step BodyReader::read_chunk_end(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (lenient_ && bytes[0] == '\n') {
    state_ = State::chunk_size;
    return {1, {}, {}, false};
  }
  if (bytes[0] != '\r') return malformed();
  if (bytes.size() < 2) return {};
  if (bytes[1] != '\n') return malformed();
  state_ = State::chunk_size;
  return {2, {}, {}, false};
}

// Trailer fields, line by line, up to the empty line.
BodyReader::Step BodyReader::read_trailer(std::string_view bytes) {
  const Line line = next_line(bytes);
  if (line.bad) return malformed();
  if (line.size == 0) return {};
  trailer_bytes_ += line.size;
  if (trailer_bytes_ > kTrailerBytesMax) return malformed();
  Step step{line.size, {}, {}, false};
  if (line.text.empty()) {
    state_ = State::done;
    return step;
  }
  h1::Defects defects;
  step.trailer = h1::parse_field_line(line.text, defects);
  if (!lenient_ && (!defects.none() || ++trailer_fields_ > kTrailerFieldsMax)) return malformed();
  return step;
}

bool BodyReader::finish_at_close() {
  if (state_ == State::until_close) state_ = State::done;
  return state_ == State::done;
}

}  // namespace gatedrill::http
