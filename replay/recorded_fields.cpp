#include "replay/recorded_fields.hpp"

#include <algorithm>
#include <cstddef>

namespace gatedrill::replay {
namespace {

constexpr std::size_t kPlainBytesMax = 2U * 1024U;

void append_lines(const std::vector<RecordedField>& fields, std::string& text) {
  for (const RecordedField& field : fields) {
    text.append(field.name).append(": ");
    const std::size_t value = text.size();
    text.append(field.value);
    std::replace(text.begin() + static_cast<std::ptrdiff_t>(value), text.end(), '\n', ' ');
    text.push_back('\n');
  }
}

}  // namespace

void encode_fields(const std::vector<RecordedField>& fields,
                   const std::vector<RecordedField>& trailers,
                   ZstdPacker& packer,
                   std::string& stored) {
  stored.clear();
  append_lines(fields, stored);
  if (!trailers.empty()) {
    stored.push_back('\n');
    append_lines(trailers, stored);
  }
  if (begins_zstd_frame(stored)) {
    stored = packer.pack(stored);
  } else if (stored.size() > kPlainBytesMax) {
    if (const auto frame = packer.pack_if_smaller(stored)) stored = *frame;
  }
}

std::string_view fields_text(std::string_view stored, std::string& room) {
  if (!begins_zstd_frame(stored)) return stored;
  room = unpack_zstd(stored).value_or("");
  return room;
}

void decode_fields(std::string_view stored,
                   std::vector<RecordedField>& fields,
                   std::vector<RecordedField>& trailers) {
  std::string room;
  std::string_view text = fields_text(stored, room);
  std::vector<RecordedField>* into = &fields;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) {
      into = &trailers;
      continue;
    }
    const std::size_t colon = line.find(':');
    RecordedField& field = into->emplace_back();
    field.name = line.substr(0, colon);
    if (colon != std::string_view::npos && colon + 2 <= line.size()) {
      field.value = line.substr(colon + 2);
    }
  }
}

}  // namespace gatedrill::replay
