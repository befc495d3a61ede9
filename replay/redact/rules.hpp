// What is a secret by its name or its place, by default and by the user's word.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/json_path.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::replay {

// What the user says beside the default rules. Names are compared without case, '-', '_' and '.'.
struct RedactionRules {
  std::vector<std::string> fields{};      // header fields that are secret
  std::vector<std::string> parameters{};  // of queries, forms and multipart forms
  std::vector<std::string> json{};        // JSON members, by path: $.user.cards[*].number
  std::vector<std::string> allowed{};     // names, of whatever kind, or JSON paths that are none
  bool numbers = true;                    // card and phone numbers

  bool operator==(const RedactionRules&) const = default;
};

enum class NameKind : std::uint8_t {
  ordinary,
  secret,
  phone,       // a value that can be a phone number is one
  identifier,  // digits under it are no card number: ids, times, prices, hashes
  allowed,     // by the user's word: left as it is
};

// "auth", a secret by its name, that as an object may hold much that is none.
[[nodiscard]] bool holds_much(std::string_view name);

// The rules at work. Answers about the names seen last are remembered. Not thread-safe.
class SecretNames {
 public:
  enum class Place : std::uint8_t { field, parameter, member };

  SecretNames() = default;
  // Fails (usage) if a path is none.
  static Result<SecretNames> create(const RedactionRules& rules);

  [[nodiscard]] NameKind kind(std::string_view name, Place place) {
    if (name.empty()) return NameKind::ordinary;
    if (name.size() > sizeof(PackedName::words)) return look_up(name, place);
    const PackedName packed(name);
    const std::size_t at = packed.hash() % kKnownMax;
    const Known* known = &known_[at];
    if (!(known->name == packed)) known = &known_[at ^ 1U];
    if (!(known->name == packed)) known = &learn(at, name, packed);
    return known->kinds[static_cast<std::size_t>(place)];
  }

  [[nodiscard]] bool numbers() const { return numbers_; }

  [[nodiscard]] bool has_paths() const { return !secret_paths_.empty() || !allowed_paths_.empty(); }

  [[nodiscard]] bool is_secret(std::span<const JsonStep> place) const;
  [[nodiscard]] bool is_allowed(std::span<const JsonStep> place) const;

 private:
  // By folded name.
  struct Rule {
    std::string name;
    NameKind kind = NameKind::ordinary;
    std::optional<Place> place{};
  };

  // A name of up to 32 bytes as numbers, quick to compare: two words that begin and end with it
  // and may overlap, and two more if it is longer.
  struct PackedName {
    PackedName() = default;

    explicit PackedName(std::string_view name) : size(name.size()) {
      const char* begin = name.data();
      const char* end = begin + size;
      if (size >= 8) {
        words[0] = word_at<std::uint64_t>(begin);
        words[1] = word_at<std::uint64_t>(end - 8);
        if (size > 16) {
          words[2] = word_at<std::uint64_t>(begin + 8);
          words[3] = word_at<std::uint64_t>(end - 16);
        }
      } else if (size >= 4) {
        words[0] = word_at<std::uint32_t>(begin);
        words[1] = word_at<std::uint32_t>(end - 4);
      } else {
        for (const char c : name)
          words[0] = words[0] << 8U | static_cast<unsigned char>(c);
      }
    }

    template <class Word>
    static std::uint64_t word_at(const char* bytes) {
      Word word = 0;
      std::memcpy(&word, bytes, sizeof word);
      return word;
    }

    bool operator==(const PackedName& other) const {
      return ((size ^ other.size) | (words[0] ^ other.words[0]) | (words[1] ^ other.words[1]) |
              (words[2] ^ other.words[2]) | (words[3] ^ other.words[3])) == 0;
    }

    [[nodiscard]] std::size_t hash() const {
      const std::uint64_t mixed =
          (words[0] ^ words[1] * 0xff51afd7ed558ccdU ^ size) * 0x9e3779b97f4a7c15U;
      return static_cast<std::size_t>(mixed ^ mixed >> 32U);
    }

    std::array<std::uint64_t, 4> words{};
    std::uint64_t size = 0;
  };

  struct Known {
    PackedName name{};
    std::array<NameKind, 3> kinds{};
  };

  // In one of two places, so that two names in use need not drive each other out.
  const Known& learn(std::size_t at, std::string_view name, const PackedName& packed);
  // By a rule of the user's for the name, folded.
  [[nodiscard]] std::optional<NameKind> ruled(std::string_view text, Place place) const;
  [[nodiscard]] NameKind look_up(std::string_view name, Place place) const;

  std::vector<Rule> rules_;
  std::vector<JsonPath> secret_paths_;
  std::vector<JsonPath> allowed_paths_;
  bool numbers_ = true;
  static constexpr std::size_t kKnownMax = 512;
  std::size_t turn_ = 0;
  std::vector<Known> known_ = std::vector<Known>(kKnownMax);
};

}  // namespace gatedrill::replay
