#include "replay/redact/content.hpp"

#include <algorithm>
#include <utility>

#include "replay/redact/encodings.hpp"
#include "replay/redact/text.hpp"
#include "replay/redact/wide_text.hpp"

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
                          ? traits.delimiter || (text[1] == '/' && text.find('@') != text.npos)
                          : traits.colon && text.find("://") != std::string_view::npos;
  return may_be && text.find_first_of(" <>\"") == std::string_view::npos;
}

// By its first line and the head of its first part.
bool looks_like_multipart(std::string_view body) {
  return body.starts_with("--") &&
         contains_ignoring_case(body.substr(0, 512), "\ncontent-disposition:");
}

bool is_script(std::string_view content_type) {
  return contains_ignoring_case(content_type, "script");
}

bool is_text(std::string_view content_type) {
  return contains_ignoring_case(content_type, "text/") || is_script(content_type) ||
         contains_ignoring_case(content_type, "json");
}

bool is_markup(std::string_view content_type) {
  return contains_ignoring_case(content_type, "xml") ||
         contains_ignoring_case(content_type, "html");
}

// Much of what no text has, or a NUL where no text is declared: images, archives, protocol buffers.
bool is_binary(std::string_view body, std::string_view content_type) {
  const std::string_view head = body.substr(0, 512);
  const auto odd = std::count_if(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\t' && c != '\r' && c != '\n' && c != '\f' && c != '\x1b';
  });
  return odd * 16 > static_cast<std::ptrdiff_t>(head.size()) ||
         (!is_text(content_type) && head.find('\0') != std::string_view::npos);
}

}  // namespace

ContentRedactor::ContentRedactor(SecretNames names, Pseudonyms pseudonyms)
    : names_(std::move(names)), pseudonyms_(std::move(pseudonyms)) {}

std::optional<std::string> ContentRedactor::body(std::string_view body,
                                                 std::string_view content_type) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (const auto form = wide_form_of(body)) {
    auto redacted = this->body(narrowed(body, *form), content_type);
    if (redacted) redacted = widened(*redacted, *form);
    return redacted;
  }
  std::size_t marks = 0;
  while (body.substr(marks).starts_with(kByteOrderMark))
    marks += kByteOrderMark.size();
  if (marks > 0) {
    auto redacted = this->body(body.substr(marks), content_type);
    if (redacted) redacted->insert(0, body.substr(0, marks));
    return redacted;
  }
  if (contains_ignoring_case(content_type, "multipart/") || looks_like_multipart(body)) {
    return multipart(body, value_behind(content_type, "boundary="));
  }
  // Whatever a form says that it is: curl says so of any body.
  const Bare bare = is_script(content_type) ? Bare::is_expression : Bare::is_value;
  if (looks_like_json(body)) return nearly_json(body, bare);
  if (contains_ignoring_case(content_type, "x-www-form-urlencoded")) return parameters(body);
  if (looks_like_markup(body)) return markup(body);
  if (is_binary(body, content_type)) return std::nullopt;
  if (is_markup(content_type)) return markup(body);
  if (looks_like_form(body)) return parameters(body);
  return loose(body, bare);
}

std::optional<std::string> ContentRedactor::nearly_json(std::string_view text, Bare bare) {
  bool has_words = false;
  Steps steps(text);
  steps.then([&](std::string_view left) { return json(left, has_words); });
  if (has_words) steps.then([&](std::string_view left) { return assignments(left, bare); });
  return steps.result();
}

// Names and strings first, then links and forms.
std::optional<std::string> ContentRedactor::loose(std::string_view text, Bare bare) {
  return Steps(text)
      .then([&](std::string_view left) { return json(left); })
      .then([&](std::string_view left) { return assignments(left, bare); })
      .then([&](std::string_view left) { return links(left); })
      .then([&](std::string_view left) { return this->text(left); })
      .result();
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
  Steps steps(value);
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
      steps.then([&](std::string_view left) { return links(left); });
    }
    --depth_;
    if (inner || holds_json || holds_url) return inner;
  }
  if (traits.formed) {
    steps.then([&](std::string_view left) { return text(left, kind != NameKind::identifier); });
  }
  return steps.result();
}

}  // namespace gatedrill::replay
