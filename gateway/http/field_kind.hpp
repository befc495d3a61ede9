// What becomes of a field that is written anew, by its name.
#pragma once

#include <string_view>

namespace gatedrill::http {

enum class FieldKind {
  plain,       // passes
  hop_by_hop,  // ends here
  connection,
  host,
  length,
  expect,
  x_forwarded,  // X-Forwarded-*
  forwarded,    // RFC 7239
  max_forwards,
  te,
  trailer,
  request_id,
  attempt_count,
  keep_alive,
};

[[nodiscard]] FieldKind kind_of(std::string_view name);

}  // namespace gatedrill::http
