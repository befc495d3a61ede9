// An HTTP/1.1 client on one TCP connection, for health probes and replay. (The proxy's own way to
// its upstreams is another: it streams and allocates nothing.)
//
//   HttpClient client(context, clock);
//   const ClientConnect connected = co_await client.connect(peer, deadline);
//   const ClientAnswer answer = co_await client.exchange(request, deadline);
//   if (answer.error == ClientError::none && answer.reusable) ... exchange again
//
//   closed ──connect──► idle ──exchange──► busy ──answer, reusable──► idle
//      ▲                  │ peer closes (idle_state tells)  │
//      └──────close───────┴────────error, not reusable──────┘
//
// It never retries and never reconnects by itself. That is the reason why it exists: libcurl sends
// a request again, even a POST, when a reused connection turns out to be dead, so what a client saw
// and how often a request was really sent could not be told from its answer.
//
// One coroutine at a time uses a client, on the thread that runs its io_context. A cancelled
// coroutine returns ClientError::cancelled and the connection is closed; so it does when the client
// is closed or destroyed under it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/core/time.hpp"
#include "gateway/http/body_digest.hpp"
#include "gateway/http/h1/head_parser.hpp"

// Of Asio only these names are needed here; who awaits includes Asio itself.
namespace boost::asio {
class any_io_executor;
class io_context;
template <typename T, typename Executor>
class awaitable;
}  // namespace boost::asio

namespace gatedrill::gateway {

template <class T>
using ClientTask = boost::asio::awaitable<T, boost::asio::any_io_executor>;

enum class ClientError : std::uint8_t {
  none,
  dns_failure,
  unroutable,
  local_ports_exhausted,
  local_files_exhausted,  // no file descriptor or memory left in this process
  connect_refused,
  connect_timeout,
  send_failed,           // the request could not be sent whole, and no answer came
  closed_before_answer,  // orderly close (FIN) before the answer's first byte
  reset_before_answer,   // the same by a reset (RST)
  response_timeout,      // the deadline passed before the answer's head was whole
  head_truncated,        // the connection ended inside the answer's head
  malformed_answer,
  answer_head_too_large,
  body_truncated,  // the connection ended inside the body
  body_timeout,    // the deadline passed inside the body
  cancelled,
};

[[nodiscard]] std::string_view to_string(ClientError error);

struct HttpPeer {
  std::string host;  // an address or a name; a name is resolved by the system
  std::uint16_t port = 80;
};

struct ClientConnect {
  ClientError error = ClientError::none;
  std::string detail;  // what the system said; empty without an error
  TimePoint connected = kNever;
};

enum class KeepBody : std::uint8_t { whole, digest };

// The bytes must stay where they are until the exchange returns.
struct ClientRequest {
  std::string_view method;  // decides whether the answer has a body
  std::string_view head;    // request line and fields, with the empty line
  std::string_view body;
  KeepBody keep = KeepBody::whole;
};

struct ClientAnswer {
  ClientError error = ClientError::none;
  std::string detail;
  int status = 0;  // 0: no head came
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;  // after de-chunking, content coding kept; empty with KeepBody::digest
  http::BodyDigest::Value body_digest{};  // of the same bytes, with KeepBody::digest
  std::uint64_t body_bytes = 0;
  bool body_complete = false;
  bool reusable = false;              // the connection may carry another request
  std::uint32_t ordinal = 0;          // which request on its connection, from 1
  std::uint32_t interim_answers = 0;  // 1xx, skipped
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  // Times that did not happen are kNever.
  TimePoint sent = kNever;        // the first byte was handed to the kernel
  TimePoint first_byte = kNever;  // of the answer, 1xx included
  TimePoint done = kNever;        // the answer ended or the error was seen
};

// What an idle connection looks like before it is used again.
enum class IdleState : std::uint8_t {
  usable,
  not_connected,
  closed_by_peer,
  reset_by_peer,
  unasked_bytes,  // the peer sent something that answers nothing
};

class HttpClient {
 public:
  struct Limits {
    // Wider than a gateway's: a client reports what it was sent.
    http::h1::HeadLimits head{.head_bytes = 1024 * 1024,
                              .line_bytes = 512 * 1024,
                              .fields = 4096,
                              .target_bytes = 64 * 1024};
    std::size_t body_kept_max = 64 * 1024 * 1024;  // KeepBody::whole keeps no more than this
  };

  HttpClient(boost::asio::io_context& context, const SteadyClock& clock);
  HttpClient(boost::asio::io_context& context, const SteadyClock& clock, Limits limits);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  // Opens the connection; an open one is closed first. `deadline` covers name resolution too.
  [[nodiscard]] ClientTask<ClientConnect> connect(HttpPeer peer, TimePoint deadline);

  // Sends one request and reads its answer. Requires a connection that is idle.
  [[nodiscard]] ClientTask<ClientAnswer> exchange(ClientRequest request, TimePoint deadline);

  // Looks at the socket without waiting. A peer's close that has not arrived yet cannot be seen.
  [[nodiscard]] IdleState idle_state() const;
  [[nodiscard]] bool connected() const;
  // Requests sent on this connection so far.
  [[nodiscard]] std::uint32_t requests_sent() const;
  // The numeric address that it is connected to; empty when closed.
  [[nodiscard]] HttpPeer peer() const;
  // The local port of the connection; 0 when closed.
  [[nodiscard]] std::uint16_t local_port() const;

  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::gateway
