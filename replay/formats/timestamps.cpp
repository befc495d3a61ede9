#include "replay/formats/timestamps.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <limits>

namespace gatedrill::replay::formats {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kYearMin = 1700;  // of what fits into 64 bits of nanoseconds
constexpr int kYearMax = 2250;

// Takes fixed pieces from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_any(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Exactly so many digits.
  std::optional<int> number(std::size_t digits) {
    int value = 0;
    if (rest_.size() < digits) return std::nullopt;
    for (const char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

  // Digits behind a point, as nanoseconds.
  std::int64_t fraction() {
    std::int64_t value = 0;
    std::int64_t unit = kSecond / 10;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value += (rest_.front() - '0') * unit;
      unit /= 10;
      rest_.remove_prefix(1);
    }
    return value;
  }

  // "Z", "+hh:mm", "-hhmm", "+hh", as seconds east of UTC; UTC if there is none.
  std::optional<std::int64_t> zone() {
    if (rest_.empty() || take_any("Zz")) return 0;
    const bool west = rest_.starts_with('-');
    if (!take_any("+-")) return std::nullopt;
    const auto hours = number(2);
    if (!hours) return std::nullopt;
    take(':');
    const auto minutes = rest_.empty() ? std::optional<int>(0) : number(2);
    if (!minutes || *hours > 24 || *minutes > 59) return std::nullopt;
    const std::int64_t seconds = *hours * 3600 + *minutes * 60;
    return west ? -seconds : seconds;
  }

  std::string_view take_bytes(std::size_t size) {
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

struct Fields {
  std::optional<int> year;
  int month = 0;
  std::optional<int> day;
  std::optional<int> hour;
  std::optional<int> minute;
  std::optional<int> second;
};

std::optional<UnixTime> to_time(const Fields& fields, std::int64_t fraction, std::int64_t zone) {
  if (!fields.year || !fields.day || !fields.hour || !fields.minute || !fields.second) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{*fields.year},
                                         std::chrono::month{static_cast<unsigned>(fields.month)},
                                         std::chrono::day{static_cast<unsigned>(*fields.day)}};
  // 60 is a leap second.
  if (!date.ok() || *fields.year < kYearMin || *fields.year > kYearMax || *fields.hour > 23 ||
      *fields.minute > 59 || *fields.second > 60) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t seconds =
      days * 86400 + *fields.hour * 3600 + *fields.minute * 60 + *fields.second - zone;
  return UnixTime{seconds * kSecond + fraction};
}

int month_number(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (kMonths.at(i) == name) return static_cast<int>(i) + 1;
  }
  return 0;
}

}  // namespace

std::optional<UnixTime> parse_iso8601(std::string_view text) {
  Scanner scanner(text);
  Fields fields;
  fields.year = scanner.number(4);
  if (!scanner.take('-')) return std::nullopt;
  fields.month = scanner.number(2).value_or(0);
  if (!scanner.take('-')) return std::nullopt;
  fields.day = scanner.number(2);
  if (!scanner.take_any("Tt ")) return std::nullopt;
  fields.hour = scanner.number(2);
  if (!scanner.take(':')) return std::nullopt;
  fields.minute = scanner.number(2);
  fields.second = scanner.take(':') ? scanner.number(2) : 0;
  const std::int64_t fraction = scanner.take_any(".,") ? scanner.fraction() : 0;
  const auto zone = scanner.zone();
  if (!zone || !scanner.done()) return std::nullopt;
  return to_time(fields, fraction, *zone);
}

std::optional<UnixTime> parse_log_time(std::string_view text) {
  Scanner scanner(text);
  Fields fields;
  fields.day = scanner.number(2);
  if (!scanner.take('/')) return std::nullopt;
  fields.month = month_number(scanner.take_bytes(3));
  if (!scanner.take('/')) return std::nullopt;
  fields.year = scanner.number(4);
  if (!scanner.take(':')) return std::nullopt;
  fields.hour = scanner.number(2);
  if (!scanner.take(':')) return std::nullopt;
  fields.minute = scanner.number(2);
  if (!scanner.take(':')) return std::nullopt;
  fields.second = scanner.number(2);
  if (!scanner.take(' ')) return std::nullopt;
  const auto zone = scanner.zone();
  if (!zone || !scanner.done()) return std::nullopt;
  return to_time(fields, 0, *zone);
}

std::optional<UnixTime> parse_epoch_seconds(std::string_view text) {
  constexpr std::int64_t kSecondsMax = 9'000'000'000;  // what fits, in nanoseconds
  std::int64_t seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || seconds < 0 || seconds > kSecondsMax) return std::nullopt;
  Scanner scanner(text.substr(static_cast<std::size_t>(rest - text.data())));
  const std::int64_t fraction = scanner.take('.') ? scanner.fraction() : 0;
  if (!scanner.done()) return std::nullopt;
  return UnixTime{seconds * kSecond + fraction};
}

std::string to_iso8601(UnixTime at, int digits) {
  std::int64_t seconds = at.ns / kSecond;
  std::int64_t fraction = at.ns % kSecond;
  if (fraction < 0) {
    fraction += kSecond;
    --seconds;
  }
  std::int64_t days = seconds / 86400;
  std::int64_t of_day = seconds % 86400;
  if (of_day < 0) {
    of_day += 86400;
    --days;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(of_day / 3600),
                static_cast<int>(of_day / 60 % 60), static_cast<int>(of_day % 60));
  std::string out = text.data();
  if (digits > 0) {
    std::array<char, 16> point{};
    std::snprintf(point.data(), point.size(), ".%09lld", static_cast<long long>(fraction));
    out.append(point.data(), static_cast<std::size_t>(digits) + 1);
  }
  return out + "Z";
}

UnixTime later(UnixTime at, Duration duration) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t ns = 0;
  const bool over = __builtin_add_overflow(at.ns, std::int64_t{duration.count()}, &ns);
  return UnixTime{over ? (at.ns > 0 ? Limits::max() : Limits::min()) : ns};
}

Duration between(UnixTime begin, UnixTime end) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t ns = 0;
  const bool over = __builtin_sub_overflow(end.ns, begin.ns, &ns);
  return Duration{over ? (end.ns > begin.ns ? Limits::max() : Limits::min()) : ns};
}

}  // namespace gatedrill::replay::formats
