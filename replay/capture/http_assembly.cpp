#include "replay/capture/http_assembly.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kUndecidedBytesMax = 64 * 1024;
constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n";

std::string version_text(int version) {
  return version == 10 ? "HTTP/1.0" : "HTTP/1.1";
}

std::string_view direction_of(MessageKind kind) {
  return kind == MessageKind::request ? "request" : "response";
}

// A value over several lines (obs-fold, RFC 9112 5.2) as one.
std::string unfolded(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\n') {
      out.push_back(value[i]);
      continue;
    }
    while (!out.empty() && (out.back() == '\r' || out.back() == ' ' || out.back() == '\t')) {
      out.pop_back();
    }
    while (i + 1 < value.size() && (value[i + 1] == ' ' || value[i + 1] == '\t'))
      ++i;
    out.push_back(' ');
  }
  return out;
}

std::vector<RecordedField> recorded(const std::vector<http::Field>& fields) {
  std::vector<RecordedField> out;
  out.reserve(fields.size());
  for (const http::Field& field : fields) {
    out.push_back({std::string(field.name), unfolded(field.value)});
  }
  return out;
}

std::string defect_names(http::h1::Defects defects, http::FramingDefect framing) {
  std::string names;
  const auto add = [&](std::string_view name) {
    if (!names.empty()) names.push_back(',');
    names.append(name);
  };
  for (std::uint32_t bits = defects.bits(); bits != 0; bits &= bits - 1) {
    http::h1::Defects one;
    one.add(static_cast<http::h1::Defect>(bits & (~bits + 1)));
    add(http::h1::first_defect(one));
  }
  if (framing != http::FramingDefect::none) add(http::to_string(framing));
  return names;
}

std::string host_of(const http::RequestHead& head) {
  const std::size_t scheme = head.target.find("://");
  if (scheme != std::string_view::npos && scheme < head.target.find_first_of("/?")) {
    const std::string_view rest = head.target.substr(scheme + 3);
    std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
    return std::string(authority);
  }
  const auto field = http::find_field(head.fields, "Host");
  if (field) return std::string(*field);
  return head.method == "CONNECT" ? std::string(head.target) : std::string();
}

std::size_t head_bytes(const std::vector<http::Field>& fields) {
  std::size_t bytes = sizeof(RecordedExchange);
  for (const http::Field& field : fields) {
    bytes += field.name.size() + field.value.size() + sizeof(RecordedField);
  }
  return bytes;
}

std::string how_text(CloseKind how) {
  switch (how) {
    case CloseKind::fin:
      return "fin";
    case CloseKind::rst:
      return "rst";
    case CloseKind::timeout:
      return "timeout";
    case CloseKind::open:
      return "open";
  }
  return "open";
}

}  // namespace

LossReason reason_of(CloseKind how) {
  switch (how) {
    case CloseKind::fin:
      return LossReason::closed_early;
    case CloseKind::rst:
      return LossReason::reset;
    case CloseKind::timeout:
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

struct HttpAssembly::Slot {
  RecordedExchange exchange;
  bool request_done = false;
  bool answer_begun = false;
  bool answer_done = false;
  bool answer_maybe_lost = false;     // it may lie in a gap
  bool limited = false;               // a limit was met, and said
  std::uint32_t retransmissions = 0;  // of the connection when it began
  std::size_t bytes = 0;              // its share of the context's
};

// A whole request of which no answer has been seen; where none will come, it is done.
bool HttpAssembly::unanswered(const Slot& slot) {
  return slot.request_done && !slot.answer_begun;
}

HttpAssembly::HttpAssembly(const ConnectionStart& start, HttpContext& context)
    : start_(start),
      context_(context),
      requests_(MessageKind::request, *this, context.held, context.ledger),
      responses_(MessageKind::response, *this, context.held, context.ledger) {
  if (!start.client) return;
  client_ = *start.client;
  strict_ = true;
}

HttpAssembly::~HttpAssembly() {
  for (const Slot& slot : slots_)
    context_.bytes -= slot.bytes;
  undecided_ = {};
  charge_undecided();
}

bool HttpAssembly::at_message_begin(Side from) {
  if (phase_ == Phase::deciding) return undecided_[static_cast<std::size_t>(from)].empty();
  return phase_ == Phase::http && stream(from).idle();
}

HttpAssembly::Mark HttpAssembly::mark(UnixTime at) const {
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
// the close.
UnixTime HttpAssembly::last_byte(Side from, UnixTime told) const {
  return std::max(told, last_at_[static_cast<std::size_t>(from)].value_or(told));
}

void HttpAssembly::on_data(Side from, std::string_view bytes, UnixTime at) {
  if (at_message_begin(from)) marks_[static_cast<std::size_t>(from)] = mark(at);
  last_at_[static_cast<std::size_t>(from)] = at;
  switch (phase_) {
    case Phase::deciding:
      decide(from, bytes, at);
      return;
    case Phase::http:
      stream(from).push(bytes, at);
      return;
    case Phase::opaque:
      opaque_tally_->add(bytes.size());
      return;
  }
}

// Where the handshake was seen, the first bytes decide. Elsewhere the capture may have begun inside
// a message, and the first segment that begins with a start line does.
void HttpAssembly::decide(Side from, std::string_view bytes, UnixTime at) {
  std::string& held = undecided_[static_cast<std::size_t>(from)];
  if (held.empty()) undecided_at_[static_cast<std::size_t>(from)] = at;
  held.append(bytes);
  const bool can_be_client = !start_.client || *start_.client == from;
  const bool can_be_server = !start_.client || *start_.client != from;
  std::string_view text = held;
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  Start request = can_be_client ? request_start(text) : Start::no;
  if (request == Start::no && can_be_client && strict_) request = damaged_request_start(text);
  const Start response = can_be_server ? response_start(text) : Start::no;
  if (request == Start::yes || response == Start::yes) {
    begin_http(request == Start::yes ? from : other(from), at);
    return;
  }
  const bool more = request == Start::more || response == Start::more;
  const bool room = context_.held.now + held.size() <= context_.held.max;
  if (more && room && held.size() < kUndecidedBytesMax) {
    charge_undecided();
    return;
  }
  if (strict_) {
    become_opaque(held);
    return;
  }
  passed_bytes_ += held.size();
  held.clear();
  charge_undecided();
}

void HttpAssembly::charge_undecided() {
  const std::size_t bytes = undecided_[0].size() + undecided_[1].size();
  context_.held.now += bytes - undecided_charged_;
  undecided_charged_ = bytes;
}

void HttpAssembly::begin_http(Side client, UnixTime at) {
  phase_ = Phase::http;
  client_ = client;
  if (passed_bytes_ > 0) {
    context_.ledger.skipped.add(passed_bytes_);
    lose(MessageKind::response, LossReason::began_mid_message, passed_bytes_, at);
  }
  const std::array<std::string, 2> held = std::exchange(undecided_, {});
  charge_undecided();
  for (const Side side : {client, other(client)}) {
    const std::string& bytes = held[static_cast<std::size_t>(side)];
    if (!bytes.empty()) stream(side).push(bytes, undecided_at_[static_cast<std::size_t>(side)]);
  }
}

void HttpAssembly::become_opaque(std::string_view bytes) {
  phase_ = Phase::opaque;
  const bool http2 = kHttp2Preface.starts_with(bytes.substr(0, kHttp2Preface.size()));
  Ledger& ledger = context_.ledger;
  opaque_tally_ = http2 ? &ledger.http2 : &ledger.other_protocols;
  for (std::string& held : undecided_) {
    if (!held.empty()) opaque_tally_->add(held.size());
    held = {};
  }
  charge_undecided();
  if (passed_bytes_ > 0) opaque_tally_->add(passed_bytes_);
}

void HttpAssembly::on_gap(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) {
  if (phase_ == Phase::deciding) {
    // The beginning is lost: from here on a start line may come at any segment.
    std::string& held = undecided_[static_cast<std::size_t>(from)];
    passed_bytes_ += held.size();
    held.clear();
    charge_undecided();
    strict_ = false;
    return;
  }
  if (phase_ == Phase::opaque) return;
  const MessageKind kind = from == client_ ? MessageKind::request : MessageKind::response;
  // The ledger has the gap's bytes already; here it gets its place.
  context_.sink.on_loss({.at = at,
                         .connection = start_.connection,
                         .direction = std::string(direction_of(kind)),
                         .reason = std::string(to_string(reason)),
                         .bytes = bytes == kUnknownBytes ? 0 : bytes});
  if (stream(from).gap(bytes, reason, at)) return;
  if (kind == MessageKind::response) {
    on_answers_lost(at);
    return;
  }
  // Requests were lost. What waited for an answer that may be lost too waits no longer.
  if (pipelined_) doubt_pairing(at);
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    Slot& waiting = *slot++;
    if (waiting.answer_maybe_lost && unanswered(waiting)) emit(waiting);
  }
}

// The answers' stream is out of step: one or more of those that are due may have passed unseen.
void HttpAssembly::on_answers_lost(UnixTime at) {
  const auto waits = [](const Slot& slot) { return !slot.answer_begun; };
  const auto due = std::count_if(slots_.begin(), slots_.end(), waits);
  if (due > 1) {
    doubt_pairing(at);
  } else if (due == 1) {
    std::find_if(slots_.begin(), slots_.end(), waits)->answer_maybe_lost = true;
  }
}

void HttpAssembly::doubt_pairing(UnixTime at) {
  if (!doubtful_) lose(MessageKind::response, LossReason::answer_unknown, 0, at);
  doubtful_ = true;
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    Slot& waiting = *slot++;
    if (unanswered(waiting)) emit(waiting);
  }
}

void HttpAssembly::on_end(Side from, UnixTime at) {
  if (phase_ == Phase::http) stream(from).end(at);
}

http::Framing HttpAssembly::on_request(const http::RequestHead& head,
                                       http::h1::Defects defects,
                                       UnixTime at) {
  tell_skipped();
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    Slot& waiting = *slot++;
    if (waiting.answer_begun) continue;
    // A client that goes on without pipelining has had its answer, even if the capture has not.
    if (waiting.answer_maybe_lost && unanswered(waiting)) {
      emit(waiting);
    } else {
      pipelined_ = true;
    }
  }
  if (slots_.size() >= context_.limits.outstanding) {
    lose(MessageKind::request, LossReason::unanswered, 0, at);
    doubt_pairing(at);
  }
  Slot& slot = slots_.emplace_back();
  requesting_ = &slot;
  const http::FramingVerdict verdict = http::request_framing(head);
  slot.exchange.at = at;
  slot.exchange.host = host_of(head);
  slot.exchange.ordinal = ++requests_seen_;
  Mark& begin = marks_[static_cast<std::size_t>(client_)];
  slot.exchange.idle_before = begin.idle;
  begin.idle = Duration{0};  // for one that follows in the same segment
  slot.retransmissions = begin.retransmissions;
  if (start_.tcp != nullptr) {
    slot.exchange.transport = {.request_begin = begin.place, .after_fin = begin.after_fin};
  }
  RecordedRequest& request = slot.exchange.request.emplace();
  request.method = head.method;
  request.target = head.target;
  request.version = version_text(head.version);
  request.fields = recorded(head.fields);
  request.defects = defect_names(defects, verdict.defect);
  slot.bytes = head_bytes(head.fields);
  context_.bytes += slot.bytes;
  may_switch_ = head.method == "CONNECT" || http::has_token(head.fields, "Connection", "upgrade");
  return verdict.framing;
}

HttpAssembly::Slot& HttpAssembly::slot_for_answer(UnixTime at) {
  const auto waiting = std::find_if(slots_.begin(), slots_.end(),
                                    [](const Slot& slot) { return !slot.answer_begun; });
  if (waiting != slots_.end() && !doubtful_) return *waiting;
  Slot& slot = slots_.emplace_front();
  slot.exchange.at = at;
  slot.request_done = true;
  return slot;
}

http::Framing HttpAssembly::on_response(const http::ResponseHead& head,
                                        http::h1::Defects defects,
                                        UnixTime at) {
  constexpr int kSwitchingProtocols = 101;
  if (head.status / 100 == 1 && head.status != kSwitchingProtocols) {
    informational_ = true;
    context_.ledger.informational.add(0);
    const auto waiting = std::find_if(slots_.begin(), slots_.end(),
                                      [](const Slot& slot) { return !slot.answer_begun; });
    if (waiting != slots_.end()) waiting->exchange.informational.push_back(head.status);
    return {};
  }
  Slot& slot = slot_for_answer(at);
  answering_ = &slot;
  slot.answer_begun = true;
  slot.exchange.response_begin = at;
  const std::string method = slot.exchange.request ? slot.exchange.request->method : "";
  const http::FramingVerdict verdict = http::response_framing(head, method);
  if (!slot.exchange.request) responses_.doubt_body();
  RecordedResponse& response = slot.exchange.response.emplace();
  response.status = head.status;
  response.reason = head.reason;
  response.version = version_text(head.version);
  response.fields = recorded(head.fields);
  response.defects = defect_names(defects, verdict.defect);
  const std::size_t bytes = head_bytes(head.fields);
  slot.bytes += bytes;
  context_.bytes += bytes;
  const bool connected = method == "CONNECT" && head.status / 100 == 2;
  if (head.status == kSwitchingProtocols || connected) {
    become_tunnel(slot, at);
    return {};
  }
  return verdict.framing;
}

void HttpAssembly::become_tunnel(Slot& slot, UnixTime at) {
  slot.exchange.tunnel = true;
  slot.answer_done = true;
  slot.exchange.response_end = at;
  answering_ = nullptr;
  requesting_ = nullptr;
  context_.ledger.tunnels.add(0);
  emit(slot);
  requests_.become_tunnel();
  responses_.become_tunnel();
}

void HttpAssembly::on_body(MessageKind kind, std::string_view bytes) {
  Slot* slot = kind == MessageKind::request ? requesting_ : answering_;
  if (slot != nullptr) keep_body(*slot, kind, bytes);
}

void HttpAssembly::keep_body(Slot& slot, MessageKind kind, std::string_view bytes) {
  const bool request = kind == MessageKind::request;
  std::string& body = request ? slot.exchange.request->body : slot.exchange.response->body;
  bool& complete = request ? slot.exchange.request->complete : slot.exchange.response->complete;
  if (!complete) return;  // a limit was met before
  const bool too_long = body.size() + bytes.size() > context_.limits.body_bytes;
  if (too_long || context_.bytes + bytes.size() > context_.limits.total_bytes) {
    complete = false;
    const LossReason reason = too_long ? LossReason::body_limit : LossReason::memory_limit;
    lose(kind, reason, bytes.size(), slot.exchange.at);
    return;
  }
  body.append(bytes);
  slot.bytes += bytes.size();
  context_.bytes += bytes.size();
}

void HttpAssembly::on_message_end(MessageKind kind, UnixTime at) {
  if (kind == MessageKind::response) {
    if (std::exchange(informational_, false)) return;
    Slot* slot = std::exchange(answering_, nullptr);
    if (slot == nullptr) return;
    slot->answer_done = true;
    slot->exchange.response_end = last_byte(other(client_), at);
    if (slot->request_done) emit(*slot);
    requests_.resume(at);  // it stays HTTP
    return;
  }
  Slot* slot = std::exchange(requesting_, nullptr);
  if (slot == nullptr) return;
  slot->request_done = true;
  slot->exchange.request_end = last_byte(client_, at);
  if (slot->exchange.transport) slot->exchange.transport->request_end = start_.tcp->delivery.end;
  if (slot->answer_done || (doubtful_ && unanswered(*slot))) {
    emit(*slot);
  } else if (may_switch_) {
    requests_.pause();
  }
}

void HttpAssembly::on_message_cut(MessageKind kind,
                                  LossReason reason,
                                  std::uint64_t missing,
                                  UnixTime at) {
  const bool request = kind == MessageKind::request;
  if (!request) informational_ = false;
  Slot* slot = std::exchange(request ? requesting_ : answering_, nullptr);
  if (reason != LossReason::gap && reason != LossReason::cut_frame) {
    lose(kind, reason, missing, at);
  }
  if (slot != nullptr) {
    if (request) {
      slot->exchange.request->complete = false;
      slot->request_done = true;
      if (slot->exchange.transport) {
        slot->exchange.transport->request_end = start_.tcp->side(client_).sent;
      }
      if (slot->answer_done || (doubtful_ && unanswered(*slot))) emit(*slot);
    } else {
      slot->exchange.response->complete = false;
      slot->answer_done = true;
      slot->exchange.response_end = last_at_[static_cast<std::size_t>(other(client_))];
      if (slot->request_done) emit(*slot);
    }
  }
  if (!request && reason == LossReason::malformed_framing) on_answers_lost(at);
}

void HttpAssembly::on_skipped(MessageKind kind,
                              LossReason reason,
                              std::uint64_t bytes,
                              UnixTime at) {
  Skipped& skipped = skipped_[static_cast<std::size_t>(kind)];
  if (skipped.bytes > 0 && skipped.reason != reason) tell_skipped();
  if (skipped.bytes == 0) skipped = {reason, 0, at};
  skipped.bytes += bytes;
}

void HttpAssembly::tell_skipped() {
  for (const MessageKind kind : {MessageKind::request, MessageKind::response}) {
    const Skipped skipped = std::exchange(skipped_[static_cast<std::size_t>(kind)], {});
    if (skipped.bytes > 0) lose(kind, skipped.reason, skipped.bytes, skipped.at);
  }
}

void HttpAssembly::lose(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime at) {
  context_.ledger.lose(reason, bytes);
  context_.sink.on_loss({.at = at,
                         .connection = start_.connection,
                         .direction = std::string(direction_of(kind)),
                         .reason = std::string(to_string(reason)),
                         .bytes = bytes});
}

void HttpAssembly::emit(Slot& slot) {
  assert(&slot != requesting_ && &slot != answering_);
  Ledger& ledger = context_.ledger;
  RecordedExchange& exchange = slot.exchange;
  exchange.connection = start_.connection;
  exchange.client = endpoint_of(true);
  exchange.server = endpoint_of(false);
  const auto count = [&](MessageTally& tally, const auto& message, bool paired) {
    (message.complete ? tally.complete : tally.partial).add(message.body.size());
    ++(paired ? tally.paired : tally.alone);
    if (!message.defects.empty()) ledger.defective.add(message.body.size());
  };
  if (exchange.request) count(ledger.requests, *exchange.request, exchange.response.has_value());
  if (exchange.response) count(ledger.responses, *exchange.response, exchange.request.has_value());
  const std::string version =
      exchange.request ? exchange.request->version : exchange.response->version;
  exchange.protocol = version == "HTTP/1.0" ? "http/1.0" : "http/1.1";
  const bool whole = exchange.request && exchange.response && slot.answer_done &&
                     (exchange.response->complete || slot.exchange.tunnel);
  if (whole) {
    exchange.latency =
        Duration{std::max<std::int64_t>(exchange.response_end->ns - exchange.at.ns, 0)};
  }
  if (exchange.transport) {
    RecordedTransport& transport = *exchange.transport;
    transport.acknowledged = start_.tcp->side(client_).acked >= transport.request_end;
    transport.retransmissions = start_.tcp->retransmissions() - slot.retransmissions;
  }
  context_.bytes -= slot.bytes;
  context_.sink.on_exchange(std::move(exchange));
  const auto self =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& one) { return &one == &slot; });
  slots_.erase(self);
}

void HttpAssembly::on_closed(const ConnectionEnd& end, UnixTime at) {
  const LossReason reason = reason_of(end.how);
  if (phase_ == Phase::deciding) {
    std::uint64_t bytes = passed_bytes_;
    for (const std::string& held : undecided_)
      bytes += held.size();
    if (bytes > 0) context_.ledger.other_protocols.add(bytes);
  }
  if (phase_ == Phase::http) {
    requests_.close(reason, at);
    responses_.close(reason, at);
    tell_skipped();
    while (!slots_.empty())
      emit(slots_.front());
  }
  if (phase_ == Phase::opaque || (phase_ == Phase::deciding && end.had_data)) return;
  context_.sink.on_connection(recorded_connection(start_, end, client_));
}

std::string HttpAssembly::endpoint_of(bool client) const {
  const Side side = client ? client_ : other(client_);
  return to_string(side == Side::first ? start_.first : start_.second);
}

}  // namespace gatedrill::replay::capture
