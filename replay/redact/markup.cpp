// XML and HTML: <password>x</password>, <login password="x">, <input name="csrf" value="x">, and in
// the text between, whatever is known by its form.
#include <algorithm>
#include <utility>
#include <vector>

#include "replay/redact/content.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay {
namespace {

struct Attribute {
  std::string_view name{};
  std::string_view value{};
  std::size_t begin = 0;  // of the value, in the whole text
};

struct Tag {
  std::string_view name;  // without its prefix; empty for </a>, <!...> and <?...>
  bool alone = false;     // <a/>
  std::vector<Attribute> attributes;
  std::size_t end = 0;  // behind '>'
};

std::string_view without_prefix(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

// The tag whose '<' is at `begin`. What comes behind so many attributes is taken for text.
Tag read_tag(std::string_view text, std::size_t begin) {
  constexpr std::string_view kSpace = " \t\r\n";
  constexpr std::size_t kAttributesMax = 1000;
  Tag tag;
  std::size_t i = begin + 1;
  const std::size_t name_end = std::min(text.find_first_of(" \t\r\n/>", i), text.size());
  const std::string_view name = text.substr(i, name_end - i);
  if (!name.empty() && (is_letter(name[0]) || name[0] == '_')) tag.name = without_prefix(name);
  i = name_end;
  while (i < text.size() && text[i] != '>' && tag.attributes.size() < kAttributesMax) {
    if (kSpace.find(text[i]) != std::string_view::npos || text[i] == '/') {
      tag.alone = text[i] == '/';
      ++i;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of("= \t\r\n/>", i), text.size());
    if (end == i) {
      ++i;
      continue;
    }
    Attribute attribute{.name = without_prefix(text.substr(i, end - i))};
    i = std::min(text.find_first_not_of(kSpace, end), text.size());
    if (i < text.size() && text[i] == '=') {
      i = std::min(text.find_first_not_of(kSpace, i + 1), text.size());
      const bool quoted = i < text.size() && (text[i] == '"' || text[i] == '\'');
      attribute.begin = i + (quoted ? 1 : 0);
      const std::size_t value_end = std::min(
          quoted ? text.find(text[i], i + 1) : text.find_first_of(" \t\r\n>", i), text.size());
      attribute.begin = std::min(attribute.begin, value_end);
      attribute.value = text.substr(attribute.begin, value_end - attribute.begin);
      i = std::min(value_end + (quoted ? 1 : 0), text.size());
    }
    tag.alone = false;
    tag.attributes.push_back(attribute);
  }
  tag.end = std::min(i + 1, text.size());
  return tag;
}

}  // namespace

std::optional<std::string> ContentRedactor::markup(std::string_view text) {
  constexpr auto kPlace = SecretNames::Place::member;
  Patch patch(text);
  const auto hide = [&](std::size_t begin, std::string_view value) {
    patch.replace(begin, begin + value.size(), pseudonym(xml_unescaped(value)));
    ++counts_.members;
  };
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == '<') {
      const Tag tag = read_tag(text, i);
      // <input name="csrf" value="x">, <meta name="csrf-token" content="x">
      const bool named = std::any_of(
          tag.attributes.begin(), tag.attributes.end(), [&](const Attribute& attribute) {
            return (attribute.name == "name" || attribute.name == "type") &&
                   names_.kind(attribute.value, kPlace) == NameKind::secret;
          });
      for (const Attribute& attribute : tag.attributes) {
        if (attribute.value.empty()) continue;
        const bool carries = attribute.name == "value" || attribute.name == "content";
        const NameKind kind = names_.kind(attribute.name, kPlace);
        if (kind == NameKind::secret || (named && carries)) {
          hide(attribute.begin, attribute.value);
        } else if (const auto redacted = value(attribute.value, kind)) {
          patch.replace(attribute.begin, attribute.begin + attribute.value.size(), *redacted);
        }
      }
      i = tag.end;
      if (tag.name.empty() || tag.alone) continue;
      const std::size_t end = std::min(text.find('<', i), text.size());
      const std::string_view content = trimmed(text.substr(i, end - i));
      if (content.empty()) continue;
      const auto begin = static_cast<std::size_t>(content.data() - text.data());
      const NameKind kind = names_.kind(tag.name, kPlace);
      if (kind == NameKind::secret) {
        hide(begin, content);
      } else if (const auto redacted = value(content, kind)) {
        patch.replace(begin, begin + content.size(), *redacted);
      }
      i = end;
      continue;
    }
    const std::size_t end = std::min(text.find('<', i), text.size());
    const std::string_view between = text.substr(i, end - i);
    if (const auto redacted = this->text(between)) patch.replace(i, end, *redacted);
    i = end;
  }
  return patch.result();
}

}  // namespace gatedrill::replay
