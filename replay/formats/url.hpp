// The URL that a recorded request was for.
#pragma once

#include <string>

#include "replay/formats/format.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay::formats {

// Whether there was TLS; where nobody knows, by the server's port, 443.
[[nodiscard]] bool is_https(const RecordedExchange& exchange);

// Says so of an exchange whose URL was given a scheme by that, unless its port is 443 or 80.
void note_guessed_scheme(const RecordedExchange& exchange, ExportNotes& notes);

// That of an absolute target; otherwise made of the host, or where none was named the server's
// address, and the target. The bytes are those of the target, whatever they are.
[[nodiscard]] std::string url_of(const RecordedExchange& exchange);

}  // namespace gatedrill::replay::formats
