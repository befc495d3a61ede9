#include "gateway/config/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "gateway/core/ascii.hpp"

namespace gatedrill::gateway {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t worth;
};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::array kDurationUnits{Unit{"d", 86'400 * kSecond},
                                    Unit{"h", 3'600 * kSecond},
                                    Unit{"m", 60 * kSecond},
                                    Unit{"s", kSecond},
                                    Unit{"ms", 1'000'000},
                                    Unit{"us", 1'000},
                                    Unit{"ns", 1}};
constexpr std::array kRateUnits{kDurationUnits[3], kDurationUnits[2], kDurationUnits[1],
                                kDurationUnits[0]};
constexpr std::int64_t kKibi = 1024;
constexpr std::array kSizeUnits{Unit{"GiB", kKibi* kKibi* kKibi},
                                Unit{"GB", 1'000'000'000},
                                Unit{"MiB", kKibi* kKibi},
                                Unit{"MB", 1'000'000},
                                Unit{"KiB", kKibi},
                                Unit{"kB", 1'000},
                                Unit{"KB", 1'000},
                                Unit{"B", 1}};

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

__extension__ using Wide = __int128;

std::string expected(std::string_view what, std::string_view text) {
  return "expected " + std::string(what) + ", got '" + std::string(text) + "'";
}

// A decimal number without sign or exponent, exactly: digits / 10^places.
struct Decimal {
  std::int64_t digits = 0;
  int places = 0;
};

// Takes a decimal off the front of `rest`; nothing if there is none or it has over 18 digits.
std::optional<Decimal> take_decimal(std::string_view& rest) {
  Decimal value;
  std::size_t at = 0;
  std::size_t figures = 0;
  bool point = false;
  for (; at < rest.size(); ++at) {
    if (rest[at] == '.' && !point && at > 0) {
      point = true;
    } else if (is_digit(rest[at])) {
      if (++figures > 18) return std::nullopt;
      value.digits = value.digits * 10 + (rest[at] - '0');
      if (point) ++value.places;
    } else {
      break;
    }
  }
  if (at == 0 || rest[at - 1] == '.') return std::nullopt;
  rest.remove_prefix(at);
  while (value.places > 0 && value.digits % 10 == 0) {
    value.digits /= 10;
    --value.places;
  }
  return value;
}

std::int64_t power_of_ten(int exponent) {
  std::int64_t result = 1;
  for (int i = 0; i < exponent; ++i)
    result *= 10;
  return result;
}

// value * worth, rounded down to a whole number; nothing if it does not fit.
std::optional<std::int64_t> times(Decimal value, std::int64_t worth) {
  const Wide product = static_cast<Wide>(value.digits) * worth / power_of_ten(value.places);
  if (product > kMax) return std::nullopt;
  return static_cast<std::int64_t>(product);
}

std::string_view take_letters(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_letter);
  const std::string_view letters = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(letters.size());
  return letters;
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == name; });
  return found == units.end() ? nullptr : &*found;
}

// `amount` / `worth` as a decimal without trailing zeros; only for amounts where that is exact.
std::string decimal_text(std::int64_t amount, std::int64_t worth) {
  std::string text = std::to_string(amount / worth);
  std::int64_t rest = amount % worth;
  if (rest == 0) return text;
  text += '.';
  for (int places = 0; rest != 0 && places < 18; ++places) {
    rest *= 10;
    text += static_cast<char>('0' + rest / worth);
    rest %= worth;
  }
  return text;
}

bool is_ipv4(std::string_view host) {
  int parts = 0;
  while (true) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(host.data(), host.data() + host.size(), value);
    const auto length = static_cast<std::size_t>(end - host.data());
    if (error != std::errc{} || value > 255 || length > 3) return false;
    ++parts;
    host.remove_prefix(length);
    if (host.empty()) return parts == 4;
    if (host.front() != '.') return false;
    host.remove_prefix(1);
  }
}

// Enough to tell an IPv6 address from a slip of the pen; the resolver has the last word.
bool looks_like_ipv6(std::string_view host) {
  const std::string_view address = host.substr(0, host.find('%'));
  return std::count(address.begin(), address.end(), ':') >= 2 &&
         address.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

// What is wrong with the host, or nothing.
std::optional<std::string> host_problem(std::string_view host, bool bracketed) {
  const std::string quoted = "'" + std::string(host) + "'";
  if (bracketed) {
    if (!looks_like_ipv6(host)) return quoted + " is not an IPv6 address";
    return std::nullopt;
  }
  if (host.find_first_not_of("0123456789.") == std::string_view::npos) {
    if (!is_ipv4(host)) return quoted + " is not an IPv4 address";
    return std::nullopt;
  }
  const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
    return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.';
  });
  if (!plain) return quoted + " is not a host name";
  return std::nullopt;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration{0};
  const auto wrong = [&] { return usage_error(expected("a duration such as 250ms or 2s", text)); };
  if (text.empty()) return wrong();
  std::int64_t total = 0;
  std::int64_t worth_before = kMax;
  bool had_decimals = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<Decimal> number = take_decimal(rest);
    const Unit* unit = find_unit(kDurationUnits, take_letters(rest));
    if (!number || unit == nullptr || had_decimals || unit->worth >= worth_before) return wrong();
    const std::optional<std::int64_t> part = times(*number, unit->worth);
    if (!part || *part > kMax - total) {
      return usage_error("is too long a duration: '" + std::string(text) + "'");
    }
    total += *part;
    worth_before = unit->worth;
    had_decimals = number->places > 0;
  }
  return Duration{total};
}

Result<std::uint64_t> parse_size(std::string_view text) {
  if (text == "0") return std::uint64_t{0};
  std::string_view rest = text;
  const std::optional<Decimal> number = take_decimal(rest);
  const Unit* unit = find_unit(kSizeUnits, rest);
  if (!number || unit == nullptr) {
    return usage_error(expected("a size such as 64KiB or 10MB", text));
  }
  const std::optional<std::int64_t> bytes = times(*number, unit->worth);
  if (!bytes) return usage_error("is too large a size: '" + std::string(text) + "'");
  return static_cast<std::uint64_t>(*bytes);
}

Result<Rate> parse_rate(std::string_view text) {
  if (text == "0") return Rate{};
  std::string_view rest = text;
  const std::optional<Decimal> number = take_decimal(rest);
  const bool slash = !rest.empty() && rest.front() == '/';
  const Unit* unit = slash ? find_unit(kRateUnits, rest.substr(1)) : nullptr;
  if (!number || unit == nullptr) {
    return usage_error(expected("a rate such as 500/s or 30/m", text));
  }
  // The fraction goes to the period: 0.5/s is 5 in 10 s, then in lowest terms.
  const std::optional<std::int64_t> period =
      number->places > 9 ? std::nullopt : times({unit->worth, 0}, power_of_ten(number->places));
  if (!period) return usage_error("has too many decimals for a rate: '" + std::string(text) + "'");
  if (number->digits == 0) return Rate{};
  const std::int64_t divisor =
      number->places == 0 ? 1 : std::gcd(number->digits, power_of_ten(number->places));
  return Rate{number->digits / divisor, Duration{*period / divisor}};
}

Result<double> parse_percent(std::string_view text) {
  std::string_view rest = text;
  const std::optional<Decimal> number = take_decimal(rest);
  if (!number || rest != "%") return usage_error(expected("a percentage such as 5%", text));
  const double percent =
      static_cast<double>(number->digits) / static_cast<double>(power_of_ten(number->places));
  if (percent > 100) return usage_error(expected("a percentage from 0% to 100%", text));
  return percent / 100;
}

Result<Address> parse_address(std::string_view text) {
  const auto wrong = [&] {
    return usage_error(expected("an address such as 127.0.0.1:8080 or [::1]:8080", text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    if (host.find('/') != std::string_view::npos) return wrong();
    return usage_error("expected brackets round an IPv6 address, as in [::1]:8080, got '" +
                       std::string(text) + "'");
  }
  if (const std::optional<std::string> problem = host_problem(host, bracketed)) {
    return usage_error(*problem);
  }
  unsigned port = 0;
  const char* port_end = port_text.data() + port_text.size();
  const auto [end, error] = std::from_chars(port_text.data(), port_end, port);
  if (port_text.empty() || end != port_end || error == std::errc::invalid_argument) return wrong();
  if (error != std::errc{} || port > 65535) {
    return usage_error(expected("a port up to 65535", port_text));
  }
  return Address{std::string(host), static_cast<std::uint16_t>(port)};
}

bool is_ip_address(std::string_view text) {
  return is_ipv4(text) || looks_like_ipv6(text);
}

bool is_ip_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_ip_address(text);
  const std::string_view address = text.substr(0, slash);
  const std::string_view digits = text.substr(slash + 1);
  unsigned prefix = 0;
  const char* digits_end = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), digits_end, prefix);
  if (digits.empty() || end != digits_end || error != std::errc{}) return false;
  return is_ip_address(address) && prefix <= (is_ipv4(address) ? 32U : 128U);
}

std::string to_text(Duration duration) {
  if (duration.count() == 0) return "0";
  std::string text;
  std::int64_t rest = duration.count();
  if (rest < 0) return "-" + to_text(-duration);
  for (const Unit& unit : kDurationUnits) {
    const std::int64_t whole = rest / unit.worth;
    if (whole == 0) continue;
    // Below a second one unit with decimals reads better than a chain: 1.5ms, not 1ms500us.
    if (unit.worth <= kSecond)
      return text + decimal_text(rest, unit.worth) + std::string(unit.name);
    text += std::to_string(whole) + std::string(unit.name);
    rest %= unit.worth;
    if (rest == 0) break;
  }
  return text;
}

std::string to_text(Rate rate) {
  if (rate.count == 0) return "0";
  for (const Unit& unit : kRateUnits) {
    if (rate.per.count() == unit.worth) {
      return std::to_string(rate.count) + "/" + std::string(unit.name);
    }
  }
  // A period that no unit names is a decimal per unit: the first unit that says it exactly.
  for (const Unit& unit : kRateUnits) {
    if (rate.per.count() % kSecond != 0 || rate.count > kMax / unit.worth) break;
    std::string text =
        decimal_text(rate.count * (unit.worth / kSecond), rate.per.count() / kSecond) + "/" +
        std::string(unit.name);
    if (const Result<Rate> same = parse_rate(text); same && *same == rate) return text;
  }
  return std::to_string(rate.count) + " in " + to_text(rate.per);
}

std::string to_text(const Address& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "0";
  for (const Unit& unit : kSizeUnits) {
    const auto worth = static_cast<std::uint64_t>(unit.worth);
    if (bytes % worth == 0) return std::to_string(bytes / worth) + std::string(unit.name);
  }
  return std::to_string(bytes) + "B";
}

std::string percent_text(double ratio) {
  std::array<char, 32> text{};
  // Seven significant digits hide the last bits of the division by 100.
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), ratio * 100,
                                          std::chars_format::general, 7);
  return std::string(text.data(), error == std::errc{} ? end : text.data()) + "%";
}

}  // namespace gatedrill::gateway
