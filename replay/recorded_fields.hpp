// Fields as a recording's file holds them: one "name: value" a line; trailers, if there are any,
// behind an empty line. Names hold no colon, and a line feed in a value (HTTP has none) becomes a
// space, so reading gives back what was written. More than 2 KiB of that are one zstd frame if it
// saves an eighth: in HTTP/2 a byte may stand for thousands, and so for a small capture with a huge
// recording. Private to replay.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "replay/recording.hpp"
#include "replay/zstd_frame.hpp"

namespace gatedrill::replay {

// `stored` is what the file holds.
void encode_fields(const std::vector<RecordedField>& fields,
                   const std::vector<RecordedField>& trailers,
                   ZstdPacker& packer,
                   std::string& stored);
// Both leave out what is damaged.
void decode_fields(std::string_view stored,
                   std::vector<RecordedField>& fields,
                   std::vector<RecordedField>& trailers);
// The lines. `room` holds them if they were packed.
[[nodiscard]] std::string_view fields_text(std::string_view stored, std::string& room);

}  // namespace gatedrill::replay
