#include <algorithm>
#include <concepts>
#include <iterator>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "replay/formats/jsonl.hpp"
#include "replay/formats/text_coding.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay::formats {
namespace {

using Json = nlohmann::json;

// Takes the members of one object. The first that is not what it has to be is remembered.
class Members {
 public:
  // `wrong` outlives this object; it becomes what is wrong, such as "\"at_ns\" is no whole number".
  Members(const Json& object, std::string& wrong) : object_(object), wrong_(wrong) {}

  void get(const char* name, std::string& value) {
    if (const Json* json = find(name)) value = text(*json, name);
  }

  void get(const char* name, bool& value) {
    const Json* json = find(name);
    if (json == nullptr) return;
    if (!json->is_boolean()) return complain(name, "true or false");
    value = json->get<bool>();
  }

  template <class Number>
  requires std::is_integral_v<Number>

  void get(const char* name, Number& value) {
    const Json* json = find(name);
    if (json == nullptr) return;
    // A number above the signed range is unsigned in the parser.
    const bool fits =
        json->is_number_unsigned()
            ? std::in_range<Number>(json->get<std::uint64_t>())
            : json->is_number_integer() && std::in_range<Number>(json->get<std::int64_t>());
    if (!fits) return complain(name, "a whole number in its range");
    value = json->is_number_unsigned() ? static_cast<Number>(json->get<std::uint64_t>())
                                       : static_cast<Number>(json->get<std::int64_t>());
  }

  void get(const char* name, std::optional<bool>& value) {
    if (find(name) != nullptr) get(name, value.emplace());
  }

  void get(const char* name, std::optional<std::int64_t>& value) {
    if (find(name) != nullptr) get(name, value.emplace());
  }

  void get(const char* name, std::optional<UnixTime>& value) {
    if (find(name) != nullptr) get(name, value.emplace().ns);
  }

  void get(const char* name, std::optional<Duration>& value) {
    std::int64_t ns = 0;
    get(name, ns);
    if (find(name) != nullptr) value = Duration{ns};
  }

  // An object, or null if it is absent.
  const Json* object(const char* name) {
    const Json* json = find(name);
    if (json == nullptr || json->is_object()) return json;
    complain(name, "an object");
    return nullptr;
  }

  const Json* array(const char* name) {
    const Json* json = find(name);
    if (json == nullptr || json->is_array()) return json;
    complain(name, "an array");
    return nullptr;
  }

  void require(const char* name) {
    if (find(name) == nullptr) complain(name, "there");
  }

  std::string text(const Json& json, const char* name) {
    if (json.is_string()) return json.get<std::string>();
    const auto coded = json.is_object() ? json.find("base64") : json.end();
    if (json.is_object() && coded != json.end() && coded->is_string()) {
      auto bytes = base64_decoded(coded->get_ref<const std::string&>(), WhiteSpace::is_passed_over);
      if (bytes) return *bytes;
    }
    complain(name, "a text or {\"base64\": ...}");
    return {};
  }

 private:
  const Json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  void complain(const char* name, const char* expected) {
    if (wrong_.empty()) wrong_ = std::string("\"") + name + "\" has to be " + expected;
  }

  const Json& object_;
  std::string& wrong_;
};

void get_fields(Members& members, const char* name, std::vector<RecordedField>& to) {
  const Json* fields = members.array(name);
  if (fields == nullptr) return;
  for (const Json& field : *fields) {
    const bool pair = field.is_array() && field.size() == 2;
    static const Json kNone;
    to.push_back(
        {members.text(pair ? field[0] : kNone, name), members.text(pair ? field[1] : kNone, name)});
  }
}

template <class Message>
void get_message(Members& members, Message& message) {
  members.get("version", message.version);
  members.get("body", message.body);
  members.get("complete", message.complete);
  members.get("redacted", message.redacted);
  members.get("body_dropped", message.body_dropped);
  members.get("defects", message.defects);
  get_fields(members, "fields", message.fields);
  get_fields(members, "trailers", message.trailers);
}

RecordedExchange exchange_of(const Json& json, std::string& wrong) {
  RecordedExchange exchange;
  Members members(json, wrong);
  members.require("at_ns");
  members.get("id", exchange.id);
  members.get("at_ns", exchange.at.ns);
  members.get("connection", exchange.connection);
  members.get("client", exchange.client);
  members.get("server", exchange.server);
  members.get("protocol", exchange.protocol);
  members.get("host", exchange.host);
  members.get("latency_ns", exchange.latency);
  members.get("request_end_ns", exchange.request_end);
  members.get("response_begin_ns", exchange.response_begin);
  members.get("response_end_ns", exchange.response_end);
  members.get("ordinal", exchange.ordinal);
  members.get("idle_before_ns", exchange.idle_before);
  members.get("tunnel", exchange.tunnel);
  if (const Json* transport = members.object("transport")) {
    RecordedTransport& to = exchange.transport.emplace();
    Members of(*transport, wrong);
    of.get("request_begin", to.request_begin);
    of.get("request_end", to.request_end);
    of.get("acknowledged", to.acknowledged);
    of.get("after_fin", to.after_fin);
    of.get("retransmissions", to.retransmissions);
  }
  members.get("tls", exchange.tls);
  if (const Json* reset = members.object("reset")) {
    RecordedReset& to = exchange.reset.emplace();
    Members of(*reset, wrong);
    of.require("at_ns");
    of.get("at_ns", to.at.ns);
    std::string by;
    of.get("by", by);
    to.by_client = by == "client";
    if (wrong.empty() && by != to.by()) wrong = "\"by\" has to be \"client\" or \"server\"";
  }
  if (const Json* informational = members.array("informational")) {
    for (const Json& status : *informational) {
      if (status.is_number_integer()) exchange.informational.push_back(status.get<int>());
    }
  }
  if (const Json* request = members.object("request")) {
    Members of(*request, wrong);
    RecordedRequest& to = exchange.request.emplace();
    of.require("target");  // an empty one was sent so
    of.get("method", to.method);
    of.get("target", to.target);
    if (wrong.empty() && to.method.empty()) wrong = "\"method\" has to be there";
    get_message(of, to);
  }
  if (const Json* response = members.object("response")) {
    Members of(*response, wrong);
    of.require("status");
    RecordedResponse& to = exchange.response.emplace();
    of.get("status", to.status);
    of.get("reason", to.reason);
    get_message(of, to);
  }
  if (!exchange.request && !exchange.response && wrong.empty()) {
    wrong = "an exchange has to have a \"request\" or a \"response\"";
  }
  return exchange;
}

void get_side(Members& members, const char* name, RecordedSide& side, std::string& wrong) {
  const Json* json = members.object(name);
  if (json == nullptr) return;
  Members of(*json, wrong);
  of.get("fin_ns", side.fin);
  of.get("rst_ns", side.rst);
  of.get("fin_acked", side.fin_acked);
  of.get("rst_acked", side.rst_acked);
  of.get("sent", side.sent);
  of.get("acked", side.acked);
  of.get("retransmissions", side.retransmissions);
  of.get("zero_windows", side.zero_windows);
}

RecordedConnection connection_of(const Json& json, std::string& wrong) {
  RecordedConnection connection;
  Members members(json, wrong);
  members.require("connection");
  members.get("connection", connection.connection);
  members.get("client", connection.client);
  members.get("server", connection.server);
  members.get("opened_ns", connection.opened);
  members.get("closed_ns", connection.closed);
  members.get("closed_by", connection.closed_by);
  members.get("how", connection.how);
  members.get("idle_before_close_ns", connection.idle_before_close);
  members.get("gap_bytes", connection.gap_bytes);
  members.get("connect", connection.connect);
  members.get("syns", connection.syns);
  members.get("answered_ns", connection.answered);
  members.get("established_ns", connection.established);
  get_side(members, "client_side", connection.client_side, wrong);
  get_side(members, "server_side", connection.server_side, wrong);
  return connection;
}

RecordedLoss loss_of(const Json& json, std::string& wrong) {
  RecordedLoss loss;
  Members members(json, wrong);
  members.get("at_ns", loss.at.ns);
  members.get("connection", loss.connection);
  members.get("direction", loss.direction);
  members.get("reason", loss.reason);
  members.get("bytes", loss.bytes);
  return loss;
}

LedgerLine ledger_line_of(const Json& json, std::string& wrong) {
  LedgerLine line;
  Members members(json, wrong);
  members.require("what");
  members.get("what", line.what);
  members.get("count", line.count);
  members.get("bytes", line.bytes);
  members.get("note", line.note);
  return line;
}

// Exchanges without a connection have one each, beyond those that are named.
constexpr std::int64_t kUnnamedConnections = 1'000'000'000'000;

// So small that those of many files can be added up.
constexpr std::int64_t kNumberMax = std::int64_t{1} << 53U;
constexpr const char* kNoNumber = "\"id\" and \"connection\" have to be 0 to 2^53";

bool is_number(std::int64_t number) {
  return number >= 0 && number <= kNumberMax;
}

// Numbers that were seen, as ranges: nearly always one.
class Numbers {
 public:
  // False if it was there.
  bool add(std::int64_t number) {
    auto next = ranges_.upper_bound(number);
    if (next != ranges_.begin()) {
      const auto before = std::prev(next);
      if (number < before->second) return false;
      if (number == before->second) {
        ++before->second;
        if (next != ranges_.end() && next->first == before->second) {
          before->second = next->second;
          ranges_.erase(next);
        }
        return true;
      }
    }
    ranges_.emplace(number, number + 1);
    return true;
  }

  [[nodiscard]] std::int64_t largest() const {
    return ranges_.empty() ? 0 : std::max<std::int64_t>(ranges_.rbegin()->second - 1, 0);
  }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // from the first to behind the last
};

// Hands the lines of one file after the other on. Each file numbers its exchanges and connections
// itself: those of the first stay as they are, those of the others come behind.
class Lines {
 public:
  explicit Lines(ImportSink& sink) : sink_(sink) {}

  // Returns what is wrong with the line.
  std::string take(const Json& json);

  void end_file() {
    exchanges_before_ += ids_.largest();
    connections_before_ += connections_;
    ids_ = Numbers();
    connections_ = 0;
    unnamed_before_ += std::exchange(unnamed_, 0);
    sink_.on_end_of_recording();
  }

 private:
  std::string take_exchange(RecordedExchange exchange);

  // Those that exchanges without a connection were given are counted apart.
  void renumber(std::int64_t& connection) {
    if (connection < kUnnamedConnections) {
      connections_ = std::max(connections_, connection);
      connection += connections_before_;
    } else {
      unnamed_ = std::max(unnamed_, connection - kUnnamedConnections);
      connection += unnamed_before_;
    }
  }

  std::int64_t new_connection() { return kUnnamedConnections + unnamed_before_ + ++unnamed_; }

  ImportSink& sink_;
  Numbers ids_;  // of this file
  std::int64_t connections_ = 0;
  std::int64_t unnamed_ = 0;
  std::int64_t exchanges_before_ = 0;  // in the files before
  std::int64_t connections_before_ = 0;
  std::int64_t unnamed_before_ = 0;
};

std::string Lines::take_exchange(RecordedExchange exchange) {
  if (!is_number(exchange.id) || !is_number(exchange.connection)) return kNoNumber;
  if (exchange.id > 0) {
    if (!ids_.add(exchange.id)) {
      return "exchange " + std::to_string(exchange.id) + " is there twice";
    }
    exchange.id += exchanges_before_;
  }
  if (exchange.connection == 0) {
    exchange.connection = new_connection();
  } else {
    renumber(exchange.connection);
  }
  sink_.on_exchange(std::move(exchange));
  return {};
}

std::string Lines::take(const Json& json) {
  std::string wrong;
  std::string type;
  Members members(json, wrong);
  members.get("type", type);
  if (type == "exchange") {
    RecordedExchange exchange = exchange_of(json, wrong);
    if (wrong.empty()) wrong = take_exchange(std::move(exchange));
  } else if (type == "connection") {
    RecordedConnection connection = connection_of(json, wrong);
    if (wrong.empty() && !is_number(connection.connection)) wrong = kNoNumber;
    if (!wrong.empty()) return wrong;
    renumber(connection.connection);
    sink_.on_connection(connection);
  } else if (type == "loss") {
    RecordedLoss loss = loss_of(json, wrong);
    if (wrong.empty() && !is_number(loss.connection)) wrong = kNoNumber;
    if (!wrong.empty()) return wrong;
    if (loss.connection != 0) renumber(loss.connection);
    sink_.on_recorded_loss(loss);
  } else if (type == "ledger") {
    const LedgerLine line = ledger_line_of(json, wrong);
    if (wrong.empty()) sink_.on_ledger_line(line);
  } else if (type == "recording") {
    std::int64_t version = 1;
    members.get("version", version);
    if (version != 1) wrong = "this is version " + std::to_string(version) + "; known here: 1";
  } else if (wrong.empty()) {
    wrong = "\"type\" has to be recording, connection, exchange, loss or ledger";
  }
  return wrong;
}

// What is nested deeper than anything of ours is passed over, not built.
bool shallow(int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
  constexpr int kDepthMax = 16;
  return depth <= kDepthMax;
}

Result<void> read_lines(Input& input, const ImportSink& sink, Lines& lines) {
  LineReader reader(input);
  for (;;) {
    auto line = reader.next();
    if (!line) return line.error();
    if (!*line || sink.stopped()) return {};
    std::string_view text = (*line)->text;
    if ((*line)->number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
    std::string wrong;
    if (!(*line)->whole) {
      wrong = "the line is longer than 64 MiB";
    } else {
      try {
        const Json json = Json::parse(text, shallow);
        wrong = json.is_object() ? lines.take(json) : "expected an object with a \"type\"";
      } catch (const Json::parse_error& error) {
        wrong = "no JSON behind column " + std::to_string(error.byte > 0 ? error.byte - 1 : 0) +
                "; each line is one object with a \"type\"";
      } catch (const Json::exception&) {
        wrong = "a number in it is too large";
      }
    }
    if (!wrong.empty()) return usage_error(place_of(input, **line) + ": " + wrong);
  }
}

}  // namespace

bool looks_like_jsonl(std::string_view beginning) {
  constexpr std::string_view kBegin = "{\"type\":";
  if (!beginning.starts_with(kBegin)) return false;
  beginning.remove_prefix(kBegin.size());
  for (const std::string_view type :
       {"\"recording\"", "\"connection\"", "\"exchange\"", "\"loss\"", "\"ledger\""}) {
    const std::size_t at = beginning.find_first_not_of(' ');
    if (at != std::string_view::npos && beginning.substr(at).starts_with(type)) return true;
  }
  return false;
}

Result<void> read_jsonl(std::span<Input> inputs, ImportSink& sink) {
  Lines lines(sink);
  for (Input& input : inputs) {
    if (auto done = read_lines(input, sink, lines); !done) return done;
    lines.end_file();
  }
  return {};
}

Format jsonl_format() {
  return {.name = "jsonl",
          .title = "JSON lines: a recording whole (.jsonl, .jsonl.gz)",
          .aliases = {"json", "ndjson", "json-lines"},
          .looks_like = looks_like_jsonl,
          .read = read_jsonl,
          .write = write_jsonl};
}

}  // namespace gatedrill::replay::formats
