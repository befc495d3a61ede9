#include "replay/redact/rules.hpp"

#include <algorithm>

#include "replay/redact/encodings.hpp"

namespace gatedrill::replay {
namespace {

constexpr std::size_t kNameBytesMax = 128;

// All are compared with the folded name.
constexpr std::array<std::string_view, 12> kAnywhere = {
    "password",   "passwd",     "passphrase", "passcode",   "secret",  "apikey",
    "credential", "privatekey", "accesskey",  "creditcard", "authkey", "samlresponse"};
constexpr std::array<std::string_view, 31> kAtTheEnd = {"token",
                                                        "sessionid",
                                                        "sessid",
                                                        "authorization",
                                                        "signature",
                                                        "securitycode",
                                                        "cardnumber",
                                                        "cardno",
                                                        "jwt",
                                                        "pwd",
                                                        "otp",
                                                        "ccnumber",
                                                        "sessionkey",
                                                        "assertion",
                                                        "codeverifier",
                                                        "devicecode",
                                                        "authorizationcode",
                                                        "authcode",
                                                        "verificationcode",
                                                        "recoverycode",
                                                        "backupcode",
                                                        "accesscode",
                                                        "resetcode",
                                                        "logincode",
                                                        "smscode",
                                                        "mfacode",
                                                        "2facode",
                                                        "onetimecode",
                                                        "authenticationinfo",
                                                        "usercode",
                                                        "invitecode"};
constexpr std::array<std::string_view, 14> kWhole = {"pass", "pw",   "pin", "sig",  "auth",
                                                     "cvv",  "cvv2", "cvc", "cvc2", "csrf",
                                                     "xsrf", "sid",  "pan", "ssn"};
// Words that make a name secret where they are its last, as in "x-user-pin".
constexpr std::array<std::string_view, 4> kLastWord = {"session", "auth", "pass", "sig"};
// Those that do so too before nothing but words that carry them: "pin_code",
// "x-hub-signature-256"; but not "session_count" or "token_type".
constexpr std::array<std::string_view, 16> kWord = {
    "pin", "otp", "totp", "jwt", "bearer", "signature", "csrf", "xsrf",
    "cvv", "cvc", "pwd",  "ssn", "token",  "tokens",    "hmac", "assertion"};
constexpr std::array<std::string_view, 14> kCarrier = {
    "code", "number", "no",  "value",        "string",  "text",   "raw",
    "hex",  "base",   "sha", "confirmation", "confirm", "repeat", "new"};
// Tokens of language models and of rate limits, which are counted.
constexpr std::array<std::string_view, 24> kCounted = {
    "max",  "min",   "total",     "prompt",  "completion", "input",      "output",    "cached",
    "used", "num",   "remaining", "limit",   "reasoning",  "generation", "generated", "audio",
    "text", "image", "new",       "context", "prediction", "reset",      "thinking",  "count"};
// Where a page of a list goes on, and what kind of token it is: no secret.
constexpr std::array<std::string_view, 5> kNoToken = {"pagetoken", "nexttoken", "continuationtoken",
                                                      "synctoken", "cursor"};

constexpr std::array<std::string_view, 3> kPhoneAnywhere = {"phone", "mobile", "msisdn"};
constexpr std::array<std::string_view, 4> kPhoneAtTheEnd = {"tel", "fax", "cell", "whatsapp"};

constexpr std::array<std::string_view, 30> kIdentifierAtTheEnd = {
    "id",        "ids",       "uuid",      "guid",    "time",     "timestamp", "date",  "hash",
    "etag",      "sha1",      "sha256",    "md5",     "checksum", "version",   "price", "amount",
    "total",     "count",     "ean",       "gtin",    "isbn",     "sku",       "upc",   "latitude",
    "longitude", "createdat", "updatedat", "expires", "nonce",    "sequence"};
constexpr std::array<std::string_view, 6> kIdentifierWhole = {"ts",  "at",  "lat",
                                                              "lon", "lng", "seq"};

std::string folded(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (const char c : name) {
    if (is_letter(c) || is_digit(c)) out.push_back(to_small(c));
  }
  return out;
}

template <class List>
bool any_in(const List& list, std::string_view text) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

template <class List>
bool any_ends(const List& list, std::string_view text) {
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view word) { return text.ends_with(word); });
}

template <class List>
bool any_is(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_number(std::string_view word) {
  return std::all_of(word.begin(), word.end(), is_digit);
}

// The last word of the name, in lower case, which is taken from it; empty if there is none. A name
// is split where it has neither letters nor digits, between both, and where a capital begins a
// word: "userPINCode2" is user, pin, code, 2.
std::string take_last_word(std::string_view& name) {
  const auto is_of_word = [](char c) { return is_letter(c) || is_digit(c); };
  std::size_t end = name.size();
  while (end > 0 && !is_of_word(name[end - 1]))
    --end;
  const auto begins = [&](std::size_t i) {
    if (i == 0 || !is_of_word(name[i - 1])) return true;
    return is_digit(name[i]) != is_digit(name[i - 1]) ||
           (is_capital(name[i]) &&
            (is_small(name[i - 1]) || (i + 1 < end && is_small(name[i + 1]))));
  };
  std::size_t begin = end;
  while (begin > 0 && (begin == end || !begins(begin)))
    --begin;
  std::string word = folded(name.substr(begin, end - begin));
  name = name.substr(0, begin);
  return word;
}

bool is_secret_by_a_word(std::string_view name) {
  for (bool last = true;; last = false) {
    const std::string word = take_last_word(name);
    if (word.empty()) return false;
    if (last && any_is(kLastWord, word)) return true;
    if (any_is(kWord, word)) return word != "tokens" || !any_is(kCounted, take_last_word(name));
    if (!is_number(word) && !any_is(kCarrier, word)) return false;
  }
}

NameKind kind_of(std::string_view name, std::string_view text) {
  if (text.empty() || text.size() > kNameBytesMax || any_ends(kNoToken, text)) {
    return NameKind::ordinary;
  }
  if (any_in(kAnywhere, text) || any_ends(kAtTheEnd, text) || any_is(kWhole, text) ||
      is_secret_by_a_word(name)) {
    return NameKind::secret;
  }
  if (any_in(kPhoneAnywhere, text) || any_ends(kPhoneAtTheEnd, text)) return NameKind::phone;
  if (any_ends(kIdentifierAtTheEnd, text) || any_is(kIdentifierWhole, text)) {
    return NameKind::identifier;
  }
  return NameKind::ordinary;
}

}  // namespace

bool holds_much(std::string_view name) {
  return folded(name) == "auth";
}

Result<SecretNames> SecretNames::create(const RedactionRules& rules) {
  SecretNames out;
  out.numbers_ = rules.numbers;
  for (const std::string& name : rules.allowed) {
    if (!name.starts_with('$')) {
      out.rules_.push_back({folded(name), NameKind::allowed, std::nullopt});
      continue;
    }
    auto path = JsonPath::parse(name);
    if (!path) return path.error();
    out.allowed_paths_.push_back(std::move(*path));
  }
  for (const std::string& name : rules.fields)
    out.rules_.push_back({folded(name), NameKind::secret, Place::field});
  for (const std::string& name : rules.parameters)
    out.rules_.push_back({folded(name), NameKind::secret, Place::parameter});
  for (const std::string& text : rules.json) {
    auto path = JsonPath::parse(text);
    if (!path) return path.error();
    out.secret_paths_.push_back(std::move(*path));
  }
  return out;
}

std::optional<NameKind> SecretNames::ruled(std::string_view text, Place place) const {
  for (const Rule& rule : rules_) {
    if (rule.name == text && (!rule.place || *rule.place == place)) return rule.kind;
  }
  return std::nullopt;
}

NameKind SecretNames::look_up(std::string_view name, Place place) const {
  const std::string text = folded(name.substr(0, kNameBytesMax + 1));
  const auto by_rule = ruled(text, place);
  return by_rule ? *by_rule : kind_of(name, text);
}

const SecretNames::Known& SecretNames::learn(std::size_t at,
                                             std::string_view name,
                                             const PackedName& packed) {
  turn_ ^= 1U;
  Known& known = known_[at ^ turn_];
  known.name = packed;
  const std::string text = folded(name.substr(0, kNameBytesMax + 1));
  const NameKind usual = kind_of(name, text);
  for (const Place place : {Place::field, Place::parameter, Place::member})
    known.kinds[static_cast<std::size_t>(place)] = ruled(text, place).value_or(usual);
  return known;
}

bool SecretNames::is_secret(std::span<const JsonStep> place) const {
  return std::any_of(secret_paths_.begin(), secret_paths_.end(),
                     [&](const JsonPath& path) { return path.matches(place); });
}

bool SecretNames::is_allowed(std::span<const JsonStep> place) const {
  return std::any_of(allowed_paths_.begin(), allowed_paths_.end(),
                     [&](const JsonPath& path) { return path.matches(place); });
}

}  // namespace gatedrill::replay
