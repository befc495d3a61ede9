// A Histogram as bytes: HdrHistogram's V2 encoding, compressed, as its libraries in other languages
// read it (they print it in base64, beginning HISTFAAA). The unit is the microsecond.
//
//   compressed:  cookie 0x1c849314 | length of what follows | zlib( payload )
//   payload:     cookie 0x1c849313 | length of counts | normalizing offset 0 | digits 3 |
//                lowest 1 (i64) | highest 3.6e9 (i64) | conversion ratio 1.0 (f64) | counts
//   counts:      ZigZag LEB128 of at most nine bytes; a negative number is a run of zeros
//
// All numbers are big-endian, 32 bits unless noted. Format: the HdrHistogram project's
// "V2 encoding" (Gil Tene), public domain.
#pragma once

#include <string>
#include <string_view>

#include "gateway/core/histogram.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::reports {

[[nodiscard]] std::string encode_hdr(const Histogram& histogram);

// Fails (evidence) on bytes that are not such a histogram. The encoding has no exact maximum: the
// one given is the highest value of the last used bucket, unless the caller kept a better one.
Result<Histogram> decode_hdr(std::string_view bytes);

}  // namespace gatedrill::reports
