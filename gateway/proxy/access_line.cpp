#include "gateway/proxy/access_line.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

namespace gatedrill::gateway {
namespace {

// Writes into room that the caller made: a piece at a time a string would grow, and measure its
// literals, a hundred times a line.
class Line {
 public:
  // What the members of a request, or of an attempt, need at most beside the texts of others.
  static constexpr std::size_t kRoom = 1024;

  static constexpr std::size_t room_for(std::string_view text) { return 6 * text.size(); }

  explicit Line(char* at) : at_(at) {}

  [[nodiscard]] const char* end() const { return at_; }

  template <std::size_t kSize>
  Line& put(const char (&literal)[kSize]) {
    std::memcpy(at_, literal, kSize - 1);
    at_ += kSize - 1;
    return *this;
  }

  Line& flag(bool value) { return value ? put("true") : put("false"); }

  Line& number(std::int64_t value) {
    at_ = std::to_chars(at_, at_ + kDigits, value).ptr;
    return *this;
  }

  Line& number(std::uint64_t value) {
    at_ = std::to_chars(at_, at_ + kDigits, value).ptr;
    return *this;
  }

  Line& status(int value) { return value != 0 ? number(std::int64_t{value}) : put("null"); }

  // Milliseconds with three decimals.
  Line& ms(Duration duration) {
    const std::int64_t us = duration.count() / 1000;
    number(us / 1000);
    *at_++ = '.';
    return digits<3>(static_cast<unsigned>(us % 1000));
  }

  Line& phase(Duration value) { return value != PhaseTimes::kNotBegun ? ms(value) : put("null"); }

  // Null where it is empty. Whatever bytes it holds: those beyond ASCII are read as Latin-1.
  Line& text(std::string_view value) {
    if (value.empty()) return put("null");
    *at_++ = '"';
    for (const char c : value) {
      if (stands_for_itself(c)) {
        *at_++ = c;
      } else {
        escape(c);
      }
    }
    *at_++ = '"';
    return *this;
  }

  // "2026-11-30T10:00:00.123Z"
  Line& time(UnixTime at) {
    // Not strftime, which asks for the time zone and takes a lock for it.
    const std::chrono::sys_time<Duration> time{Duration{at.ns}};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::milliseconds>(time - day)};
    *at_++ = '"';
    digits<4>(static_cast<unsigned>(static_cast<int>(date.year()))).put("-");
    digits<2>(static_cast<unsigned>(date.month())).put("-");
    digits<2>(static_cast<unsigned>(date.day())).put("T");
    digits<2>(static_cast<unsigned>(clock.hours().count())).put(":");
    digits<2>(static_cast<unsigned>(clock.minutes().count())).put(":");
    digits<2>(static_cast<unsigned>(clock.seconds().count())).put(".");
    return digits<3>(static_cast<unsigned>(clock.subseconds().count())).put("Z\"");
  }

 private:
  static constexpr std::ptrdiff_t kDigits = 20;

  static constexpr bool stands_for_itself(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
  }

  void escape(char c) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *at_++ = '\\';
      *at_++ = c;
    } else {
      put("\\u00");
      *at_++ = kHex[byte >> 4U];
      *at_++ = kHex[byte & 0xfU];
    }
  }

  template <int kCount>
  Line& digits(unsigned value) {
    for (int i = kCount - 1; i >= 0; --i) {
      at_[i] = static_cast<char>('0' + value % 10);
      value /= 10;
    }
    at_ += kCount;
    return *this;
  }

  char* at_;
};

std::size_t room_for(NameId gateway, const AccessEntry& entry) {
  const RequestDone& request = entry.request;
  std::size_t bytes = Line::kRoom;
  for (const NameId name :
       {gateway, request.client, request.method, request.route, request.upstream, request.limiter})
    bytes += Line::room_for(name_of(name));
  for (const std::string_view text :
       {request.request_id.view(), entry.host, entry.target, entry.reason, entry.dropped_field})
    bytes += Line::room_for(text);
  for (const AttemptDone& attempt : entry.attempts) {
    bytes += Line::kRoom + Line::room_for(name_of(attempt.endpoint)) +
             Line::room_for(name_of(attempt.why_retried));
  }
  return bytes;
}

void put_attempt(Line& line, const AttemptDone& attempt, TimePoint arrived) {
  line.put(R"({"endpoint":)").text(name_of(attempt.endpoint));
  line.put(R"(,"after_ms":)").ms(attempt.at - arrived);
  line.put(R"(,"status":)").status(attempt.status);
  line.put(R"(,"cause":)").text(to_string(attempt.cause));
  line.put(R"(,"connection_id":)").number(attempt.connection_id);
  line.put(R"(,"reused":)").flag(attempt.reused);
  line.put(R"(,"connection_ordinal":)").number(std::int64_t{attempt.connection_ordinal});
  line.put(R"(,"connection_age_ms":)").ms(attempt.connection_age);
  line.put(R"(,"connect_ms":)").phase(attempt.phases.connect);
  line.put(R"(,"send_ms":)").phase(attempt.phases.send);
  line.put(R"(,"wait_ms":)").phase(attempt.phases.wait);
  line.put(R"(,"receive_ms":)").phase(attempt.phases.receive);
  line.put(R"(,"why_retried":)").text(name_of(attempt.why_retried)).put("}");
}

}  // namespace

void append_access_line(std::string& out, NameId gateway, const AccessEntry& entry) {
  const RequestDone& request = entry.request;
  const std::size_t before = out.size();
  out.resize(before + room_for(gateway, entry));
  Line line(out.data() + before);
  line.put(R"({"time":)").time(entry.at);
  line.put(R"(,"gateway":)").text(name_of(gateway));
  line.put(R"(,"request_id":)").text(request.request_id.view());
  line.put(R"(,"client":)").text(name_of(request.client));
  line.put(R"(,"method":)").text(name_of(request.method));
  line.put(R"(,"host":)").text(entry.host);
  line.put(R"(,"target":)").text(entry.target);
  line.put(R"(,"route":)").text(name_of(request.route));
  line.put(R"(,"upstream":)").text(name_of(request.upstream));
  line.put(R"(,"status":)").status(request.status);
  line.put(R"(,"cause":)").text(to_string(request.cause));
  line.put(R"(,"reason":)").text(entry.reason);
  line.put(R"(,"dropped_field":)").text(entry.dropped_field);
  line.put(R"(,"limiter":)").text(name_of(request.limiter));
  line.put(R"(,"retries_exhausted":)").flag(request.retries_exhausted);
  line.put(R"(,"proxy_status":)").text(proxy_status_token(request.cause));
  line.put(R"(,"envoy_flag":)").text(envoy_flag(request.cause));
  line.put(R"(,"haproxy_state":)").text(haproxy_state(request.cause));
  line.put(R"(,"body_in":)").number(entry.body_in);
  line.put(R"(,"body_out":)").number(entry.body_out);
  line.put(R"(,"latency_ms":)").ms(request.latency);
  line.put(R"(,"attempts":[)");
  for (const AttemptDone& attempt : entry.attempts) {
    if (&attempt != entry.attempts.data()) line.put(",");
    put_attempt(line, attempt, request.at);
  }
  line.put("]}\n");
  out.resize(static_cast<std::size_t>(line.end() - out.data()));
}

}  // namespace gatedrill::gateway
