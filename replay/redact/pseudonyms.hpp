// Stand-ins for secrets: "redacted-" and 16 hex digits of an HMAC-SHA-256. Equal values have equal
// pseudonyms under one key, and without the key nobody can find a value by trying.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/core/result.hpp"
#include "replay/digest.hpp"

namespace gatedrill::replay {

// Not thread-safe.
class Pseudonyms {
 public:
  // Under a random key that exists only as long as this object.
  Pseudonyms() = default;

  explicit Pseudonyms(std::string_view key) : digest_(key) {}

  // Of what is a pseudonym already, itself.
  [[nodiscard]] std::string of(std::string_view value);

 private:
  struct Hash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  KeyedDigest digest_;
  // Those of the values seen last: a session's cookie comes with each of its requests.
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> known_;
};

// The key in a file, so that several recordings have the same pseudonyms. A file that is missing is
// made, with 32 random bytes and for its owner alone. Fails (usage) if it holds less than 16 bytes.
[[nodiscard]] Result<std::string> read_or_make_key(const std::string& path);

}  // namespace gatedrill::replay
