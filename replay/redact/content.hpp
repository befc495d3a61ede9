// Replaces the secrets in the contents of messages: URLs, forms, JSON, XML and HTML, multipart
// bodies, and any other text. Each function gives back the text without its secrets, or nothing if
// it holds none; all other bytes stay as they are.
//
//   body ─► json ────────┐
//           parameters ──┤  each value: secret by its name or place ─► a pseudonym
//           multipart ───┤              else ─► value ─► json, url, parameters inside it
//           markup ──────┤                           └─► text: secret by its form
//           text ────────┘
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

  std::optional<std::string> parameter_value(std::string_view name, std::string_view value);
  std::optional<std::string> path(std::string_view path);
  std::optional<std::string> part(std::string_view head, std::string_view content);
  std::optional<std::string> links(std::string_view text);

  SecretNames names_;
  Pseudonyms pseudonyms_;
  ContentCounts counts_;
  int depth_ = 0;  // of values inside of values
};

// Puts a text together from the parts of another that stay and what stands in for the rest.
class Patch {
 public:
  explicit Patch(std::string_view text) : text_(text) {}

  // In the order of the text.
  void replace(std::size_t begin, std::size_t end, std::string_view by) {
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
