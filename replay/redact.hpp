// Replaces the secrets of an exchange before it reaches the disk.
//
// A secret is known by its place and name (Authorization, Cookie, X-Api-Key; parameters, JSON
// members, XML elements and multipart parts called token, password and the like; user information
// in URLs; what the user's rules name) or by its form (redact/text.hpp). Its pseudonym is keyed:
// the same user stays the same user, in a field, a cookie and a body, and nobody can find the value
// by trying. Names, cookie names and attributes, and all other bytes stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/result.hpp"
#include "replay/recording.hpp"
#include "replay/redact/content.hpp"
#include "replay/redact/pseudonyms.hpp"
#include "replay/redact/rules.hpp"

namespace gatedrill::replay {

struct RedactionCounts {
  std::uint64_t fields = 0;
  std::uint64_t bodies = 0;
  std::uint64_t dropped_bodies = 0;  // could not be decoded, so not be searched either
  std::uint64_t dropped_bytes = 0;
  ContentCounts content{};
};

// What became of the body of a message.
struct RedactedBody {
  std::optional<std::string> plain{};  // as redacted, without its codings, if it was looked into
  std::uint64_t dropped_bytes = 0;     // 0: it was not dropped
};

struct RedactedBodies {
  RedactedBody request{};
  RedactedBody response{};
};

// Not thread-safe.
class Redactor {
 public:
  // The default rules, and a random key.
  Redactor() : Redactor(SecretNames(), Pseudonyms()) {}

  Redactor(SecretNames names, Pseudonyms pseudonyms)
      : content_(std::move(names), std::move(pseudonyms)) {}

  RedactedBodies redact(RecordedExchange& exchange);

  [[nodiscard]] RedactionCounts counts() const;

  [[nodiscard]] std::string pseudonym(std::string_view value) { return content_.pseudonym(value); }

 private:
  template <class Message>
  RedactedBody redact_message(Message& message);
  bool redact_field(RecordedField& field);
  bool redact_protocols(std::string& list);
  void redact_authority(RecordedExchange& exchange, RecordedRequest& request);
  template <class Message>
  bool redact_body(Message& message, RedactedBody& body);
  template <class Message>
  void drop_body(Message& message, RedactedBody& body);
  std::string redact_cookies(std::string_view value, bool attributes);
  std::string redact_credentials(std::string_view name, std::string_view value);

  ContentRedactor content_;
  RedactionCounts counts_;
};

}  // namespace gatedrill::replay
