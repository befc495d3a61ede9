#include <algorithm>
#include <charconv>
#include <deque>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "gateway/core/ascii.hpp"
#include "replay/formats/gor.hpp"
#include "replay/formats/text_coding.hpp"
#include "replay/formats/wire_message.hpp"

namespace gatedrill::replay::formats {
namespace {

// What waits for its other half. A recording without answers is the usual case: past this, the
// oldest go on alone.
constexpr std::size_t kWaitingBytesMax = std::size_t{64} * 1024 * 1024;
constexpr std::size_t kKnownConnectionsMax = 500'000;
constexpr std::size_t kRecordBytesMax = std::size_t{256} * 1024 * 1024;
// A third field below this is a latency, not a time: the meta line of very old answers has no time.
constexpr std::int64_t kLatencyNsMax = 1'000'000'000'000'000;  // 12 days

enum class Type : char { request = '1', original = '2', replayed = '3' };

struct Meta {
  Type type = Type::request;
  std::string_view id;
  std::optional<std::int64_t> at_ns;
  std::optional<std::int64_t> latency_ns;
};

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || text.empty()) return std::nullopt;
  return value;
}

bool is_hex(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return hex_digit(c) >= 0; });
}

// What is wrong with a meta line, or nothing.
struct MetaVerdict {
  Meta meta;
  std::string_view wrong;
};

MetaVerdict parse_meta(std::string_view line) {
  MetaVerdict verdict;
  Meta& meta = verdict.meta;
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const std::size_t space = line.find(' ');
    if (space != 0) fields.push_back(line.substr(0, space));
    line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  }
  if (fields.size() < 3) {
    verdict.wrong = "a meta line with fewer than three fields";
    return verdict;
  }
  if (fields[0].size() != 1 || fields[0] < "1" || fields[0] > "3") {
    verdict.wrong = "a record of an unknown type";
    return verdict;
  }
  meta.type = Type{fields[0][0]};
  meta.id = fields[1];
  const auto third = number(fields[2]);
  const auto fourth = fields.size() > 3 ? number(fields[3]) : std::nullopt;
  if (!is_hex(meta.id)) {
    verdict.wrong = "an id that is not hexadecimal";
  } else if (!third || *third < 0 || (fields.size() > 3 && !fourth)) {
    verdict.wrong = "a time stamp that is not a number";
  } else if (fields.size() == 3 && meta.type != Type::request && *third < kLatencyNsMax) {
    meta.latency_ns = third;
  } else {
    meta.at_ns = third;
    meta.latency_ns = fourth;
  }
  return verdict;
}

// One record's text and where it begins.
struct GorRecord {
  std::string_view text;
  std::uint64_t offset = 0;
};

// Splits an input at its separators, as GoReplay does, but keeps the last record without one.
class RecordReader {
 public:
  explicit RecordReader(Input& input) : input_(input) {}

  // Nothing at the end. The text lives until the next call.
  Result<std::optional<GorRecord>> next() {
    windows_.reset();
    std::size_t searched = 0;
    for (;;) {
      const std::size_t monkeys = find_separator(searched);
      if (monkeys != std::string::npos) return std::optional<GorRecord>(take(monkeys));
      if (ended_) break;
      constexpr std::size_t kLongest = kGorSeparator.size() + 1;
      searched = rest().size() - std::min(rest().size(), kLongest);
      if (rest().size() > kRecordBytesMax) {
        return usage_error(place_of(input_, offset_) +
                           ": no separator follows within 256 MiB, so this is no .gor file");
      }
      auto more = input_.read();
      if (!more) return more.error();
      ended_ = more->empty();
      held_.erase(0, std::exchange(used_, 0));
      held_.append(*more);
    }
    const GorRecord record{rest(), offset_};
    if (record.text.empty()) return std::optional<GorRecord>{};
    use(record.text.size());
    return std::optional<GorRecord>(record);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return std::string_view(held_).substr(used_); }

  void use(std::size_t bytes) {
    used_ += bytes;
    offset_ += bytes;
  }

  // The place of a line that is the three code points, from the beginning of a line on.
  std::size_t find_separator(std::size_t from) {
    const std::string_view text = rest();
    for (std::size_t at = text.find(kGorMonkeys, from); at != std::string_view::npos;
         at = text.find(kGorMonkeys, at + 1)) {
      const std::size_t end = at + kGorMonkeys.size();
      const std::string_view behind = text.substr(end, 2);
      const bool begins = at == 0 || text[at - 1] == '\n';
      const bool ends = behind.starts_with('\n') || (ended_ && behind.empty());
      if (begins && (ends || (behind == "\r\n" && crlf()))) return at;
    }
    return std::string::npos;
  }

  // Whether the file's own lines end in CRLF, as its meta line tells.
  bool crlf() {
    if (!windows_) {
      const std::size_t end = rest().find('\n');
      windows_ = end != std::string_view::npos && end > 0 && rest()[end - 1] == '\r';
    }
    return *windows_;
  }

  GorRecord take(std::size_t monkeys) {
    std::string_view text = rest().substr(0, monkeys);
    const bool windows = crlf();
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (windows && text.ends_with('\r')) text.remove_suffix(1);
    const GorRecord record{text, offset_};
    const std::size_t line_end = rest().find('\n', monkeys);
    use(line_end == std::string_view::npos ? rest().size() : line_end + 1);
    return record;
  }

  Input& input_;
  std::string held_;
  std::size_t used_ = 0;  // of what is held, which moves when more is read
  std::optional<bool> windows_;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

// A message that waits for its other half.
struct Waiting {
  bool request = true;
  std::string payload;
  std::string place;
  UnixTime at{};
  std::optional<std::int64_t> at_ns;  // as the meta line says
  std::optional<std::int64_t> latency_ns;
  std::string id;
};

class GorReader {
 public:
  explicit GorReader(ImportSink& sink) : sink_(sink) {}

  Result<void> read(Input& input) {
    RecordReader records(input);
    bool first = true;
    for (;;) {
      auto record = records.next();
      if (!record) return record.error();
      if (!*record || sink_.stopped()) return {};
      if ((*record)->text.empty()) continue;  // two separators, or the file begins with one
      auto taken = take(**record, input, first);
      if (!taken) return taken.error();
      first = false;
    }
  }

  void finish() {
    while (!waiting_.empty())
      release_oldest();
    name_addresses();
  }

 private:
  using List = std::list<Waiting>;

  Result<void> take(const GorRecord& record, const Input& input, bool first) {
    const std::size_t line_end = record.text.find('\n');
    std::string_view line = record.text.substr(0, line_end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string place = place_of(input, record.offset);
    const MetaVerdict verdict = parse_meta(line);
    if (!verdict.wrong.empty()) {
      if (first) {
        return usage_error(place + ": expected a meta line such as \"1 ID TIME LATENCY\", found " +
                           std::string(verdict.wrong));
      }
      lose(place, verdict.wrong, {}, record.text.size());
      return {};
    }
    const Meta& meta = verdict.meta;
    const std::string_view payload =
        line_end == std::string_view::npos ? std::string_view{} : record.text.substr(line_end + 1);
    if (meta.at_ns) last_at_ = UnixTime{*meta.at_ns};
    if (payload.empty()) {
      lose(place, "a record without payload", direction_of(meta), 0);
      return {};
    }
    if (meta.type == Type::replayed) {
      sink_.count("replayed answers left out", payload.size(),
                  "type 3: what another server said; the recorded answers are type 2");
      return {};
    }
    Waiting one{.request = meta.type == Type::request,
                .payload = std::string(payload),
                .place = place,
                .at = last_at_,
                .at_ns = meta.at_ns,
                .latency_ns = meta.latency_ns,
                .id = std::string(meta.id)};
    match(std::move(one));
    return {};
  }

  static std::string_view direction_of(const Meta& meta) {
    return meta.type == Type::request ? "request" : "response";
  }

  void lose(const std::string& place,
            std::string_view reason,
            std::string_view direction,
            std::uint64_t bytes,
            std::string_view detail = {}) {
    sink_.on_loss({.place = place,
                   .reason = std::string(reason),
                   .detail = shown(detail),
                   .direction = std::string(direction),
                   .at = last_at_,
                   .bytes = bytes});
  }

  static std::size_t cost(const Waiting& one) {
    return one.payload.size() + one.id.size() + one.place.size() + 2 * sizeof(Waiting);
  }

  // Ids are equal for a request and its answer, and for pipelined requests too: first come first.
  void match(Waiting one) {
    auto& same = by_id_[one.id];
    if (!same.empty() && same.front()->request != one.request) {
      const List::iterator other = same.front();
      Waiting partner = std::move(*other);
      waiting_bytes_ -= cost(partner);
      waiting_.erase(other);
      same.pop_front();
      if (same.empty()) by_id_.erase(one.id);
      emit(one.request ? &one : &partner, one.request ? &partner : &one);
      return;
    }
    waiting_bytes_ += cost(one);
    waiting_.push_back(std::move(one));
    same.push_back(std::prev(waiting_.end()));
    while (waiting_bytes_ > kWaitingBytesMax)
      release_oldest();
  }

  void release_oldest() {
    Waiting& oldest = waiting_.front();
    auto same = by_id_.find(oldest.id);
    same->second.pop_front();
    if (same->second.empty()) by_id_.erase(same);
    waiting_bytes_ -= cost(oldest);
    emit(oldest.request ? &oldest : nullptr, oldest.request ? nullptr : &oldest);
    waiting_.pop_front();
  }

  void emit(const Waiting* request, const Waiting* answer) {
    RecordedExchange exchange;
    std::uint64_t request_missing = 0;
    std::uint64_t answer_missing = 0;
    if (request != nullptr) {
      auto read = read_request(request->payload);
      if (!read) {
        last_at_ = request->at;
        lose(request->place, "a payload that is no HTTP/1 request", "request",
             request->payload.size());
        request = nullptr;
      } else {
        request_missing = read->missing_bytes;
        told_rest(*request, read->rest);
        exchange.request = std::move(read->message);
        exchange.host = std::move(read->host);
        exchange.at = request->at;
      }
    }
    if (answer != nullptr) {
      auto read = read_response(answer->payload, method_of(exchange));
      if (!read) {
        lose(answer->place, "a payload that is no HTTP/1 answer", "response",
             answer->payload.size());
        answer = nullptr;
      } else {
        answer_missing = read->missing_bytes;
        told_rest(*answer, read->rest);
        exchange.response = std::move(read->message);
        exchange.informational = std::move(read->informational);
      }
    }
    if (request == nullptr && answer == nullptr) return;
    if (request == nullptr) exchange.at = answer->at;
    const Waiting& named = request != nullptr ? *request : *answer;
    exchange.connection = connection_of(named.id);
    const std::string& version =
        exchange.request ? exchange.request->version : exchange.response->version;
    exchange.protocol = protocol_of(version);
    exchange.tunnel = is_tunnel(exchange);
    set_times(exchange, request, answer);
    told_partial(exchange, request, request_missing, answer, answer_missing);
    sink_.on_exchange(std::move(exchange));
  }

  static bool is_tunnel(const RecordedExchange& exchange) {
    constexpr int kSwitchingProtocols = 101;
    if (!exchange.response) return false;
    const bool connected = exchange.request && exchange.request->method == "CONNECT" &&
                           exchange.response->status / 100 == 2;
    return connected || exchange.response->status == kSwitchingProtocols;
  }

  // A message's own latency is from its first packet to its last.
  static std::optional<UnixTime> end_of(const Waiting& message) {
    const std::int64_t own = message.latency_ns.value_or(-1);
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (!message.at_ns || own < 0 || *message.at_ns > kMax - own) return std::nullopt;
    return UnixTime{*message.at_ns + own};
  }

  static void set_times(RecordedExchange& exchange, const Waiting* request, const Waiting* answer) {
    if (request != nullptr) exchange.request_end = end_of(*request);
    if (answer == nullptr) return;
    if (answer->at_ns) exchange.response_begin = UnixTime{*answer->at_ns};
    exchange.response_end = end_of(*answer);
    if (request == nullptr) return;
    if (!answer->at_ns) {  // very old: from the request to the answer
      if (answer->latency_ns) exchange.latency = Duration{*answer->latency_ns};
    } else if (request->at_ns && exchange.response_end && *exchange.response_end >= exchange.at) {
      exchange.latency = Duration{exchange.response_end->ns - exchange.at.ns};
    }
  }

  void told_rest(const Waiting& message, std::string_view rest) {
    if (rest.find_first_not_of("\r\n") == std::string_view::npos) return;
    lose(message.place, "bytes behind the end of a message",
         message.request ? "request" : "response", rest.size());
  }

  void told_partial(const RecordedExchange& exchange,
                    const Waiting* request,
                    std::uint64_t request_missing,
                    const Waiting* answer,
                    std::uint64_t answer_missing) {
    if (exchange.request && !exchange.request->complete) {
      lose(request->place, "a request that is not whole", "request", request_missing,
           exchange.request->target);
    }
    if (exchange.response && !exchange.response->complete) {
      lose(answer->place, "an answer that is not whole", "response", answer_missing);
    }
  }

  // 24 digits: client port, server port, client address, sequence number. The same first 16 digits
  // are one connection; ids that are made up have one each, as older ids do.
  std::int64_t connection_of(const std::string& id) {
    constexpr std::size_t kDigits = 24;
    constexpr std::size_t kConnectionDigits = 16;
    if (id.size() != kDigits) return ++connections_;
    if (endpoints_.size() >= kKnownConnectionsMax) {
      name_addresses();
      endpoints_.clear();
    }
    const auto [at, fresh] = endpoints_.try_emplace(id.substr(0, kConnectionDigits), Endpoint{});
    if (fresh) at->second.connection = ++connections_;
    ++at->second.records;
    return at->second.connection;
  }

  // Made-up ids have random server ports, those of a capture a few. Only where they are of a
  // capture do the digits name addresses; a client port of 0 says that they do not.
  void name_addresses() {
    std::set<std::string_view> ports;
    std::uint64_t records = 0;
    for (const auto& [digits, endpoint] : endpoints_) {
      ports.insert(std::string_view(digits).substr(4, 4));
      records += endpoint.records;
    }
    if (records < 2 * ports.size()) return;
    for (const auto& [digits, endpoint] : endpoints_) {
      const auto byte = [&digits = digits](std::size_t at, std::size_t size) {
        unsigned value = 0;
        std::from_chars(digits.data() + at, digits.data() + at + size, value, 16);
        return std::to_string(value);
      };
      if (digits.starts_with("0000")) continue;
      RecordedConnection connection;
      connection.connection = endpoint.connection;
      connection.client =
          byte(8, 2) + "." + byte(10, 2) + "." + byte(12, 2) + "." + byte(14, 2) + ":" + byte(0, 4);
      sink_.on_connection(connection);
    }
  }

  struct Endpoint {
    std::int64_t connection = 0;
    std::uint64_t records = 0;
  };

  ImportSink& sink_;
  UnixTime last_at_{};
  List waiting_;
  std::unordered_map<std::string, std::deque<List::iterator>> by_id_;
  std::size_t waiting_bytes_ = 0;
  std::map<std::string, Endpoint> endpoints_;
  std::int64_t connections_ = 0;
};

}  // namespace

bool looks_like_gor(std::string_view beginning) {
  if (beginning.starts_with('\n')) beginning.remove_prefix(1);
  if (beginning.starts_with(kGorMonkeys)) return true;
  std::string_view line = beginning.substr(0, beginning.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return parse_meta(line).wrong.empty();
}

Result<void> read_gor(std::span<Input> inputs, ImportSink& sink) {
  GorReader reader(sink);
  for (Input& input : inputs) {
    if (auto done = reader.read(input); !done) return done;
  }
  reader.finish();
  return {};
}

Format gor_format() {
  return {.name = "gor",
          .title = "GoReplay recording (.gor, .gor.gz)",
          .aliases = {"goreplay"},
          .looks_like = looks_like_gor,
          .read = read_gor,
          .write = write_gor};
}

}  // namespace gatedrill::replay::formats
