// Multipart bodies: each part by the name it has in the form, and by what it holds.
#include <algorithm>

#include "gateway/http/head.hpp"
#include "replay/redact/content.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay {
namespace {

struct Head {
  std::string_view text{};
  std::size_t content = 0;  // where it begins; 0: there is none
};

// Lines may end in LF alone.
Head head_of(std::string_view part) {
  const std::size_t strict = part.find("\r\n\r\n");
  const std::size_t lenient = part.substr(0, strict).find("\n\n");
  const std::size_t end = std::min(strict, lenient);
  if (end == std::string_view::npos) return {};
  const std::size_t content = end + (end == strict ? 4 : 2);
  return {part.substr(0, end), content < part.size() ? content : 0};
}

// The name of the form's field; name*=utf-8''a%20b as well (RFC 5987).
std::string name_of(std::string_view head) {
  if (const std::string_view name = value_behind(head, "name="); !name.empty())
    return std::string(name);
  const std::string_view name = value_behind(head, "name*=");
  return percent_decoded(name.substr(name.rfind('\'') + 1));
}

}  // namespace

std::optional<std::string> ContentRedactor::part(std::string_view head, std::string_view content) {
  const NameKind kind = names_.kind(name_of(head), SecretNames::Place::parameter);
  if (kind == NameKind::allowed) return std::nullopt;
  if (kind == NameKind::secret) {
    ++counts_.members;
    return pseudonym(content);
  }
  if (kind == NameKind::phone) return value(content, kind);
  constexpr int kDepthMax = 4;
  if (depth_ >= kDepthMax) return std::nullopt;
  ++depth_;
  auto redacted = body(content, value_behind(head, "content-type:"));
  --depth_;
  return redacted;
}

// A boundary that is not declared, or another than there is, is that of the first line.
std::optional<std::string> ContentRedactor::multipart(std::string_view body,
                                                      std::string_view boundary) {
  std::string delimiter = "--" + std::string(boundary);
  if (boundary.empty() || body.find(delimiter) == std::string_view::npos) {
    const std::string_view first = trimmed(body.substr(0, body.find('\n')));
    if (!first.starts_with("--") || first.size() < 3) return loose(body);
    delimiter = first;
  }
  Patch patch(body);
  std::size_t begin = body.find(delimiter);
  if (const auto redacted = loose(body.substr(0, begin))) patch.replace(0, begin, *redacted);
  while (begin != std::string_view::npos) {
    begin += delimiter.size();
    const std::size_t next = body.find("\n" + delimiter, begin);
    std::size_t end = std::min(next, body.size());
    if (next != std::string_view::npos && end > begin && body[end - 1] == '\r') --end;
    const Head head = head_of(body.substr(begin, end - begin));
    if (head.content > 0) {
      const std::size_t content = begin + head.content;
      const auto redacted = part(head.text, body.substr(content, end - content));
      if (redacted) patch.replace(content, end, *redacted);
    } else if (const auto redacted = loose(body.substr(begin, end - begin))) {
      patch.replace(begin, end, *redacted);
    }
    begin = next == std::string_view::npos ? next : next + 1;
  }
  return patch.result();
}

}  // namespace gatedrill::replay
