// XML and HTML: <password>x</password> and what is below it, <login password="x">,
// <input name="csrf" value="x">, <item key="pin">x</item>, <key>pin</key><string>x</string>,
// scripts, comments, and in the text between, whatever is known by its form.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "gateway/http/head.hpp"
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
  std::string_view name;  // without its prefix; empty for <!...> and <?...>
  bool closes = false;    // </a>
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
  tag.closes = text.substr(begin).starts_with("</");
  std::size_t i = begin + (tag.closes ? 2 : 1);
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

// Elements without an end tag, and without a text (HTML 13.1.2).
bool is_void(std::string_view name) {
  constexpr std::array<std::string_view, 14> kVoid = {"area",  "base",   "br",    "col",  "embed",
                                                      "hr",    "img",    "input", "link", "meta",
                                                      "param", "source", "track", "wbr"};
  return std::any_of(kVoid.begin(), kVoid.end(),
                     [&](std::string_view one) { return http::equals_ignoring_case(name, one); });
}

bool is_script(std::string_view name) {
  return http::equals_ignoring_case(name, "script") || http::equals_ignoring_case(name, "style");
}

// <item key="password">, <entry><key>password</key><value>...
bool names_another(std::string_view name) {
  return name == "key" || name == "name";
}

}  // namespace

class ContentRedactor::MarkupWalk {
 public:
  MarkupWalk(ContentRedactor& owner, std::string_view text)
      : owner_(owner), text_(text), patch_(text) {}

  std::optional<std::string> run();

 private:
  static constexpr auto kPlace = SecretNames::Place::member;

  void tag();
  void attributes(const Tag& tag);
  void open(const Tag& tag);
  void close(std::string_view name);
  void script(std::string_view name);
  // From where it is up to `end`.
  void characters(std::size_t end);
  void hide(std::string_view value);
  void replace(std::string_view part, const std::optional<std::string>& redacted);

  ContentRedactor& owner_;
  std::string_view text_;
  Patch patch_;
  std::size_t at_ = 0;
  std::string_view secret_{};   // the element that is secret with all below it
  std::size_t depth_ = 0;       // of elements of that name
  std::string_view element_{};  // whose text comes next; empty behind an end tag
  bool next_ = false;           // that text is secret
};

std::optional<std::string> ContentRedactor::markup(std::string_view text) {
  return MarkupWalk(*this, text).run();
}

std::optional<std::string> ContentRedactor::MarkupWalk::run() {
  constexpr std::string_view kData = "<![CDATA[";
  constexpr std::string_view kDataEnd = "]]>";
  constexpr std::string_view kComment = "<!--";
  while (at_ < text_.size()) {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with(kData)) {
      at_ += kData.size();
      characters(std::min(text_.find(kDataEnd, at_), text_.size()));
      at_ = std::min(at_ + kDataEnd.size(), text_.size());
    } else if (rest.starts_with(kComment)) {
      const std::size_t end = std::min(text_.find("-->", at_), text_.size());
      const std::string_view comment = text_.substr(at_, end - at_);
      replace(comment, owner_.loose(comment));
      at_ = end;
    } else if (rest.front() == '<') {
      tag();
    } else {
      characters(std::min(text_.find('<', at_), text_.size()));
    }
  }
  return patch_.result();
}

void ContentRedactor::MarkupWalk::hide(std::string_view value) {
  replace(value, owner_.pseudonym(xml_unescaped(value)));
  ++owner_.counts_.members;
}

void ContentRedactor::MarkupWalk::replace(std::string_view part,
                                          const std::optional<std::string>& redacted) {
  if (!redacted) return;
  const auto begin = static_cast<std::size_t>(part.data() - text_.data());
  patch_.replace(begin, begin + part.size(), *redacted);
}

void ContentRedactor::MarkupWalk::characters(std::size_t end) {
  const std::string_view all = text_.substr(at_, end - at_);
  const std::string_view content = trimmed(all);
  at_ = end;
  if (content.empty()) return;
  const NameKind kind = owner_.kind(element_, kPlace);
  if (!secret_.empty() || next_ || kind == NameKind::secret) {
    hide(content);
    next_ = false;
  } else if (element_.empty()) {
    replace(all, owner_.text(all));
  } else {
    next_ = names_another(element_) && owner_.kind(content, kPlace) == NameKind::secret;
    replace(content, owner_.value(content, kind));
  }
}

void ContentRedactor::MarkupWalk::tag() {
  const Tag tag = read_tag(text_, at_);
  at_ = tag.end;
  if (tag.closes) {
    close(tag.name);
    return;
  }
  attributes(tag);
  if (!tag.name.empty() && !tag.alone && !is_void(tag.name)) open(tag);
}

void ContentRedactor::MarkupWalk::attributes(const Tag& tag) {
  // <input name="csrf" value="x">, <meta name="csrf-token" content="x">
  const auto names_a_secret = [&](const Attribute& attribute) {
    return (names_another(attribute.name) || attribute.name == "type") &&
           owner_.kind(attribute.value, kPlace) == NameKind::secret;
  };
  const bool named = std::any_of(tag.attributes.begin(), tag.attributes.end(), names_a_secret);
  for (const Attribute& attribute : tag.attributes) {
    if (attribute.value.empty()) continue;
    const bool carries = attribute.name == "value" || attribute.name == "content";
    const NameKind kind = owner_.kind(attribute.name, kPlace);
    if (kind == NameKind::secret || !secret_.empty() || (named && carries)) {
      hide(attribute.value);
    } else {
      replace(attribute.value, owner_.value(attribute.value, kind));
    }
  }
}

// A form or a button may be called "password" and hold much else: of an element that is named by an
// attribute only the text is secret.
void ContentRedactor::MarkupWalk::open(const Tag& tag) {
  element_ = tag.name;
  if (!secret_.empty()) {
    if (tag.name == secret_) ++depth_;
    return;
  }
  if (owner_.kind(tag.name, kPlace) == NameKind::secret && !holds_much(tag.name)) {
    secret_ = tag.name;
    depth_ = 1;
  } else if (is_script(tag.name)) {
    script(tag.name);
  } else if (!next_) {
    const bool named =
        std::any_of(tag.attributes.begin(), tag.attributes.end(), [&](const Attribute& attribute) {
          return names_another(attribute.name) &&
                 owner_.kind(attribute.value, kPlace) == NameKind::secret;
        });
    const std::size_t first = named ? text_.find_first_not_of(" \t\r\n", at_) : text_.size();
    next_ = first < text_.size() && text_[first] != '<';
  }
}

void ContentRedactor::MarkupWalk::close(std::string_view name) {
  element_ = {};
  if (secret_.empty() || !http::equals_ignoring_case(name, secret_)) return;
  if (--depth_ == 0) secret_ = {};
}

void ContentRedactor::MarkupWalk::script(std::string_view name) {
  std::size_t end = at_;
  do {
    end = text_.find("</", end);
    if (end == std::string_view::npos) break;
    end += 2;
  } while (!http::equals_ignoring_case(text_.substr(end, name.size()), name));
  end = end == std::string_view::npos ? text_.size() : end - 2;
  const std::string_view content = text_.substr(at_, end - at_);
  replace(content, owner_.loose(content, Bare::is_expression));
  at_ = end;
}

}  // namespace gatedrill::replay
