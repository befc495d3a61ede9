#include "gateway/proxy/drive.hpp"

#include <algorithm>
#include <cassert>
#include <utility>
#include <variant>

#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/head_writer.hpp"
#include "gateway/http/upgrade.hpp"
#include "gateway/net/network_error.hpp"
#include "gateway/proxy/session.hpp"
#include "gateway/proxy/shard.hpp"
#include "gateway/proxy/tunnel.hpp"

namespace gatedrill::gateway {
namespace {

Deadline earlier(const Deadline& a, const Deadline& b) {
  return b.at < a.at ? b : a;
}

// Known to the shard as one that waits for a place, until destroyed.
class Parked {
 public:
  Parked(ShardUpstream& upstream, RequestQueue::Ticket ticket, Session& session)
      : upstream_(upstream), ticket_(ticket) {
    upstream_.parked.emplace(ticket, &session);
  }

  ~Parked() { upstream_.parked.erase(ticket_); }

  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;

 private:
  ShardUpstream& upstream_;
  RequestQueue::Ticket ticket_;
};

}  // namespace

Drive::Drive(Session& session, Stream& stream, ShardUpstream& upstream, Exchange& exchange)
    : session_(session),
      stream_(stream),
      upstream_(upstream),
      exchange_(exchange),
      events_(exchange, upstream.shared.gate) {}

Drive::~Drive() {
  if (connection_) release_connection(false);
}

Task<StreamEnd> Drive::run() {
  Step step = events_->start(session_.now());
  for (;;) {
    session_.shard().settle(upstream_.shared);
    if (const Send* send = std::get_if<Send>(&step)) {
      step = co_await attempt(*send);
    } else if (std::holds_alternative<Forward>(step)) {
      if (tunnelled_) {
        step = co_await tunnel();
      } else {
        step = co_await forward();
      }
    } else if (const Wait* wait = std::get_if<Wait>(&step)) {
      step = co_await pause(wait->until);
    } else if (const Park* parking = std::get_if<Park>(&step)) {
      step = co_await park(*parking);
    } else if (const LocalReply* local = std::get_if<LocalReply>(&step)) {
      step = co_await reply(*local);
    } else {
      co_return finish(std::get<Done>(step));
    }
  }
}

void Drive::release_connection(bool keep) {
  Connections& connections = session_.shard().connections();
  Pool& pool = upstream_.pools.pool(endpoint_);
  if (keep) {
    connections.keep(connection_, pool);
  } else {
    connections.close(*connection_);
  }
  connection_.reset();
  connections.close_evicted(pool);
}

StreamEnd Drive::finish(const Done& done) {
  if (connection_) release_connection(done.keep_connection);
  stream_.record(exchange_.summary(), exchange_.attempts(),
                 reader_.payload_bytes() + stream_.reply_bytes());
  if (session_.client_gone()) return StreamEnd::close;
  // What was sent ends early. Where its end is the connection's, only a reset tells.
  if (done.abort_client) {
    return until_close_out_ || reset_client_ ? StreamEnd::abort : StreamEnd::close;
  }
  if (!stream_.upload().received()) return StreamEnd::linger;
  return stream_.keep_alive() ? StreamEnd::keep : StreamEnd::close;
}

Step Drive::fail(Cause cause) {
  facts_.cause = cause;
  if (connection_) release_connection(false);
  return events_->on_attempt_failed(session_.now(), facts_);
}

// The client's side may end a request at any time.
std::optional<Step> Drive::client_trouble() {
  if (session_.stopping()) return events_->on_request_failed(session_.now(), Cause::draining);
  if (session_.client_gone()) return events_->on_client_gone(session_.now());
  return std::nullopt;
}

Task<Step> Drive::attempt(Send send) {
  facts_ = FailureFacts{};
  endpoint_ = send.endpoint;
  Connections& connections = session_.shard().connections();
  connections.close_evicted(upstream_.pools.pool(endpoint_));
  if (send.connection.reused()) {
    connection_ = connections.take(send.connection.id, session_);
    assert(connection_ && !connection_->ended());
  } else {
    connection_ = connections.open(send.connection.id, session_);
    const auto address = upstream_.shared.addresses->at(endpoint_);
    if (!address) co_return fail(Cause::dns_failure);
    connection_->connect(*address);
    const Deadline by = exchange_.deadline(Phase::connect, session_.now());
    while (connection_->connecting()) {
      if (auto step = client_trouble()) co_return *step;
      if (session_.now() >= by.at) co_return fail(by.cause);
      session_.client().start_read();
      co_await session_.event(by.at);
    }
    if (connection_->connect_error()) {
      co_return fail(cause_of(connection_->connect_error(), Operation::connect));
    }
    exchange_.on_connected(session_.now());
  }
  if (stream_.connects()) {
    stream_.write_connected();
    tunnelled_ = true;
    co_return events_->on_response_head(session_.now(), 200);
  }
  stream_.upload().rewind(exchange_.attempt());
  co_return co_await converse();
}

// Sends the request and waits for the head of its answer, in either order: an upstream may answer
// before it has read everything.
Task<Step> Drive::converse() {
  if (stream_.expects_continue()) {
    session_.to_client().bytes().append("HTTP/1.1 100 Continue\r\n\r\n");
    stream_.continue_sent();
  }
  body_rate_ = MinimumRate(session_.shard().config().client.body_rate);
  body_bytes_ = stream_.upload().received_bytes();
  deadline_ = Deadline{};
  for (;;) {
    if (auto step = send_request()) co_return *step;
    if (auto step = read_answer_head()) co_return *step;
    const bool held_back = session_.to_client().pending() >= kAnswerPendingMax;
    if (connection_->ended() && !held_back) {
      const bool unsent = connection_->write_error() && !facts_.response_started;
      co_return fail(unsent ? cause_of(connection_->write_error(), Operation::write)
                            : cause_of(connection_->read_error(), Operation::read));
    }
    if (auto step = client_trouble()) co_return *step;
    if (session_.now() >= deadline_.at) {
      if (deadline_.cause == Cause::client_body_timeout) {
        co_return events_->on_request_failed(session_.now(), deadline_.cause);
      }
      co_return fail(deadline_.cause);
    }
    session_.to_client().flush(session_.client());
    if (!session_.to_client().empty()) session_.client().await_writable();
    connection_->start_read(session_.shard().config().response_head.head_bytes);
    if (stream_.upload().pending() && !connection_->write_error()) connection_->await_writable();
    session_.client().start_read();
    co_await session_.event(deadline_.at);
  }
}

// Moves what it can of the request; sets the deadline that goes with what it waits for next.
std::optional<Step> Drive::send_request() {
  Upload& upload = stream_.upload();
  if (upload.sent() && deadline_.at != kNever) return std::nullopt;
  const TimePoint now = session_.now();
  bool sent = false;
  for (;;) {
    const Upload::Taken taken = upload.take(session_.client());
    if (taken == Upload::Taken::malformed) {
      return events_->on_request_failed(now, Cause::malformed_request);
    }
    if (taken == Upload::Taken::too_large) {
      return events_->on_request_failed(now, Cause::request_body_too_large);
    }
    if (taken == Upload::Taken::something) client_progress_ = now;
    // Once more after a write: what was taken out of the way may have kept the rest waiting.
    if (!upload.flush(*connection_)) break;
    sent = true;
  }
  facts_.request_started = facts_.request_started || sent;
  if (!upload.replayable()) exchange_.on_body_not_replayable();
  if (upload.received()) exchange_.on_request_received(now);
  if (upload.sent()) exchange_.on_request_sent(now);
  if (upload.received() || upload.pending()) {
    body_rate_.turn(now, false);
    if (sent || deadline_.at == kNever) deadline_ = exchange_.deadline(Phase::response, now);
  } else {
    deadline_ = earlier(exchange_.deadline(Phase::request, now), client_deadline());
  }
  return std::nullopt;
}

// It is the client's turn to send more of the body: by when it must, and fast enough. Not while the
// upstream holds it back.
Deadline Drive::client_deadline() {
  const TimePoint now = session_.now();
  if (!body_rate_.running()) client_progress_ = now;
  body_rate_.turn(now, true);
  const std::uint64_t received = stream_.upload().received_bytes();
  body_rate_.on_bytes(now, received - std::exchange(body_bytes_, received));
  const Duration patience = session_.shard().config().client.body_timeout;
  return {std::min(client_progress_ + patience, body_rate_.deadline()), Cause::client_body_timeout};
}

// The next step once the head is whole, or wrong; nothing while it is not.
std::optional<Step> Drive::read_answer_head() {
  http::ResponseHead& head = stream_.answer_head();
  const http::h1::HeadLimits& limits = session_.shard().config().response_head;
  for (;;) {
    const std::string_view input = connection_->input();
    // Interim answers are many, perhaps, and the client slow.
    if (input.empty() || session_.to_client().pending() >= kAnswerPendingMax) return std::nullopt;
    facts_.response_started = true;
    const http::h1::HeadResult parsed = http::h1::parse_response_head(input, limits, head);
    if (!parsed.defects.none()) return fail(Cause::malformed_response);
    if (parsed.state == http::h1::HeadState::incomplete) return std::nullopt;
    if (parsed.state != http::h1::HeadState::complete) {
      return fail(Cause::response_header_too_large);
    }
    const http::ResponseVerdict verdict =
        http::judge_response(head, parsed, stream_.head_only() ? "HEAD" : "GET");
    if (!verdict.malformed.empty()) return fail(Cause::malformed_response);
    if (head.status == 101) {
      const std::string_view protocol = stream_.upgrade();
      if (protocol.empty() || !http::accepts_upgrade(head, protocol)) {
        return fail(Cause::malformed_response);
      }
      const Step step = events_->on_response_head(session_.now(), head.status);
      http::write_interim_head(head, session_.to_client().bytes(), protocol);
      connection_->consume(parsed.size);
      tunnelled_ = true;
      return step;
    }
    if (head.status >= 200) {
      std::optional<Duration> retry_after;
      if (!exchange_.route().config.retry.on_status.empty()) {
        retry_after = http::retry_after(head.fields);
      }
      const Step step = events_->on_response_head(session_.now(), head.status, retry_after);
      if (!std::holds_alternative<Forward>(step)) {
        release_connection(false);  // the answer is thrown away
        return step;
      }
      begin_answer(verdict);
      connection_->consume(parsed.size);
      return step;
    }
    // The 100 that we asked for, in a way: the client has had ours.
    if (head.status != 100 && stream_.client_version() >= 11) {
      http::write_interim_head(head, session_.to_client().bytes());
    }
    connection_->consume(parsed.size);
  }
}

// The total timeout ended with the 101, and neither connection is of use afterwards.
Task<Step> Drive::tunnel() {
  stream_.no_keep_alive();
  const TunnelEnd end =
      co_await run_tunnel(session_, *connection_, exchange_.route().config.timeouts);
  const TimePoint now = session_.now();
  reset_client_ = end == TunnelEnd::upstream_lost;
  switch (end) {
    case TunnelEnd::closed:
      co_return events_->on_response_end(now, Cause::ok, false);
    case TunnelEnd::client_lost:
      co_return events_->on_client_gone(now);
    case TunnelEnd::upstream_lost:
      co_return events_->on_response_end(now, Cause::body_truncated, false);
    case TunnelEnd::idle:
      co_return events_->on_response_end(now, Cause::body_idle_timeout, false);
    case TunnelEnd::stopped:
      break;
  }
  co_return events_->on_request_failed(now, Cause::draining);
}

Task<Step> Drive::pause(TimePoint until) {
  for (;;) {
    if (auto step = client_trouble()) co_return *step;
    if (session_.now() >= until) co_return events_->on_waited(session_.now());
    session_.client().start_read();
    co_await session_.event(until);
  }
}

// Who gives up a place, on whatever thread, has it told to this one, later: so not before we wait.
Task<Step> Drive::park(Park park) {
  const Parked parked(upstream_, park.ticket, session_);
  for (;;) {
    if (auto step = client_trouble()) co_return *step;
    if (events_->has_place()) co_return events_->on_place(session_.now());
    if (session_.now() >= park.until) co_return events_->on_waited(session_.now());
    session_.client().start_read();
    co_await session_.event(park.until);
  }
}

Task<Step> Drive::reply(LocalReply reply) {
  if (connection_) release_connection(false);  // the request failed, not the attempt
  // The body of a request that goes nowhere is read over if it is here already.
  while (stream_.upload().discard(session_.client()) == Upload::Taken::something) {
  }
  if (!stream_.upload().received() || session_.shard().draining()) stream_.no_keep_alive();
  const auto attempts = exchange_.attempts();
  stream_.write_reply({reply.cause, reply.status, reply.retry_after,
                       attempts.empty() ? NameId{} : attempts.back().endpoint});
  Outbox& out = session_.to_client();
  const TimePoint by = session_.now() + session_.shard().config().client.body_timeout;
  while (out.flush(session_.client()), !out.empty()) {
    if (session_.client_gone() || session_.now() >= by) {
      co_return events_->on_client_gone(session_.now());
    }
    session_.client().await_writable();
    co_await session_.event(by);
  }
  co_return events_->on_reply_sent(session_.now());
}

}  // namespace gatedrill::gateway
