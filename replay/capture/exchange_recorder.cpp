#include "replay/capture/exchange_recorder.hpp"

#include <algorithm>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

std::string_view direction_of(MessageKind kind) {
  return kind == MessageKind::request ? "request" : "response";
}

std::string how_text(CloseKind how) {
  switch (how) {
    case CloseKind::fin:
      return "fin";
    case CloseKind::rst:
      return "rst";
    case CloseKind::timeout:
      return "timeout";
    case CloseKind::replaced:
      return "replaced";
    case CloseKind::open:
      return "open";
  }
  return "open";
}

// Of an upgraded exchange, the answer's version counts.
std::string_view protocol_of(const RecordedExchange& exchange) {
  const std::string& version =
      exchange.response ? exchange.response->version : exchange.request->version;
  if (version == "HTTP/2") return "h2";
  const std::string& first =
      exchange.request ? exchange.request->version : exchange.response->version;
  return first == "HTTP/1.0" ? "http/1.0" : "http/1.1";
}

}  // namespace

LossReason reason_of(const ConnectionEnd& end) {
  if (end.evicted) return LossReason::evicted;
  switch (end.how) {
    case CloseKind::fin:
      return LossReason::closed_early;
    case CloseKind::rst:
      return LossReason::reset;
    case CloseKind::timeout:
    case CloseKind::replaced:
      return LossReason::forgotten;
    case CloseKind::open:
      return LossReason::capture_ended;
  }
  return LossReason::capture_ended;
}

RecordedConnection recorded_connection(const ConnectionStart& start,
                                       const ConnectionEnd& end,
                                       Side client) {
  const auto endpoint = [&](Side side) {
    return to_string(side == Side::first ? start.first : start.second);
  };
  RecordedConnection connection{.connection = start.connection,
                                .client = endpoint(client),
                                .server = endpoint(other(client)),
                                .opened = start.opened,
                                .closed = end.closed,
                                .closed_by = {},
                                .how = how_text(end.how),
                                .gap_bytes = end.gap_bytes};
  if (end.closed_by) connection.closed_by = *end.closed_by == client ? "client" : "server";
  if (end.closed && end.last_data) {
    connection.idle_before_close =
        Duration{std::max<std::int64_t>(end.closed->ns - end.last_data->ns, 0)};
  }
  if (start.tcp != nullptr) describe(*start.tcp, client, connection);
  return connection;
}

ExchangeRecorder::Mark ExchangeRecorder::mark(UnixTime at) const {
  Mark mark;
  std::optional<UnixTime> before = std::max(last_at_[0], last_at_[1]);
  if (!before) before = start_.opened;
  if (start_.tcp != nullptr) {
    mark.place = start_.tcp->delivery.begin;
    mark.after_fin = start_.tcp->delivery.after_fin;
    mark.retransmissions = start_.tcp->retransmissions();
    before = std::max(before, start_.tcp->established);
  }
  if (before) mark.idle = Duration{std::max<std::int64_t>(at.ns - before->ns, 0)};
  return mark;
}

// A head is told with the time of its first byte, and a body that lasts until the close ends with
// the close: with the FIN, even if it could only be told later that nothing is missing before it.
UnixTime ExchangeRecorder::last_byte(MessageKind kind, UnixTime told) const {
  const Side from = kind == MessageKind::request ? client_ : other(client_);
  if (start_.tcp != nullptr) told = std::min(told, start_.tcp->side(from).fin.value_or(told));
  return std::max(told, last_at_[index(from)].value_or(told));
}

void ExchangeRecorder::begin_request(OpenExchange& open, Mark& mark, UnixTime at) {
  open.exchange.at = at;
  open.exchange.ordinal = ++requests_seen_;
  open.exchange.idle_before = mark.idle;
  mark.idle = Duration{0};  // for one that follows in the same segment
  open.retransmissions = mark.retransmissions;
  if (start_.tcp != nullptr) {
    open.exchange.transport = {.request_begin = mark.place, .after_fin = mark.after_fin};
  }
}

void ExchangeRecorder::begin_response(OpenExchange& open, UnixTime at) {
  open.answer_begun = true;
  open.exchange.response_begin = at;
}

void ExchangeRecorder::end_request(OpenExchange& open, UnixTime at) {
  open.request_done = true;
  open.exchange.request_end = last_byte(MessageKind::request, at);
  if (open.exchange.transport) open.exchange.transport->request_end = start_.tcp->delivery.end;
}

void ExchangeRecorder::end_response(OpenExchange& open, UnixTime at) {
  open.answer_done = true;
  open.exchange.response_end = last_byte(MessageKind::response, at);
}

void ExchangeRecorder::cut_request(OpenExchange& open) {
  open.exchange.request->complete = false;
  open.request_done = true;
  if (open.exchange.transport) {
    open.exchange.transport->request_end = start_.tcp->side(client_).sent;
  }
}

void ExchangeRecorder::cut_response(OpenExchange& open) {
  open.exchange.response->complete = false;
  open.answer_done = true;
  open.exchange.response_end = last_at_[index(other(client_))];
}

void ExchangeRecorder::charge(OpenExchange& open, std::size_t bytes) {
  open.bytes += bytes;
  context_.bytes += bytes;
}

void ExchangeRecorder::keep_fields(OpenExchange& open,
                                   MessageKind kind,
                                   std::vector<RecordedField>& fields) {
  RecordedExchange& exchange = open.exchange;
  std::size_t bytes = 0;
  for (const RecordedField& field : fields)
    bytes += field.name.size() + field.value.size() + sizeof(RecordedField);
  if (context_.bytes + bytes > context_.limits.total_bytes) {
    lose(kind, LossReason::memory_limit, bytes, exchange.at);
    (kind == MessageKind::request ? exchange.request->complete : exchange.response->complete) =
        false;
    fields = {};
    bytes = 0;
  }
  charge(open, bytes + (open.bytes == 0 ? sizeof(RecordedExchange) : 0));
}

void ExchangeRecorder::drop(OpenExchange& open) {
  context_.bytes -= std::exchange(open.bytes, 0);
}

void ExchangeRecorder::keep_body(OpenExchange& open, MessageKind kind, std::string_view bytes) {
  RecordedExchange& exchange = open.exchange;
  const bool request = kind == MessageKind::request;
  std::string& body = request ? exchange.request->body : exchange.response->body;
  bool& complete = request ? exchange.request->complete : exchange.response->complete;
  if (!complete) return;  // a limit was met before
  const bool too_long = body.size() + bytes.size() > context_.limits.body_bytes;
  if (too_long || context_.bytes + bytes.size() > context_.limits.total_bytes) {
    complete = false;
    const LossReason reason = too_long ? LossReason::body_limit : LossReason::memory_limit;
    lose(kind, reason, bytes.size(), exchange.at);
    return;
  }
  body.append(bytes);
  charge(open, bytes.size());
}

void ExchangeRecorder::emit(OpenExchange& open) {
  Ledger& ledger = context_.ledger;
  RecordedExchange& exchange = open.exchange;
  exchange.connection = start_.connection;
  exchange.tls = start_.tls;
  exchange.client = endpoints_[index(client_)];
  exchange.server = endpoints_[index(other(client_))];
  const auto count = [&](MessageTally& tally, const auto& message, bool paired) {
    (message.complete ? tally.complete : tally.partial).add(message.body.size());
    ++(paired ? tally.paired : tally.alone);
    if (!message.defects.empty()) ledger.defective.add(message.body.size());
  };
  if (exchange.request) count(ledger.requests, *exchange.request, exchange.response.has_value());
  if (exchange.response) count(ledger.responses, *exchange.response, exchange.request.has_value());
  exchange.protocol = protocol_of(exchange);
  const bool whole = exchange.request && exchange.response && open.answer_done &&
                     (exchange.response->complete || exchange.tunnel);
  if (whole) exchange.latency = Duration{exchange.response_end->ns - exchange.at.ns};
  if (exchange.transport) {
    RecordedTransport& transport = *exchange.transport;
    transport.acknowledged = start_.tcp->side(client_).acked >= transport.request_end;
    transport.retransmissions = start_.tcp->retransmissions() - open.retransmissions;
  }
  drop(open);
  context_.sink.on_exchange(std::move(exchange));
}

void ExchangeRecorder::lose(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime at) {
  bytes = bytes == kUnknownBytes ? 0 : std::min(bytes, kLossBytesMax);
  context_.ledger.lose(reason, bytes);
  place_gap(kind, reason, bytes, at);
}

void ExchangeRecorder::place_gap(MessageKind kind,
                                 LossReason reason,
                                 std::uint64_t bytes,
                                 UnixTime at) {
  context_.sink.on_loss({.at = at,
                         .connection = start_.connection,
                         .direction = std::string(direction_of(kind)),
                         .reason = std::string(to_string(reason)),
                         .bytes = bytes == kUnknownBytes ? 0 : bytes});
}

void ExchangeRecorder::close(const ConnectionEnd& end) {
  context_.sink.on_connection(recorded_connection(start_, end, client_));
}

}  // namespace gatedrill::replay::capture
