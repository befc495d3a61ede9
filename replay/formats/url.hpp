// The URL that a recorded request was for.
#pragma once

#include <string>

#include "replay/recording.hpp"

namespace gatedrill::replay::formats {

// Recordings do not say whether there was TLS: where the server's port is 443.
[[nodiscard]] bool is_https(const RecordedExchange& exchange);

// That of an absolute target; otherwise made of the host, or where none was named the server's
// address, and the target. The bytes are those of the target, whatever they are.
[[nodiscard]] std::string url_of(const RecordedExchange& exchange);

}  // namespace gatedrill::replay::formats
