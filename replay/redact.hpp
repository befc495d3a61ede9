// Replaces the secrets of an exchange before it reaches the disk.
//
// What is a secret is told by its place and name: the credential fields (Authorization, Cookie,
// X-Api-Key, ...), query and form parameters, JSON members and multipart parts called token,
// password and the like, and user information in URLs. A value becomes a pseudonym,
// "redacted-" and 16 hex digits, keyed with a random key that is never stored: equal values have
// equal pseudonyms within one recording, so the same user stays the same user, and nobody can
// find the value by trying. Names, cookie names and attributes, and all other bytes stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/digest.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay {

struct RedactionCounts {
  std::uint64_t fields = 0;
  std::uint64_t parameters = 0;  // of queries, URLs and forms
  std::uint64_t bodies = 0;
  std::uint64_t dropped_bodies = 0;  // could not be decoded, so not be searched either
  std::uint64_t dropped_bytes = 0;
};

// Not thread-safe.
class Redactor {
 public:
  void redact(RecordedExchange& exchange);

  [[nodiscard]] const RedactionCounts& counts() const { return counts_; }

  // The pieces, each pure but for the key.
  [[nodiscard]] std::string pseudonym(std::string_view value);
  // A request target or a URL; nothing if it holds no secret.
  [[nodiscard]] std::optional<std::string> redact_url(std::string_view url);
  [[nodiscard]] std::optional<std::string> redact_parameters(std::string_view parameters);
  [[nodiscard]] std::optional<std::string> redact_json(std::string_view json);
  [[nodiscard]] std::optional<std::string> redact_multipart(std::string_view body,
                                                            std::string_view boundary);

 private:
  template <class Message>
  void redact_message(Message& message);
  bool redact_field(RecordedField& field);
  template <class Message>
  bool redact_body(Message& message);
  std::optional<std::string> redact_plain(std::string_view body, std::string_view content_type);
  std::string redact_cookies(std::string_view value, bool attributes);
  std::string redact_credentials(std::string_view value);

  KeyedDigest key_;
  RedactionCounts counts_;
};

// Whether a parameter, member or field of this name holds a secret.
[[nodiscard]] bool names_a_secret(std::string_view name);

}  // namespace gatedrill::replay
