// Replaces the secrets in the contents of messages: URLs, forms, JSON, XML and HTML, multipart
// bodies, and any other text. Each function gives back the text without its secrets, or nothing if
// it holds none; all other bytes stay as they are.
//
//   body ─► json ────────┐
//           parameters ──┤  each value: secret by its name or place ─► a pseudonym
//           multipart ───┤              else ─► value ─► json, url, parameters inside it
//           markup ──────┤                           └─► text: secret by its form
//           loose ───────┘  (logs, scripts: JSON in it, assignments, links, text)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/redact/pseudonyms.hpp"
#include "replay/redact/rules.hpp"

namespace gatedrill::replay {

struct ContentCounts {
  std::uint64_t parameters = 0;  // of queries, URLs and forms
  std::uint64_t members = 0;     // of JSON, XML and multipart bodies
  std::uint64_t tokens = 0;      // known by their form
  std::uint64_t numbers = 0;     // of cards and phones
};

// What stands behind "token =" without quotes: a value, or in a script an expression.
enum class Bare : std::uint8_t { is_value, is_expression };

// "Bearer", "Basic" and their like.
[[nodiscard]] bool is_credential_scheme(std::string_view word);

// Not thread-safe.
class ContentRedactor {
 public:
  ContentRedactor(SecretNames names, Pseudonyms pseudonyms);

  std::optional<std::string> body(std::string_view body, std::string_view content_type);
  // A request target, or a URL.
  std::optional<std::string> url(std::string_view url);
  std::optional<std::string> parameters(std::string_view parameters);
  std::optional<std::string> json(std::string_view json);
  std::optional<std::string> multipart(std::string_view body, std::string_view boundary);
  std::optional<std::string> markup(std::string_view text);
  std::optional<std::string> text(std::string_view text, bool numbers = true);
  // Whatever it is: logs, notes, scripts.
  std::optional<std::string> loose(std::string_view text, Bare bare = Bare::is_value);
  // "host", or "user:password@host:443".
  std::optional<std::string> authority(std::string_view authority);
  // Whatever a harmless name has: perhaps a URL, or JSON in a string.
  std::optional<std::string> value(std::string_view value, NameKind kind = NameKind::ordinary);

  // The same for a value however it is written: quotes and escapes of URLs are undone before.
  [[nodiscard]] std::string pseudonym(std::string_view value) { return pseudonyms_.of(value); }

  [[nodiscard]] NameKind kind(std::string_view name, SecretNames::Place place) {
    return names_.kind(name, place);
  }

  [[nodiscard]] const ContentCounts& counts() const { return counts_; }

 private:
  class JsonWalk;
  class MarkupWalk;

  std::optional<std::string> parameter_value(std::string_view name, std::string_view value);
  std::optional<std::string> path(std::string_view path);
  std::optional<std::string> part(std::string_view head, std::string_view content);
  std::optional<std::string> links(std::string_view text);
  std::optional<std::string> assignments(std::string_view text, Bare bare);
  // Says too if words stand outside of its strings: a script, or something like JSON.
  std::optional<std::string> json(std::string_view json, bool& has_words);
  std::optional<std::string> nearly_json(std::string_view json, Bare bare);
  std::optional<std::string> lines(std::string_view json);

  SecretNames names_;
  Pseudonyms pseudonyms_;
  ContentCounts counts_;
  int depth_ = 0;  // of values inside of values
};

// Of several steps, each on what the one before has left.
class Steps {
 public:
  explicit Steps(std::string_view text) : text_(text) {}

  template <class Step>
  Steps& then(Step step) {
    if (auto next = step(left_ ? std::string_view(*left_) : text_)) left_ = std::move(next);
    return *this;
  }

  [[nodiscard]] std::optional<std::string> result() { return std::move(left_); }

 private:
  std::string_view text_;
  std::optional<std::string> left_;
};

// Puts a text together from the parts of another that stay and what stands in for the rest.
class Patch {
 public:
  explicit Patch(std::string_view text) : text_(text) {}

  // In the order of the text.
  void replace(std::size_t begin, std::size_t end, std::string_view by) {
    if (text_.substr(begin, end - begin) == by) return;
    out_.append(text_.substr(copied_, begin - copied_)).append(by);
    copied_ = end;
    changed_ = true;
  }

  [[nodiscard]] std::optional<std::string> result() {
    if (!changed_) return std::nullopt;
    out_.append(text_.substr(copied_));
    return std::move(out_);
  }

 private:
  std::string_view text_;
  std::string out_;
  std::size_t copied_ = 0;
  bool changed_ = false;
};

}  // namespace gatedrill::replay
