// The fields behind a chunked body (RFC 9110 6.5). They pass by name, where a route lists them, and
// stay trailer fields: nothing that a header section decides is ever taken from there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/head.hpp"

namespace gatedrill::http {

// Whether a route may list the name: it frames nothing, routes nothing, says nothing about who asks
// or what the content is, and is bound to no hop (RFC 9110 6.5.1).
[[nodiscard]] bool may_be_trailer(std::string_view name);

// Writes the field behind a last chunk's line if `allowed` has its name.
void append_trailer(std::string& out, const Field& field, std::span<const std::string> allowed);

// Announces in a head, with a Trailer field of our own, what the peer has announced and may pass.
void append_announcement(std::string& out,
                         const std::vector<Field>& fields,
                         std::span<const std::string> allowed);

}  // namespace gatedrill::http
