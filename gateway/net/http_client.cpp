#include "gateway/net/http_client.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <functional>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <sys/socket.h>

#include "gateway/http/framing.hpp"
#include "gateway/http/strict.hpp"

namespace gatedrill::gateway {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr Duration kLongWait = std::chrono::hours{24};
constexpr std::size_t kBufferBytes = 16 * 1024;
constexpr std::size_t kBufferBytesMax = 256 * 1024;  // for bodies; a head may need more

ClientError connect_error(const error_code& error) {
  switch (error.value()) {
    case ECONNREFUSED:
      return ClientError::connect_refused;
    case ETIMEDOUT:
      return ClientError::connect_timeout;
    case EADDRNOTAVAIL:
      return ClientError::local_ports_exhausted;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return ClientError::local_files_exhausted;
    default:
      return ClientError::unroutable;
  }
}

bool is_reset(const error_code& error) {
  return error == asio::error::connection_reset || error == asio::error::broken_pipe;
}

// How an answer that did not end properly is called, from what was seen of it.
ClientError broken_off(const ClientAnswer& answer, const error_code& error, bool head_begun) {
  if (answer.status != 0) return ClientError::body_truncated;
  if (head_begun) return ClientError::head_truncated;
  if (answer.bytes_sent == 0) return ClientError::send_failed;
  return is_reset(error) ? ClientError::reset_before_answer : ClientError::closed_before_answer;
}

}  // namespace

std::string_view to_string(ClientError error) {
  switch (error) {
    case ClientError::none:
      return "none";
    case ClientError::dns_failure:
      return "dns_failure";
    case ClientError::unroutable:
      return "unroutable";
    case ClientError::local_ports_exhausted:
      return "local_ports_exhausted";
    case ClientError::local_files_exhausted:
      return "local_files_exhausted";
    case ClientError::connect_refused:
      return "connect_refused";
    case ClientError::connect_timeout:
      return "connect_timeout";
    case ClientError::send_failed:
      return "send_failed";
    case ClientError::closed_before_answer:
      return "closed_before_answer";
    case ClientError::reset_before_answer:
      return "reset_before_answer";
    case ClientError::response_timeout:
      return "response_timeout";
    case ClientError::head_truncated:
      return "head_truncated";
    case ClientError::malformed_answer:
      return "malformed_answer";
    case ClientError::answer_head_too_large:
      return "answer_head_too_large";
    case ClientError::body_truncated:
      return "body_truncated";
    case ClientError::body_timeout:
      return "body_timeout";
    case ClientError::cancelled:
      return "cancelled";
  }
  return "none";
}

struct HttpClient::State : std::enable_shared_from_this<HttpClient::State> {
  State(asio::io_context& context, const SteadyClock& the_clock, Limits the_limits)
      : socket(context), resolver(context), timer(context), clock(the_clock), limits(the_limits) {}

  void watch(TimePoint until);
  void on_timer();
  void close();

  asio::awaitable<error_code> resolve(const HttpPeer& peer, std::vector<tcp::endpoint>& endpoints);
  asio::awaitable<error_code> connect_first(const std::vector<tcp::endpoint>& endpoints);
  asio::awaitable<void> write_rest(const ClientRequest& request, ClientAnswer& answer);
  asio::awaitable<void> read_answer(const ClientRequest& request, ClientAnswer& answer);
  asio::awaitable<bool> read_head(const ClientRequest& request, ClientAnswer& answer);
  asio::awaitable<bool> read_body(const ClientRequest& request, ClientAnswer& answer);
  asio::awaitable<error_code> fill(ClientAnswer& answer);
  error_code write_at_once(const ClientRequest& request, ClientAnswer& answer);
  void keep(const ClientRequest& request, ClientAnswer& answer, std::string_view payload);
  void fail(ClientAnswer& answer, ClientError error, std::string_view detail) const;
  void on_end_of_stream(ClientAnswer& answer, const error_code& error, bool head_begun);

  [[nodiscard]] std::string_view unread() const { return {buffer.data(), filled}; }

  void drop(std::size_t bytes) {
    std::memmove(buffer.data(), buffer.data() + bytes, filled - bytes);
    filled -= bytes;
  }

  tcp::socket socket;
  tcp::resolver resolver;
  // One timer, re-armed only when it fires before its time or a deadline comes earlier than it.
  asio::steady_timer timer;
  const SteadyClock& clock;
  Limits limits;
  TimePoint deadline = kNever;
  TimePoint armed = kNever;
  std::function<void()> abandon_wait;  // while a name is looked up
  bool timed_out = false;
  bool busy = false;
  std::uint32_t requests = 0;
  // Held during an exchange only, so that thousands of idle connections cost little.
  std::vector<char> buffer;
  std::size_t filled = 0;
  bool filled_by_last_read = false;
  http::ResponseHead head;
  http::Framing framing;
  http::BodyDigest digest;
  bool head_says_reusable = false;
  bool writing = false;
  bool answer_ended = false;
};

void HttpClient::State::watch(TimePoint until) {
  deadline = until;
  timed_out = false;
  if (until == kNever || armed <= until) return;
  armed = until;
  timer.expires_at(clock.steady(until));
  timer.async_wait([weak = weak_from_this()](const error_code& error) {
    if (error) return;
    if (const auto state = weak.lock()) state->on_timer();
  });
}

void HttpClient::State::on_timer() {
  armed = kNever;
  if (deadline == kNever) return;
  if (clock.now() < deadline) {
    watch(deadline);
    return;
  }
  timed_out = true;
  close();
}

void HttpClient::State::close() {
  error_code ignored;
  socket.close(ignored);
  if (abandon_wait) abandon_wait();
}

// The system's resolver cannot be interrupted, so its result is waited for at arm's length: whoever
// gives up leaves it behind.
asio::awaitable<error_code> HttpClient::State::resolve(const HttpPeer& peer,
                                                       std::vector<tcp::endpoint>& endpoints) {
  struct Lookup {
    explicit Lookup(const asio::any_io_executor& executor) : arrived(executor, kLongWait) {}

    asio::steady_timer arrived;
    error_code error = asio::error::operation_aborted;
    tcp::resolver::results_type found;
  };

  auto lookup = std::make_shared<Lookup>(socket.get_executor());
  resolver.async_resolve(peer.host, std::to_string(peer.port),
                         [lookup](const error_code& error, tcp::resolver::results_type found) {
                           lookup->error = error;
                           lookup->found = std::move(found);
                           lookup->arrived.cancel();
                         });
  abandon_wait = [weak = std::weak_ptr(lookup)] {
    if (const auto waiting = weak.lock()) waiting->arrived.cancel();
  };
  co_await lookup->arrived.async_wait(asio::as_tuple(asio::use_awaitable));
  abandon_wait = nullptr;
  for (const auto& entry : lookup->found)
    endpoints.push_back(entry.endpoint());
  co_return lookup->error;
}

asio::awaitable<error_code> HttpClient::State::connect_first(
    const std::vector<tcp::endpoint>& endpoints) {
  error_code result = asio::error::host_not_found;
  for (const tcp::endpoint& endpoint : endpoints) {
    close();
    const auto [error] =
        co_await socket.async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
    result = error;
    if (!error || error == asio::error::operation_aborted || timed_out) break;
  }
  co_return result;
}

// What fits into the socket's buffer now; nearly always everything.
error_code HttpClient::State::write_at_once(const ClientRequest& request, ClientAnswer& answer) {
  const std::array<asio::const_buffer, 2> parts = {
      asio::buffer(request.head.data(), request.head.size()),
      asio::buffer(request.body.data(), request.body.size())};
  error_code error;
  const TimePoint now = clock.now();
  answer.bytes_sent = socket.write_some(parts, error);
  if (answer.bytes_sent > 0) answer.sent = now;
  return error == asio::error::would_block ? error_code{} : error;
}

// Beside the reading: a peer may answer before it has taken the whole request.
asio::awaitable<void> HttpClient::State::write_rest(const ClientRequest& request,
                                                    ClientAnswer& answer) {
  writing = true;
  const std::uint64_t total = request.head.size() + request.body.size();
  while (answer.bytes_sent < total && !answer_ended) {
    const auto sent = static_cast<std::size_t>(answer.bytes_sent);
    const std::size_t head_sent = std::min(sent, request.head.size());
    const std::string_view first = request.head.substr(head_sent);
    const std::string_view second = request.body.substr(sent - head_sent);
    const std::array<asio::const_buffer, 2> parts = {asio::buffer(first.data(), first.size()),
                                                     asio::buffer(second.data(), second.size())};
    const auto [error, bytes] =
        co_await socket.async_write_some(parts, asio::as_tuple(asio::use_awaitable));
    if (bytes > 0 && answer.sent == kNever) answer.sent = clock.now();
    answer.bytes_sent += bytes;
    if (error) break;  // the reading side says what became of the connection
  }
  writing = false;
}

asio::awaitable<error_code> HttpClient::State::fill(ClientAnswer& answer) {
  const bool room_was_short = filled_by_last_read && buffer.size() < kBufferBytesMax;
  if (filled == buffer.size() || room_was_short) buffer.resize(buffer.size() * 2);
  const auto room = asio::buffer(buffer.data() + filled, buffer.size() - filled);
  const auto [error, bytes] =
      co_await socket.async_read_some(room, asio::as_tuple(asio::use_awaitable));
  if (bytes > 0 && answer.first_byte == kNever) answer.first_byte = clock.now();
  filled += bytes;
  filled_by_last_read = filled == buffer.size();
  answer.bytes_received += bytes;
  co_return error;
}

void HttpClient::State::fail(ClientAnswer& answer,
                             ClientError error,
                             std::string_view detail) const {
  answer.error = error;
  answer.detail = detail;
}

void HttpClient::State::on_end_of_stream(ClientAnswer& answer,
                                         const error_code& error,
                                         bool head_begun) {
  if (timed_out) {
    const bool in_body = answer.status != 0;
    fail(answer, in_body ? ClientError::body_timeout : ClientError::response_timeout,
         in_body ? "the deadline passed inside the body" : "the deadline passed before the answer");
  } else if (error == asio::error::operation_aborted) {
    fail(answer, ClientError::cancelled, "cancelled");
  } else {
    const bool orderly = error == asio::error::eof;
    fail(answer, broken_off(answer, error, head_begun),
         orderly ? "the peer closed the connection" : error.message());
  }
}

asio::awaitable<bool> HttpClient::State::read_head(const ClientRequest& request,
                                                   ClientAnswer& answer) {
  while (true) {
    const http::h1::HeadResult parsed = http::h1::parse_response_head(unread(), limits.head, head);
    if (parsed.state == http::h1::HeadState::incomplete) {
      const error_code error = co_await fill(answer);
      if (!error) continue;
      on_end_of_stream(answer, error, filled > 0);
      co_return false;
    }
    if (parsed.state != http::h1::HeadState::complete) {
      fail(answer, ClientError::answer_head_too_large, "the answer's head is too large");
      co_return false;
    }
    const http::ResponseVerdict verdict = http::judge_response(head, parsed, request.method);
    if (!verdict.malformed.empty()) {
      fail(answer, ClientError::malformed_answer, verdict.malformed);
      co_return false;
    }
    if (head.status < 200 && head.status != 101) {
      ++answer.interim_answers;
      drop(parsed.size);
      continue;
    }
    answer.status = head.status;
    answer.fields.reserve(head.fields.size());
    for (const http::Field& field : head.fields)
      answer.fields.emplace_back(field.name, field.value);
    framing = verdict.framing;
    head_says_reusable = verdict.reusable;
    drop(parsed.size);
    co_return true;
  }
}

void HttpClient::State::keep(const ClientRequest& request,
                             ClientAnswer& answer,
                             std::string_view payload) {
  answer.body_bytes += payload.size();
  if (request.keep == KeepBody::digest) {
    digest.update(payload);
    return;
  }
  const std::size_t room =
      limits.body_kept_max - std::min(limits.body_kept_max, answer.body.size());
  answer.body.append(payload.substr(0, room));
}

asio::awaitable<bool> HttpClient::State::read_body(const ClientRequest& request,
                                                   ClientAnswer& answer) {
  http::BodyReader reader(framing);
  while (!reader.done()) {
    std::size_t used = 0;
    while (!reader.done()) {
      const http::BodyReader::Step step = reader.read(unread().substr(used));
      if (step.malformed) {
        fail(answer, ClientError::malformed_answer, "the body's chunk framing is wrong");
        co_return false;
      }
      if (step.consumed == 0) break;
      keep(request, answer, step.payload);
      used += step.consumed;
    }
    drop(used);
    if (reader.done()) break;
    const error_code error = co_await fill(answer);
    if (!error) continue;
    if (error == asio::error::eof && reader.finish_at_close()) break;
    on_end_of_stream(answer, error, true);
    co_return false;
  }
  answer.body_complete = true;
  co_return true;
}

asio::awaitable<void> HttpClient::State::read_answer(const ClientRequest& request,
                                                     ClientAnswer& answer) {
  const bool head_read = co_await read_head(request, answer);
  if (head_read) co_await read_body(request, answer);
  answer.done = clock.now();
  answer_ended = true;
  if (!writing) co_return;
  error_code ignored;
  socket.cancel(ignored);  // of the request, nobody wants the rest
}

HttpClient::HttpClient(asio::io_context& context, const SteadyClock& clock)
    : HttpClient(context, clock, Limits{}) {}

HttpClient::HttpClient(asio::io_context& context, const SteadyClock& clock, Limits limits)
    : state_(std::make_shared<State>(context, clock, limits)) {}

HttpClient::~HttpClient() {
  close();
}

ClientTask<ClientConnect> HttpClient::connect(HttpPeer peer, TimePoint deadline) {
  const std::shared_ptr<State> state = state_;
  assert(!state->busy);
  close();
  state->requests = 0;
  state->watch(deadline);
  ClientConnect outcome;

  std::vector<tcp::endpoint> endpoints;
  error_code error;
  if (const auto address = asio::ip::make_address(peer.host, error); !error) {
    endpoints.emplace_back(address, peer.port);
  } else {
    error = co_await state->resolve(peer, endpoints);
    if (error) outcome.error = ClientError::dns_failure;
  }
  if (!error) {
    error = co_await state->connect_first(endpoints);
    if (error) outcome.error = connect_error(error);
  }
  if (error == asio::error::operation_aborted) outcome.error = ClientError::cancelled;
  if (state->timed_out) outcome.error = ClientError::connect_timeout;
  state->watch(kNever);
  if (outcome.error != ClientError::none) {
    outcome.detail = outcome.error == ClientError::connect_timeout
                         ? "the deadline passed before the "
                           "connection was made"
                         : error.message();
    close();
    co_return outcome;
  }
  outcome.connected = state->clock.now();
  error_code ignored;
  state->socket.non_blocking(true, ignored);
  state->socket.set_option(tcp::no_delay(true), ignored);
  co_return outcome;
}

ClientTask<ClientAnswer> HttpClient::exchange(ClientRequest request, TimePoint deadline) {
  using asio::experimental::awaitable_operators::operator&&;
  const std::shared_ptr<State> state = state_;
  assert(!state->busy);
  assert(state->socket.is_open());
  state->busy = true;
  state->head_says_reusable = false;
  state->answer_ended = false;
  state->buffer.resize(kBufferBytes);
  state->watch(deadline);
  ClientAnswer answer;
  answer.ordinal = ++state->requests;

  const std::uint64_t total = request.head.size() + request.body.size();
  const error_code write_error = state->write_at_once(request, answer);
  if (write_error || answer.bytes_sent == total) {
    // Even after a failed write an answer may be waiting.
    co_await state->read_answer(request, answer);
  } else {
    auto reading = state->read_answer(request, answer);
    auto rest = state->write_rest(request, answer);
    co_await (std::move(rest) && std::move(reading));
  }

  if (answer.status != 0 && request.keep == KeepBody::digest) {
    answer.body_digest = state->digest.finish();
  }
  answer.reusable = answer.error == ClientError::none && state->head_says_reusable &&
                    answer.bytes_sent == total && state->filled == 0;
  state->watch(kNever);
  state->buffer = {};
  state->filled = 0;
  state->filled_by_last_read = false;
  state->busy = false;
  if (!answer.reusable) state->close();
  co_return answer;
}

IdleState HttpClient::idle_state() const {
  if (!state_->socket.is_open()) return IdleState::not_connected;
  char byte = 0;
  const auto received =
      ::recv(state_->socket.native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  if (received > 0) return IdleState::unasked_bytes;
  if (received == 0) return IdleState::closed_by_peer;
  return errno == EAGAIN ? IdleState::usable : IdleState::reset_by_peer;
}

bool HttpClient::connected() const {
  return state_->socket.is_open();
}

std::uint32_t HttpClient::requests_sent() const {
  return state_->requests;
}

HttpPeer HttpClient::peer() const {
  error_code error;
  const tcp::endpoint endpoint = state_->socket.remote_endpoint(error);
  return error ? HttpPeer{{}, 0} : HttpPeer{endpoint.address().to_string(), endpoint.port()};
}

std::uint16_t HttpClient::local_port() const {
  error_code error;
  const tcp::endpoint endpoint = state_->socket.local_endpoint(error);
  return error ? std::uint16_t{0} : endpoint.port();
}

void HttpClient::close() {
  state_->deadline = kNever;
  state_->close();
}

}  // namespace gatedrill::gateway
