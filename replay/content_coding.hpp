// The content codings of HTTP bodies: gzip (and x-gzip), deflate (zlib or raw), br, zstd, identity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "replay/digest.hpp"

namespace gatedrill::replay {

inline constexpr std::size_t kDecodedBytesMax = 256U * 1024U * 1024U;

// What a body may become that is unpacked unasked, to be searched and hashed: so much more than it
// is that few real ones are, and never much memory or time, whatever it was made for.
[[nodiscard]] constexpr std::size_t searched_bytes_max(std::size_t body_bytes) {
  constexpr std::size_t kTimes = 100;
  constexpr std::size_t kLeast = 4U * 1024U * 1024U;
  constexpr std::size_t kMost = 32U * 1024U * 1024U;
  return std::clamp(std::min(body_bytes, kMost) * kTimes, kLeast, kMost);
}

// `codings` is a Content-Encoding field's value, several in the order they were applied. Nothing
// if a coding is unknown, the body does not follow it, or the result is larger than `bytes_max`.
[[nodiscard]] std::optional<std::string> decode_content(std::string_view body,
                                                        std::string_view codings,
                                                        std::size_t bytes_max = kDecodedBytesMax);

// The same of a body that may break off: as far as it goes.
struct DecodedPrefix {
  std::string content{};
  bool ended = true;      // else the coding's end is missing
  bool trailing = false;  // bytes that belong to nothing follow the end
};

[[nodiscard]] std::optional<DecodedPrefix> decode_prefix(std::string_view body,
                                                         std::string_view codings,
                                                         std::size_t bytes_max = kDecodedBytesMax);

// The reverse; nothing if a coding is unknown.
[[nodiscard]] std::optional<std::string> encode_content(std::string_view body,
                                                        std::string_view codings);

// The SHA-1 (20 bytes) of the decoded body, or of the body itself where it does not follow its
// codings or becomes too large; empty if there is nothing to hash.
[[nodiscard]] std::string decoded_sha1(Digest& sha1,
                                       std::string_view body,
                                       std::string_view codings);

// Whether decoding changes anything: false for empty and "identity".
[[nodiscard]] bool is_coded(std::string_view codings);

}  // namespace gatedrill::replay
