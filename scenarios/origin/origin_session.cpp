#include "scenarios/origin/origin_session.hpp"

#include <array>
#include <utility>

#include "gateway/http/h1/head_parser.hpp"
#include "replay/replay_source.hpp"

namespace gatedrill::scenarios {
namespace {

using boost::system::error_code;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadBytes = 16 * 1024;
constexpr http::h1::HeadLimits kLimits{256 * 1024, 128 * 1024, 1000, 64 * 1024};

}  // namespace

OriginSession::OriginSession(Host& host, asio::ip::tcp::socket socket, OriginConnection id)
    : host_(&host),
      socket_(std::move(socket)),
      answer_ready_(socket_.get_executor(), asio::steady_timer::time_point::max()),
      id_(id) {}

void OriginSession::start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  asio::co_spawn(socket_.get_executor(), serve(shared_from_this()), asio::detached);
}

void OriginSession::answer(std::string head, std::string_view body, bool close) {
  answer_head_ = std::move(head);
  answer_body_ = body;
  answered_ = true;
  last_ = close;
  answer_ready_.cancel();
}

void OriginSession::close(bool reset) {
  if (ended_) return;
  if (!reset && answered_) {
    last_ = true;  // its answer is being written
    return;
  }
  ended_ = true;
  error_code ignored;
  if (reset) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
  answer_ready_.cancel();
}

void OriginSession::abandon() {
  host_ = nullptr;
  ended_ = true;
  error_code ignored;
  socket_.close(ignored);
  answer_ready_.cancel();
}

asio::awaitable<void> OriginSession::serve(Self /*self*/) {
  while (!ended_) {
    const bool whole = co_await read_request();
    if (ended_ || !whole) break;
    if (!host_->on_request(id_, request_)) break;
    while (!answered_ && !ended_)
      co_await answer_ready_.async_wait(kAsTuple);
    if (ended_) break;
    const bool written = co_await write_answer();
    if (!written || last_) break;
    answered_ = false;
    told_bytes_ = false;
  }
  error_code ignored;
  socket_.close(ignored);
  ended_ = true;
  if (host_ != nullptr) host_->on_end(id_);
}

asio::awaitable<bool> OriginSession::read_request() {
  http::RequestHead head;
  http::h1::HeadResult parsed;
  for (;;) {
    parsed = http::h1::parse_request_head(buffer_, kLimits, head);
    if (parsed.state != http::h1::HeadState::incomplete) break;
    const bool more = co_await read_some();
    if (!more) co_return false;
  }
  const http::FramingVerdict verdict = http::request_framing(head);
  const bool sound = parsed.state == http::h1::HeadState::complete && parsed.defects.none() &&
                     verdict.defect == http::FramingDefect::none;
  if (!sound) {
    co_await refuse_malformed();
    co_return false;
  }
  take_head(head);
  const bool wants_continue = http::has_token(head.fields, "Expect", "100-continue");
  buffer_.erase(0, parsed.size);
  if (wants_continue && verdict.framing.kind != http::BodyKind::none) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto [failed, size] =
        co_await asio::async_write(socket_, asio::buffer(kContinue), kAsTuple);
    if (failed) co_return false;
  }
  const bool whole = co_await read_body(verdict.framing);
  co_return whole;
}

void OriginSession::take_head(const http::RequestHead& head) {
  request_.method = head.method;
  request_.target = head.target;
  request_.request_id = http::find_field(head.fields, replay::kRequestIdField).value_or("");
  request_.exchange = http::find_field(head.fields, replay::kExchangeField).value_or("");
  request_.business_key =
      http::find_field(head.fields, replay::kIdempotencyKeyField).value_or(request_.request_id);
}

asio::awaitable<bool> OriginSession::read_body(http::Framing framing) {
  http::BodyReader body(framing);
  while (!body.done()) {
    const http::BodyReader::Step step = body.read(buffer_);
    buffer_.erase(0, step.consumed);
    if (step.malformed) {
      co_await refuse_malformed();
      co_return false;
    }
    if (step.consumed != 0 || body.done()) continue;
    const bool more = co_await read_some();
    if (!more) co_return false;
  }
  co_return true;
}

asio::awaitable<bool> OriginSession::read_some() {
  std::array<char, kReadBytes> bytes;
  const auto [failed, size] = co_await socket_.async_read_some(asio::buffer(bytes), kAsTuple);
  if (failed || ended_) co_return false;
  buffer_.append(bytes.data(), size);
  if (!std::exchange(told_bytes_, true)) host_->on_bytes(id_);
  co_return !ended_;
}

asio::awaitable<bool> OriginSession::write_answer() {
  const std::array<asio::const_buffer, 2> buffers = {asio::buffer(answer_head_),
                                                     asio::buffer(answer_body_)};
  const auto [failed, size] = co_await asio::async_write(socket_, buffers, kAsTuple);
  co_return !failed && !ended_;
}

asio::awaitable<void> OriginSession::refuse_malformed() {
  static constexpr std::string_view kRefusal =
      "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  co_await asio::async_write(socket_, asio::buffer(kRefusal), kAsTuple);
}

}  // namespace gatedrill::scenarios
