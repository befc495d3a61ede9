#include "gateway/http/date.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace gatedrill::http {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

}  // namespace

std::string date_text(UnixTime at) {
  using std::chrono::days;
  using std::chrono::seconds;
  const std::chrono::sys_seconds time{seconds{at.ns / kSecond}};
  const auto midnight = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{midnight};
  const std::chrono::hh_mm_ss clock{time - midnight};
  std::array<char, 64> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
      kDays[std::chrono::weekday{midnight}.c_encoding()], static_cast<unsigned>(date.day()),
      kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string_view DateText::at(UnixTime now) {
  if (const std::int64_t second = now.ns / kSecond; second != second_) {
    second_ = second;
    text_ = date_text(now);
  }
  return text_;
}

}  // namespace gatedrill::http
