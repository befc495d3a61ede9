// GoReplay's recordings (.gor), of all ages:
//
//   file    = *( record separator )
//   record  = meta LF payload
//   meta    = type SP id SP timestamp [ SP latency ]       "1 a1b2.. 1759420736236035917 0"
//   type    = "1" request | "2" original answer | "3" replayed answer
//   payload = the HTTP/1 message, with its transfer coding
//   separator = LF U+1F435 U+1F648 U+1F649 LF
//
// There is no escaping: a payload that holds the separator is written chunked, with a chunk's end
// inside it.
#pragma once

#include <string_view>

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

// The three code points, UTF-8, and with the line ends around them.
inline constexpr std::string_view kGorMonkeys = "\xF0\x9F\x90\xB5\xF0\x9F\x99\x88\xF0\x9F\x99\x89";
inline constexpr std::string_view kGorSeparator =
    "\n\xF0\x9F\x90\xB5\xF0\x9F\x99\x88\xF0\x9F\x99\x89\n";

[[nodiscard]] bool looks_like_gor(std::string_view beginning);
Result<void> read_gor(std::span<Input> inputs, ImportSink& sink);
Result<void> write_gor(const Recording& recording, Output& output, ExportNotes& notes);

[[nodiscard]] Format gor_format();

}  // namespace gatedrill::replay::formats
