// One request on a client connection: judged, routed, sent on or answered by ourselves. Its buffers
// are kept from one request to the next.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gateway/core/event.hpp"
#include "gateway/http/h1/head_parser.hpp"
#include "gateway/http/head.hpp"
#include "gateway/http/head_writer.hpp"
#include "gateway/http/strict.hpp"
#include "gateway/net/task.hpp"
#include "gateway/policy/exchange.hpp"
#include "gateway/proxy/upload.hpp"

namespace gatedrill::gateway {

class Session;
struct ShardRoute;

// What becomes of the client's connection.
enum class StreamEnd {
  keep,  // another request may come
  close,
  linger,  // close once the client has had time to read the answer: it may still be sending
  abort,   // the answer is cut short: close with a reset
};

class Stream {
 public:
  // Whose requests it serves from now on. Before anything else.
  void serves(Session& session) { session_ = &session; }

  // Serves the request whose head stands at the front of the client's input.
  Task<StreamEnd> serve(const http::RequestHead& head, const http::h1::HeadResult& parsed);

  // Answers in place of a head that could not be read: writes into the session's outbox and
  // publishes the request.
  StreamEnd refuse_unread(const http::Refusal& refusal);

  // What the drive uses.

  [[nodiscard]] Upload& upload() { return upload_; }

  // Kept for its memory.
  [[nodiscard]] http::ResponseHead& answer_head() { return answer_head_; }

  [[nodiscard]] bool head_only() const { return head_only_; }

  [[nodiscard]] int client_version() const { return client_version_; }

  // The client's connection may be kept after this request. Only ever taken back.
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }

  void no_keep_alive() { keep_alive_ = false; }

  [[nodiscard]] bool expects_continue() const { return expects_continue_; }

  void continue_sent() { expects_continue_ = false; }

  // A CONNECT: the tunnel begins once the upstream is connected.
  [[nodiscard]] bool connects() const { return connects_; }

  // Writes the answer to a CONNECT into the session's outbox.
  void write_connected();

  // The protocol that the upstream is asked to change to; empty: none.
  [[nodiscard]] std::string_view upgrade() const { return upgrade_; }

  // An answer of our own: what it says besides its cause.
  struct Reply {
    Cause cause = Cause::internal;
    int status = 500;
    Duration retry_after{0};
    NameId next_hop{};          // the endpoint of the last attempt, for Proxy-Status
    std::string_view fields{};  // whole lines of its head
  };

  // Writes it into the session's outbox.
  void write_reply(const Reply& reply);

  [[nodiscard]] std::uint64_t reply_bytes() const { return reply_bytes_; }

  // The request has ended: publishes it and its attempts, writes its line of the access log.
  // `body_out` counts the answer's body.
  void record(const RequestDone& request,
              std::span<const AttemptDone> attempts,
              std::uint64_t body_out);

 private:
  [[nodiscard]] std::optional<http::Refusal> judge(const http::RequestHead& head,
                                                   const http::RequestVerdict& verdict,
                                                   const http::RequestOptions& options) const;
  void prepare(const http::RequestHead& head,
               const http::RequestVerdict& verdict,
               const http::RequestOptions& options);
  void identify(const http::RequestHead& head, std::string_view request_id);
  StreamEnd refuse(TimePoint began, const http::Refusal& refusal);
  Task<StreamEnd> connect(const http::RequestHead& head,
                          const http::Framing& framing,
                          std::size_t head_size);
  StreamEnd answer(Cause cause, int status, std::string_view fields = {});
  void record_refused(TimePoint began, Cause cause, int status);
  void note_for_log(const http::RequestHead& head,
                    std::string_view host,
                    std::string_view dropped_name);

  Session* session_ = nullptr;
  Upload upload_;
  http::ResponseHead answer_head_;
  Exchange::Request request_;
  std::optional<Exchange> exchange_;
  std::string request_id_;         // whole, as it is sent on
  std::string host_;               // for the access log, if there is one
  std::string target_;             // the same
  std::string dropped_;            // the same
  std::string_view refused_;       // why, if it was: a literal
  std::uint64_t reply_bytes_ = 0;  // of the body of an answer of our own
  bool head_only_ = false;
  bool keep_alive_ = true;
  bool expects_continue_ = false;
  int client_version_ = 11;
  bool connects_ = false;
  std::string_view upgrade_;  // into the route's configuration
};

}  // namespace gatedrill::gateway
