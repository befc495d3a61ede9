#include "replay/formats/jsonl.hpp"
#include "replay/formats/text_coding.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay::formats {
namespace {

using Json = nlohmann::ordered_json;

Json text(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  return {{"base64", base64_encoded(bytes)}};
}

// Sets a member unless it has its usual value.
void set(Json& json, const char* name, const std::string& value) {
  if (!value.empty()) json[name] = text(value);
}

void set(Json& json, const char* name, const std::optional<UnixTime>& value) {
  if (value) json[name] = value->ns;
}

void set(Json& json, const char* name, const std::optional<Duration>& value) {
  if (value) json[name] = value->count();
}

void set(Json& json, const char* name, const std::optional<std::int64_t>& value) {
  if (value) json[name] = *value;
}

template <class Number>
void set_number(Json& json, const char* name, Number value) {
  if (value != 0) json[name] = value;
}

Json fields_json(const std::vector<RecordedField>& fields) {
  Json json = Json::array();
  for (const RecordedField& field : fields)
    json.push_back(Json::array({text(field.name), text(field.value)}));
  return json;
}

template <class Message>
void add_message(Json& json, const Message& message) {
  set(json, "version", message.version);
  json["fields"] = fields_json(message.fields);
  if (!message.trailers.empty()) json["trailers"] = fields_json(message.trailers);
  set(json, "body", message.body);
  if (!message.complete) json["complete"] = false;
  if (message.redacted) json["redacted"] = true;
  if (message.body_dropped) json["body_dropped"] = true;
  set(json, "defects", message.defects);
}

Json transport_json(const RecordedTransport& transport) {
  Json json = {{"request_begin", transport.request_begin},
               {"request_end", transport.request_end},
               {"acknowledged", transport.acknowledged},
               {"after_fin", transport.after_fin}};
  set_number(json, "retransmissions", transport.retransmissions);
  return json;
}

Json side_json(const RecordedSide& side) {
  Json json = Json::object();
  set(json, "fin_ns", side.fin);
  set(json, "rst_ns", side.rst);
  set(json, "fin_acked", side.fin_acked);
  set(json, "rst_acked", side.rst_acked);
  set_number(json, "sent", side.sent);
  set_number(json, "acked", side.acked);
  set_number(json, "retransmissions", side.retransmissions);
  set_number(json, "zero_windows", side.zero_windows);
  return json;
}

Json connection_json(const RecordedConnection& connection) {
  Json json = {{"type", "connection"}, {"connection", connection.connection}};
  set(json, "client", connection.client);
  set(json, "server", connection.server);
  set(json, "opened_ns", connection.opened);
  set(json, "closed_ns", connection.closed);
  set(json, "closed_by", connection.closed_by);
  set(json, "how", connection.how);
  set(json, "idle_before_close_ns", connection.idle_before_close);
  set_number(json, "gap_bytes", connection.gap_bytes);
  set(json, "connect", connection.connect);
  set_number(json, "syns", connection.syns);
  set(json, "answered_ns", connection.answered);
  set(json, "established_ns", connection.established);
  if (connection.client_side != RecordedSide{}) {
    json["client_side"] = side_json(connection.client_side);
  }
  if (connection.server_side != RecordedSide{}) {
    json["server_side"] = side_json(connection.server_side);
  }
  return json;
}

void write_line(Output& output, const Json& json) {
  output.write(json.dump());
  output.write("\n");
}

}  // namespace

Json to_json(const RecordedExchange& exchange) {
  Json json = {{"type", "exchange"},
               {"id", exchange.id},
               {"at_ns", exchange.at.ns},
               {"connection", exchange.connection}};
  set(json, "client", exchange.client);
  set(json, "server", exchange.server);
  set(json, "protocol", exchange.protocol);
  set(json, "host", exchange.host);
  set(json, "latency_ns", exchange.latency);
  set(json, "request_end_ns", exchange.request_end);
  set(json, "response_begin_ns", exchange.response_begin);
  set(json, "response_end_ns", exchange.response_end);
  set_number(json, "ordinal", exchange.ordinal);
  set(json, "idle_before_ns", exchange.idle_before);
  if (exchange.transport) json["transport"] = transport_json(*exchange.transport);
  if (exchange.tls) json["tls"] = *exchange.tls;
  if (exchange.reset) {
    json["reset"] = {{"by", exchange.reset->by()}, {"at_ns", exchange.reset->at.ns}};
  }
  if (!exchange.informational.empty()) json["informational"] = exchange.informational;
  if (exchange.tunnel) json["tunnel"] = true;
  if (exchange.request) {
    Json& request = json["request"];
    request["method"] = text(exchange.request->method);
    request["target"] = text(exchange.request->target);
    add_message(request, *exchange.request);
  }
  if (exchange.response) {
    Json& response = json["response"];
    response["status"] = exchange.response->status;
    set(response, "reason", exchange.response->reason);
    add_message(response, *exchange.response);
  }
  return json;
}

Result<void> write_jsonl(const Recording& recording, Output& output, ExportNotes& notes) {
  write_line(output, {{"type", "recording"}, {"format", "gatedrill"}, {"version", 1}});
  auto connections = recording.connections();
  if (!connections) return connections.error();
  for (const RecordedConnection& connection : *connections)
    write_line(output, connection_json(connection));
  auto done = recording.for_each([&](const RecordedExchange& exchange) {
    write_line(output, to_json(exchange));
    const bool request = !exchange.request || exchange.request->complete;
    const bool answer = !exchange.response || exchange.response->complete;
    if (!request) notes.add("requests that are not whole (complete is false)", exchange.id);
    if (!answer) notes.add("answers that are not whole (complete is false)", exchange.id);
    return !output.failed();
  });
  if (!done) return done;
  auto losses = recording.losses();
  if (!losses) return losses.error();
  for (const RecordedLoss& loss : *losses) {
    Json json = {{"type", "loss"}, {"at_ns", loss.at.ns}};
    set_number(json, "connection", loss.connection);
    set(json, "direction", loss.direction);
    set(json, "reason", loss.reason);
    set_number(json, "bytes", loss.bytes);
    write_line(output, json);
  }
  auto ledger = recording.ledger();
  if (!ledger) return ledger.error();
  for (const LedgerLine& line : *ledger) {
    Json json = {{"type", "ledger"}, {"what", text(line.what)}, {"count", line.count}};
    set_number(json, "bytes", line.bytes);
    set(json, "note", line.note);
    write_line(output, json);
  }
  return {};
}

}  // namespace gatedrill::replay::formats
