// The head of a request or an answer, whatever protocol version carried it. Texts are views into
// the buffer that was parsed and live as long as its bytes stay where they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/core/time.hpp"

namespace gatedrill::http {

struct Field {
  std::string_view name;
  std::string_view value;  // without surrounding white space
};

struct RequestHead {
  std::string_view method;
  std::string_view target;  // as sent: origin-form, absolute-form, authority-form or *
  int version = 11;         // 10, 11
  std::vector<Field> fields;
};

struct ResponseHead {
  int status = 0;
  std::string_view reason;
  int version = 11;
  std::vector<Field> fields;
};

// ASCII case-insensitive equality, as field names and coding names compare.
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);

// Whether it is a token (RFC 9110 5.6.2), as methods, field names and codings are; not if empty.
[[nodiscard]] bool is_token(std::string_view text);
[[nodiscard]] bool is_token_char(char c);

// Without spaces and tabs at its ends.
[[nodiscard]] std::string_view trim(std::string_view text);

// The value of the first field of that name.
[[nodiscard]] std::optional<std::string_view> find_field(const std::vector<Field>& fields,
                                                         std::string_view name);

// Whether a comma-separated list field holds the token, in any of its lines.
[[nodiscard]] bool has_token(const std::vector<Field>& fields,
                             std::string_view name,
                             std::string_view token);

// Retry-After as delta-seconds; Duration::max() for a date, which nobody here waits for.
[[nodiscard]] std::optional<Duration> retry_after(const std::vector<Field>& fields);

// The path of an origin-form or absolute-form target, without query; "/" if empty.
[[nodiscard]] std::string_view path_of(std::string_view target);

// RFC 9110 9.2.2: GET, HEAD, OPTIONS, TRACE, PUT, DELETE.
[[nodiscard]] bool is_idempotent(std::string_view method);
// RFC 9110 9.2.1: GET, HEAD, OPTIONS, TRACE.
[[nodiscard]] bool is_safe(std::string_view method);

}  // namespace gatedrill::http
