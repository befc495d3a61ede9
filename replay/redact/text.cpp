#include "replay/redact/text.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "gateway/http/head.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay {
namespace {

using http::equals_ignoring_case;

// Of base64, base64url and the tokens of RFC 6750.
bool is_token_char(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.' || c == '~' || c == '+' ||
         c == '/' || c == '=';
}

bool is_word_char(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

std::size_t token_end(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && is_token_char(text[end]))
    ++end;
  return end;
}

// `{"` in base64 is eyJ: a JWT, or some other JSON that was packed away.
std::optional<TextSecret> json_token(std::string_view text, std::size_t j) {
  constexpr std::size_t kBytesMin = 20;
  if (j < 2 || text[j - 1] != 'y' || text[j - 2] != 'e') return std::nullopt;
  const std::size_t begin = j - 2;
  if (begin > 0 && is_word_char(text[begin - 1])) return std::nullopt;
  const std::size_t end = token_end(text, begin);
  if (end - begin < kBytesMin) return std::nullopt;
  return TextSecret{TextSecret::Kind::token, begin, end};
}

bool is_basic_credential(std::string_view token) {
  const auto decoded = base64_decoded(token);
  return decoded && decoded->find(':') != std::string::npos &&
         std::all_of(decoded->begin(), decoded->end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
}

// "Bearer" and "Basic" are words too: what follows must not be one.
std::optional<TextSecret> scheme_token(std::string_view text, std::size_t b) {
  constexpr std::size_t kBytesMin = 8;
  if (b > 0 && is_word_char(text[b - 1])) return std::nullopt;
  const bool bearer = equals_ignoring_case(text.substr(b, 7), "bearer ");
  const bool basic = equals_ignoring_case(text.substr(b, 6), "basic ");
  if (!bearer && !basic) return std::nullopt;
  const std::size_t begin = text.find_first_not_of(' ', b + (bearer ? 7 : 6));
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = token_end(text, begin);
  const std::string_view token = text.substr(begin, end - begin);
  if (token.size() < kBytesMin) return std::nullopt;
  const bool has_digit = std::any_of(token.begin(), token.end(), is_digit);
  if (bearer ? !has_digit : !is_basic_credential(token)) return std::nullopt;
  return TextSecret{TextSecret::Kind::token, begin, end};
}

struct MarkedKey {
  std::string_view mark;
  std::size_t rare;       // the place in it of a character that texts seldom hold
  std::size_t bytes_min;  // with the mark
};

// As their makers document them.
constexpr std::array<MarkedKey, 16> kMarkedKeys = {{{"AKIA", 2, 20},
                                                    {"ASIA", 2, 20},
                                                    {"AIza", 1, 39},
                                                    {"ghp_", 3, 40},
                                                    {"gho_", 3, 40},
                                                    {"ghs_", 3, 40},
                                                    {"ghu_", 3, 40},
                                                    {"github_pat_", 6, 40},
                                                    {"glpat-", 5, 26},
                                                    {"sk_live_", 2, 24},
                                                    {"sk_test_", 2, 24},
                                                    {"rk_live_", 2, 24},
                                                    {"whsec_", 5, 24},
                                                    {"xoxb-", 4, 24},
                                                    {"xoxp-", 4, 24},
                                                    {"SG.", 1, 60}}};
constexpr std::string_view kRareOfKeys = "I_-G";

std::optional<TextSecret> marked_key(std::string_view text, std::size_t rare) {
  for (const MarkedKey& key : kMarkedKeys) {
    if (text[rare] != key.mark[key.rare] || rare < key.rare) continue;
    if (text[rare - 1] != key.mark[key.rare - 1]) continue;
    const std::size_t begin = rare - key.rare;
    if (!text.substr(begin).starts_with(key.mark)) continue;
    if (begin > 0 && is_word_char(text[begin - 1])) continue;
    std::size_t end = begin + key.mark.size();
    while (end < text.size() && (is_word_char(text[end]) || text[end] == '-' || text[end] == '.')) {
      ++end;
    }
    if (end - begin >= key.bytes_min) return TextSecret{TextSecret::Kind::token, begin, end};
  }
  return std::nullopt;
}

std::optional<TextSecret> private_key(std::string_view text, std::size_t begin) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kKey = "PRIVATE KEY-----";
  constexpr std::string_view kEnd = "-----END ";
  if (!text.substr(begin).starts_with(kBegin)) return std::nullopt;
  const std::size_t key = text.substr(begin, 64).find(kKey);
  if (key == std::string_view::npos) return std::nullopt;
  const std::size_t content = begin + key + kKey.size();
  return TextSecret{TextSecret::Kind::token, content,
                    std::min(text.find(kEnd, content), text.size())};
}

bool passes_luhn(std::string_view digits) {
  int sum = 0;
  bool twice = false;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, twice = !twice) {
    const int value = (*digit - '0') * (twice ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 == 0;
}

// What may stand before a number: a letter, or a point, makes it a part of something else.
bool begins_alone(std::string_view text, std::size_t begin) {
  if (begin == 0) return true;
  const char c = text[begin - 1];
  return !is_word_char(c) && c != '.' && c != '-' && c != '/' && c != '+' && c != '%' && c != '#';
}

bool ends_alone(std::string_view text, std::size_t end) {
  if (end >= text.size()) return true;
  const char c = text[end];
  if (c == '.' || c == '-') return end + 1 >= text.size() || !is_word_char(text[end + 1]);
  return !is_word_char(c) && c != '/' && c != '=' && c != '%';
}

// "4111 1111 1111 1111" and "3782-822463-10005": groups of four, or of 4, 6 and 5, and one
// separator.
std::optional<TextSecret> grouped_card(std::string_view text, std::size_t begin) {
  constexpr std::array<std::array<std::size_t, 4>, 2> kGroups = {{{4, 4, 4, 4}, {4, 6, 5, 0}}};
  const char separator = begin + 4 < text.size() ? text[begin + 4] : '\0';
  if (separator != ' ' && separator != '-') return std::nullopt;
  for (const auto& groups : kGroups) {
    std::string digits;
    std::size_t at = begin;
    for (const std::size_t group : groups) {
      if (group == 0) continue;
      if (at > begin) {
        if (at >= text.size() || text[at] != separator) break;
        ++at;
      }
      const std::string_view part = text.substr(at, group);
      if (part.size() < group || !std::all_of(part.begin(), part.end(), is_digit)) break;
      digits.append(part);
      at += group;
    }
    if (is_card_number(digits) && ends_alone(text, at)) {
      return TextSecret{TextSecret::Kind::number, begin, at};
    }
  }
  return std::nullopt;
}

// The North American form: three, three, four; neither the first nor the second begins with 0 or 1.
std::optional<TextSecret> american_phone(std::string_view text, std::size_t begin) {
  std::size_t at = begin;
  const auto digits = [&](std::size_t count) {
    const std::string_view part = text.substr(at, count);
    at += count;
    return part.size() == count && std::all_of(part.begin(), part.end(), is_digit);
  };
  const auto one_of = [&](std::string_view choice) {
    return at < text.size() && choice.find(text[at]) != std::string_view::npos;
  };
  const bool bracket = text[begin] == '(';
  if (bracket) ++at;
  if (!one_of("23456789") || !digits(3)) return std::nullopt;
  if (bracket && (!one_of(")") || ++at == 0)) return std::nullopt;
  const bool separated = one_of(bracket ? " -" : "-.");
  if (separated) ++at;
  if ((!separated && !bracket) || !one_of("23456789") || !digits(3)) return std::nullopt;
  if (!one_of("-.") || ++at == 0 || !digits(4) || !ends_alone(text, at)) return std::nullopt;
  return TextSecret{TextSecret::Kind::number, begin, at};
}

std::optional<TextSecret> digits_from(std::string_view text, std::size_t begin, std::size_t end) {
  if (!begins_alone(text, begin)) return std::nullopt;
  const std::size_t count = end - begin;
  if (count == 3) return american_phone(text, begin);
  if (count == 4) return grouped_card(text, begin);
  if (is_card_number(text.substr(begin, count)) && ends_alone(text, end)) {
    return TextSecret{TextSecret::Kind::number, begin, end};
  }
  return std::nullopt;
}

// '+', then 8 to 15 digits (E.164), at most two separators between two of them. The first is no 0,
// so that the offset of a time zone is none; a local prefix may stand in brackets. Where other
// numbers follow, it ends with the group that makes it 10 digits long.
std::optional<TextSecret> international_phone(std::string_view text, std::size_t plus) {
  constexpr std::size_t kDigitsMin = 8;
  constexpr std::size_t kDigitsWithArea = 10;
  constexpr std::size_t kDigitsMax = 15;
  if (plus > 0) {
    const char c = text[plus - 1];
    if (is_word_char(c) || c == '/' || c == '+' || c == '-' || c == '.') return std::nullopt;
  }
  std::size_t digits = 0;
  std::size_t end = plus + 1;
  std::size_t short_end = 0;
  int gap = 0;
  for (std::size_t i = plus + 1; i < text.size() && gap <= 2 && digits <= kDigitsMax; ++i) {
    const char c = text[i];
    if (is_digit(c)) {
      if (digits == 0 && c == '0') return std::nullopt;
      ++digits;
      gap = 0;
      end = i + 1;
    } else if (c == ' ' || c == '-' || c == '.' || c == '(' || c == ')') {
      if (short_end == 0 && digits >= kDigitsWithArea) short_end = end;
      ++gap;
    } else {
      break;
    }
  }
  if (digits > kDigitsMax && short_end != 0) {
    end = short_end;
  } else if (digits < kDigitsMin || digits > kDigitsMax || !ends_alone(text, end)) {
    return std::nullopt;
  }
  return TextSecret{TextSecret::Kind::number, plus, end};
}

enum class Trigger : std::uint8_t { none, json, scheme, key, digit, plus, bracket };

constexpr std::array<Trigger, 256> kTriggers = [] {
  std::array<Trigger, 256> table{};
  const auto set = [&](std::string_view chars, Trigger trigger) {
    for (const char c : chars)
      table[static_cast<unsigned char>(c)] = trigger;
  };
  set("J", Trigger::json);
  set("Bb", Trigger::scheme);
  set(kRareOfKeys, Trigger::key);
  set("0123456789", Trigger::digit);
  set("+", Trigger::plus);
  set("(", Trigger::bracket);
  return table;
}();

constexpr std::uint8_t kFormed = 1;
constexpr std::uint8_t kColon = 2;
constexpr std::uint8_t kEquals = 4;
constexpr std::uint8_t kBracket = 8;
constexpr std::uint8_t kDelimiter = 16;
constexpr std::uint8_t kScheme = 32;
// "basic " and eight characters.
constexpr std::size_t kSchemeBytesMin = 14;

constexpr std::array<std::uint8_t, 256> kTraits = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = kTriggers[i] == Trigger::none     ? 0
               : kTriggers[i] == Trigger::scheme ? kScheme
                                                 : kFormed;
  table[':'] |= kColon;
  table['='] |= kEquals;
  table['{'] |= kBracket;
  table['['] |= kBracket;
  for (const char c : std::string_view("?#;"))
    table[static_cast<unsigned char>(c)] |= kDelimiter;
  return table;
}();

}  // namespace

TextTraits traits_of(std::string_view text) {
  unsigned seen = 0;
  for (const char c : text)
    seen |= kTraits[static_cast<unsigned char>(c)];
  const bool scheme = (seen & kScheme) != 0 && text.size() >= kSchemeBytesMin;
  return {.formed = scheme || (seen & kFormed) != 0,
          .colon = (seen & kColon) != 0,
          .equals = (seen & kEquals) != 0,
          .bracket = (seen & kBracket) != 0,
          .delimiter = (seen & kDelimiter) != 0};
}

std::optional<TextSecret> find_secret(std::string_view text, std::size_t from, bool numbers) {
  std::size_t i = from;
  while (i < text.size()) {
    std::optional<TextSecret> found;
    std::size_t next = i + 1;
    switch (kTriggers[static_cast<unsigned char>(text[i])]) {
      case Trigger::none:
        break;
      case Trigger::json:
        found = json_token(text, i);
        break;
      case Trigger::scheme:
        found = scheme_token(text, i);
        break;
      case Trigger::key:
        if (text[i] == '-') found = private_key(text, i);
        if (!found) found = marked_key(text, i);
        break;
      case Trigger::digit:
        while (next < text.size() && is_digit(text[next]))
          ++next;
        if (numbers) found = digits_from(text, i, next);
        break;
      case Trigger::plus:
        if (numbers) found = international_phone(text, i);
        break;
      case Trigger::bracket:
        if (numbers && begins_alone(text, i)) found = american_phone(text, i);
        break;
    }
    if (found && found->begin >= from && found->end > found->begin) return found;
    i = next;
  }
  return std::nullopt;
}

bool is_card_number(std::string_view digits) {
  constexpr std::size_t kDigitsMin = 14;
  constexpr std::size_t kDigitsMax = 16;
  if (digits.size() < kDigitsMin || digits.size() > kDigitsMax) return false;
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return false;
  const int four = std::stoi(std::string(digits.substr(0, 4)));
  const int three = four / 10;
  const int two = four / 100;
  const bool diners = two == 36 || two == 38 || (three >= 300 && three <= 305);
  const bool american_express = two == 34 || two == 37;
  const bool visa = four / 1000 == 4;
  const bool mastercard = (two >= 51 && two <= 55) || (four >= 2221 && four <= 2720);
  const bool discover = four == 6011 || two == 65 || (three >= 644 && three <= 649);
  const bool jcb = four >= 3528 && four <= 3589;
  const bool length = (digits.size() == 14 && diners) ||
                      (digits.size() == 15 && american_express) ||
                      (digits.size() == 16 && (visa || mastercard || discover || jcb));
  return length && passes_luhn(digits);
}

bool is_phone_number(std::string_view text) {
  constexpr std::size_t kDigitsMin = 7;
  constexpr std::size_t kDigitsMax = 15;
  std::size_t digits = 0;
  for (const char c : text) {
    if (is_digit(c)) {
      ++digits;
    } else if (std::string_view(" +-.()/x").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return digits >= kDigitsMin && digits <= kDigitsMax;
}

}  // namespace gatedrill::replay
