#include "gateway/proxy/session.hpp"

#include <utility>

#include "gateway/http/strict.hpp"
#include "gateway/proxy/shard.hpp"

namespace gatedrill::gateway {
namespace {

// After a last answer to a client that may still be sending: how long and how much is read over, so
// that closing does not become a reset which takes the answer with it.
constexpr Duration kLingerTime = std::chrono::seconds{2};
constexpr std::size_t kLingerBytes = std::size_t{1024} * 1024;

}  // namespace

Session::Session(Shard& shard,
                 std::shared_ptr<Connection> client,
                 std::string address,
                 bool trusted)
    : shard_(shard),
      client_(std::move(client)),
      address_(std::move(address)),
      client_name_(intern_untrusted(address_)),
      trusted_(trusted),
      deadline_(shard.context(), shard.clock(), *this),
      now_(shard.clock().now()),
      stream_(*this) {
  client_->owned_by(this);
}

Session::~Session() {
  task_ = Task<>{};
  client_->owned_by(nullptr);
  client_->close();
}

void Session::start() {
  task_ = run();
  task_.start();
  if (task_.done()) shard_.remove(*this);
}

void Session::drain() {
  if (between_requests_ && client_->input().empty()) stop();
}

void Session::stop() {
  stopping_ = true;
  wake();
}

void Session::on_connection_event(Connection& /*connection*/) {
  wake();
}

void Session::on_deadline() {
  wake();
}

void Session::wake() {
  now_ = shard_.clock().now();
  if (const auto waiting = std::exchange(waiting_, nullptr)) waiting.resume();
  if (task_.done()) shard_.remove(*this);
}

Task<> Session::run() {
  StreamEnd end = StreamEnd::keep;
  while (end == StreamEnd::keep) {
    const HeadRead read = co_await read_head();
    if (read == HeadRead::ended) co_return;
    between_requests_ = false;
    ++request_count_;
    if (read == HeadRead::timed_out) {
      end = stream_.refuse_unread(http::Refusal{Cause::client_header_timeout, 408, "slow_head"});
    } else {
      end = co_await stream_.serve(head_, parsed_);
    }
    between_requests_ = true;
    to_client_.flush(*client_);
  }
  if (end == StreamEnd::abort) {
    client_->abort();
  } else if (end == StreamEnd::linger || !to_client_.empty()) {
    co_await linger();
  }
}

// Until the client's input begins with a whole head, or with one that will not do.
Task<Session::HeadRead> Session::read_head() {
  const ClientConfig& limits = shard_.config().client;
  TimePoint by = now_ + (request_count_ == 0 ? limits.header_timeout : limits.keep_alive);
  bool begun = false;
  std::size_t parsed_bytes = 0;
  for (;;) {
    const std::string_view input = client_->input();
    if (!input.empty() && !begun) {
      begun = true;
      by = now_ + limits.header_timeout;
    }
    // A head that trickles in is looked at again only when a line has ended or it grows too long.
    if (input.size() > parsed_bytes &&
        (input.find('\n', parsed_bytes) != std::string_view::npos ||
         input.size() - parsed_bytes > limits.head.line_bytes || parsed_bytes == 0)) {
      parsed_ = http::h1::parse_request_head(input, limits.head, head_);
      parsed_bytes = input.size();
      // What is wrong already will not be put right by the rest.
      if (parsed_.state != http::h1::HeadState::incomplete || !parsed_.defects.none()) {
        co_return HeadRead::complete;
      }
    }
    to_client_.flush(*client_);
    if (client_->ended() || client_->write_error() || stopping_) co_return HeadRead::ended;
    if (now_ >= by) co_return begun ? HeadRead::timed_out : HeadRead::ended;
    if (!to_client_.empty()) client_->await_writable();
    client_->start_read(limits.head.head_bytes);
    co_await event(by);
  }
}

// The last answer goes out, then an end of file; what still comes in is read over.
Task<> Session::linger() {
  const TimePoint by = now_ + kLingerTime;
  std::size_t read_over = 0;
  bool shut = false;
  for (;;) {
    to_client_.flush(*client_);
    if (to_client_.empty() && !shut) {
      client_->shutdown_write();
      shut = true;
    }
    read_over += client_->input().size();
    client_->consume(client_->input().size());
    if (client_->ended() || client_->write_error() || stopping_ || now_ >= by ||
        read_over > kLingerBytes) {
      co_return;
    }
    if (!to_client_.empty()) client_->await_writable();
    client_->start_read();
    co_await event(by);
  }
}

}  // namespace gatedrill::gateway
