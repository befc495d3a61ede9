// JSON lines: a recording whole, one object a line, for jq and for programs of one's own.
//
//   {"type":"recording","format":"gatedrill","version":1}
//   {"type":"connection","connection":7,"client":"10.0.0.1:5678",...}
//   {"type":"exchange","id":1,"at_ns":1700000000000000000,"connection":7,...,
//    "request":{"method":"GET","target":"/","version":"HTTP/1.1","fields":[["Host","shop"]],...},
//    "response":{"status":200,...,"body":"hello"}}
//   {"type":"loss",...}
//   {"type":"ledger","what":"packets",...}
//
// A text that is not UTF-8 is an object: {"base64":"AAH/"}. Members that are absent have their
// usual value: null times, true `complete`, empty texts. Only `type`, and of an exchange `at_ns`
// and one of its messages with `method` and `target`, or `status`, have to be there.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

[[nodiscard]] bool looks_like_jsonl(std::string_view beginning);
Result<void> read_jsonl(std::span<Input> inputs, ImportSink& sink);
Result<void> write_jsonl(const Recording& recording, Output& output, ExportNotes& notes);

[[nodiscard]] Format jsonl_format();

// Private to the format.
[[nodiscard]] nlohmann::ordered_json to_json(const RecordedExchange& exchange);

}  // namespace gatedrill::replay::formats
