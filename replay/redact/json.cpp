// JSON, followed loosely: a string that a colon follows is a name, and brackets nest. A text that
// is damaged or breaks off is searched as far as it goes; one that breaks off inside a secret loses
// what there is of it.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "replay/redact/content.hpp"
#include "replay/redact/encodings.hpp"
#include "replay/redact/text.hpp"

namespace gatedrill::replay {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The first quote at or behind `from`; most are near, so eight bytes are looked at together
// (Warren, "Hacker's Delight", 6-1: the lowest zero byte of a word).
std::size_t find_quote(std::string_view text, std::size_t from) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  while (from + sizeof(std::uint64_t) <= text.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + from, sizeof word);
    word ^= kOnes * static_cast<unsigned char>('"');
    const std::uint64_t zeros = (word - kOnes) & ~word & (kOnes << 7U);
    if (zeros != 0) return from + static_cast<std::size_t>(std::countr_zero(zeros)) / 8;
    from += sizeof word;
  }
  return text.find('"', from);
}

// An event (text/event-stream) may break a name at any place: "data: {"tok", "data: en":...
std::string without_line_ends(std::string_view name) {
  constexpr std::string_view kData = "data:";
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\n' && name[i] != '\r') {
      out.push_back(name[i]);
    } else if (name.substr(i + 1).starts_with(kData)) {
      i += kData.size();
      if (name.substr(i + 1).starts_with(' ')) ++i;
    }
  }
  return out;
}

}  // namespace

class ContentRedactor::JsonWalk {
 public:
  JsonWalk(ContentRedactor& owner, std::string_view json)
      : owner_(owner), paths_(owner.names_.has_paths()), json_(json), patch_(json) {}

  std::optional<std::string> run();

  // Words outside of strings, or other quotes: a script, a log, something like JSON.
  [[nodiscard]] bool has_words() const { return has_words_; }

  // A string over several lines: perhaps one of them lacks a quote.
  [[nodiscard]] bool has_long_string() const { return has_long_string_; }

 private:
  // An object or an array.
  struct Level {
    bool array = false;
    bool secret = false;                 // all of it
    NameKind kind = NameKind::ordinary;  // of an array's elements
  };

  [[nodiscard]] std::size_t string_end(std::size_t begin) const;
  [[nodiscard]] std::size_t space_end(std::size_t begin) const;
  void open(bool array);
  void close();
  void next_element();
  void begin_member(std::string_view name);
  std::size_t word(std::size_t begin);
  [[nodiscard]] NameKind kind_here() const;
  std::size_t string(std::size_t quote);
  std::size_t scalar(std::size_t begin);
  void hide(std::size_t begin, std::size_t end, std::string_view value);

  ContentRedactor& owner_;
  const bool paths_;
  std::string_view json_;
  Patch patch_;
  NameKind kind_ = NameKind::ordinary;  // of the value that comes next, by its name
  bool below_ = false;                  // so is all below it, if it is secret
  bool has_words_ = false;
  bool has_long_string_ = false;
  std::vector<Level> levels_;
  std::vector<JsonStep> place_;                      // one step a level; only where there are paths
  std::deque<std::string> names_;                    // those in it that had escapes
  static constexpr std::size_t kTokenBytesMin = 20;  // shorter names hold none
  // No text of use has more levels. Of deeper ones only the names count.
  static constexpr std::size_t kLevelsMax = 1000;
  std::size_t beyond_ = 0;
};

std::optional<std::string> ContentRedactor::json(std::string_view json) {
  bool has_words = false;
  return this->json(json, has_words);
}

std::optional<std::string> ContentRedactor::json(std::string_view json, bool& has_words) {
  JsonWalk walk(*this, json);
  Steps steps(json);
  steps.then([&](std::string_view) { return walk.run(); });
  if (walk.has_long_string()) steps.then([&](std::string_view left) { return lines(left); });
  has_words = walk.has_words();
  return steps.result();
}

// Each for itself: a line that is damaged does not turn the strings of the next inside out.
std::optional<std::string> ContentRedactor::lines(std::string_view json) {
  Patch patch(json);
  std::size_t begin = 0;
  while (begin < json.size()) {
    const std::size_t end = std::min(json.find('\n', begin), json.size());
    if (const auto redacted = JsonWalk(*this, json.substr(begin, end - begin)).run()) {
      patch.replace(begin, end, *redacted);
    }
    begin = end + 1;
  }
  return patch.result();
}

std::optional<std::string> ContentRedactor::JsonWalk::run() {
  levels_.reserve(8);
  std::size_t i = 0;
  while (i < json_.size()) {
    const char c = json_[i];
    if (c == '"') {
      i = string(i);
    } else if (is_digit(c) || c == '-') {
      i = scalar(i);
    } else if (is_letter(c) || c == '\'' || c == '=') {
      i = word(i);
    } else {
      if (c == ',') next_element();
      if (c == '{' || c == '[') open(c == '[');
      if (c == '}' || c == ']') close();
      ++i;
    }
  }
  return patch_.result();
}

// The closing quote of the string whose first character is at `begin`, or the end.
std::size_t ContentRedactor::JsonWalk::string_end(std::size_t begin) const {
  for (std::size_t from = begin;;) {
    const std::size_t quote = find_quote(json_, from);
    if (quote == std::string_view::npos) return json_.size();
    std::size_t first = quote;  // of the backslashes before it
    while (first > begin && json_[first - 1] == '\\')
      --first;
    if ((quote - first) % 2 == 0) return quote;
    from = quote + 1;
  }
}

std::size_t ContentRedactor::JsonWalk::word(std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < json_.size() && is_letter(json_[end]))
    ++end;
  const std::string_view word = json_.substr(begin, end - begin);
  if (word != "true" && word != "false" && word != "null") has_words_ = true;
  return end;
}

std::size_t ContentRedactor::JsonWalk::space_end(std::size_t begin) const {
  std::size_t i = begin;
  while (i < json_.size() && is_space(json_[i]))
    ++i;
  return i;
}

// All below a secret name is secret, but "auth" may be an object of much.
void ContentRedactor::JsonWalk::open(bool array) {
  const bool below = std::exchange(below_, false);
  if (!array) kind_ = NameKind::ordinary;
  if (levels_.size() >= kLevelsMax) {
    ++beyond_;
    return;
  }
  const bool secret =
      below ||
      (!levels_.empty() && (levels_.back().secret || (paths_ && owner_.names_.is_secret(place_))));
  levels_.push_back({.array = array, .secret = secret, .kind = kind_});
  if (paths_) place_.push_back({.element = array});
}

void ContentRedactor::JsonWalk::close() {
  kind_ = NameKind::ordinary;
  below_ = false;
  if (beyond_ > 0) {
    --beyond_;
    return;
  }
  if (levels_.empty()) return;
  levels_.pop_back();
  if (paths_) place_.pop_back();
}

void ContentRedactor::JsonWalk::next_element() {
  kind_ = NameKind::ordinary;
  below_ = false;
  if (levels_.empty() || beyond_ > 0) return;
  if (levels_.back().array) kind_ = levels_.back().kind;
  if (!paths_) return;
  JsonStep& step = place_.back();
  if (step.element) {
    ++step.index;
  } else {
    step.name = {};
  }
}

void ContentRedactor::JsonWalk::begin_member(std::string_view name) {
  const bool placed = paths_ && beyond_ == 0;
  if (placed && levels_.empty()) open(false);  // the text began somewhere inside
  std::string plain;
  if (name.find('\\') != std::string_view::npos || name.find('\n') != std::string_view::npos) {
    plain = json_unescaped(without_line_ends(name));
    name = placed ? std::string_view(names_.emplace_back(std::move(plain))) : plain;
  }
  kind_ = owner_.names_.kind(name, SecretNames::Place::member);
  below_ = kind_ == NameKind::secret && !holds_much(name);
  if (placed) place_.back() = {.name = name};
}

NameKind ContentRedactor::JsonWalk::kind_here() const {
  if (levels_.empty() || kind_ == NameKind::allowed) return kind_;
  if (paths_ && beyond_ == 0 && owner_.names_.is_allowed(place_)) return NameKind::allowed;
  if (levels_.back().secret) return NameKind::secret;
  if (paths_ && beyond_ == 0 && owner_.names_.is_secret(place_)) return NameKind::secret;
  return kind_;
}

void ContentRedactor::JsonWalk::hide(std::size_t begin, std::size_t end, std::string_view value) {
  patch_.replace(begin, end, "\"" + owner_.pseudonym(value) + "\"");
  ++owner_.counts_.members;
}

// From its opening quote to behind it, or behind the colon if it is a name.
std::size_t ContentRedactor::JsonWalk::string(std::size_t quote) {
  const std::size_t end = string_end(quote + 1);
  const std::string_view content = json_.substr(quote + 1, end - quote - 1);
  const std::size_t behind = std::min(end + 1, json_.size());
  const std::size_t colon = space_end(behind);
  if (colon < json_.size() && json_[colon] == ':') {
    begin_member(content);
    if (content.size() >= kTokenBytesMin && traits_of(content).formed) {
      if (const auto redacted = owner_.text(content, false)) {
        patch_.replace(quote + 1, end, *redacted);
      }
    }
    return colon + 1;
  }
  if (content.find('\n') != std::string_view::npos) has_long_string_ = true;
  const NameKind kind = kind_here();
  if (kind == NameKind::ordinary && content.size() < kFormBytesMin) return behind;
  const bool escaped = content.find('\\') != std::string_view::npos;
  if (kind == NameKind::secret) {
    if (!content.empty()) {
      hide(quote, behind, escaped ? json_unescaped(content) : std::string(content));
    }
    return behind;
  }
  auto inner = escaped ? owner_.value(json_unescaped(content), kind) : owner_.value(content, kind);
  if (inner) patch_.replace(quote + 1, end, json_escaped(*inner));
  return behind;
}

std::size_t ContentRedactor::JsonWalk::scalar(std::size_t begin) {
  const std::string_view json = json_;
  std::size_t end = begin;
  while (end < json.size() && json[end] != ',' && json[end] != '}' && json[end] != ']' &&
         json[end] != '"' && !is_space(json[end])) {
    ++end;
  }
  const NameKind kind = kind_here();
  if (kind == NameKind::ordinary && end - begin < kFormBytesMin) return end;
  const std::string_view number = json.substr(begin, end - begin);
  const bool numbers = owner_.names_.numbers();
  if (kind == NameKind::secret) {
    hide(begin, end, number);
  } else if (numbers && ((kind == NameKind::phone && is_phone_number(number)) ||
                         (kind == NameKind::ordinary && is_card_number(number)))) {
    patch_.replace(begin, end, "\"" + owner_.pseudonym(number) + "\"");
    ++owner_.counts_.numbers;
  }
  return end;
}

}  // namespace gatedrill::replay
