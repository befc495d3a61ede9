// Multipart bodies: each part by the name it has in the form, and by what it holds.
#include <algorithm>

#include "gateway/http/head.hpp"
#include "replay/redact/content.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay {
namespace {

// The value of `name` in a part's head; `name` ends with '=' or ':'.
std::string_view after(std::string_view head, std::string_view name) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  auto found = head.begin();
  for (;;) {
    found = std::search(found, head.end(), name.begin(), name.end(), same);
    if (found == head.end()) return {};
    // Not the end of a longer name: "filename=" holds "name=".
    if (found == head.begin() || !is_letter(*(found - 1))) break;
    ++found;
  }
  std::string_view value =
      head.substr(static_cast<std::size_t>(found - head.begin()) + name.size());
  if (value.starts_with('"')) {
    value.remove_prefix(1);
    return value.substr(0, value.find('"'));
  }
  return trimmed(value.substr(0, value.find_first_of(";\r\n")));
}

}  // namespace

std::optional<std::string> ContentRedactor::part(std::string_view head, std::string_view content) {
  const NameKind kind = names_.kind(after(head, "name="), SecretNames::Place::parameter);
  if (kind == NameKind::allowed) return std::nullopt;
  if (kind == NameKind::secret) {
    ++counts_.members;
    return pseudonym(content);
  }
  if (kind == NameKind::phone) return value(content, kind);
  constexpr int kDepthMax = 4;
  if (depth_ >= kDepthMax) return std::nullopt;
  ++depth_;
  auto redacted = body(content, after(head, "content-type:"));
  --depth_;
  return redacted;
}

std::optional<std::string> ContentRedactor::multipart(std::string_view body,
                                                      std::string_view boundary) {
  if (boundary.empty()) return text(body);
  const std::string delimiter = "--" + std::string(boundary);
  Patch patch(body);
  std::size_t begin = body.find(delimiter);
  while (begin != std::string_view::npos) {
    begin += delimiter.size();
    const std::size_t next = body.find("\r\n" + delimiter, begin);
    const std::size_t end = std::min(next, body.size());
    const std::size_t head_end = body.find("\r\n\r\n", begin);
    if (head_end != std::string_view::npos && head_end + 4 < end) {
      const std::size_t content = head_end + 4;
      const auto redacted =
          part(body.substr(begin, head_end - begin), body.substr(content, end - content));
      if (redacted) patch.replace(content, end, *redacted);
    }
    begin = next == std::string_view::npos ? next : next + 2;
  }
  return patch.result();
}

}  // namespace gatedrill::replay
