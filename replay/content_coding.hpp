// The content codings of HTTP bodies: gzip (and x-gzip), deflate (zlib or raw), br, zstd, identity.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "replay/digest.hpp"

namespace gatedrill::replay {

inline constexpr std::size_t kDecodedBytesMax = 256U * 1024U * 1024U;

// `codings` is a Content-Encoding field's value, several in the order they were applied. Nothing
// if a coding is unknown, the body does not follow it, or the result is larger than `bytes_max`.
[[nodiscard]] std::optional<std::string> decode_content(std::string_view body,
                                                        std::string_view codings,
                                                        std::size_t bytes_max = kDecodedBytesMax);

// The reverse; nothing if a coding is unknown.
[[nodiscard]] std::optional<std::string> encode_content(std::string_view body,
                                                        std::string_view codings);

// The SHA-1 (20 bytes) of the decoded body, or of the body itself where it does not follow its
// codings; empty if there is nothing to hash.
[[nodiscard]] std::string decoded_sha1(Digest& sha1,
                                       std::string_view body,
                                       std::string_view codings);

// Whether decoding changes anything: false for empty and "identity".
[[nodiscard]] bool is_coded(std::string_view codings);

}  // namespace gatedrill::replay
