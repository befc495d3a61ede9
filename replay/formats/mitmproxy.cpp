#include "replay/formats/mitmproxy.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "replay/formats/text_coding.hpp"
#include "replay/formats/timestamps.hpp"
#include "replay/formats/tnetstring.hpp"
#include "replay/formats/wire_message.hpp"

namespace gatedrill::replay::formats {
namespace {

constexpr std::size_t kFlowBytesMax = std::size_t{512} * 1024 * 1024;
constexpr std::int64_t kOldest = 7;

std::optional<UnixTime> time_of(const Tnet& value) {
  if (value.tag != '^' && value.tag != '#') return std::nullopt;
  return parse_epoch_seconds(value.bytes);
}

std::string version_of(const Tnet& message) {
  const std::string_view version = message.at("http_version").text();
  if (version == "HTTP/2.0") return "HTTP/2";
  if (version == "HTTP/3.0") return "HTTP/3";
  return std::string(version.empty() ? "HTTP/1.1" : version);
}

std::vector<RecordedField> fields_of(const Tnet& message) {
  std::vector<RecordedField> fields;
  for (const Tnet& header : message.at("headers").items) {
    if (header.items.size() != 2) continue;
    RecordedField field{std::string(header.items[0].text()), std::string(header.items[1].text())};
    std::replace_if(
        field.value.begin(), field.value.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    if (!field.name.empty() && !field.name.starts_with(':')) fields.push_back(std::move(field));
  }
  return fields;
}

// "127.0.0.1:51407" of [host, port], which newer versions call a peer's name.
std::string endpoint_of(const Tnet& connection, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Tnet& address = connection.at(name);
    if (address.tag != ']' || address.items.size() < 2 || address.items[0].text().empty()) continue;
    const std::string host(address.items[0].text());
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::string(address.items[1].bytes);
  }
  return {};
}

class FlowReader {
 public:
  explicit FlowReader(ImportSink& sink) : sink_(sink) {}

  Result<void> read(Input& input) {
    std::string held;
    std::size_t used = 0;  // of what is held, which moves when more is read
    std::uint64_t offset = 0;
    bool ended = false;
    for (;;) {
      const std::string_view rest = std::string_view(held).substr(used);
      const TnetSize size = tnet_size(rest);
      const bool whole = size.state == TnetSize::State::known && rest.size() >= size.size;
      if (rest.empty() && ended) return {};
      if (size.state == TnetSize::State::wrong || size.size > kFlowBytesMax) {
        return usage_error(place_of(input, offset) +
                           ": expected a flow of mitmproxy, a tnetstring such as \"1234:...}\"");
      }
      if (!whole && ended) {
        return usage_error(place_of(input, offset) + ": a flow of " + std::to_string(size.size) +
                           " bytes begins here, and the file ends before it does");
      }
      if (!whole) {
        auto more = input.read();
        if (!more) return more.error();
        ended = more->empty();
        held.erase(0, std::exchange(used, 0));
        held.append(*more);
        continue;
      }
      const auto flow = parse_tnet(rest.substr(0, size.size));
      const std::string place = place_of(input, offset);
      if (!flow || flow->tag != '}') {
        return usage_error(place + ": what begins here is no flow of mitmproxy");
      }
      if (auto done = take(*flow, place); !done) return done;
      if (sink_.stopped()) return {};
      offset += size.size;
      used += size.size;
    }
  }

 private:
  Result<void> take(const Tnet& flow, const std::string& place) {
    const std::int64_t version = flow.at("version").integer().value_or(0);
    if (version < kOldest) {
      return usage_error(place +
                         ": a flow of a version before 7; open and save the file with a "
                         "newer mitmproxy");
    }
    if (flow.at("type").text() != "http") {
      sink_.count("flows left out: not HTTP", 0, "TCP, UDP and DNS");
      return {};
    }
    RecordedExchange exchange;
    if (flow.at("request").at("method").text().empty()) {
      lose(place, exchange, "", "a flow without a request");
      return {};
    }
    read_connection(flow, exchange);
    read_request(flow.at("request"), place, exchange);
    read_response(flow, place, exchange);
    for (const Tnet& message : flow.at("websocket").at("messages").items) {
      sink_.count("WebSocket messages left out",
                  message.items.size() > 2 ? message.items[2].bytes.size() : 0, "");
    }
    sink_.on_exchange(std::move(exchange));
    return {};
  }

  void read_connection(const Tnet& flow, RecordedExchange& exchange) {
    const Tnet& client = flow.at("client_conn");
    const Tnet& server = flow.at("server_conn");
    exchange.client = endpoint_of(client, {"peername", "address"});
    exchange.server = endpoint_of(server, {"peername", "ip_address", "address"});
    const std::string name(server.at("id").text().empty() ? client.at("id").text()
                                                          : server.at("id").text());
    const auto [at, fresh] = known_.try_emplace(name, connections_ + 1);
    if (fresh || name.empty()) ++connections_;
    exchange.connection = name.empty() ? connections_ : at->second;
  }

  void read_request(const Tnet& json, const std::string& place, RecordedExchange& exchange) {
    RecordedRequest& request = exchange.request.emplace();
    request.method = json.at("method").text();
    request.target = json.at("path").text();
    request.version = version_of(json);
    request.fields = fields_of(json);
    request.body = json.at("content").text();
    exchange.host = requested_host(request.method, request.target, request.fields);
    if (exchange.host.empty()) exchange.host = json.at("authority").text();
    if (exchange.host.empty()) exchange.host = json.at("host").text();
    exchange.protocol = protocol_of(request.version);
    if (const auto scheme = json.at("scheme").text(); !scheme.empty()) {
      exchange.tls = scheme == "https";
    }
    const auto begin = time_of(json.at("timestamp_start"));
    if (begin) last_at_ = *begin;
    exchange.at = last_at_;
    exchange.request_end = time_of(json.at("timestamp_end"));
    if (json.at("content").is_null()) {
      request.complete = false;
      lose(place, exchange, "request", "a request's body that is not in the file");
    }
    count_trailers(json);
  }

  void read_response(const Tnet& flow, const std::string& place, RecordedExchange& exchange) {
    const Tnet& json = flow.at("response");
    const auto status = json.at("status_code").integer();
    constexpr std::int64_t kStatusMax = 999;
    if (json.is_null() || !status || *status < 100 || *status > kStatusMax) {
      lose(place, exchange, "response", "a flow without an answer",
           flow.at("error").at("msg").text());
      return;
    }
    RecordedResponse& response = exchange.response.emplace();
    response.status = static_cast<int>(*status);
    response.reason = json.at("reason").text();
    response.version = version_of(json);
    response.fields = fields_of(json);
    response.body = json.at("content").text();
    exchange.response_begin = time_of(json.at("timestamp_start"));
    exchange.response_end = time_of(json.at("timestamp_end"));
    if (exchange.response_end && *exchange.response_end >= exchange.at) {
      exchange.latency = Duration{exchange.response_end->ns - exchange.at.ns};
    }
    constexpr int kSwitchingProtocols = 101;
    exchange.tunnel = response.status == kSwitchingProtocols;
    if (json.at("content").is_null()) {
      response.complete = false;
      lose(place, exchange, "response", "an answer's body that is not in the file");
    }
    count_trailers(json);
  }

  void count_trailers(const Tnet& message) {
    if (!message.at("trailers").items.empty()) {
      sink_.count("trailers left out", 0, "of chunked or HTTP/2 messages");
    }
  }

  void lose(const std::string& place,
            const RecordedExchange& exchange,
            std::string_view direction,
            std::string_view reason,
            std::string_view detail = {}) {
    sink_.on_loss({.place = place,
                   .reason = std::string(reason),
                   .detail = shown(detail),
                   .direction = std::string(direction),
                   .at = exchange.at,
                   .connection = exchange.connection});
  }

  ImportSink& sink_;
  UnixTime last_at_{};
  std::map<std::string, std::int64_t> known_;
  std::int64_t connections_ = 0;
};

}  // namespace

bool looks_like_mitmproxy(std::string_view beginning) {
  const TnetSize size = tnet_size(beginning);
  if (size.state != TnetSize::State::known || size.size < 64) return false;
  const std::string_view behind = beginning.substr(beginning.find(':') + 1);
  return tnet_size(behind).state == TnetSize::State::known;
}

Result<void> read_mitmproxy(std::span<Input> inputs, ImportSink& sink) {
  FlowReader reader(sink);
  for (Input& input : inputs) {
    if (auto done = reader.read(input); !done) return done;
  }
  return {};
}

Format mitmproxy_format() {
  return {.name = "mitmproxy",
          .title = "flows of mitmproxy (mitmdump -w)",
          .aliases = {"mitm", "mitmdump", "flows"},
          .looks_like = looks_like_mitmproxy,
          .read = read_mitmproxy};
}

}  // namespace gatedrill::replay::formats
