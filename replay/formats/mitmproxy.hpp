// mitmproxy's flow files, of its versions from 7 (2020) on: tnetstrings one after another, a map
// each.
#pragma once

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

[[nodiscard]] bool looks_like_mitmproxy(std::string_view beginning);
Result<void> read_mitmproxy(std::span<Input> inputs, ImportSink& sink);

[[nodiscard]] Format mitmproxy_format();

}  // namespace gatedrill::replay::formats
