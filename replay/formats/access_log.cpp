#include "replay/formats/access_log.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <vector>

#include "replay/formats/wire_message.hpp"

namespace gatedrill::replay::formats {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1024} * 1024;
constexpr std::uint64_t kWrongLinesMax = 1000;  // at a file's beginning: then it is no log
constexpr std::int64_t kSecond = 1'000'000'000;

LogVerdict parse_line(std::string_view line) {
  return line.starts_with('{') ? parse_json_log_line(line) : parse_combined_line(line);
}

// A log in whole seconds says in which order its lines were written, and no more. The lines of one
// second are spread over it, in that order.
class SecondSpreader {
 public:
  explicit SecondSpreader(ImportSink& sink) : sink_(sink) {}

  void add(RecordedExchange exchange) {
    if (!group_.empty() && (group_.front().at != exchange.at || group_.size() >= kGroupMax)) {
      flush();
    }
    group_.push_back(std::move(exchange));
  }

  void flush() {
    if (group_.empty()) return;
    if (used_.size() >= kSecondsMax) used_.clear();
    // The same second may come again later in the file, or go on: what is left is for that.
    const auto [at, fresh] = used_.try_emplace(group_.front().at.ns, 0);
    const auto size = static_cast<std::int64_t>(group_.size());
    const bool goes_on = group_.size() >= kGroupMax;
    const std::int64_t parts = (fresh ? size : size + 1) * (goes_on ? 2 : 1);
    const std::int64_t step = (kSecond - at->second) / parts;
    std::int64_t offset = fresh ? 0 : at->second + step;
    for (RecordedExchange& exchange : group_) {
      exchange.at.ns += offset;
      at->second = offset;
      offset += step;
    }
    for (RecordedExchange& exchange : group_)
      sink_.on_exchange(std::move(exchange));
    group_.clear();
  }

 private:
  static constexpr std::size_t kGroupMax = 100'000;
  static constexpr std::size_t kSecondsMax = 1'000'000;

  ImportSink& sink_;
  std::vector<RecordedExchange> group_;
  std::unordered_map<std::int64_t, std::int64_t> used_;  // by second: the last place given
};

class AccessLogReader {
 public:
  explicit AccessLogReader(ImportSink& sink) : sink_(sink), spreader_(sink) {}

  Result<void> read(Input& input) {
    LineReader lines(input, kLineBytesMax);
    std::uint64_t good = 0;
    std::uint64_t wrong = 0;
    std::optional<Error> first_wrong;
    for (;;) {
      auto line = lines.next();
      if (!line) return line.error();
      if (!*line || sink_.stopped()) break;
      if ((*line)->text.empty()) continue;
      const std::string place = place_of(input, **line);
      LogVerdict verdict = parse_line((*line)->text);
      if (!(*line)->whole) verdict = {{}, "a line longer than 1 MiB"};
      if (verdict.entry) {
        ++good;
        take(std::move(*verdict.entry), place);
        continue;
      }
      ++wrong;
      sink_.on_loss({.place = place,
                     .reason = std::string(verdict.wrong),
                     .at = last_at_,
                     .bytes = (*line)->text.size()});
      if (!first_wrong) {
        first_wrong = usage_error(
            place +
            ": expected a line such as 1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / "
            "HTTP/1.1\" 200 571 \"-\" \"curl/8\", or JSON; found " +
            std::string(verdict.wrong));
      }
      if (good == 0 && wrong >= kWrongLinesMax) break;
    }
    spreader_.flush();
    if (good == 0 && first_wrong) return *first_wrong;
    return {};
  }

 private:
  void take(LogEntry entry, const std::string& place) {
    RecordedExchange exchange;
    exchange.at = entry.at;
    last_at_ = entry.at;
    exchange.client = std::move(entry.client);
    exchange.server = std::move(entry.server);
    exchange.host = std::move(entry.host);
    exchange.ordinal = entry.ordinal;
    exchange.connection = connection_of(entry.connection);
    exchange.protocol = "http/1.1";
    if (entry.user_missing) sink_.count("lines without the user's field", 0, "read all the same");
    if (entry.user_left_out) sink_.count("user names left out", 0, "the log has no credentials");
    if (entry.request) {
      exchange.protocol = protocol_of(entry.request->version);
      if (exchange.host.empty()) {
        exchange.host =
            requested_host(entry.request->method, entry.request->target, entry.request->fields);
      }
      judge_request_body(entry);
      exchange.request = std::move(entry.request);
    } else {
      sink_.on_loss({.place = place,
                     .reason = "a request line that is empty or not HTTP",
                     .direction = "request",
                     .at = entry.at,
                     .connection = exchange.connection});
    }
    add_answer(entry, exchange);
    if (!exchange.request && !exchange.response) return;
    if (exchange.request && exchange.response) exchange.latency = entry.latency;
    if (entry.whole_seconds) {
      spreader_.add(std::move(exchange));
    } else {
      spreader_.flush();
      sink_.on_exchange(std::move(exchange));
    }
  }

  // Most logs do not say how large a body was; these methods have one.
  void judge_request_body(LogEntry& entry) {
    RecordedRequest& request = *entry.request;
    const std::string& method = request.method;
    const bool has_body = method == "POST" || method == "PUT" || method == "PATCH";
    const bool told = !value_of(request.fields, "Content-Length").empty();
    if (entry.request_bytes == 0 && (told || !request.body.empty() || !has_body)) return;
    request.complete = false;
    sink_.count("requests without their body", entry.request_bytes, "it is not in the log");
  }

  void add_answer(LogEntry& entry, RecordedExchange& exchange) {
    constexpr int kNginxClosed = 444;
    constexpr int kClientClosed = 499;
    if (entry.status == 0 || entry.status == kNginxClosed || entry.status == kClientClosed) {
      sink_.count("requests that got no answer", 0, "status 444, 499 or below 100");
      return;
    }
    RecordedResponse& response = exchange.response.emplace();
    response.status = entry.status;
    response.version = exchange.request ? exchange.request->version : "HTTP/1.1";
    response.fields = std::move(entry.response_fields);
    if (entry.response_bytes == 0 || !may_have_body(entry.status, method_of(exchange))) return;
    response.complete = false;
    sink_.count("answers without their body", entry.response_bytes, "it is not in the log");
  }

  // A log that names no connections: each request has its own.
  std::int64_t connection_of(const std::string& name) {
    constexpr std::size_t kKnownMax = 1'000'000;
    if (name.empty()) return ++connections_;
    if (known_.size() >= kKnownMax) known_.clear();
    const auto [at, fresh] = known_.try_emplace(name, connections_ + 1);
    if (fresh) ++connections_;
    return at->second;
  }

  ImportSink& sink_;
  SecondSpreader spreader_;
  UnixTime last_at_{};
  std::unordered_map<std::string, std::int64_t> known_;
  std::int64_t connections_ = 0;
};

}  // namespace

std::optional<int> parse_log_status(std::string_view text) {
  constexpr int kMin = 100;
  constexpr int kMax = 999;
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value > kMax) return std::nullopt;
  return value < kMin ? 0 : static_cast<int>(value);
}

bool looks_like_access_log(std::string_view beginning) {
  constexpr int kLinesLookedAt = 20;
  for (int i = 0; i < kLinesLookedAt && !beginning.empty(); ++i) {
    const std::size_t end = beginning.find('\n');
    std::string_view line = beginning.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (parse_line(line).entry) return true;
    beginning.remove_prefix(end == std::string_view::npos ? beginning.size() : end + 1);
  }
  return false;
}

Result<void> read_access_log(std::span<Input> inputs, ImportSink& sink) {
  AccessLogReader reader(sink);
  for (Input& input : inputs) {
    if (auto done = reader.read(input); !done) return done;
  }
  return {};
}

Format access_log_format() {
  return {.name = "access-log",
          .title = "access log of nginx or Apache (combined), of nginx in JSON, or of gatedrill",
          .aliases = {"nginx", "apache", "httpd", "combined", "common", "nginx-log", "log"},
          .looks_like = looks_like_access_log,
          .read = read_access_log};
}

}  // namespace gatedrill::replay::formats
