// Finds and splits the head of an HTTP/1 message in raw bytes, and says everything that is wrong
// with it. It decides nothing: the gateway refuses a head with any defect (http/strict), a capture
// keeps it and names the defects.
//
// The parsed head holds views into `bytes`. Nothing is copied; the fields vector is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/http/head.hpp"

namespace gatedrill::http::h1 {

// What RFC 9112 and 9110 forbid in a head; bits, so that a head can have several.
enum class Defect : std::uint32_t {
  bare_lf = 1U << 0U,             // a line that ends in LF without CR
  bare_cr = 1U << 1U,             // CR inside a line
  nul_byte = 1U << 2U,            // NUL anywhere
  control_byte = 1U << 3U,        // another control character in a value
  obs_fold = 1U << 4U,            // a continuation line
  space_before_colon = 1U << 5U,  // white space between a field's name and its colon
  bad_field_name = 1U << 6U,      // not a token, or empty
  missing_colon = 1U << 7U,
  bad_start_line = 1U << 8U,     // not its parts with single spaces between them
  bad_method = 1U << 9U,         // not a token
  bad_target = 1U << 10U,        // white space, control or non-ASCII bytes, a fragment
  bad_version = 1U << 11U,       // not HTTP/1.0 or HTTP/1.1
  bad_status = 1U << 12U,        // not three digits from 100 to 599
  first_line_space = 1U << 13U,  // white space before the first field, or a trailer's
};

class Defects {
 public:
  void add(Defect defect) {
    if (bits_ == 0) first_ = defect;
    bits_ |= static_cast<std::uint32_t>(defect);
  }

  [[nodiscard]] bool has(Defect defect) const {
    return (bits_ & static_cast<std::uint32_t>(defect)) != 0;
  }

  [[nodiscard]] bool none() const { return bits_ == 0; }

  [[nodiscard]] std::uint32_t bits() const { return bits_; }

  // In the order of the lines. Requires !none().
  [[nodiscard]] Defect first() const { return first_; }

 private:
  std::uint32_t bits_ = 0;
  Defect first_{};
};

// The name of the first defect, as in "bare_lf"; empty when there is none.
[[nodiscard]] std::string_view first_defect(Defects defects);

struct HeadLimits {
  std::size_t head_bytes = std::size_t{32} * 1024;
  std::size_t line_bytes = std::size_t{8} * 1024;
  std::size_t fields = 100;
  std::size_t target_bytes = std::size_t{8} * 1024;

  bool operator==(const HeadLimits&) const = default;
};

enum class HeadState {
  incomplete,       // more bytes are needed; what is wrong with those here is known already
  complete,         // `size` bytes are the head, with its empty line
  head_too_large,   // head_bytes, line_bytes or fields exceeded
  target_too_long,  // target_bytes exceeded
};

// The first defect, and a limit exceeded before it, are the same however the bytes arrive: a reader
// that wants none may stop at the first, without the rest of the head.
struct HeadResult {
  HeadState state = HeadState::incomplete;
  std::size_t size = 0;
  Defects defects;
};

// Leading empty lines (CRLF) before a request line are skipped, as RFC 9112 2.2 advises, and count
// into `size`.
[[nodiscard]] HeadResult parse_request_head(std::string_view bytes,
                                            const HeadLimits& limits,
                                            RequestHead& head);

[[nodiscard]] HeadResult parse_response_head(std::string_view bytes,
                                             const HeadLimits& limits,
                                             ResponseHead& head);

// One field line, without its line end.
[[nodiscard]] Field parse_field_line(std::string_view line, Defects& defects);

// Field lines alone, as in a chunked body's trailer section: up to and with the empty line.
[[nodiscard]] HeadResult parse_field_lines(std::string_view bytes,
                                           const HeadLimits& limits,
                                           std::vector<Field>& fields);

}  // namespace gatedrill::http::h1
