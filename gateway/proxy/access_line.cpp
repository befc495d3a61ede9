#include "gateway/proxy/access_line.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>

namespace gatedrill::gateway {
namespace {

void append_number(std::string& out, std::int64_t value, std::size_t digits_min = 1) {
  char text[24];
  const char* end = std::to_chars(text, text + sizeof text, value).ptr;
  const auto size = static_cast<std::size_t>(end - text);
  if (size < digits_min) out.append(digits_min - size, '0');
  out.append(text, size);
}

// Milliseconds with three decimals.
void append_ms(std::string& out, Duration duration) {
  const std::int64_t us = duration.count() / 1000;
  append_number(out, us / 1000);
  out += '.';
  append_number(out, us % 1000, 3);
}

// "2026-11-30T10:00:00.123Z"
void append_time(std::string& out, UnixTime at) {
  // Not strftime, which asks for the time zone and takes a lock for it.
  const std::chrono::sys_time<Duration> time{Duration{at.ns}};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::milliseconds>(time - day)};
  append_number(out, static_cast<int>(date.year()), 4);
  out += '-';
  append_number(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_number(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_number(out, clock.hours().count(), 2);
  out += ':';
  append_number(out, clock.minutes().count(), 2);
  out += ':';
  append_number(out, clock.seconds().count(), 2);
  out += '.';
  append_number(out, clock.subseconds().count(), 3);
  out += 'Z';
}

// Views: a string takes a literal only after it has measured it.
constexpr std::size_t kKeyBytesMax = 28;
constexpr std::string_view kNull = "null";
constexpr std::string_view kTrue = "true";
constexpr std::string_view kFalse = "false";

// Whatever bytes it holds: those beyond ASCII are read as Latin-1.
void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto stands_for_itself = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
  };
  out += '"';
  const auto special = std::find_if_not(text.begin(), text.end(), stands_for_itself);
  const auto plain = static_cast<std::size_t>(special - text.begin());
  out.append(text.substr(0, plain));
  for (const char c : text.substr(plain)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out.append("\\u00");
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xfU];
    } else {
      out += c;
    }
  }
  out += '"';
}

// Members of a JSON object. Null: an empty text, no status, a phase that was never begun.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }

  std::string& key(std::string_view name) {
    // Put together here: a piece at a time the string would grow by a few bytes a hundred times.
    char text[kKeyBytesMax + 4];
    char* end = text;
    if (!first_) *end++ = ',';
    first_ = false;
    *end++ = '"';
    assert(name.size() <= kKeyBytesMax);
    end = std::copy_n(name.data(), name.size(), end);
    *end++ = '"';
    *end++ = ':';
    return out_.append(text, static_cast<std::size_t>(end - text));
  }

  void text(std::string_view name, std::string_view value) {
    key(name);
    if (value.empty()) {
      out_.append(kNull);
    } else {
      append_quoted(out_, value);
    }
  }

  template <class Integer>
  void number(std::string_view name, Integer value) {
    append_number(key(name), static_cast<std::int64_t>(value));
  }

  void status(int value) {
    if (value != 0) return number("status", value);
    key("status").append(kNull);
  }

  void flag(std::string_view name, bool value) { key(name).append(value ? kTrue : kFalse); }

  void ms(std::string_view name, Duration value) { append_ms(key(name), value); }

  void phase(std::string_view name, Duration value) {
    if (value != PhaseTimes::kNotBegun) return ms(name, value);
    key(name).append(kNull);
  }

  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_attempt(std::string& out, const AttemptDone& attempt, TimePoint arrived) {
  Members members(out);
  members.text("endpoint", name_of(attempt.endpoint));
  members.ms("after_ms", attempt.at - arrived);
  members.status(attempt.status);
  members.text("cause", to_string(attempt.cause));
  members.number("connection_id", attempt.connection_id);
  members.flag("reused", attempt.reused);
  members.number("connection_ordinal", attempt.connection_ordinal);
  members.ms("connection_age_ms", attempt.connection_age);
  members.phase("connect_ms", attempt.phases.connect);
  members.phase("send_ms", attempt.phases.send);
  members.phase("wait_ms", attempt.phases.wait);
  members.phase("receive_ms", attempt.phases.receive);
  members.text("why_retried", name_of(attempt.why_retried));
  members.end();
}

}  // namespace

void append_access_line(std::string& out, NameId gateway, const AccessEntry& entry) {
  const RequestDone& request = entry.request;
  Members members(out);
  append_time(members.key("time").append("\""), entry.at);
  out += '"';
  members.text("gateway", name_of(gateway));
  members.text("request_id", request.request_id.view());
  members.text("client", name_of(request.client));
  members.text("method", name_of(request.method));
  members.text("host", entry.host);
  members.text("target", entry.target);
  members.text("route", name_of(request.route));
  members.text("upstream", name_of(request.upstream));
  members.status(request.status);
  members.text("cause", to_string(request.cause));
  members.text("reason", entry.reason);
  members.text("dropped_field", entry.dropped_field);
  members.text("limiter", name_of(request.limiter));
  members.flag("retries_exhausted", request.retries_exhausted);
  members.text("proxy_status", proxy_status_token(request.cause));
  members.text("envoy_flag", envoy_flag(request.cause));
  members.text("haproxy_state", haproxy_state(request.cause));
  members.number("body_in", entry.body_in);
  members.number("body_out", entry.body_out);
  members.ms("latency_ms", request.latency);
  members.key("attempts") += '[';
  for (const AttemptDone& attempt : entry.attempts) {
    if (&attempt != entry.attempts.data()) out += ',';
    append_attempt(out, attempt, request.at);
  }
  out += ']';
  members.end();
  out += '\n';
}

}  // namespace gatedrill::gateway
