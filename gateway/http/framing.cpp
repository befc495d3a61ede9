#include "gateway/http/framing.hpp"

#include <algorithm>
#include <limits>

namespace gatedrill::http {
namespace {

constexpr std::size_t kChunkLineBytesMax = 4096;
constexpr std::uint64_t kTrailerBytesMax = std::uint64_t{16} * 1024;

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
  bool unknown_coding = false;  // every coding that is not chunked, also an empty one
  bool chunked_last = false;
  bool chunked_again = false;
};

void take_codings(std::string_view value, FramingFields& fields) {
  fields.coding = true;
  while (true) {
    const std::size_t comma = value.find(',');
    std::string_view item = value.substr(0, comma);
    while (!item.empty() && (item.front() == ' ' || item.front() == '\t'))
      item.remove_prefix(1);
    while (!item.empty() && (item.back() == ' ' || item.back() == '\t'))
      item.remove_suffix(1);
    if (equals_ignoring_case(item, "chunked")) {
      fields.chunked_again = fields.chunked_again || fields.chunked_last;
      fields.chunked_last = true;
    } else {
      if (fields.chunked_last) fields.chunked_again = true;
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
    } else if (fields.chunked_again) {
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

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
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
    case FramingDefect::unknown_coding:
      return "unknown_coding";
    case FramingDefect::chunked_not_last:
      return "chunked_not_last";
    case FramingDefect::coding_in_http10:
      return "coding_in_http10";
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
      return {bytes.size(), bytes, false};
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
  return {size, bytes.substr(0, size), false};
}

// chunk-size [ chunk-ext ] CRLF. Extensions are skipped, but hold no control bytes; white space or
// anything else directly after the size is refused (RFC 9112 7.1.1 has BWS only before ";", and
// that only as an erratum).
BodyReader::Step BodyReader::read_chunk_size(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    return bytes.size() > kChunkLineBytesMax ? malformed() : Step{};
  }
  const bool bare_lf = end == 0 || bytes[end - 1] != '\r';
  if ((bare_lf && !lenient_) || end > kChunkLineBytesMax) return malformed();
  std::string_view line = bytes.substr(0, bare_lf ? end : end - 1);
  if (std::any_of(line.begin(), line.end(), is_control)) return malformed();
  while (lenient_ && (line.ends_with(' ') || line.ends_with('\t'))) line.remove_suffix(1);
  std::uint64_t size = 0;
  std::size_t digits = 0;
  while (digits < line.size() && hex_digit(line[digits]) >= 0) {
    if (size >> 58U != 0) return malformed();
    size = size * 16 + static_cast<std::uint64_t>(hex_digit(line[digits]));
    ++digits;
  }
  if (digits == 0 || (digits < line.size() && line[digits] != ';')) return malformed();
  remaining_ = size;
  state_ = size == 0 ? State::trailer : State::chunk_data;
  return {end + 1, {}, false};
}

BodyReader::Step BodyReader::read_chunk_end(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (lenient_ && bytes[0] == '\n') {
    state_ = State::chunk_size;
    return {1, {}, false};
  }
  if (bytes[0] != '\r') return malformed();
  if (bytes.size() < 2) return {};
  if (bytes[1] != '\n') return malformed();
  state_ = State::chunk_size;
  return {2, {}, false};
}

// Trailer fields are dropped, line by line, up to the empty line.
BodyReader::Step BodyReader::read_trailer(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    return bytes.size() > kChunkLineBytesMax ? malformed() : Step{};
  }
  const bool bare_lf = end == 0 || bytes[end - 1] != '\r';
  if ((bare_lf && !lenient_) || end > kChunkLineBytesMax) return malformed();
  trailer_bytes_ += end + 1;
  if (trailer_bytes_ > kTrailerBytesMax) return malformed();
  if (end == (bare_lf ? 0U : 1U)) state_ = State::done;
  return {end + 1, {}, false};
}

bool BodyReader::finish_at_close() {
  if (state_ == State::until_close) state_ = State::done;
  return state_ == State::done;
}

}  // namespace gatedrill::http
