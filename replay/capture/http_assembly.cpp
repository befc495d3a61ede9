#include "replay/capture/http_assembly.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "replay/recorded_head.hpp"

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kUndecidedBytesMax = kHeadBytesMax + 1024;  // empty lines before it
constexpr int kSwitchingProtocols = 101;
constexpr std::size_t kTrailersMax = 100;
constexpr std::size_t kHeldAnswersMax = 100;

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

template <class Message>
std::string_view id_of(const Message& message) {
  return value_of(message.fields, "X-Request-Id");
}

// As far as its length says: an answer to HEAD has that of the body which it lacks.
bool can_answer(const RecordedRequest& request, const RecordedResponse& response) {
  const bool head = request.method == "HEAD";
  if (!response.complete) return !head || response.body.empty();
  if (!response.body.empty()) return !head;
  const std::string_view length = value_of(response.fields, "Content-Length");
  const bool lacks_body =
      !length.empty() && length.find_first_not_of('0') != std::string_view::npos;
  const bool never_has_one = response.status == 204 || response.status == 304;
  return head || !lacks_body || never_has_one;
}

}  // namespace

HttpAssembly::HttpAssembly(const ConnectionStart& start, HttpContext& context)
    : context_(context),
      recorder_(start, context),
      requests_(MessageKind::request, *this, context.held, context.ledger),
      responses_(MessageKind::response, *this, context.held, context.ledger) {
  // Where the SYN is missing, data that came with it (TCP fast open) is missing too.
  strict_ = start.opened.has_value();
}

HttpAssembly::~HttpAssembly() {
  for (Slot& slot : slots_)
    recorder_.drop(slot);
  if (held_) {
    for (Slot& slot : held_->answers)
      recorder_.drop(slot);
  }
  undecided_ = {};
  charge_undecided();
}

bool HttpAssembly::at_message_begin(Side from) {
  if (phase_ == Phase::deciding) return undecided_[index(from)].empty();
  return phase_ == Phase::http2 || (phase_ == Phase::http && stream(from).idle());
}

void HttpAssembly::on_data(Side from, std::string_view bytes, UnixTime at) {
  ExchangeRecorder::Mark& mark = marks_[index(from)];
  if (at_message_begin(from)) mark = recorder_.mark(at);
  recorder_.on_data(from, at);
  switch (phase_) {
    case Phase::deciding:
      decide(from, bytes, at);
      break;
    case Phase::http:
      stream(from).push(bytes, at);
      break;
    case Phase::http2:
      http2_->on_data(recorder_.kind_from(from), bytes, mark, at);
      return;
    case Phase::opaque:
      opaque_tally_->add(bytes.size());
      return;
  }
  if (phase_ == Phase::http2) hand_to_http2(at);
}

// Where the handshake was seen, the first bytes decide. Elsewhere the capture may have begun inside
// a message, and the first segment that begins with a start line does.
void HttpAssembly::decide(Side from, std::string_view bytes, UnixTime at) {
  std::string& held = undecided_[index(from)];
  if (held.empty()) undecided_at_[index(from)] = at;
  held.append(bytes);
  const auto& client = recorder_.start().client;
  const bool can_be_client = !client || *client == from;
  const bool can_be_server = !client || *client != from;
  std::string_view text = held;
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  const Start preface = can_be_client ? http2_client_start(held) : Start::no;
  // A server may speak first.
  const Start settings = can_be_server && strict_ ? http2_server_start(held) : Start::no;
  if (preface == Start::yes || settings == Start::yes) {
    begin_http2(preface == Start::yes ? from : other(from), Http2Assembly::Begin::preface, at);
    return;
  }
  Start request = can_be_client ? request_start(text, strict_) : Start::no;
  if (request == Start::no && can_be_client && strict_) request = damaged_request_start(text);
  const Start response = can_be_server ? response_start(text) : Start::no;
  if (request == Start::yes || response == Start::yes) {
    begin_http(request == Start::yes ? from : other(from), at);
    return;
  }
  if (!strict_) {
    if (const auto kind = http2_kind_of(held)) {
      begin_http2(*kind == MessageKind::request ? from : other(from),
                  Http2Assembly::Begin::somewhere, at);
      return;
    }
  }
  const bool more = request == Start::more || response == Start::more || preface == Start::more ||
                    settings == Start::more;
  const bool room = context_.held.now + held.size() <= context_.held.max;
  if (more && room && held.size() < kUndecidedBytesMax) {
    charge_undecided();
    return;
  }
  if (strict_) {
    become_opaque();
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

void HttpAssembly::count_passed(UnixTime at) {
  if (passed_bytes_ == 0) return;
  context_.ledger.skipped.add(passed_bytes_);
  recorder_.lose(MessageKind::response, LossReason::began_mid_message, passed_bytes_, at);
}

void HttpAssembly::begin_http(Side client, UnixTime at) {
  phase_ = Phase::http;
  recorder_.set_client(client);
  count_passed(at);
  if (begins_in_gap_[index(client)]) {
    requests_.begin_out_of_step();
    on_requests_lost(false, at);
  }
  if (begins_in_gap_[index(other(client))]) {
    responses_.begin_out_of_step();
    on_answers_lost(std::nullopt, at);
  }
  const std::array<std::string, 2> held = std::exchange(undecided_, {});
  charge_undecided();
  for (const Side side : {client, other(client)}) {
    const std::string& bytes = held[index(side)];
    if (!bytes.empty()) stream(side).push(bytes, undecided_at_[index(side)]);
  }
}

void HttpAssembly::begin_http2(Side client, Http2Assembly::Begin begin, UnixTime at) {
  phase_ = Phase::http2;
  recorder_.set_client(client);
  count_passed(at);
  http2_ = std::make_unique<Http2Assembly>(recorder_, begin);
}

// What came before it was known that it belongs there.
void HttpAssembly::hand_to_http2(UnixTime at) {
  const std::array<std::string, 2> undecided = std::exchange(undecided_, {});
  charge_undecided();
  const Side client = recorder_.client();
  for (const Side side : {client, other(client)}) {
    const auto i = index(side);
    std::string bytes = undecided[i];
    bytes.append(stream(side).take_held());
    const UnixTime came = undecided[i].empty() ? at : undecided_at_[i];
    if (!bytes.empty()) http2_->on_data(recorder_.kind_from(side), bytes, marks_[i], came);
  }
}

void HttpAssembly::become_opaque() {
  phase_ = Phase::opaque;
  opaque_tally_ = &context_.ledger.other_protocols;
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
    std::string& held = undecided_[index(from)];
    passed_bytes_ += held.size();
    held.clear();
    charge_undecided();
    strict_ = false;
    begins_in_gap_[index(from)] = true;
    return;
  }
  if (phase_ == Phase::opaque) return;
  const MessageKind kind = recorder_.kind_from(from);
  recorder_.place_gap(kind, reason, bytes, at);
  if (phase_ == Phase::http2) {
    http2_->on_gap(kind, bytes, reason, at);
    return;
  }
  const bool inside_request = requesting_ != nullptr;
  const bool head_lost = bytes != kUnknownBytes && stream(from).head_lies_in(bytes);
  if (stream(from).gap(bytes, reason, at)) return;
  if (kind == MessageKind::response) {
    on_answers_lost(head_lost, at);
  } else {
    on_requests_lost(inside_request, at);
  }
}

// What waited for an answer that may be lost too waits no longer. A client that does not pipeline
// has had the answers to what was lost before it sends the next request.
void HttpAssembly::on_requests_lost(bool inside_one, UnixTime at) {
  requests_missing_ = true;
  answers_due_ = inside_one || recorder_.requests_seen() == 0 ? 1 : 2;
  if (pipelined_) doubt_pairing(Waiting::keep, at);
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    Slot& waiting = *slot++;
    if (waiting.answer_maybe_lost && waiting.unanswered()) emit(waiting);
  }
}

// The answers' stream is out of step: one or more of those that are due may have passed unseen.
void HttpAssembly::on_answers_lost(std::optional<bool> head_lost, UnixTime at) {
  const std::vector<Slot*> due = waiting();
  answers_since_request_ += 2;
  if (head_lost && can_hold(due)) {
    // An old client is sent nothing but answers (RFC 9110 section 15.2); any other may have lost an
    // informational one.
    const bool all_old = std::all_of(due.begin(), due.end(), [](const Slot* slot) {
      return slot->exchange.request->version == "HTTP/1.0";
    });
    held_.emplace();
    held_->lost_least = *head_lost && all_old ? 1 : 0;
  } else if (due.size() > 1 || held_ || doubtful_) {
    doubt_pairing(Waiting::give_up, at);
  } else if (due.size() == 1) {
    Slot& slot = *due.front();
    slot.answer_maybe_lost = true;
    // The next answer may be to a request that was lost as well.
    if (requests_missing_ && slot.unanswered()) emit(slot);
  }
}

void HttpAssembly::doubt_pairing(Waiting waiting, UnixTime at) {
  if (waiting == Waiting::keep && doubtful_) return;  // those before the first loss are kept
  const bool keep = waiting == Waiting::keep && !held_;
  if (!doubtful_) recorder_.lose(MessageKind::response, LossReason::answer_unknown, 0, at);
  doubtful_ = true;
  if (held_) {
    Slots answers = std::move(held_->answers);
    held_.reset();
    for (Slot& answer : answers) {
      if (&answer != answering_) recorder_.emit(answer);
    }
    answers.remove_if([&](const Slot& answer) { return &answer != answering_; });
    slots_.splice(slots_.begin(), answers);
  }
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    Slot& one = *slot++;
    one.answer_certain = keep && !one.answer_begun;
    if (one.unanswered() && !one.answer_certain) emit(one);
  }
}

// Requests without an answer, in order.
std::vector<HttpAssembly::Slot*> HttpAssembly::waiting() {
  std::vector<Slot*> waiting;
  for (Slot& slot : slots_) {
    if (!slot.answer_begun) waiting.push_back(&slot);
  }
  return waiting;
}

// Only where every request is known, and none may end what is counted here.
bool HttpAssembly::can_hold(const std::vector<Slot*>& due) const {
  return pipelined_ && strict_ && !doubtful_ && !requests_missing_ && !held_ && !may_switch_ &&
         !due.empty();
}

void HttpAssembly::settle_held(std::size_t more, UnixTime at) {
  const std::vector<Slot*> due = waiting();
  const std::size_t come = held_->answers.size() + more;
  if (come > due.size() || come > kHeldAnswersMax) {
    doubt_pairing(Waiting::give_up, at);
    return;
  }
  held_->lost_most = std::min(held_->lost_most, due.size() - come);
  std::set<std::string_view> ids;
  for (const Slot* slot : due)
    ids.insert(id_of(*slot->exchange.request));
  const auto fits = [&](std::size_t lost) {
    std::size_t i = lost;
    return std::all_of(held_->answers.begin(), held_->answers.end(), [&](const Slot& answer) {
      const RecordedRequest& request = *due[i++]->exchange.request;
      const std::string_view id = id_of(*answer.exchange.response);
      const bool of_another = !id.empty() && id != id_of(request) && ids.contains(id);
      return !of_another && can_answer(request, *answer.exchange.response);
    });
  };
  std::optional<std::size_t> only;
  for (std::size_t lost = held_->lost_least; lost <= held_->lost_most; ++lost) {
    if (!fits(lost)) continue;
    if (only) return;  // not known yet
    only = lost;
  }
  if (only) {
    pair_held(due, *only);
  } else {
    doubt_pairing(Waiting::give_up, at);
  }
}

void HttpAssembly::pair_held(const std::vector<Slot*>& due, std::size_t lost) {
  Slots answers = std::move(held_->answers);
  held_.reset();
  for (std::size_t i = 0; i < lost; ++i)
    emit(*due[i]);
  auto to = due.begin() + static_cast<std::ptrdiff_t>(lost);
  for (Slot& answer : answers) {
    Slot& slot = **to++;
    slot.exchange.response = std::move(answer.exchange.response);
    slot.exchange.response_begin = answer.exchange.response_begin;
    slot.exchange.response_end = answer.exchange.response_end;
    slot.answer_begun = true;
    slot.answer_done = answer.answer_done;
    slot.bytes += std::exchange(answer.bytes, 0);
    if (slot.request_done) emit(slot);
  }
}

void HttpAssembly::on_end(Side from, UnixTime at) {
  if (phase_ == Phase::http) stream(from).end(at);
}

http::Framing HttpAssembly::on_request(const http::RequestHead& head,
                                       http::h1::Defects defects,
                                       UnixTime at) {
  tell_skipped();
  const bool missing = std::exchange(requests_missing_, false);
  if (missing && !doubtful_ && answers_since_request_ < answers_due_) {
    doubt_pairing(Waiting::keep, at);
  }
  answers_since_request_ = 0;
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    Slot& waiting = *slot++;
    if (waiting.answer_begun) continue;
    // A client that goes on without pipelining has had its answer, even if the capture has not.
    if (waiting.answer_maybe_lost && waiting.unanswered()) {
      emit(waiting);
    } else {
      pipelined_ = true;
    }
  }
  if (slots_.size() >= context_.limits.outstanding) {
    recorder_.lose(MessageKind::request, LossReason::unanswered, 0, at);
    doubt_pairing(Waiting::give_up, at);
  }
  Slot& slot = slots_.emplace_back();
  requesting_ = &slot;
  const http::FramingVerdict verdict = http::request_framing(head);
  slot.exchange.host = host_of(head);
  recorder_.begin_request(slot, marks_[index(recorder_.client())], at);
  RecordedRequest& request = slot.exchange.request.emplace();
  request.method = head.method.empty() ? kNotTold : head.method;
  request.target = head.target;
  request.version = version_text(head.version);
  request.fields = recorded(head.fields);
  request.defects = defect_names(defects, verdict.defect);
  recorder_.keep_fields(slot, MessageKind::request, request.fields);
  may_switch_ = head.method == "CONNECT" || http::has_token(head.fields, "Connection", "upgrade");
  if (may_switch_ && held_) doubt_pairing(Waiting::give_up, at);
  return verdict.framing;
}

HttpAssembly::Slot& HttpAssembly::slot_for_answer(UnixTime at) {
  const auto waiting = std::find_if(slots_.begin(), slots_.end(),
                                    [](const Slot& slot) { return !slot.answer_begun; });
  const bool known = waiting != slots_.end() && !held_ && (!doubtful_ || waiting->answer_certain);
  if (known) return *waiting;
  Slot& slot = held_ ? held_->answers.emplace_back() : slots_.emplace_front();
  slot.exchange.at = at;
  slot.request_done = true;
  return slot;
}

http::Framing HttpAssembly::on_response(const http::ResponseHead& head,
                                        http::h1::Defects defects,
                                        UnixTime at) {
  if (head.status / 100 == 1 && head.status != kSwitchingProtocols) {
    informational_ = true;
    context_.ledger.informational.add(0);
    const auto waiting = std::find_if(slots_.begin(), slots_.end(),
                                      [](const Slot& slot) { return !slot.answer_begun; });
    if (waiting != slots_.end() && !held_) waiting->exchange.informational.push_back(head.status);
    return {};
  }
  ++answers_since_request_;
  if (held_ && head.status == kSwitchingProtocols) {
    doubt_pairing(Waiting::give_up, at);
  } else if (held_) {
    settle_held(1, at);
  }
  Slot& slot = slot_for_answer(at);
  if (head.status == kSwitchingProtocols && http::has_token(head.fields, "Upgrade", "h2c") &&
      slot.exchange.request && slot.request_done) {
    upgrade_to_http2(slot);
    return {};
  }
  answering_ = &slot;
  recorder_.begin_response(slot, at);
  const std::string method = slot.exchange.request ? slot.exchange.request->method : "";
  const http::FramingVerdict verdict = http::response_framing(head, method);
  if (!slot.exchange.request) responses_.doubt_body();
  RecordedResponse& response = slot.exchange.response.emplace();
  response.status = head.status;
  response.reason = head.reason;
  response.version = version_text(head.version);
  response.fields = recorded(head.fields);
  response.defects = defect_names(defects, verdict.defect);
  recorder_.keep_fields(slot, MessageKind::response, response.fields);
  const bool connected = method == "CONNECT" && head.status / 100 == 2;
  if (head.status == kSwitchingProtocols || connected) {
    become_tunnel(slot, at);
    return {};
  }
  return verdict.framing;
}

void HttpAssembly::become_tunnel(Slot& slot, UnixTime at) {
  slot.exchange.tunnel = true;
  recorder_.end_response(slot, at);
  answering_ = nullptr;
  requesting_ = nullptr;
  context_.ledger.tunnels.add(0);
  emit(slot);
  requests_.become_tunnel();
  responses_.become_tunnel();
}

// The answer comes as HTTP/2.
void HttpAssembly::upgrade_to_http2(Slot& slot) {
  context_.ledger.informational.add(0);
  slot.exchange.informational.push_back(kSwitchingProtocols);
  phase_ = Phase::http2;
  http2_ = std::make_unique<Http2Assembly>(recorder_, Http2Assembly::Begin::upgrade);
  http2_->take_upgraded(std::exchange(slot, {}));
  slots_.remove_if([&](const Slot& one) { return &one == &slot; });
  while (!slots_.empty())
    emit(slots_.front());
  requests_.stop();
  responses_.stop();
}

void HttpAssembly::on_body(MessageKind kind, std::string_view bytes) {
  Slot* slot = kind == MessageKind::request ? requesting_ : answering_;
  if (slot != nullptr) recorder_.keep_body(*slot, kind, bytes);
}

void HttpAssembly::on_trailer(MessageKind kind, const http::Field& field) {
  const bool request = kind == MessageKind::request;
  Slot* slot = request ? requesting_ : answering_;
  if (slot == nullptr) return;
  RecordedExchange& exchange = slot->exchange;
  auto& trailers = request ? exchange.request->trailers : exchange.response->trailers;
  if (trailers.size() >= kTrailersMax) return;
  trailers.push_back({std::string(field.name), unfolded(field.value)});
  recorder_.charge(*slot, sizeof(RecordedField) + field.name.size() + field.value.size());
}

// Whole or not.
void HttpAssembly::on_answer_over(Slot& slot, UnixTime at) {
  if (held_) {
    settle_held(0, at);
  } else if (slot.request_done) {
    emit(slot);
  }
}

void HttpAssembly::on_message_end(MessageKind kind, UnixTime at) {
  if (kind == MessageKind::response) {
    if (std::exchange(informational_, false)) return;
    Slot* slot = std::exchange(answering_, nullptr);
    if (slot == nullptr) return;
    recorder_.end_response(*slot, at);
    on_answer_over(*slot, at);
    requests_.resume(at);  // it stays HTTP
    return;
  }
  Slot* slot = std::exchange(requesting_, nullptr);
  if (slot == nullptr) return;
  recorder_.end_request(*slot, at);
  if (is_over(*slot)) {
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
  if (!counted_with_stream(reason)) {
    recorder_.lose(kind, reason, missing, at);
  }
  if (slot != nullptr) {
    if (request) {
      recorder_.cut_request(*slot);
      if (is_over(*slot)) emit(*slot);
    } else {
      recorder_.cut_response(*slot);
      on_answer_over(*slot, at);
    }
  }
  if (!request && reason == LossReason::malformed_framing) on_answers_lost(std::nullopt, at);
}

void HttpAssembly::on_skipped(MessageKind kind,
                              LossReason reason,
                              std::uint64_t bytes,
                              UnixTime at) {
  Skipped& skipped = skipped_[index(kind)];
  if (skipped.bytes > 0 && skipped.reason != reason) tell_skipped();
  if (skipped.bytes == 0) skipped = {reason, 0, at};
  skipped.bytes += bytes;
  const bool message_lost =
      reason == LossReason::head_too_large || reason == LossReason::memory_limit;
  if (kind == MessageKind::request) {
    if (message_lost) on_requests_lost(false, at);
  } else if (message_lost || (held_ && !counted_with_stream(reason))) {
    on_answers_lost(std::nullopt, at);
  }
}

void HttpAssembly::tell_skipped() {
  for (const MessageKind kind : {MessageKind::request, MessageKind::response}) {
    const Skipped skipped = std::exchange(skipped_[index(kind)], {});
    if (skipped.bytes > 0) recorder_.lose(kind, skipped.reason, skipped.bytes, skipped.at);
  }
}

void HttpAssembly::emit(Slot& slot) {
  assert(&slot != requesting_ && &slot != answering_);
  recorder_.emit(slot);
  slots_.remove_if([&](const Slot& one) { return &one == &slot; });
}

void HttpAssembly::on_closed(const ConnectionEnd& end, UnixTime at) {
  const LossReason reason = reason_of(end);
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
    if (held_ && !held_->answers.empty()) doubt_pairing(Waiting::give_up, at);
    for (const Slot& slot : slots_) {
      if (end.evicted && slot.unanswered()) recorder_.lose(MessageKind::response, reason, 0, at);
    }
    while (!slots_.empty())
      emit(slots_.front());
  }
  if (phase_ == Phase::http2) http2_->close(reason, at);
  if (phase_ == Phase::opaque || (phase_ == Phase::deciding && end.had_data)) return;
  recorder_.close(end);
}

}  // namespace gatedrill::replay::capture
