// The half of a Drive that passes the answer on: its head written anew, its body as it comes, as
// fast as the client takes it.
#include <algorithm>
#include <utility>

#include <boost/asio.hpp>

#include "gateway/http/head_writer.hpp"
#include "gateway/http/trailers.hpp"
#include "gateway/proxy/chunk.hpp"
#include "gateway/proxy/drive.hpp"
#include "gateway/proxy/session.hpp"
#include "gateway/proxy/shard.hpp"

namespace gatedrill::gateway {

void Drive::begin_answer(const http::ResponseVerdict& verdict) {
  const http::ResponseHead& head = stream_.answer_head();
  const http::ResponseOptions options = http::response_options(head);
  reader_ = http::BodyReader(verdict.framing);
  answer_reusable_ = verdict.reusable;
  keep_alive_hint_ = options.keep_alive_timeout;

  http::ResponseRewrite rewrite;
  rewrite.framing = verdict.framing;
  rewrite.via = session_.shard().via();
  rewrite.trailers = exchange_.route().config.trailers;
  trailers_.clear();
  rewrite.bodiless = stream_.head_only() || head.status == 204 || head.status == 304;
  const bool counted = verdict.framing.kind == http::BodyKind::none ||
                       verdict.framing.kind == http::BodyKind::length;
  chunk_out_ = !counted && stream_.client_version() >= 11;
  if (!counted) {
    rewrite.framing =
        http::Framing{chunk_out_ ? http::BodyKind::chunked : http::BodyKind::until_close, 0};
  }
  until_close_out_ = !counted && !chunk_out_;
  // An answer that comes before the request has ended closes both connections (gateway
  // reference 2.5): what follows of the request would be read as another one.
  if (until_close_out_ || !stream_.upload().received() || session_.shard().draining()) {
    stream_.no_keep_alive();
  }
  rewrite.close = !stream_.keep_alive();
  rewrite.keep_alive = stream_.keep_alive() && stream_.client_version() == 10;
  rewrite.date = session_.shard().date(session_.now());
  http::write_response_head(head, options, rewrite, session_.to_client().bytes());
}

// Moves what has arrived of the answer's body towards the client. True if something moved.
bool Drive::move_answer() {
  Outbox& out = session_.to_client();
  bool moved = false;
  while (!reader_.done() && out.pending() < kAnswerPendingMax) {
    const http::BodyReader::Step step = reader_.read(connection_->input());
    if (step.malformed) {
      answer_malformed_ = true;
      return moved;
    }
    if (step.consumed == 0) {
      // The end of file is the end of a body that has no other.
      if (!connection_->ended() || connection_->read_error() != boost::asio::error::eof ||
          !reader_.finish_at_close()) {
        return moved;
      }
    } else if (!step.payload.empty()) {
      if (chunk_out_) {
        append_chunk(out.bytes(), step.payload);
      } else {
        out.bytes().append(step.payload);
      }
    }
    http::append_trailer(trailers_, step.trailer, exchange_.route().config.trailers);
    connection_->consume(step.consumed);
    moved = true;
    if (reader_.done() && chunk_out_) append_last_chunk(out.bytes(), trailers_);
  }
  return moved;
}

bool Drive::reusable() const {
  return answer_reusable_ && stream_.upload().sent() && connection_->input().empty() &&
         !connection_->ended() && !connection_->write_error();
}

// What the client has taken of the answer since the last call.
std::uint64_t Drive::newly_taken() {
  const std::uint64_t waiting = session_.client().unacknowledged();
  const std::uint64_t taken = written_bytes_ > waiting ? written_bytes_ - waiting : 0;
  return taken - std::exchange(taken_bytes_, taken);
}

Task<Step> Drive::forward() {
  Outbox& out = session_.to_client();
  MinimumRate rate(session_.shard().config().client.read_rate);
  const Duration patience = session_.shard().config().client.body_timeout;
  TimePoint read_at = session_.now();
  TimePoint written_at = session_.now();
  if (reader_.done() && chunk_out_) append_last_chunk(out.bytes());
  for (;;) {
    const TimePoint now = session_.now();
    // What is left of the request; if it is malformed now, there is nobody left to tell.
    while (!stream_.upload().sent()) {
      stream_.upload().take(session_.client());
      if (!stream_.upload().flush(*connection_)) break;
    }
    for (std::size_t flushed = 1; flushed > 0;) {
      if (move_answer()) read_at = now;
      flushed = out.flush(session_.client());
      written_bytes_ += flushed;
      if (flushed > 0) written_at = now;
    }
    if (session_.client_gone()) co_return events_->on_client_gone(now);
    if (session_.stopping()) co_return events_->on_request_failed(now, Cause::draining);
    if (out.empty()) {
      if (reader_.done()) {
        co_return events_->on_response_end(now, Cause::ok, reusable(), keep_alive_hint_);
      }
      if (answer_malformed_) {
        co_return events_->on_response_end(now, Cause::malformed_response, false);
      }
      if (connection_->ended()) {
        co_return events_->on_response_end(now, Cause::body_truncated, false);
      }
    }
    Deadline by = exchange_.deadline(Phase::body, read_at);
    rate.turn(now, !out.empty());
    if (!out.empty()) by = {std::min(written_at + patience, rate.deadline()), Cause::client_closed};
    if (now >= by.at) {
      if (by.cause != Cause::client_closed) {
        co_return events_->on_response_end(now, by.cause, false);
      }
      // The kernel makes room in large steps: what counts is what has arrived there.
      const std::uint64_t taken = newly_taken();
      rate.on_bytes(now, taken);
      if (taken > 0) written_at = now;
      if (taken == 0 || now >= rate.deadline()) {
        reset_client_ = true;
        co_return events_->on_client_gone(now);
      }
      by.at = std::min(written_at + patience, rate.deadline());
    }
    if (!out.empty()) session_.client().await_writable();
    if (out.pending() < kAnswerPendingMax) connection_->start_read();
    if (stream_.upload().pending() && !connection_->write_error()) connection_->await_writable();
    session_.client().start_read();
    co_await session_.event(by.at);
  }
}

}  // namespace gatedrill::gateway
