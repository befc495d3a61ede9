#include "replay/redact/content.hpp"

#include <algorithm>
#include <utility>

#include "replay/redact/encodings.hpp"
#include "replay/redact/text.hpp"

namespace gatedrill::replay {
namespace {

// A URL in a parameter of a URL in a string of JSON, and so on: enough.
constexpr int kDepthMax = 4;

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

bool looks_like_form(std::string_view body) {
  const std::string_view text = body.substr(0, 256);
  return text.find('=') != std::string_view::npos &&
         text.find_first_of(" \r\n<{\"") == std::string_view::npos;
}

bool looks_like_markup(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

bool looks_like_url(std::string_view text, const TextTraits& traits) {
  const bool may_be = text.front() == '/'
                          ? traits.delimiter
                          : traits.colon && text.find("://") != std::string_view::npos;
  return may_be && text.find_first_of(" <>\"") == std::string_view::npos;
}

// A NUL, or much of what no text has: images, archives, protocol buffers.
bool is_binary(std::string_view body) {
  const std::string_view head = body.substr(0, 512);
  const auto odd = std::count_if(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\t' && c != '\r' && c != '\n' && c != '\f' && c != '\x1b';
  });
  return odd * 16 > static_cast<std::ptrdiff_t>(head.size()) ||
         head.find('\0') != std::string_view::npos;
}

std::string_view boundary_of(std::string_view content_type) {
  constexpr std::string_view kName = "boundary=";
  const std::size_t at = content_type.find(kName);
  if (at == std::string_view::npos) return {};
  std::string_view boundary = content_type.substr(at + kName.size());
  if (boundary.starts_with('"')) {
    boundary.remove_prefix(1);
    return boundary.substr(0, boundary.find('"'));
  }
  return boundary.substr(0, boundary.find_first_of("; \t"));
}

}  // namespace

ContentRedactor::ContentRedactor(SecretNames names, Pseudonyms pseudonyms)
    : names_(std::move(names)), pseudonyms_(std::move(pseudonyms)) {}

std::optional<std::string> ContentRedactor::body(std::string_view body,
                                                 std::string_view content_type) {
  if (contains_ignoring_case(content_type, "multipart/")) {
    return multipart(body, boundary_of(content_type));
  }
  if (contains_ignoring_case(content_type, "x-www-form-urlencoded")) return parameters(body);
  if (looks_like_json(body)) return json(body);
  if (is_binary(body)) return std::nullopt;
  if (looks_like_markup(body)) return markup(body);
  if (looks_like_form(body)) return parameters(body);
  // Lines or events that hold JSON, scripts, logs: names and strings first, then links and forms.
  auto named = json(body);
  auto linked = links(named ? std::string_view(*named) : body);
  if (!linked) linked = std::move(named);
  auto formed = text(linked ? std::string_view(*linked) : body);
  return formed ? std::move(formed) : std::move(linked);
}

// The URLs with parameters inside a text: "</a?x=1>; rel=next", "GET /a?token=x HTTP/1.1".
std::optional<std::string> ContentRedactor::links(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n<>\"'(),";
  Patch patch(text);
  std::size_t at = 0;
  while ((at = text.find_first_of("?#", at)) != std::string_view::npos) {
    const std::size_t before = text.substr(0, at).find_last_of(kBetween);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string_view link = text.substr(begin, end - begin);
    if (link.find('=') != std::string_view::npos) {
      if (const auto redacted = url(link)) patch.replace(begin, end, *redacted);
    }
    at = end;
  }
  return patch.result();
}

std::optional<std::string> ContentRedactor::text(std::string_view text, bool numbers) {
  if (text.size() < kFormBytesMin) return std::nullopt;
  Patch patch(text);
  std::size_t at = 0;
  while (const auto found = find_secret(text, at, numbers && names_.numbers())) {
    patch.replace(found->begin, found->end,
                  pseudonym(text.substr(found->begin, found->end - found->begin)));
    ++(found->kind == TextSecret::Kind::token ? counts_.tokens : counts_.numbers);
    at = found->end;
  }
  return patch.result();
}

std::optional<std::string> ContentRedactor::value(std::string_view value, NameKind kind) {
  if (kind == NameKind::allowed) return std::nullopt;
  if (kind == NameKind::phone && names_.numbers() && is_phone_number(value)) {
    ++counts_.numbers;
    return pseudonym(value);
  }
  if (value.size() < kFormBytesMin) return std::nullopt;
  const TextTraits traits = traits_of(value);
  if (depth_ < kDepthMax) {
    ++depth_;
    std::optional<std::string> inner;
    const bool holds_json = traits.bracket && looks_like_json(value);
    const bool holds_url = !holds_json && looks_like_url(value, traits);
    if (holds_json) {
      inner = json(value);
    } else if (holds_url) {
      inner = url(value);
    } else if (traits.equals && looks_like_form(value)) {
      inner = parameters(value);
    } else if (traits.equals && traits.delimiter) {
      inner = links(value);
    }
    --depth_;
    if (inner || holds_json || holds_url) return inner;
  }
  if (!traits.formed) return std::nullopt;
  return text(value, kind != NameKind::identifier);
}

}  // namespace gatedrill::replay
