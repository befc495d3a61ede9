#include "replay/capture/http2_assembly.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

constexpr std::string_view kVersion = "HTTP/2";
constexpr std::size_t kAsideMax = 1000;
// What a server has sent before it hears of a reset arrives within this.
constexpr std::int64_t kLateAnswerNs = 10'000'000'000;
constexpr std::size_t kAwaitedMax = 100;
constexpr std::size_t kBrokenMax = 1000;

std::vector<RecordedField> without_pseudo(std::vector<RecordedField> fields) {
  std::erase_if(fields, [](const RecordedField& field) { return field.name.starts_with(':'); });
  return fields;
}

int status_of(std::string_view text) {
  int status = 0;
  std::from_chars(text.data(), text.data() + text.size(), status);
  return status;
}

}  // namespace

Http2Assembly::Http2Assembly(ExchangeRecorder& recorder, Begin begin)
    : recorder_(recorder),
      requests_(MessageKind::request,
                begin != Begin::somewhere,
                *this,
                recorder.context().held,
                recorder.context().ledger),
      responses_(MessageKind::response,
                 begin != Begin::somewhere,
                 *this,
                 recorder.context().held,
                 recorder.context().ledger) {}

Http2Assembly::~Http2Assembly() {
  for (auto& [id, open] : streams_)
    recorder_.drop(open);
}

void Http2Assembly::take_upgraded(OpenExchange request) {
  constexpr std::uint32_t kUpgradedStream = 1;
  streams_[kUpgradedStream] = std::move(request);
}

void Http2Assembly::on_data(MessageKind kind,
                            std::string_view bytes,
                            const ExchangeRecorder::Mark& mark,
                            UnixTime at) {
  if (reader(kind).idle()) marks_[index(kind)] = mark;
  now_ = at;
  end_waits(at);
  reader(kind).push(bytes, at);
}

void Http2Assembly::on_gap(MessageKind kind, std::uint64_t bytes, LossReason reason, UnixTime at) {
  now_ = at;
  reader(kind).gap(bytes, reason, at);
}

void Http2Assembly::on_frame(MessageKind kind, std::uint32_t stream) {
  if (Tally* tally = late(kind, stream, streams_.find(stream))) tally->add(0);
}

Tally* Http2Assembly::late(MessageKind kind, std::uint32_t stream, Streams::const_iterator found) {
  Ledger& ledger = recorder_.context().ledger;
  if (found != streams_.end()) {
    const OpenExchange& open = found->second;
    if (open.exchange.reset) return &ledger.late(StreamEnd::reset_by_client);
    const bool request = kind == MessageKind::request;
    const bool over = request ? open.exchange.request && open.request_done
                              : open.answer_begun && open.answer_done;
    if (!over) return nullptr;
    const bool whole = request ? open.exchange.request->complete : open.exchange.response->complete;
    return &ledger.late(whole ? StreamEnd::ended : StreamEnd::given_up);
  }
  const auto broken = broken_.find(stream);
  return broken != broken_.end() ? &ledger.late(broken->second) : nullptr;
}

void Http2Assembly::on_fields(MessageKind kind,
                              std::uint32_t stream,
                              Http2Fields fields,
                              UnixTime at) {
  // A client's streams have odd numbers, and a pushed answer belongs to no request.
  if (stream % 2 == 0) return;
  const auto found = streams_.find(stream);
  if (found == streams_.end() && late(kind, stream, found) != nullptr) return;
  if (fields.unknown) recorder_.lose(kind, LossReason::unknown_fields, 0, at);
  if (fields.cut_bytes > 0) recorder_.lose(kind, LossReason::head_too_large, fields.cut_bytes, at);
  if (kind == MessageKind::request) {
    on_request(stream, std::move(fields), at);
  } else {
    on_response(stream, std::move(fields), at);
  }
}

OpenExchange& Http2Assembly::new_stream(std::uint32_t stream, UnixTime at) {
  if (streams_.size() >= recorder_.context().limits.outstanding) {
    give_up(streams_.begin(), LossReason::unanswered, StreamEnd::given_up, at);
  }
  return streams_[stream];
}

// The first that come: behind them the message has ended (RFC 9113 section 8.1).
void Http2Assembly::keep_trailers(OpenExchange& open,
                                  MessageKind kind,
                                  std::vector<RecordedField> fields) {
  RecordedExchange& exchange = open.exchange;
  auto& trailers =
      kind == MessageKind::request ? exchange.request->trailers : exchange.response->trailers;
  if (!trailers.empty()) return;
  trailers = without_pseudo(std::move(fields));
  recorder_.keep_fields(open, kind, trailers);
}

void Http2Assembly::on_request(std::uint32_t id, Http2Fields fields, UnixTime at) {
  const auto found = streams_.find(id);
  if (found != streams_.end()) {
    OpenExchange& open = found->second;
    if (!open.exchange.request || open.request_done) return;
    if (fields.cut_bytes > 0) open.exchange.request->complete = false;
    keep_trailers(open, MessageKind::request, std::move(fields.fields));
    return;
  }
  OpenExchange& open = new_stream(id, at);
  recorder_.begin_request(open, marks_[index(MessageKind::request)], at);
  RecordedRequest& request = open.exchange.request.emplace();
  const bool connect = fields.value(":method") == "CONNECT";
  const bool extended = !fields.value(":protocol").empty();
  open.exchange.host = fields.value(":authority");
  if (open.exchange.host.empty()) open.exchange.host = fields.value("host");
  request.method = fields.value(":method");
  request.target = connect && !extended ? open.exchange.host : fields.value(":path");
  request.version = kVersion;
  request.fields = without_pseudo(std::move(fields.fields));
  request.complete = fields.whole();
  for (std::string* told : {&request.method, &request.target}) {
    if (!told->empty()) continue;
    *told = kNotTold;
    if (!fields.unknown) request.defects = "missing_pseudo_field";
  }
  recorder_.keep_fields(open, MessageKind::request, request.fields);
}

void Http2Assembly::on_response(std::uint32_t id, Http2Fields fields, UnixTime at) {
  const auto found = streams_.find(id);
  if (found != streams_.end() && found->second.answer_begun) {
    OpenExchange& open = found->second;
    if (open.answer_done) return;
    if (fields.cut_bytes > 0) open.exchange.response->complete = false;
    keep_trailers(open, MessageKind::response, std::move(fields.fields));
    return;
  }
  const int status = status_of(fields.value(":status"));
  if (status / 100 == 1) {
    recorder_.context().ledger.informational.add(0);
    if (found != streams_.end()) found->second.exchange.informational.push_back(status);
    return;
  }
  if (status == 0) {
    // Trailers of an answer whose head was lost, or a head that cannot be told.
    if (!fields.unknown) recorder_.lose(MessageKind::response, LossReason::not_a_message, 0, at);
    return;
  }
  OpenExchange& open = found != streams_.end() ? found->second : new_stream(id, at);
  if (!open.exchange.request) {
    open.exchange.at = at;
    open.request_done = true;
  }
  recorder_.begin_response(open, at);
  RecordedResponse& response = open.exchange.response.emplace();
  response.status = status;
  response.version = kVersion;
  response.fields = without_pseudo(std::move(fields.fields));
  response.complete = fields.whole();
  recorder_.keep_fields(open, MessageKind::response, response.fields);
  const bool connect = open.exchange.request && open.exchange.request->method == "CONNECT";
  if (connect && status / 100 == 2) begin_tunnel(streams_.find(id), at);
}

// What follows on this stream is no message.
void Http2Assembly::begin_tunnel(Streams::iterator stream, UnixTime at) {
  Tally& tunnels = recorder_.context().ledger.tunnels;
  tunnels.add(0);
  stream->second.exchange.tunnel = true;
  recorder_.end_response(stream->second, at);
  set_aside(stream->first, tunnels);
  emit(stream);
}

void Http2Assembly::set_aside(std::uint32_t stream, Tally& tally) {
  aside_[stream] = &tally;
  if (aside_.size() > kAsideMax) aside_.erase(aside_.begin());
}

void Http2Assembly::on_body(MessageKind kind, std::uint32_t id, std::string_view bytes) {
  const auto aside = aside_.find(id);
  if (aside != aside_.end()) {
    aside->second->bytes += bytes.size();
    return;
  }
  const auto found = streams_.find(id);
  Tally* const over = late(kind, id, found);
  if (over != nullptr) over->bytes += bytes.size();
  if (found == streams_.end()) {
    if (over == nullptr) gather(kind, LossReason::head_lost, bytes.size());
    return;
  }
  OpenExchange& open = found->second;
  const bool request = kind == MessageKind::request;
  const bool begun = request ? open.exchange.request.has_value() : open.answer_begun;
  if (!begun) {
    gather(kind, LossReason::head_lost, bytes.size());
  } else if (request ? !open.request_done : !open.answer_done) {
    recorder_.keep_body(open, kind, bytes);
  }
}

void Http2Assembly::on_stream_end(MessageKind kind, std::uint32_t id, UnixTime at) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  OpenExchange& open = found->second;
  if (kind == MessageKind::request && open.exchange.request && !open.request_done) {
    recorder_.end_request(open, at);
  } else if (kind == MessageKind::response && open.answer_begun && !open.answer_done) {
    recorder_.end_response(open, at);
  }
  finish_if_done(found);
}

void Http2Assembly::on_stream_reset(MessageKind kind, std::uint32_t id, UnixTime at) {
  const bool by_client = kind == MessageKind::request;
  const auto end = by_client ? StreamEnd::reset_by_client : StreamEnd::reset_by_server;
  if (aside_.erase(id) > 0) remember_broken(id, end);
  const auto found = streams_.find(id);
  if (found == streams_.end()) {
    Tally* tally = late(kind, id, found);
    (tally != nullptr ? *tally : recorder_.context().ledger.late(StreamEnd::ended)).add(0);
    return;
  }
  OpenExchange& open = found->second;
  const bool again = open.exchange.reset.has_value();
  if (!again) open.exchange.reset = {.at = at, .by_client = by_client};
  if (by_client && !open.answer_done) {
    if (!again) await_late_answer(found, at);
  } else {
    give_up(found, by_client ? LossReason::reset_by_client : LossReason::reset_by_server, end, at);
  }
}

// The client sends nothing more for it; what the server sends before it knows is the answer still.
void Http2Assembly::await_late_answer(Streams::iterator stream, UnixTime at) {
  OpenExchange& open = stream->second;
  if (!open.request_done) recorder_.lose(MessageKind::request, LossReason::reset_by_client, 0, at);
  cut(open, MessageKind::request);
  open.request_done = true;
  awaited_.emplace_back(at, stream->first);
  end_waits(at);
}

void Http2Assembly::end_waits(UnixTime now) {
  while (!awaited_.empty() &&
         (awaited_.size() > kAwaitedMax || now.ns - awaited_.front().first.ns > kLateAnswerNs)) {
    const auto [at, id] = awaited_.front();
    awaited_.pop_front();
    const auto stream = streams_.find(id);
    if (stream == streams_.end()) continue;
    give_up(stream, LossReason::reset_by_client, StreamEnd::reset_by_client, at);
  }
}

void Http2Assembly::remember_broken(std::uint32_t stream, StreamEnd end) {
  broken_.try_emplace(stream, end);
  if (broken_.size() > kBrokenMax) broken_.erase(broken_.begin());
}

// Whatever of it is not there or not whole stays so, for this reason.
void Http2Assembly::give_up(Streams::iterator stream,
                            LossReason reason,
                            StreamEnd end,
                            UnixTime at) {
  OpenExchange& open = stream->second;
  if (open.exchange.reset && open.exchange.reset->by_client) {
    reason = LossReason::reset_by_client;
    end = StreamEnd::reset_by_client;
  }
  remember_broken(stream->first, end);
  if (!open.answer_done) recorder_.lose(MessageKind::response, reason, 0, at);
  if (!open.request_done) recorder_.lose(MessageKind::request, reason, 0, at);
  cut(open, MessageKind::request);
  cut(open, MessageKind::response);
  emit(stream);
}

// The sender takes none of the requests behind the last that it names.
void Http2Assembly::on_goaway(MessageKind kind, std::uint32_t last_stream, UnixTime at) {
  if (kind == MessageKind::request) return;
  for (auto stream = streams_.upper_bound(last_stream); stream != streams_.end();) {
    const auto refused = stream++;
    if (!refused->second.answer_begun) give_up(refused, LossReason::goaway, StreamEnd::goaway, at);
  }
}

void Http2Assembly::on_push(std::uint32_t promised) {
  Tally& pushes = recorder_.context().ledger.pushes;
  pushes.add(0);
  set_aside(promised, pushes);
}

void Http2Assembly::on_stream_cut(MessageKind kind, std::uint32_t id, LossReason reason) {
  // A gap is in the account already.
  if (!counted_with_stream(reason)) {
    recorder_.lose(kind, reason, 0, now_);
  }
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  RecordedExchange& exchange = found->second.exchange;
  if (kind == MessageKind::request && exchange.request) exchange.request->complete = false;
  if (kind == MessageKind::response && exchange.response) exchange.response->complete = false;
}

// Any stream may have ended, unseen.
void Http2Assembly::on_place_lost(MessageKind kind, LossReason reason) {
  if (!counted_with_stream(reason)) {
    recorder_.lose(kind, reason, 0, now_);
  }
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    const auto one = stream++;
    cut(one->second, kind);
    const std::uint32_t id = one->first;
    if (finish_if_done(one)) remember_broken(id, StreamEnd::given_up);
  }
}

// What has begun and not ended stays as it is.
void Http2Assembly::cut(OpenExchange& open, MessageKind kind) {
  if (kind == MessageKind::request && open.exchange.request && !open.request_done) {
    recorder_.cut_request(open);
  } else if (kind == MessageKind::response && open.answer_begun && !open.answer_done) {
    recorder_.cut_response(open);
  }
}

bool Http2Assembly::finish_if_done(Streams::iterator stream) {
  const OpenExchange& open = stream->second;
  if (!open.request_done || !open.answer_done) return false;
  // The end of a late answer may be followed by nothing but mistakes.
  if (open.exchange.reset) remember_broken(stream->first, StreamEnd::reset_by_client);
  emit(stream);
  return true;
}

void Http2Assembly::emit(Streams::iterator stream) {
  OpenExchange& open = stream->second;
  if (open.exchange.request || open.exchange.response) {
    recorder_.emit(open);
  } else {
    recorder_.drop(open);
  }
  streams_.erase(stream);
}

void Http2Assembly::on_skipped(MessageKind kind, LossReason reason, std::uint64_t bytes, UnixTime) {
  gather(kind, reason, bytes);
}

void Http2Assembly::gather(MessageKind kind, LossReason reason, std::uint64_t bytes) {
  Lost& lost = lost_[index(kind)][reason];
  if (lost.bytes == 0) lost.at = now_;
  lost.bytes += bytes;
}

void Http2Assembly::tell_gathered() {
  for (const MessageKind kind : {MessageKind::request, MessageKind::response}) {
    for (const auto& [reason, lost] : lost_[index(kind)])
      recorder_.lose(kind, reason, lost.bytes, lost.at);
    lost_[index(kind)].clear();
  }
}

void Http2Assembly::close(LossReason reason, UnixTime at) {
  requests_.close(reason, at);
  responses_.close(reason, at);
  tell_gathered();
  while (!streams_.empty()) {
    OpenExchange& open = streams_.begin()->second;
    if (open.exchange.reset) {
      give_up(streams_.begin(), LossReason::reset_by_client, StreamEnd::reset_by_client, at);
      continue;
    }
    const bool request_open = open.exchange.request && !open.request_done;
    // An answer to come would be that of no request.
    const bool unanswered = reason == LossReason::evicted && !open.answer_begun;
    const bool answer_open = unanswered || (open.answer_begun && !open.answer_done);
    if (request_open) recorder_.lose(MessageKind::request, reason, 0, at);
    if (answer_open) recorder_.lose(MessageKind::response, reason, 0, at);
    cut(open, MessageKind::request);
    cut(open, MessageKind::response);
    emit(streams_.begin());
  }
}

}  // namespace gatedrill::replay::capture
