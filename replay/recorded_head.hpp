// What the head of a message, as the gateway's parser reads it, becomes in a recording.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/framing.hpp"
#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/head.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay {

// "HTTP/1.0" for 10, else "HTTP/1.1".
[[nodiscard]] std::string version_text(int version);

// A value over several lines (obs-fold, RFC 9112 5.2) as one.
[[nodiscard]] std::string unfolded(std::string_view value);

// Copies of the fields, each value on one line.
[[nodiscard]] std::vector<RecordedField> recorded(const std::vector<http::Field>& fields);

// "bare_lf,length_and_coding"; empty where nothing is wrong.
[[nodiscard]] std::string defect_names(http::h1::Defects defects, http::FramingDefect framing);

}  // namespace gatedrill::replay
